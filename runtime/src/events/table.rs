//! Tables of the default layout: a label per event, and the arguments of its records.

use std::sync::OnceLock;
use tfbc_vm::Space;

/// Number of event ids: 32 classes of 1024 events.
pub(crate) const N_IDS: usize = 32 << 10;

/// QNX releases that have their own table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    Qnx6_4,
    Qnx7_1,
    Qnx8_0,
}

/// An event, or a range of events with one label, in one release.
#[derive(Debug)]
pub(crate) struct Row {
    pub class: u8,
    /// First event number.
    pub first: u16,
    /// Last event number, inclusive.
    pub last: u16,
    pub label: &'static str,
    pub class_text: &'static str,
    pub form: ArgLayout,
    pub lists: Lists,
}

/// Format of an event's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgLayout {
    Listed,
    /// Each argument on its own line, even for short records.
    OwnLines,
    /// State change of a thread.
    State,
    /// Exit of a kernel call, which may have failed.
    Exit,
    /// Interrupted kernel call, which has no arguments.
    Interrupted,
    Interrupt,
    Buffer,
    User,
}

/// Argument lists of an event.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lists {
    /// One list for records of up to two words, another for longer ones.
    ByLength { short: Args, long: Args },
    /// Lists of kernel calls with 64-bit values.
    With64 {
        fast: Args,
        wide: Args,
        /// List for records of two words, which have room for 32-bit values only.
        fast_32: Args,
    },
    /// Documented start of a list whose rest is unknown.
    Prefix(&'static [ListArg]),
}

pub(crate) type Args = Option<&'static [ListArg]>;

/// An argument of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListArg {
    pub name: &'static str,
    pub letter: ArgType,
    pub show: ArgStyle,
}

/// Type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgType {
    Decimal,
    Hex,
    Pointer,
    Decimal64,
    Hex64,
    /// Text of at most this many words.
    Text(u8),
    /// Text up to a NUL or the end of the data.
    Name,
    /// Sequence number of a buffer: the low 11 bits, in decimal.
    Sequence,
}

