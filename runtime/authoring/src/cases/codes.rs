//! What may be wrong with a case file.

tfbc_grammar::declare_codes! {
    /// A case file is TOML. The message says what cannot be read, and where.
    ///
    /// ```text
    /// formats = ["my.trcfmt"
    /// ```
    NO_TOML = "K01", error, "case file is no TOML";
    /// A case file has this key nowhere. The keys of a case file are `formats`, `dialect` and `event`; those of an event
    /// are listed by `docs/test.md`, and may stand at the top of the file too, for every event.
    ///
    /// ```text
    /// formats = ["my.trcfmt"]
    /// [[event]]
    /// hexa = "010a0000"
    /// ```
    UNKNOWN_KEY = "K02", error, "unknown key in a case file";
    /// The key exists, and its value is of another kind, or out of range.
    ///
    /// ```text
    /// [[event]]
    /// hex = "010a0000 0000002a"
    /// env = 16
    /// ```
    BAD_VALUE = "K03", error, "bad value in a case file";
    /// An event is given in hex, or is a part of a trace: one of the keys `hex` and `trace` says which.
    ///
    /// ```text
    /// [[event]]
    /// name = "nothing at all"
    /// ```
    NO_EVENT = "K04", error, "event of a case file without bytes";
    /// The key means something for events given otherwise: `first` counts events of a trace, `class` is QNX's, `env` is
    /// AIX's.
    ///
    /// ```text
    /// [[event]]
    /// hex = "010a0000 0000002a"
    /// first = 20
    /// ```
    KEY_OF_OTHERS = "K05", error, "key that means nothing for this event";
    /// A dialect setting that does not exist, or a value that it does not have. `tfbc check --dialect help` lists them.
    ///
    /// ```text
    /// formats = ["my.trcfmt"]
    /// dialect = { levl = "SVC" }
    /// ```
    BAD_SETTING = "K06", error, "unknown dialect setting in a case file";
}
