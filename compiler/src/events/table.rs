//! Rows of QNX's event table, generated from `qnx-events.toml`, and lookups by release.

/// QNX release whose rows apply to a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Release {
    /// 6.4, and rows that are not known to be newer.
    Qnx6_4,
    /// 7.1, for all 7.x.
    Qnx7_1,
    /// 8.0 and later.
    Qnx8_0,
}

/// Class, with its number in records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Class {
    pub number: u8,
    pub name: &'static str,
}

/// Type of an argument: its output format and number of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ArgType {
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
    /// `s`: another word of a text.
    MoreText,
    /// `N`: text to a NUL or the end of the data.
    Name,
}

impl ArgType {
    /// Words that an argument occupies. A name occupies at least 1.
    pub const fn words(self) -> u64 {
        match self {
            ArgType::Decimal64 | ArgType::Hex64 => 2,
            _ => 1,
        }
    }
}

/// One argument of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Arg {
    pub letter: ArgType,
    pub name: &'static str,
}

/// Argument list; `None` if it is not documented.
pub(crate) type Args = Option<&'static [Arg]>;

/// Event of any class except kernel calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventRow {
    pub class: u8,
    /// Class number in QNX's header; several of these share a class of records.
    pub external_class: u8,
    /// First and last event number of the row.
    pub number: u16,
    pub last_number: u16,
    /// The constant of QNX's header.
    pub name: &'static str,
    /// Name in traceprinter.
    pub label: Option<&'static str>,
    /// Other constants of QNX's header with this number.
    pub aliases: &'static [&'static str],
    /// Name in the System Profiler of the IDE.
    pub ide: Option<&'static str>,
    /// Name in the traceprinter of 6.4, if it differs.
    pub label_6_4: Option<&'static str>,
    /// Class text in the default layout, if it differs from the usual one.
    pub class_text: Option<&'static str>,
    pub since: Release,
    pub until: Option<Release>,
    /// Arguments of a simple record, if they differ from those of a combine.
    pub fast: Args,
    /// Arguments of a combine.
    pub wide: Args,
    /// Arguments of a combine since 7.1, if they differ.
    pub wide_from_7: Args,
    /// First arguments of a list whose remainder is unknown.
    pub known_prefix: Args,
}

/// Kernel call in one release.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallRow {
    pub release: Release,
    pub number: u16,
    /// The constant of QNX's header.
    pub name: &'static str,
    /// Name in traceprinter, if the table has it.
    pub label: Option<&'static str>,
    /// Name of its exit in the traceprinter of 6.4, if it differs.
    pub exit_label_6_4: Option<&'static str>,
    pub enter: CallArgs,
    pub exit: CallArgs,
}

/// Argument lists of a call's entry or exit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallArgs {
    pub fast: Args,
    pub wide: Args,
    /// Short list with 64-bit values.
    pub fast_64: Args,
    /// List with 64-bit values.
    pub wide_64: Args,
}

include!("rows.rs");

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

/// Prefix of call names in QNX's header.
const CALL_PREFIX: &str = "__KER_";

impl CallRow {
    /// Label in traceprinter; the call's name if the table has none.
    pub fn label(&self) -> &'static str {
        self.label.unwrap_or(self.name.strip_prefix(CALL_PREFIX).unwrap_or(self.name))
    }
}

impl EventRow {
    pub fn has_number(&self, number: u16) -> bool {
        (self.number..=self.last_number).contains(&number)
    }

    /// Label, or the name without the prefix of its class.
    pub fn label(&self) -> &'static str {
        self.label.unwrap_or_else(|| {
            let name = self.name.trim_start_matches("_NTO_TRACE_");
            name.split_once('_').map_or(name, |(_, rest)| rest)
        })
    }
}

/// Row of an event in logs of a release: the newest row that applies to the release. If none applies, the oldest.
pub(crate) fn event(release: Release, class: u8, number: u16) -> Option<&'static EventRow> {
    let rows = || EVENTS.iter().filter(move |row| row.class == class && row.has_number(number));
    let has = |row: &&EventRow| row.since <= release && row.until.is_none_or(|until| release <= until);
    rows().filter(has).max_by_key(|row| row.since).or_else(|| rows().min_by_key(|row| row.since))
}

/// Row of a kernel call in logs of a release: the newest row that applies to the release. If none applies, the oldest.
pub(crate) fn call(release: Release, number: u16) -> Option<&'static CallRow> {
    let rows = || CALLS.iter().filter(move |row| row.number == number);
    let has = |row: &&CallRow| row.release <= release;
    rows().filter(has).max_by_key(|row| row.release).or_else(|| rows().min_by_key(|row| row.release))
}

/// Class of kernel calls.
pub(crate) const KER_CALL: u8 = 2;

/// Class numbers of QNX's header that share a class of records.
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
        // 8.0 reuses numbers of virtual threads and old states for new states.
        assert_eq!(name(Release::Qnx6_4, 26), Some("_NTO_TRACE_VTHDEAD"));
        assert_eq!(name(Release::Qnx7_1, 26), Some("_NTO_TRACE_VTHDEAD"));
        assert_eq!(name(Release::Qnx8_0, 26), Some("STATE_MUON_MUTEX"));
        assert_eq!(name(Release::Qnx8_0, 7), Some("STATE_MQ_SEND"));
        assert_eq!(name(Release::Qnx7_1, 7), Some("_NTO_TRACE_THSTACK"));
        // If the release has no row, the oldest row applies.
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
        // 8.0 has some lists of its own for this call and shares the others with 6.4.
        let names = |list: Args| list.unwrap().iter().map(|arg| arg.name).collect::<Vec<_>>();
        assert_eq!(names(old.enter.wide), ["coid", "sparts", "rparts", "msg", "msg[1]", "msg[2]"]);
        assert_eq!(names(new.enter.wide), ["coid", "sparts", "rparts", "msg[0]", "msg[1]", "msg[2]"]);
        assert_eq!(names(new.enter.fast), ["coid", "msg[0]"]);
        let nop = |release| call(release, 0).unwrap().enter.wide;
        assert!(nop(Release::Qnx6_4).is_some() && nop(Release::Qnx6_4) == nop(Release::Qnx8_0));
        assert!(old.enter.wide_64.is_none() && new.enter.wide_64.is_some());
        assert_eq!(new.label(), "MSG_SENDV");
        let first = old.enter.fast.unwrap()[0];
        assert_eq!(first, Arg { letter: ArgType::Hex, name: "coid" });
    }

    #[test]
    fn events_without_label_have_their_name() {
        let label = |class, number| event(Release::Qnx7_1, class, number).unwrap().label();
        assert_eq!(label(8, 0), "MMR_PLAY");
        assert_eq!(label(5, 1), "RESERVED");
        assert_eq!(label(7, 0), "SND_MESSAGE");
    }
}
