//! Fields of events: their names, and how an event's value is found.

use crate::machine::Machine;
use std::borrow::Cow;
use std::cell::RefCell;
use tfbc::internal::analysis::{
    ArgumentValue, BuiltInEvents, EventPlace, ThreadContext, TimedEvent, classes, text_of_words,
};
use tfbc::internal::expression::Operand;
use tfbc::internal::{KevRecord, hint};
use tfbc::{EventId, FieldValue, System};

/// Longest text of a key or group in bytes. An event with a longer one is treated as if it had none.
const MAX_TEXT: usize = 255;
/// Numbers of events: kernel calls per kind of record, the first process event, and the event that names a thread.
const CALLS: u16 = 128;
const PROCESSES: u16 = 64;
const THREAD_NAME: u16 = 320;

/// Field of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventField {
    Id,
    Tid,
    Pid,
    Exec,
    Cpu,
    Priority,
    Svc,
    Place(EventPlace),
    Kind,
    Errno,
    Class,
    Number,
    Thread,
    Call,
    Vector,
    Argument(String),
    Word(usize),
    Text,
    Data(String),
    TimerA,
    TimerB,
}

static AIX: [(&str, EventField); 10] = [
    ("id", EventField::Id),
    ("tid", EventField::Tid),
    ("pid", EventField::Pid),
    ("exec", EventField::Exec),
    ("cpu", EventField::Cpu),
    ("prio", EventField::Priority),
    ("svc", EventField::Svc),
    ("type", EventField::Kind),
    ("errno", EventField::Errno),
    ("text", EventField::Text),
];

static QNX: [(&str, EventField); 10] = [
    ("class", EventField::Class),
    ("id", EventField::Number),
    ("cpu", EventField::Cpu),
    ("pid", EventField::Pid),
    ("tid", EventField::Tid),
    ("prio", EventField::Priority),
    ("thread", EventField::Thread),
    ("call", EventField::Call),
    ("vector", EventField::Vector),
    ("text", EventField::Text),
];

impl EventField {
    /// Looks up a field by its name. `of_timers` adds those of template timers.
    ///
    /// # Errors
    /// A message that lists the fields.
    pub fn parse(name: &str, system: System, of_timers: bool) -> Result<Self, String> {
        match name {
            "a" if of_timers => return Ok(Self::TimerA),
            "b" if of_timers => return Ok(Self::TimerB),
            _ => {}
        }
        let known = if system == System::Aix { &AIX } else { &QNX };
        if let Some((_, field)) = known.iter().find(|(known, _)| *known == name) {
            return Ok(field.clone());
        }
        if let Some(label) = name.strip_prefix("data.").filter(|label| !label.is_empty()) {
            return Ok(Self::Data(label.to_owned()));
        }
        let other = match system {
            System::Aix => match name {
                "sub" | "hd" => EventPlace::parse("HD"),
                "d1" | "d2" | "d3" | "d4" | "d5" => EventPlace::parse(&name.to_ascii_uppercase()),
                _ => EventPlace::parse(name),
            }
            .map(Self::Place),
            System::Qnx => match (name.strip_prefix("arg."), name.strip_prefix(['w', 'W'])) {
                (Some(argument), _) if !argument.is_empty() => Some(Self::Argument(argument.to_owned())),
                (_, Some(n)) if n.bytes().all(|byte| byte.is_ascii_digit()) => n.parse().ok().map(Self::Word),
                _ => None,
            },
        };
        other.ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let more = match system {
                System::Aix => "sub, hd, d1 to d5, a place such as U4@12 or S@W2",
                System::Qnx => "arg.NAME, w0, w1 and so on",
            };
            format!("unknown field `{name}`{}: expected {}, {more}, or data.NAME", hint(name, &names), names.join(", "))
        })
    }

    /// True if the field needs the event's template.
    pub fn needs_format(&self) -> bool {
        matches!(self, Self::Text | Self::Data(_))
    }
}

/// Event whose fields can be read.
pub trait Fields {
    /// Id of the event.
    fn id(&self) -> EventId;
    /// Subhook of an AIX event.
    fn subhook(&self) -> Option<u16>;
    /// CPU; `None` if it is unknown.
    fn cpu(&self) -> Option<u64>;
    /// Value of a field; `None` if the event does not have it.
    fn value(&self, field: &EventField) -> Option<Operand<'_>>;
}

/// Text and fields of an event that its template prints.
pub trait FormattedEvent {
    /// Text.
    fn text(&mut self) -> Vec<u8>;
    /// Field of a name.
    fn field(&mut self, name: &str) -> Option<FieldValue>;
}

