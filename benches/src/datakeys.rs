//! Benchmark load of QNX user events: event definitions, and records for them.
//!
//! | event | payload | prints |
//! | --- | --- | --- |
//! | value | a number with 8 value enums | `mydata:0x5 five` |
//! | masks | two numbers; mask enums, value enums | `ipicmd:0x300 1_bit_8 1_bit_9 ipicmd2:0x4 2_val_3` |
//! | bits | bitmasks in three datakeys | `command:0x7c argument:0xff status:0x2 ready` |
//! | state | a value enum and a number | `state:0x3 REQUEST_RENDER seq_id:41` |
//! | numbers | two signed numbers | `seq_id:41 latency:-3` |
//! | name | a number and a text | `pid:4098 name:devb-eide` |
//! | conditions | two datakeys of which one shows | `kind:0x1 unit:3 length:4096` |
//! | codes | 200 sparse value enums | `code:0x80010028 DMA_TIMEOUT` |
//! | octal | an octal number and a decimal one | `mode:0100644 uid:0` |
//! | address | a number of 8 bytes | `address:0xfe7f4a00` |
//! | message | numbers, masks and a text, 24 to 40 bytes | `channel:3 flags:0x9 READ URGENT address:0x8048000 text:open` |
//! | phases | value enums without their values | `phase:RUN next:SUSPEND level:-3` |

use tfbc_vm::{Event, RecordHeader};

use crate::{KevEvent, KevHead, KevWriter, Rng};

/// The class of user events.
pub const USER: u8 = 6;

/// Number of codes with a name.
pub(crate) const N_CODES: usize = 200;

/// First words of the codes' names.
pub(crate) const AREAS: [&str; 8] = ["BUS", "DMA", "IRQ", "PCI", "USB", "NET", "GFX", "AUDIO"];

/// Last words of the codes' names.
pub(crate) const FAULTS: [&str; 25] = [
    "OK", "TIMEOUT", "RESET", "STALL", "OVERRUN", "UNDERRUN", "PARITY", "CRC", "ABORT", "RETRY", "BUSY", "OFFLINE",
    "NO_MEM", "NO_DEV", "DENIED", "BAD_ARG", "BAD_SEQ", "FULL", "EMPTY", "LOCKED", "LOST", "DUP", "HALT", "POWER",
    "THERMAL",
];

/// Code with the name `AREAS[index % 8]_FAULTS[index / 8]`.
pub(crate) const fn code(index: usize) -> u32 {
    0x8000_0000 | ((index % 8) as u32) << 16 | ((index / 8) as u32 * 37 + 3)
}

/// Event definitions of the load.
pub fn definitions() -> String {
    let name = |index: usize| format!("{}_{}", AREAS[index % 8], FAULTS[index / 8]);
    let codes: Vec<String> =
        (0..N_CODES).map(|index| format!(r#"<enum value="{:#x}" string="{}" />"#, code(index), name(index))).collect();
    include_str!("datakeys.xml").replace("<!-- 200 codes -->", &codes.join("\n    "))
}

const NAMES: [&str; 8] =
    ["devb-eide", "io-pkt-v4-hc", "random", "Photon", "pipe", "io-usb", "control-loop", "procnto-smp-instr"];

const TEXTS: [&str; 8] =
    ["open", "close", "read 512 bytes", "frame 17 of 60", "retry", "no carrier", "buffer handed over to", "ok"];

/// Events of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum UserEvent {
    /// 8 dense value enums.
    Value = 111,
    /// Mask enums and value enums.
    Masks = 65,
    /// Bitmasks in three datakeys.
    Bits = 15,
    /// A value enum and a signed number.
    State = 100,
    /// Two signed numbers.
    Numbers = 101,
    /// A number and a text.
    Name = 120,
    /// Two datakeys with opposite conditions.
    Conditions = 130,
    /// 200 sparse value enums.
    Codes = 140,
    /// An octal number and a decimal one.
    Octal = 150,
    /// A number of 8 bytes.
    Address = 160,
    /// A combine of numbers, mask enums and a text.
    Message = 170,
    /// Value enums that replace their values.
    Phases = 180,
}

impl UserEvent {
    /// All events with their share of the mix in per cent, most frequent first.
    pub const SHARES: [(UserEvent, u32); 12] = [
        (UserEvent::Value, 15),
        (UserEvent::State, 15),
        (UserEvent::Masks, 10),
        (UserEvent::Bits, 10),
        (UserEvent::Numbers, 10),
        (UserEvent::Conditions, 8),
        (UserEvent::Codes, 8),
        (UserEvent::Name, 6),
        (UserEvent::Address, 5),
        (UserEvent::Phases, 5),
        (UserEvent::Octal, 4),
        (UserEvent::Message, 4),
    ];

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            UserEvent::Value => "value",
            UserEvent::Masks => "masks",
            UserEvent::Bits => "bits",
            UserEvent::State => "state",
            UserEvent::Numbers => "numbers",
            UserEvent::Name => "name",
            UserEvent::Conditions => "conditions",
            UserEvent::Codes => "codes",
            UserEvent::Octal => "octal",
            UserEvent::Address => "address",
            UserEvent::Message => "message",
            UserEvent::Phases => "phases",
        }
    }

    /// Event number in its class.
    pub const fn id(self) -> u16 {
        self as u16
    }

    fn any(rng: &mut Rng) -> UserEvent {
        let mut left = rng.below(100);
        for (event, share) in UserEvent::SHARES {
            if left < share {
                return event;
            }
            left -= share;
        }
        UserEvent::Value
    }

    /// Appends a payload, little-endian, padded to 8 bytes.
    fn payload(self, rng: &mut Rng, out: &mut Vec<u8>) {
        let mut words = |words: [u32; 2]| words.iter().for_each(|word| out.extend(word.to_le_bytes()));
        let text = |texts: &[&'static str; 8], rng: &mut Rng| texts[rng.below(8) as usize];
        match self {
            // One value in ten has no enum.
            UserEvent::Value => match rng.below(10) {
                0 => words([rng.next_u32(), 0]),
                _ => words([rng.below(8), 0]),
            },
            UserEvent::Masks => words([rng.next_u32() & 0x7ff | 1 << (16 + rng.below(4)), 0]),
            UserEvent::Bits => words([rng.next_u32() & 0xffff, rng.below(6) << 4 | rng.next_u32() & 0xf]),
            UserEvent::State => words([rng.below(8), sequence(rng)]),
            UserEvent::Numbers => words([sequence(rng), signed(rng)]),
            UserEvent::Name => {
                out.extend((4096 * rng.below(40) + rng.below(9)).to_le_bytes());
                push_text(out, text(&NAMES, rng));
            }
            UserEvent::Conditions => {
                let kind = rng.below(4);
                let second = if kind & 1 == 1 { rng.below(65536) } else { rng.below(120).wrapping_neg() };
                words([kind | rng.below(16) << 8, second]);
            }
            UserEvent::Codes => match rng.below(20) {
                0 => words([rng.next_u32(), 0]),
                _ => words([code(rng.below(N_CODES as u32) as usize), 0]),
            },
            UserEvent::Octal => words([[0o100644, 0o040755, 0o010600, 0][rng.below(4) as usize], rng.below(1000)]),
            UserEvent::Address => {
                let bits = 64 - rng.below(40);
                out.extend((rng.next_u64() >> (64 - bits)).to_le_bytes());
            }
            UserEvent::Message => {
                words([rng.below(64), rng.next_u32() & rng.next_u32() & 0x3f]);
                out.extend((rng.next_u64() >> 28 & !7).to_le_bytes());
                push_text(out, text(&TEXTS, rng));
            }
            UserEvent::Phases => words([rng.below(6) | rng.below(6) << 8 | (rng.below(200) << 16).wrapping_neg(), 0]),
        }
        out.resize(out.len().next_multiple_of(8), 0);
    }
}