/// Format of an argument in traceprinter's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgStyle {
    /// ` name:value`.
    Named,
    /// Not printed, because the event text contains it.
    Hidden,
    /// Decimal number after a text.
    Decimal(&'static str),
    /// Decimal number between two texts.
    Between(&'static str, &'static str),
    /// Hexadecimal number after a text, with leading zeros.
    Hex(&'static str),
    /// ` name:"text"`.
    Quoted,
    /// Start of a sigevent, which spans several arguments.
    Sigevent,
}

impl ListArg {
    pub(crate) const fn new(name: &'static str, letter: ArgType) -> Self {
        ListArg { name, letter, show: ArgStyle::Named }
    }

    const fn shown(name: &'static str, letter: ArgType, show: ArgStyle) -> Self {
        ListArg { name, letter, show }
    }

    /// Size of the argument in words. A name has at least one.
    pub const fn n_words(&self) -> usize {
        match self.letter {
            ArgType::Decimal64 | ArgType::Hex64 => 2,
            ArgType::Text(n) => n as usize,
            _ => 1,
        }
    }
}

/// Return value and errno of a failed kernel call.
pub(crate) static FAILED: [ListArg; 2] = [
    ListArg::shown("ret_val", ArgType::Decimal, ArgStyle::Decimal(" ret_val:")),
    ListArg::shown("errno", ArgType::Decimal, ArgStyle::Decimal(", errno:")),
];

pub(crate) static BUFFER: [ListArg; 2] = [
    ListArg::shown("sequence", ArgType::Sequence, ArgStyle::Decimal(" sequence = ")),
    ListArg::shown("num_events", ArgType::Decimal, ArgStyle::Decimal(", num_events = ")),
];

pub(crate) static USER: [ListArg; 2] = [ListArg::new("d0", ArgType::Hex), ListArg::new("d1", ArgType::Hex)];

pub(crate) static USER_TEXT: [ListArg; 1] = [ListArg::shown("STR", ArgType::Name, ArgStyle::Quoted)];

/// State of a thread, in the format of traceprinter 1.02.
pub(crate) static STATE: [ListArg; 6] = [
    ListArg::new("pid", ArgType::Decimal),
    ListArg::shown("tid", ArgType::Decimal, ArgStyle::Between(" tid:", " ")),
    ListArg::shown("priority", ArgType::Decimal, ArgStyle::Decimal("priority:")),
    ListArg::new("policy", ArgType::Decimal),
    ListArg::new("partition", ArgType::Decimal),
    ListArg::new("sched_flags", ArgType::Hex),
];

/// Thread state that only QNX 8.0 has.
pub(crate) static NEW_STATE: [ListArg; 6] = [
    ListArg::new("pid", ArgType::Decimal),
    ListArg::new("tid", ArgType::Decimal),
    ListArg::new("priority", ArgType::Decimal),
    ListArg::new("policy", ArgType::Decimal),
    ListArg::new("partition", ArgType::Decimal),
    ListArg::new("sched_flags", ArgType::Hex),
];

const INTERRUPT: ListArg = ListArg::shown("interrupt_number", ArgType::Hex, ArgStyle::Hidden);
const PID: ListArg = ListArg::shown("pid", ArgType::Decimal, ArgStyle::Decimal("       PID:"));

/// Arguments of the interrupt records 1 to 6.
pub(crate) static INTERRUPTS: [&[ListArg]; 6] = [
    &[INTERRUPT, ListArg::shown("ip", ArgType::Hex, ArgStyle::Hex("       IP:0x"))],
    &[INTERRUPT, ListArg::shown("kernel_flag", ArgType::Hex, ArgStyle::Hex(" inkernel:0x"))],
    &[
        PID,
        INTERRUPT,
        ListArg::shown("ip", ArgType::Pointer, ArgStyle::Hex(" IP:0x")),
        ListArg::shown("area", ArgType::Pointer, ArgStyle::Hex(" AREA:0x")),
    ],
    &[
        INTERRUPT,
        ListArg::shown("sigev_notify", ArgType::Hex, ArgStyle::Sigevent),
        ListArg::shown("sigev_signo_coid_func", ArgType::Hex, ArgStyle::Hidden),
        ListArg::shown("sigev_value", ArgType::Hex, ArgStyle::Hidden),
        ListArg::shown("sigev_code_priority", ArgType::Hex, ArgStyle::Hidden),
    ],
    &[
        INTERRUPT,
        ListArg::shown("empty", ArgType::Hex, ArgStyle::Hidden),
        ListArg::shown("ip", ArgType::Hex64, ArgStyle::Hex("       IP:0x")),
    ],
    &[
        PID,
        INTERRUPT,
        ListArg::shown("ip", ArgType::Hex64, ArgStyle::Hex(" IP:0x")),
        ListArg::shown("area", ArgType::Hex64, ArgStyle::Hex(" AREA:0x")),
    ],
];

static EVENTS_6_4: &[Row] = include!("../../built_in/events_6_4.rs");
static EVENTS_7_1: &[Row] = include!("../../built_in/events_7_1.rs");
static EVENTS_8_0: &[Row] = include!("../../built_in/events_8_0.rs");

/// Names of all arguments in all releases, each several times.
pub(crate) fn argument_names() -> impl Iterator<Item = &'static str> {
    let fixed: [&'static [ListArg]; 6] = [&FAILED, &BUFFER, &USER, &USER_TEXT, &STATE, &NEW_STATE];
    let rows = [EVENTS_6_4, EVENTS_7_1, EVENTS_8_0].into_iter().flatten();
    let listed = rows.flat_map(|row| match row.lists {
        Lists::ByLength { short, long } => [short, long, None],
        Lists::With64 { fast, wide, fast_32 } => [fast, wide, fast_32],
        Lists::Prefix(list) => [Some(list), None, None],
    });
    fixed.into_iter().chain(INTERRUPTS).chain(listed.flatten()).flatten().map(|arg| arg.name)
}

/// Rows of a release, looked up by class and event.
#[derive(Debug)]
pub(crate) struct Table {
    rows: &'static [Row],
    /// Index of the row per event; [`NONE`] if it has none.
    indices: Box<[u16; N_IDS]>,
}

const NONE: u16 = u16::MAX;

impl Table {
    pub fn of(release: Release) -> &'static Table {
        static TABLES: [OnceLock<Table>; 3] = [const { OnceLock::new() }; 3];
        let (rows, table) = match release {
            Release::Qnx6_4 => (EVENTS_6_4, &TABLES[0]),
            Release::Qnx7_1 => (EVENTS_7_1, &TABLES[1]),
            Release::Qnx8_0 => (EVENTS_8_0, &TABLES[2]),
        };
        table.get_or_init(|| {
            let mut indices = Box::new([NONE; N_IDS]);
            for (index, row) in rows.iter().enumerate() {
                for event in row.first..=row.last {
                    indices[usize::from(Space::record_id(row.class, event)) % N_IDS] = index as u16;
                }
            }
            Table { rows, indices }
        })
    }

    #[inline(always)]
    pub fn row(&self, class: u8, event: u16) -> Option<&'static Row> {
        let id = usize::from(Space::record_id(class, event));
        self.rows.get(usize::from(self.indices[id % N_IDS]))
    }
}