/// Subhook of an AIX event.
pub fn subhook(timed: &TimedEvent<'_>) -> Option<u16> {
    match EventPlace::parse("HD")?.read(&timed.event)? {
        Operand::Number(number) => u16::try_from(number).ok(),
        Operand::Text(_) => None,
    }
}

/// Event of AIX.
pub struct HookFields<'e, 'f> {
    pub timed: &'e TimedEvent<'e>,
    pub facts: ThreadContext<'e>,
    /// CPU; `Some(None)` for the only CPU of a trace whose events have none.
    pub cpu: Option<Option<u64>>,
    /// Type of the interrupt that the event begins, and error of the call that it ends.
    pub kind: Option<Operand<'e>>,
    pub errno: Option<u64>,
    /// Key of the template timer that the event ends or starts.
    pub timer: Option<[u64; 3]>,
    pub format: RefCell<&'f mut dyn FormattedEvent>,
}

impl Fields for HookFields<'_, '_> {
    fn id(&self) -> EventId {
        EventId::Hook(self.timed.event.id)
    }

    fn subhook(&self) -> Option<u16> {
        subhook(self.timed)
    }

    fn cpu(&self) -> Option<u64> {
        self.cpu.flatten()
    }

    fn value(&self, field: &EventField) -> Option<Operand<'_>> {
        let event = &self.timed.event;
        let text = |text: &'_ [u8]| (!text.is_empty()).then(|| Operand::Text(Cow::Owned(text.to_vec())));
        match field {
            EventField::Id => text(EventId::Hook(event.id).name().as_bytes()),
            EventField::Tid => Some(event.tid.into()),
            EventField::Pid => self.facts.pid.map(Operand::from),
            EventField::Exec => text(crate::aix::base_name(self.facts.path)),
            EventField::Cpu => self.cpu.map(|cpu| cpu.map_or(Operand::from(&b"-"[..]), Operand::from)),
            EventField::Priority => Some(self.facts.priority).filter(|priority| *priority > 0).map(Operand::from),
            EventField::Svc => text(self.facts.svc),
            EventField::Place(place) => place.read(event),
            EventField::Kind => self.kind.clone(),
            EventField::Errno => self.errno.map(Operand::from),
            EventField::TimerA => self.timer.map(|key| key[0].into()),
            EventField::TimerB => self.timer.map(|key| key[1].into()),
            EventField::Text | EventField::Data(_) => formatted(&self.format, field),
            _ => None,
        }
    }
}

/// Record of QNX.
pub struct RecordFields<'e, 'f> {
    pub record: &'e KevRecord<'e>,
    pub big_endian: bool,
    pub events: BuiltInEvents,
    pub machine: &'e Machine,
    /// Index of the CPU in the machine.
    pub at: usize,
    pub format: RefCell<&'f mut dyn FormattedEvent>,
}

/// Process and thread that a record belongs to, if known.
#[derive(Default)]
struct Owner {
    pid: Option<u32>,
    tid: Option<u32>,
    priority: Option<u8>,
}

impl RecordFields<'_, '_> {
    fn word(&self, at: usize) -> Option<u32> {
        let bytes = *self.record.bytes.get(at.checked_mul(4)?..)?.first_chunk()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn owner(&self) -> Owner {
        if self.record.meant_class() != classes::PR_TH {
            let Some((id, priority)) = self.machine.running_thread(self.at) else { return Owner::default() };
            return Owner { pid: Some((id >> 32) as u32), tid: Some(id as u32), priority };
        }
        let (first, second) = (self.word(0), self.word(1));
        match self.record.event {
            0..PROCESSES if second.is_some() => {
                let priority = self.word(2).filter(|_| self.record.wide);
                let priority = priority.and_then(|priority| u8::try_from(priority).ok());
                Owner { pid: first, tid: second, priority }
            }
            THREAD_NAME if second.is_some() => Owner { pid: first, tid: second, priority: None },
            64 | 128 | 192 | 256 => Owner { pid: second, ..Owner::default() },
            _ => Owner::default(),
        }
    }

    fn argument(&self, name: &str) -> Option<Operand<'_>> {
        let mut arguments = self.events.arguments(self.record);
        let argument = arguments.find(|argument| argument.name_is(name))?;
        Some(match argument.value {
            ArgumentValue::Decimal(number) => Operand::Number(number.into()),
            ArgumentValue::Hex(number) | ArgumentValue::Pointer(number) => Operand::Number(number.into()),
            ArgumentValue::Decimal64(number) => Operand::Number(number.into()),
            ArgumentValue::Hex64(number) => Operand::Number(number.into()),
            ArgumentValue::Text(words) => Operand::Text(text_of_words(words).flatten().copied().collect()),
            ArgumentValue::Name(name) => Operand::Text(Cow::Owned(name.to_vec())),
        })
    }
}