/// Sequence number, which becomes long.
fn sequence(rng: &mut Rng) -> u32 {
    let bits = 31 - rng.below(24);
    rng.next_u32() >> (32 - bits)
}

/// Small signed number.
fn signed(rng: &mut Rng) -> u32 {
    rng.below(4000).wrapping_sub(1000)
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.as_bytes());
    out.push(0);
}

/// Records in memory, as the machine sees them.
///
/// ```
/// use tfbc_benches::{RecordLoad, UserEvent};
///
/// let load = RecordLoad::new(Some(UserEvent::Value), 50);
/// assert_eq!(load.events().count(), 50);
/// assert!(load.events().all(|event| event.bytes.len() == 8 && !event.wide));
/// ```
#[derive(Debug, Clone)]
pub struct RecordLoad {
    /// Payloads, one after the other.
    bytes: Vec<u8>,
    /// End and event number per payload.
    records: Vec<(usize, u16)>,
}

impl RecordLoad {
    /// Creates a load of `n_events`, the same on every machine: of one event, or a mix of all ([`UserEvent::SHARES`]).
    pub fn new(only: Option<UserEvent>, n_events: usize) -> Self {
        let mut rng = Rng::new(0x9E37_79B9_7F4A_7C15);
        let mut load = RecordLoad { bytes: Vec::new(), records: Vec::new() };
        for _ in 0..n_events {
            let event = only.unwrap_or_else(|| UserEvent::any(&mut rng));
            let start = load.bytes.len();
            event.payload(&mut rng, &mut load.bytes);
            debug_assert_eq!((load.bytes.len() - start) % 8, 0, "payloads are slots' words");
            load.records.push((load.bytes.len(), event.id()));
        }
        load
    }

    /// Records in order: class [`USER`], little-endian, wide if the payload is longer than a slot's.
    pub fn events(&self) -> impl Iterator<Item = Event<'_>> + Clone {
        let mut start = 0;
        self.records.iter().map(move |&(end, event)| {
            let bytes = &self.bytes[start..end];
            let offset = start as u64;
            start = end;
            let record = Some(RecordHeader { event, big_endian: false });
            Event { bytes, wide: bytes.len() > 8, record, time_ns: 0, offset }
        })
    }
}

/// Log of one CPU with only the mix of user events, 10 us apart: its header, then the slots.
pub fn user_log(n_events: u64) -> impl Iterator<Item = Vec<u8>> {
    let writer = KevWriter { big_endian: false };
    let head = KevHead { writer, cycles_per_sec: 100_000_000, n_cpus: 1, one_clock: true };
    let mut rng = Rng::new(1);
    let slots = (0..n_events).map(move |at| {
        let (event, mut payload) = (UserEvent::any(&mut rng), Vec::new());
        event.payload(&mut rng, &mut payload);
        let stamp = (at * 1000) as u32;
        writer.slots(&KevEvent { cpu: 0, class: USER, event: event.id(), stamp, payload }).concat()
    });
    std::iter::once(head.to_bytes()).chain(slots)
}
