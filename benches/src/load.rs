//! Benchmark load: four shapes of event, as trcfmt templates and as 64-bit AIX events.
//!
//! | shape | data | prints |
//! | --- | --- | --- |
//! | disk read | three words | `DISK READ dev=00000012 blk=0001F4A0 cnt=00000800` |
//! | ioctl | flags, operation, value | `IOCTL flags=READ BUSY op=TIOCGWINSZ val=77` |
//! | wakeup | pid, priority, name in two words | `WAKEUP comm=syncd pid=4711 prio=60` |
//! | dump | generic: length and that many bytes | `DUMP len=64 data= 0A 1B … FF` |
//!
//! Template `i` has shape `i mod 4`; ids start at 100.

use tfbc_vm::Event;

use crate::{EventWriter, Header, Rng, Stamp, TimeBase, TraceHook, Width};

/// Maximum number of templates: ids 100 to FFF, and the same number with four digits.
pub const MAX_TEMPLATES: usize = 2 * IDS_OF_THREE_DIGITS;
const IDS_OF_THREE_DIGITS: usize = 0x1000 - 0x100;

/// Flag names of an ioctl event, from bit 0.
pub const FLAGS: [&str; 8] = ["READ", "WRITE", "ASYNC", "PHYS", "DIRTY", "BUSY", "ERROR", "DONE"];

/// Operation names of an ioctl event, from 0.
pub const OPERATIONS: [&str; 16] = [
    "TCGETS",
    "TCSETS",
    "FIONREAD",
    "FIONBIO",
    "TIOCSTI",
    "TIOCGWINSZ",
    "SIOCGIFADDR",
    "SIOCSIFADDR",
    "BLKGETSIZE",
    "BLKFLSBUF",
    "HDIO_GETGEO",
    "CDROMEJECT",
    "FDFLUSH",
    "MTIOCTOP",
    "VT_OPENQRY",
    "KDSETLED",
];

const COMMANDS: [&str; 12] = [
    "init",
    "syncd",
    "errdemon",
    "srcmstr",
    "portmap",
    "inetd",
    "biod",
    "rpc.statd",
    "automountd",
    "hostmibd",
    "clstrmgrES_prc",
    "ksh",
];

/// Shape of an event's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Three fixed hex fields.
    DiskRead,
    /// Flags, a switch and a decimal number.
    Ioctl,
    /// A text and two decimal numbers.
    Wakeup,
    /// A hex dump of 64 bytes.
    Dump,
}

impl Shape {
    /// All shapes, in the order of the templates.
    pub const ALL: [Shape; 4] = [Shape::DiskRead, Shape::Ioctl, Shape::Wakeup, Shape::Dump];

    /// Shape of a hook of the load.
    pub fn of_id(id: u16) -> Shape {
        Shape::ALL[usize::from(id >> 4 & 3)]
    }

    fn hook(self, id: u16, rng: &mut Rng) -> TraceHook {
        let mut word = |bits: u32| u64::from(rng.next_u32() >> (32 - bits));
        match self {
            Shape::DiskRead => TraceHook::words(id, 0, &[word(32), word(24), word(16)]),
            // The empty string is the last flag's false text. Without it, `op=` would be.
            Shape::Ioctl => {
                let flags = word(8) & word(8);
                let magnitude = 32 - rng.below(24);
                let value = u64::from(rng.next_u32() >> (32 - magnitude));
                TraceHook::words(id, 0, &[flags, u64::from(rng.below(16)), value])
            }
            Shape::Wakeup => {
                let mut name = [0; 16];
                let command = COMMANDS[rng.below(COMMANDS.len() as u32) as usize].as_bytes();
                name[..command.len()].copy_from_slice(command);
                let name = u128::from_be_bytes(name);
                let (pid, priority) = (1 + rng.below(65535), rng.below(140));
                TraceHook::words(id, 0, &[pid.into(), priority.into(), (name >> 64) as u64, name as u64])
            }
            Shape::Dump => {
                let bytes: Vec<u8> = (0..8).flat_map(|_| rng.next_u64().to_be_bytes()).collect();
                TraceHook::generic(id, 0, 64, &bytes)
            }
        }
    }