impl Fields for RecordFields<'_, '_> {
    fn id(&self) -> EventId {
        EventId::Record(self.record.meant_class(), self.record.event)
    }

    fn subhook(&self) -> Option<u16> {
        None
    }

    fn cpu(&self) -> Option<u64> {
        Some(self.record.cpu.into())
    }

    fn value(&self, field: &EventField) -> Option<Operand<'_>> {
        let (class, event) = (self.record.meant_class(), self.record.event);
        let text = |text: String| Operand::Text(Cow::Owned(text.into_bytes()));
        let number = |number: u32| Operand::Number(number.into());
        match field {
            EventField::Class => {
                Some(text(EventId::class_name(class).map_or_else(|| class.to_string(), str::to_owned)))
            }
            EventField::Number => Some(number(event.into())),
            EventField::Cpu => Some(number(self.record.cpu.into())),
            EventField::Pid => self.owner().pid.map(number),
            EventField::Tid => self.owner().tid.map(number),
            EventField::Priority => self.owner().priority.map(|priority| number(priority.into())),
            EventField::Thread => {
                let Owner { pid, tid, .. } = self.owner();
                Some(text(format!("{}.{}", pid?, tid?)))
            }
            EventField::Call if class == classes::KER_CALL => {
                let label = self.events.label(class, event % CALLS);
                let name = label.map(|label| label.split('/').next().unwrap_or(label).to_owned());
                Some(text(name.unwrap_or_else(|| (event % CALLS).to_string())))
            }
            EventField::Vector if class == classes::INT && (1..=6).contains(&event) => {
                self.word(usize::from(matches!(event, 3 | 6))).map(number)
            }
            EventField::Argument(name) => self.argument(name),
            EventField::Word(at) => self.word(*at).map(number),
            EventField::Text | EventField::Data(_) => formatted(&self.format, field),
            _ => None,
        }
    }
}

/// Value of a field that needs the event's template.
fn formatted<'e>(format: &RefCell<&mut dyn FormattedEvent>, field: &EventField) -> Option<Operand<'e>> {
    let mut format = format.borrow_mut();
    let text = |text: String| Some(Operand::Text(Cow::Owned(text.into_bytes())));
    let EventField::Data(name) = field else { return Some(Operand::Text(Cow::Owned(format.text()))) };
    match format.field(name)? {
        FieldValue::Bool(bit) => Some(Operand::Number(bit.into())),
        FieldValue::Integer(number) => Some(Operand::Number(number)),
        FieldValue::Timestamp(seconds) => Some(Operand::Number(seconds.into())),
        FieldValue::Float(number) => text(number.to_string()),
        FieldValue::Text(value) => text(value),
        FieldValue::Missing | FieldValue::Bytes(_) | FieldValue::List(_) | FieldValue::Struct(_) => None,
    }
}

/// Appends a value to the encoded values of a key or group. Returns false if it is missing or too long.
pub fn encode(value: Option<Operand<'_>>, out: &mut Vec<u8>) -> bool {
    match value {
        Some(Operand::Number(number)) => {
            out.push(1);
            out.extend(number.to_be_bytes());
        }
        Some(Operand::Text(text)) if text.len() <= MAX_TEXT => {
            out.extend([2, text.len() as u8]);
            out.extend(&*text);
        }
        _ => {
            out.push(0);
            return false;
        }
    }
    true
}

/// Splits the first of some encoded values from the others.
pub fn split_first(values: &[u8]) -> (&[u8], &[u8]) {
    let len = match values {
        [1, ..] => 17,
        [2, len, ..] => 2 + usize::from(*len),
        _ => 1,
    };
    values.split_at_checked(len).unwrap_or((values, &[]))
}

/// Decodes an encoded value.
pub fn decode(value: &[u8]) -> crate::Value {
    match value {
        [1, number @ ..] => {
            number.first_chunk().map_or(crate::Value::Null, |n| crate::Value::Number(i128::from_be_bytes(*n)))
        }
        [2, _, text @ ..] => crate::Value::Text(String::from_utf8_lossy(text).into_owned()),
        _ => crate::Value::Null,
    }
}
