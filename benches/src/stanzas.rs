//! Hooks of a realistic kernel trace: forty ids, their words, and the format file that prints them.
//!
//! Rank `r` has weight 1/r, as in Zipf's law; the five most frequent hooks are 53 % of all events. Hooks from
//! `docs/hooks.md` have the words described there, so that the context table and the built-in format file understand
//! them. The others are invented.

use crate::Rng;

/// Content of a data word, and the way it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordContent {
    /// Kernel address: 16 hex digits.
    Address,
    /// Any 32 bits: 8 hex digits.
    Hex,
    /// Decimal number of any magnitude below 2^32.
    Count,
    /// Decimal number below 140.
    Small,
    /// Signed decimal number.
    Signed,
    /// Eight named flags, each set one time in four.
    Flags,
    /// One of eight names.
    Choice(&'static [&'static str; 8]),
    /// Error number; zero, and not printed, 15 times in 16.
    Error,
    /// First half of a 16-byte text; [`WordContent::TextEnd`] follows.
    Text,
    /// The second half.
    TextEnd,
    /// Process id of the running thread.
    Pid,
    /// Its thread id.
    Tid,
    /// Thread id of the thread that ran before.
    OldTid,
}

/// One hook: its id of three hex digits, its level, its words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stanza {
    pub id: u16,
    pub level: &'static str,
    pub label: &'static str,
    pub words: &'static [(&'static str, WordContent)],
}

use WordContent::{Address, Choice, Count, Error, Flags, Hex, OldTid, Pid, Signed, Small, Text, TextEnd, Tid};

/// Stanzas by frequency, most frequent first.
pub(crate) const STANZAS: [Stanza; 40] = [
    hook(0x101, "SVC", "SYSTEM CALL", &[("addr", Address), ("lr", Address), ("arg", Hex)]),
    hook(0x104, "SVC", "SYSTEM CALL RETURN", &[("rc", Signed), ("error", Error)]),
    hook(
        0x106,
        "KERN",
        "DISPATCH",
        &[("pid", Pid), ("tid", Tid), ("priority", Small), ("old_tid", OldTid), ("old_priority", Small)],
    ),
    hook(0x100, "INT", "FLIH", &[("kind", Choice(&INTERRUPTS)), ("iar", Address)]),
    hook(0x200, "INT", "RESUME", &[("iar", Address)]),
    hook(0x102, "INT", "SLIH", &[("handler", Address), ("level", Small), ("source", Hex)]),
    hook(0x234, "KERN", "CLOCK", &[("iar", Address), ("lr", Address), ("ticks", Count)]),
    hook(0x112, "KERN", "LOCK", &[("addr", Address), ("mode", Choice(&LOCKS)), ("tid", Tid), ("from", Address)]),
    hook(0x113, "KERN", "UNLOCK", &[("addr", Address), ("tid", Tid), ("from", Address)]),
    hook(0x11F, "KERN", "SETRQ", &[("tid", Tid), ("priority", Small), ("queue", Small)]),
    hook(
        0x1B0,
        "KERN",
        "VMM ASSIGN",
        &[("vsid", Hex), ("page", Hex), ("flags", Flags), ("frame", Hex), ("seg", Address)],
    ),
    hook(0x1B2, "KERN", "VMM PAGE IN", &[("vsid", Hex), ("page", Hex), ("flags", Flags)]),
    hook(0x163, "KERN", "READ", &[("fd", Small), ("buf", Address), ("offset", Count), ("count", Count)]),
    hook(0x19C, "KERN", "WRITE", &[("fd", Small), ("buf", Address), ("count", Count)]),
    hook(0x15B, "KERN", "OPEN", &[("fd", Small), ("flags", Flags), ("mode", Hex)]),
    hook(0x10B, "KERN", "LVM", &[("bp", Address), ("op", Choice(&TRANSFERS)), ("block", Hex)]),
    hook(0x221, "KERN", "DISK", &[("op", Choice(&TRANSFERS)), ("device", Hex), ("block", Hex), ("length", Count)]),
    hook(0x222, "KERN", "DISK DONE", &[("bp", Address), ("length", Count), ("error", Error)]),
    hook(0x254, "KERN", "MBUF", &[("addr", Address), ("length", Count), ("kind", Choice(&BUFFERS))]),
    hook(0x255, "KERN", "IF OUTPUT", &[("ifp", Address), ("mbuf", Address), ("length", Count)]),
    hook(0x256, "KERN", "IF INPUT", &[("ifp", Address), ("mbuf", Address), ("length", Count)]),
    hook(0x252, "KERN", "SOCKET", &[("op", Choice(&SOCKETS)), ("so", Address), ("error", Error)]),
    hook(0x119, "KERN", "SIGNAL", &[("pid", Pid), ("signal", Small), ("flags", Flags)]),
    hook(0x465, "KERN", "THREAD CREATE", &[("pid", Pid), ("tid", Tid), ("priority", Small)]),
    hook(0x139, "KERN", "FORK", &[("pid", Pid), ("tid", Tid), ("flags", Flags)]),
    hook(0x220, "KERN", "BUFFER", &[("bp", Address), ("flags", Flags), ("count", Count)]),
    hook(0x419, "KERN", "PREEMPT", &[("cpu", Small), ("tid", Tid), ("old_tid", OldTid)]),
    hook(0x2DA, "KERN", "COMMAND", &[("pid", Pid), ("tid", Tid), ("comm", Text), ("", TextEnd)]),
    hook(0x212, "KERN", "QUEUE", &[("head", Address), ("count", Count), ("kind", Choice(&BUFFERS))]),
    hook(0x215, "KERN", "NFS CALL", &[("op", Choice(&SOCKETS)), ("xid", Hex), ("vnode", Address)]),
    hook(0x216, "KERN", "NFS REPLY", &[("xid", Hex), ("delay", Count), ("error", Error)]),
    hook(0x38D, "KERN", "ASYNC IO", &[("fd", Small), ("count", Count), ("flags", Flags)]),
    hook(0x3AC, "KERN", "JFS2 LOG", &[("lsn", Hex), ("page", Hex), ("device", Hex)]),
    hook(0x59B, "KERN", "JFS2 INODE", &[("inode", Count), ("generation", Hex), ("flags", Flags)]),
    hook(0x492, "KERN", "HYPERVISOR", &[("call", Hex), ("ticks", Count), ("rc", Signed)]),
    hook(0x1F0, "APPL", "SET TIMER", &[("timer", Address), ("seconds", Count), ("ns", Count)]),
    hook(0x1F1, "APPL", "TIMER", &[("timer", Address), ("late", Signed), ("tid", Tid)]),
    hook(0x05A, "APPL", "REQUEST", &[("number", Count), ("stage", Choice(&SOCKETS)), ("size", Count)]),
    hook(0x05B, "APPL", "REPLY", &[("number", Count), ("error", Error), ("size", Count)]),
    hook(0x0A5, "APPL", "CACHE", &[("key", Hex), ("op", Choice(&TRANSFERS)), ("hits", Count)]),
];

