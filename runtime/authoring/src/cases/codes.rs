//! Diagnostic codes of case files.

tfbc_grammar::declare_codes! {
    /// The file is not valid TOML. The message names the syntax error and its position.
    ///
    /// ```text
    /// formats = ["my.trcfmt"
    /// ```
    NO_TOML = "K01", error, "case file is not TOML";
    /// The key does not exist. A case file has the keys `formats`, `dialect` and `event`. The keys of an event are
    /// listed in `docs/test.md`; at the top of the file they apply to every event.
    ///
    /// ```text
    /// formats = ["my.trcfmt"]
    /// [[event]]
    /// hexa = "010a0000"
    /// ```
    UNKNOWN_KEY = "K02", error, "unknown key in a case file";
    /// The key exists, but its value has the wrong type or is out of range.
    ///
    /// ```text
    /// [[event]]
    /// hex = "010a0000 0000002a"
    /// env = 16
    /// ```
    BAD_VALUE = "K03", error, "bad value in a case file";
    /// An event needs either `hex`, its bytes, or `trace`, the file to read it from.
    ///
    /// ```text
    /// [[event]]
    /// name = "nothing at all"
    /// ```
    NO_EVENT = "K04", error, "event of a case file without bytes";
    /// The key belongs to another kind of event: `first` counts the events of a trace, `class` is for QNX, and `env` is
    /// for AIX.
    ///
    /// ```text
    /// [[event]]
    /// hex = "010a0000 0000002a"
    /// first = 20
    /// ```
    KEY_OF_OTHERS = "K05", error, "key without meaning for this event";
    /// The dialect setting does not exist, or does not have this value. `tfbc check --dialect help` lists all settings.
    ///
    /// ```text
    /// formats = ["my.trcfmt"]
    /// dialect = { levl = "SVC" }
    /// ```
    BAD_SETTING = "K06", error, "unknown dialect setting in a case file";
}
