//! The rows of QNX's event table, as the build script writes them, and what they say of a log's release.

/// The QNX release whose rows a log takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Release {
    /// 6.4, and everything that is not known to be newer.
    Qnx6_4,
    /// 7.1, for every 7.
    Qnx7_1,
    /// 8.0 and later.
    Qnx8_0,
}

/// A class as records number it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Class {
    pub number: u8,
    pub name: &'static str,
}

/// How an argument is printed, and how many words it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Letter {
    /// `D`: signed decimal.
    Decimal,
    /// `H`: `0x` and 8 hex digits.
    Hex,
    /// `P`: hex without leading zeros.
    Pointer,
    /// `E`: signed decimal of two words.
    Decimal64,
    /// `X`: `0x` and hex of two words.
    Hex64,
    /// `S`: the first word of a text.
    Text,
    /// `s`: a further word of it.
    MoreText,
    /// `N`: text to a NUL or the end of the data.
    Name,
}

impl Letter {
    /// Words of a record that an argument takes; a name takes one at least.
    pub const fn words(self) -> u64 {
        match self {
            Letter::Decimal64 | Letter::Hex64 => 2,
            _ => 1,
        }
    }
}

/// One argument of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Arg {
    pub letter: Letter,
    pub name: &'static str,
}

/// An argument list; `None` where it is not documented.
pub(crate) type Args = Option<&'static [Arg]>;

/// An event of any class but the kernel calls'.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventRow {
    pub class: u8,
    /// The class as programs name it: several share a class of records.
    pub external_class: u8,
    /// The event numbers that the row is for, first and last.
    pub number: u16,
    pub last_number: u16,
    /// The constant of QNX's header.
    pub name: &'static str,
    /// What traceprinter calls it.
    pub label: Option<&'static str>,
    /// Further constants of QNX's header with this number.
    pub aliases: &'static [&'static str],
    /// What the System Profiler of the IDE calls it.
    pub ide: Option<&'static str>,
    /// What the traceprinter of 6.4 calls it, where that differs.
    pub label_6_4: Option<&'static str>,
    /// Class text of the default layout, if it is not the usual one.
    pub class_text: Option<&'static str>,
    pub since: Release,
    pub until: Option<Release>,
    /// Arguments of a simple record, if they are not those of a combine.
    pub fast: Args,
    /// Arguments of a combine.
    pub wide: Args,
    /// Arguments of a combine from 7.1 on, where they differ.
    pub wide_from_7: Args,
    /// The first arguments of a list that goes on in unknown ways.
    pub known_prefix: Args,
}

/// A kernel call of one release.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallRow {
    pub release: Release,
    pub number: u16,
    /// The constant of QNX's header.
    pub name: &'static str,
    /// What traceprinter calls it, where the table says so.
    pub label: Option<&'static str>,
    /// What the traceprinter of 6.4 calls its exit, where that differs.
    pub exit_label_6_4: Option<&'static str>,
    pub enter: Side,
    pub exit: Side,
}

/// The argument lists of a call's entry or exit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side {
    pub fast: Args,
    pub wide: Args,
    /// With 64-bit values, in few words.
    pub fast_64: Args,
    /// With 64-bit values.
    pub wide_64: Args,
}

include!(concat!(env!("OUT_DIR"), "/rows.rs"));

impl Release {
    /// Every release, oldest first.
    pub const ALL: [Release; 3] = [Release::Qnx6_4, Release::Qnx7_1, Release::Qnx8_0];

    /// Major and minor number.
    pub const fn version(self) -> (u32, u32) {
        match self {
            Release::Qnx6_4 => (6, 4),
            Release::Qnx7_1 => (7, 1),
            Release::Qnx8_0 => (8, 0),
        }
    }
}

/// Before a call's name in QNX's header.
const CALL_PREFIX: &str = "__KER_";

impl CallRow {
    /// What traceprinter calls it: its name where the table has no label.
    pub fn label(&self) -> &'static str {
        self.label.unwrap_or(self.name.strip_prefix(CALL_PREFIX).unwrap_or(self.name))
    }
}

impl EventRow {
    pub fn has_number(&self, number: u16) -> bool {
        (self.number..=self.last_number).contains(&number)
    }

    /// The label, or else the name without what all names of its class begin with.
    pub fn label(&self) -> &'static str {
        self.label.unwrap_or_else(|| {
            let name = self.name.trim_start_matches("_NTO_TRACE_");
            name.split_once('_').map_or(name, |(_, rest)| rest)
        })
    }
}