const INTERRUPTS: [&str; 8] = [
    "MACHINE CHECK",
    "DATA ACCESS PAGE FAULT",
    "INSTRUCTION PAGE FAULT",
    "I/O INTERRUPT",
    "ALIGNMENT",
    "PROGRAM CHECK",
    "FLOATING POINT UNAVAILABLE",
    "DECREMENTER INTERRUPT",
];
const LOCKS: [&str; 8] = ["free", "shared", "exclusive", "upgrade", "spin", "sleep", "recursive", "tracked"];
const TRANSFERS: [&str; 8] = ["read", "write", "verify", "flush", "discard", "start", "done", "retry"];
const BUFFERS: [&str; 8] = ["DATA", "HEADER", "SOCKET", "PCB", "RTABLE", "HTABLE", "ATABLE", "SONAME"];
const SOCKETS: [&str; 8] = ["create", "bind", "listen", "accept", "connect", "send", "receive", "close"];
const FLAGS: [&str; 8] = ["read ", "write ", "async ", "dirty ", "busy ", "pinned ", "error ", "done "];
const COMMANDS: [&[u8; 16]; 8] = [
    b"init\0\0\0\0\0\0\0\0\0\0\0\0",
    b"syncd\0\0\0\0\0\0\0\0\0\0\0",
    b"errdemon\0\0\0\0\0\0\0\0",
    b"rpc.statd\0\0\0\0\0\0\0",
    b"automountd\0\0\0\0\0\0",
    b"clstrmgrES_prc\0\0",
    b"ksh\0\0\0\0\0\0\0\0\0\0\0\0\0",
    b"db2sysc\0\0\0\0\0\0\0\0\0",
];

const fn hook(
    id: u16,
    level: &'static str,
    label: &'static str,
    words: &'static [(&'static str, WordContent)],
) -> Stanza {
    Stanza { id, level, label, words }
}