    fn descriptor(self) -> String {
        let list = |entries: Vec<String>| entries.join(", ");
        match self {
            Shape::DiskRead => r#""DISK READ" "dev=" G12 X4 "blk=" O4 X4 "cnt=" O4 X4"#.to_owned(),
            // The empty string is the last flag's false text. Without it, `op=` would be.
            Shape::Ioctl => {
                let flags =
                    list(FLAGS.iter().enumerate().map(|(i, name)| format!("{:02X} \"{name} \"", 1 << i)).collect());
                let cases = list(OPERATIONS.iter().enumerate().map(|(i, name)| format!("{i} \"{name}\"")).collect());
                format!(r#""IOCTL" "flags=" BITFLAGS $D1, {flags} "" "op=" $D2%UW, {cases} " val=" $D3%U4"#)
            }
            Shape::Wakeup => r#""WAKEUP" "comm=" G24 A16 " pid=" $D1%U4 "prio=" $D2%U4"#.to_owned(),
            Shape::Dump => r#""DUMP" "len=" $D1%U4 "data= " W2 LOOP $HL { X1 }"#.to_owned(),
        }
    }
}

/// Hook id of template `index`.
///
/// # Panics
/// If the index is [`MAX_TEMPLATES`] or more.
pub fn template_id(index: usize) -> u16 {
    assert!(index < MAX_TEMPLATES, "there are {MAX_TEMPLATES} ids, not {index}");
    let (column, last_digit) = (index % IDS_OF_THREE_DIGITS, index / IDS_OF_THREE_DIGITS);
    0x1000 + (column as u16) * 16 + last_digit as u16
}

/// Format file with this many templates, one per line.
pub fn templates(n_templates: usize) -> String {
    let stanza = |index: usize| {
        let id = template_id(index);
        let id = if id & 15 == 0 { format!("{:03X}", id >> 4) } else { format!("{id:04X}") };
        format!("{id} 1.0 L=KERN {}\n", Shape::ALL[index % 4].descriptor())
    };
    (0..n_templates).map(stanza).collect()
}

/// Choice of events in a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// One template of one shape.
    Only(Shape),
    /// 40 % disk reads, 30 % ioctls, 25 % wakeups and 5 % dumps, over this many templates with uneven frequencies.
    Mix(usize),
}

impl Pick {
    /// Number of templates that the load's format file needs.
    pub fn n_templates(self) -> usize {
        match self {
            Pick::Only(_) => 4,
            Pick::Mix(n_templates) => n_templates,
        }
    }

    fn template(self, rng: &mut Rng) -> usize {
        match self {
            Pick::Only(shape) => shape as usize,
            Pick::Mix(n_templates) => {
                let shape = match rng.below(100) {
                    0..40 => Shape::DiskRead,
                    40..70 => Shape::Ioctl,
                    70..95 => Shape::Wakeup,
                    _ => Shape::Dump,
                };
                let clones = (n_templates / 4).max(1) as u32;
                let clone = u64::from(rng.below(clones)) * u64::from(rng.below(clones)) / u64::from(clones);
                clone as usize * 4 + shape as usize
            }
        }
    }
}

/// Endless hooks of a load, with their times in ns.
fn hooks(pick: Pick, seed: u64) -> impl Iterator<Item = (TraceHook, u64)> {
    let mut rng = Rng::new(seed);
    let mut time_ns = 1_000_000;
    std::iter::repeat_with(move || {
        let id = template_id(pick.template(&mut rng));
        time_ns += 100 + u64::from(rng.below(20_000));
        (Shape::of_id(id).hook(id, &mut rng), time_ns)
    })
}

/// Trace of a load on a 64-bit kernel: the header, then buffers of complete stamped events.
pub fn mix_buffers(pick: Pick, n_events: usize, seed: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut hooks = hooks(pick, seed).take(n_events).peekable();
    let events = std::iter::from_fn(move || {
        hooks.peek()?;
        let mut writer = EventWriter::new(Width::W64);
        while writer.events().len() < BUFFER_BYTES
            && let Some((hook, time_ns)) = hooks.next()
        {
            writer.put(&hook, &Stamp::at(1000 + time_ns % 4000, time_ns));
        }
        Some(writer.take())
    });
    std::iter::once(header()).chain(events)
}

const BUFFER_BYTES: usize = 256 << 10;

fn header() -> Vec<u8> {
    let header = Header {
        start: 941_117_645, // Thu Oct 28 13:34:05 1999
        utsname: ["AIX", "lantern", "2", "7", "00C0FFEE4C00"],
        command: "trace -a -o mix.trc",
        time_base: TimeBase { multiplier: 1, divisor: 1 },
        ip_address: [192, 0, 2, 17],
        cpus: 1,
        processes: &[],
    };
    let mut writer = EventWriter::new(Width::W64);
    header.write(1, 0, Width::W64, &mut writer);
    writer.put(&TraceHook::words(0x0010, 0, &[0]), &Stamp::at(1, 0));
    writer.take()
}

/// Events in memory, as the machine sees them.
///
/// ```
/// use tfbc_benches::{Load, Pick};
///
/// let load = Load::new(Pick::Mix(200), 50);
/// assert_eq!(load.events().count(), 50);
/// assert!(load.events().all(|event| event.wide));
/// ```
#[derive(Debug, Clone)]
pub struct Load {
    /// Events, one after the other.
    bytes: Vec<u8>,
    /// End and time in ns per event.
    events: Vec<(usize, u64)>,
}

impl Load {
    /// Creates a load of `n_events`, the same on every machine.
    pub fn new(pick: Pick, n_events: usize) -> Self {
        let mut load = Load { bytes: Vec::new(), events: Vec::new() };
        for (hook, time_ns) in hooks(pick, 0x9E37_79B9_7F4A_7C15).take(n_events) {
            load.bytes.extend(hook.template_bytes(true));
            load.events.push((load.bytes.len(), time_ns));
        }
        load
    }

    /// Bytes of all events.
    pub fn len_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Events, in order.
    pub fn events(&self) -> impl Iterator<Item = Event<'_>> + Clone {
        let mut start = 0;
        self.events.iter().map(move |&(end, time_ns)| {
            let bytes = &self.bytes[start..end];
            let offset = start as u64;
            start = end;
            Event { bytes, wide: true, record: None, time_ns, offset }
        })
    }
}