/// The row of an event for logs of a release: of those that the release has, the newest; else the first.
pub(crate) fn event(release: Release, class: u8, number: u16) -> Option<&'static EventRow> {
    let rows = || EVENTS.iter().filter(move |row| row.class == class && row.has_number(number));
    let has = |row: &&EventRow| row.since <= release && row.until.is_none_or(|until| release <= until);
    rows().filter(has).max_by_key(|row| row.since).or_else(|| rows().min_by_key(|row| row.since))
}

/// The row of a kernel call for logs of a release, chosen in the same way.
pub(crate) fn call(release: Release, number: u16) -> Option<&'static CallRow> {
    let rows = || CALLS.iter().filter(move |row| row.number == number);
    let has = |row: &&CallRow| row.release <= release;
    rows().filter(has).max_by_key(|row| row.release).or_else(|| rows().min_by_key(|row| row.release))
}

/// The class of kernel calls.
pub(crate) const KER_CALL: u8 = 2;

/// External classes that share a class of records.
pub(crate) const PROCESS: u8 = 9;
pub(crate) const THREAD: u8 = 10;
pub(crate) const VTHREAD: u8 = 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert_eq!((CLASSES.len(), EVENTS.len(), CALLS.len()), (12, 171, 302));
        assert!(EVENTS.iter().all(|row| CLASSES.iter().any(|class| class.number == row.class)));
        assert!(EVENTS.iter().all(|row| row.class != 6 || row.external_class == 12));
    }

    #[test]
    fn rows_fit_the_release() {
        let name = |release, number| event(release, 4, number).map(|row| row.name);
        // 8.0 gives numbers of virtual threads and old states to states of its own.
        assert_eq!(name(Release::Qnx6_4, 26), Some("_NTO_TRACE_VTHDEAD"));
        assert_eq!(name(Release::Qnx7_1, 26), Some("_NTO_TRACE_VTHDEAD"));
        assert_eq!(name(Release::Qnx8_0, 26), Some("STATE_MUON_MUTEX"));
        assert_eq!(name(Release::Qnx8_0, 7), Some("STATE_MQ_SEND"));
        assert_eq!(name(Release::Qnx7_1, 7), Some("_NTO_TRACE_THSTACK"));
        // Without a row of its own, the first.
        assert_eq!(name(Release::Qnx8_0, 50), Some("_NTO_TRACE_VTHCREATE"));
        assert_eq!(name(Release::Qnx6_4, 22), Some("STATE_PIPE"));
        assert_eq!(name(Release::Qnx6_4, 23), None);
        assert_eq!(call(Release::Qnx8_0, 93).unwrap().name, "__KER_MSG_QUEUE_OPEN");
        assert_eq!(call(Release::Qnx7_1, 93).unwrap().name, "__KER_NET_CRED");
        assert_eq!(call(Release::Qnx8_0, 18).unwrap().name, "__KER_MSG_READWRITEV");
        assert_eq!(call(Release::Qnx6_4, 107).unwrap().name, "__KER_BAD");
    }

    #[test]
    fn lists_of_older_releases_are_shared() {
        let old = call(Release::Qnx6_4, 11).unwrap();
        let new = call(Release::Qnx8_0, 11).unwrap();
        // 8.0 has lists of its own for this call, and shares those of the first.
        let names = |list: Args| list.unwrap().iter().map(|arg| arg.name).collect::<Vec<_>>();
        assert_eq!(names(old.enter.wide), ["coid", "sparts", "rparts", "msg", "msg[1]", "msg[2]"]);
        assert_eq!(names(new.enter.wide), ["coid", "sparts", "rparts", "msg[0]", "msg[1]", "msg[2]"]);
        assert_eq!(names(new.enter.fast), ["coid", "msg[0]"]);
        let nop = |release| call(release, 0).unwrap().enter.wide;
        assert!(nop(Release::Qnx6_4).is_some() && nop(Release::Qnx6_4) == nop(Release::Qnx8_0));
        assert!(old.enter.wide_64.is_none() && new.enter.wide_64.is_some());
        assert_eq!(new.label(), "MSG_SENDV");
        let first = old.enter.fast.unwrap()[0];
        assert_eq!(first, Arg { letter: Letter::Hex, name: "coid" });
    }

    #[test]
    fn events_without_label_have_their_name() {
        let label = |class, number| event(Release::Qnx7_1, class, number).unwrap().label();
        assert_eq!(label(8, 0), "MMR_PLAY");
        assert_eq!(label(5, 1), "RESERVED");
        assert_eq!(label(7, 0), "SND_MESSAGE");
    }
}