/// Thread that runs when an event is traced.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadOnCpu {
    pub pid: u64,
    pub tid: u64,
    pub old_tid: u64,
}

impl WordContent {
    /// Random value of a word.
    #[inline]
    pub fn value(self, running: &ThreadOnCpu, rng: &mut Rng) -> u64 {
        match self {
            Address => 0xF100_0A00_0000_0000 | u64::from(rng.next_u32()) << 3,
            Hex => rng.next_u32().into(),
            Count => {
                let random = rng.next_u64();
                random >> 32 >> (random & 31)
            }
            Small => rng.below(140).into(),
            Signed => {
                let random = rng.next_u64() as i64;
                (random >> 32 >> (random & 31)) as u64
            }
            Flags => rng.next_u64() & rng.next_u64() & 255,
            Choice(_) => 1 + u64::from(rng.below(8)),
            Error => {
                let random = rng.next_u32();
                if random & 15 == 0 { u64::from(1 + (random >> 16) % 80) } else { 0 }
            }
            Text => half(rng.clone().below(8), 0),
            TextEnd => half(rng.below(8), 1),
            Pid => running.pid,
            Tid => running.tid,
            OldTid => running.old_tid,
        }
    }

    /// Descriptor of word `n` of the hook, from 1.
    fn descriptor(self, name: &str, n: usize) -> String {
        let entries = |names: &[&str; 8], key: fn(usize) -> String| -> String {
            names.iter().enumerate().map(|(i, name)| format!(", {} \"{name}\"", key(i))).collect()
        };
        match self {
            Address => format!("\"{name}=\" $D{n}%X8"),
            Hex => format!("\"{name}=\" $D{n}%X4"),
            Count | Small | Pid | Tid | OldTid => format!("\"{name}=\" $D{n}%UW"),
            Signed => format!("\"{name}=\" $D{n}%DW"),
            // The empty string is the last flag's false text. Without it, the next text would be.
            Flags => format!("\"{name}=\" BITFLAGS $D{n}{} \"\"", entries(&FLAGS, |bit| format!("{:02X}", 1 << bit))),
            Choice(names) => {
                format!("\"{name}=\" $D{n}%UW{}, \\* {{ $D{n}%UW }} \" \"", entries(names, |i| (i + 1).to_string()))
            }
            Error => format!("$D{n}, 0 \"\", \\* {{ \"{name}=\" $D{n}%EW }}"),
            Text => format!("\"{name}=\" W{n} A16"),
            TextEnd => String::new(),
        }
    }
}

/// Half of a command's name.
fn half(command: u32, half: usize) -> u64 {
    let name = COMMANDS[command as usize % COMMANDS.len()];
    u64::from_be_bytes(name.as_chunks::<8>().0[half])
}

/// Format file of the forty hooks.
pub(crate) fn format_file() -> String {
    STANZAS.iter().map(Stanza::text).collect()
}

impl Stanza {
    fn text(&self) -> String {
        let descriptors: String = (1..)
            .zip(self.words)
            .filter(|(_, (_, field))| *field != TextEnd)
            .map(|(n, (name, field))| format!(" \\\n    {}", field.descriptor(name, n)))
            .collect();
        format!("{:03X} 1.0 L={} \"{}\"{descriptors}\n\n", self.id, self.level, self.label)
    }

    /// True if the subhook is the CPU number.
    pub fn tells_cpu(&self) -> bool {
        matches!(self.id, 0x100 | 0x102 | 0x106 | 0x200)
    }
}

/// Table of 65536 entries, divided by weight, that chooses the next stanza.
#[derive(Debug, Clone)]
pub(crate) struct Ranks(Vec<u8>);

impl Ranks {
    pub fn new() -> Self {
        // Integer weights make the sums exact, so the table is the same on every machine.
        const ONE: u64 = 1 << 40;
        let total: u64 = (1..=STANZAS.len() as u64).map(|rank| ONE / rank).sum();
        let mut places = vec![0; 1 << 16];
        let (mut sum, mut from) = (0, 0);
        for rank in 0..STANZAS.len() {
            sum += ONE / (rank as u64 + 1);
            let to = ((sum << 16) / total) as usize;
            places[from..to].fill(rank as u8);
            from = to;
        }
        Self(places)
    }

    #[inline]
    pub fn next(&self, rng: &mut Rng) -> &'static Stanza {
        &STANZAS[usize::from(self.0[usize::from(rng.next_u32() as u16)])]
    }
}
