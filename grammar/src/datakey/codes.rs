//! The codes of event definitions: `X01` to `X39` are errors, `X40` to `X79` warnings. `X80` to `X99` are the compiler's.

crate::declare_codes! {
    /// A file of event definitions is larger than 16 MiB, or than `--max-xml` says. Such a file is not read at all.
    ///
    /// Split it: `-t` takes several files.
    TOO_LARGE = "X01", error, "event definitions too large";
    /// Event definitions are UTF-8; UTF-16 with its byte order mark; or US-ASCII, ISO-8859-1 or windows-1252, if the declaration
    /// names it. The file declares another encoding, is UTF-16 without a mark, or has bytes that its encoding does not have.
    /// Nothing of it is used.
    ///
    /// ```text
    /// <?xml version="1.0" encoding="KOI8-R"?>
    /// <eventdefinitions/>
    /// ```
    ENCODING = "X02", error, "bad encoding";
    /// The file is not well-formed XML, so nothing of it is used. The message says what was met; often the mistake is before the
    /// place: a missing quote, `>` or end tag.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata>
    ///     <event class="6" id="65"/>
    ///   </datakey>
    /// </eventdefinitions>
    /// ```
    NOT_WELL_FORMED = "X03", error, "not well-formed";
    /// Elements nest deeper than 64, or than `--max-nesting` says, or one has more than 64 attributes. Nothing of the file is used.
    LIMIT = "X04", error, "nesting or attributes beyond the limit";
    /// A DOCTYPE that declares entities is refused, and the file with it. One that declares none is ignored.
    ///
    /// ```text
    /// <!DOCTYPE eventdefinitions [<!ENTITY user "6">]>
    /// <eventdefinitions/>
    /// ```
    ENTITIES = "X05", error, "DOCTYPE declares entities";
    /// The root element of event definitions is `eventdefinitions`; `eventdefinition` and `eventformatting` are taken too. A file
    /// with another, or with none, is something else, and nothing of it is used.
    ///
    /// ```text
    /// <events>
    ///   <datakey format="%x mydata"><event class="6" id="65"/></datakey>
    /// </events>
    /// ```
    UNKNOWN_ROOT = "X06", error, "unknown root element";
    /// An element lacks an attribute that it needs: `datakey` its `format`; `event` its `class` and `id`; `eventclass` its `id`;
    /// `event` in an eventclass its `id` and `sformat`; `bitmask` its `value`; `condition` its `name`,
    /// if the format of its datakey has several labels.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <eventclass name="User Events">
    ///     <event id="65" sformat="%2u1x ipicmd"/>
    ///   </eventclass>
    /// </eventdefinitions>
    /// ```
    ///
    /// QNX's own older samples name a class and its events without numbers. Without them nothing says which events are meant.
    MISSING_ATTRIBUTE = "X07", error, "missing attribute";
    /// A number is decimal, or hexadecimal behind `0x`, with `-` before it if negative, and fits in 64 bits. Blanks may stand
    /// around it. `+5` and `0X5` are none. `!` may stand before it only in `value` and `mask` of enums and conditions.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x data" offset="+4"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    BAD_NUMBER = "X08", error, "not a number";
    /// `show_masked_value` is `true` or `false`, in any case.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata" show_masked_value="no">
    ///     <event class="6" id="65"/>
    ///   </datakey>
    /// </eventdefinitions>
    /// ```
    BAD_BOOLEAN = "X09", error, "neither true nor false";
    /// Offsets count bytes from the payload's start, so they cannot be negative.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x data" offset="-4"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    NEGATIVE_OFFSET = "X10", error, "negative offset";
    /// A datakey names at least one event: without any it applies to nothing.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata"/>
    /// </eventdefinitions>
    /// ```
    NO_EVENT = "X11", error, "datakey without event";
    /// A format is a sequence of `%spec label`. A spec is a size (1, 2, 4 or 8 bytes), a sign (`s` or `u`), a count and a format
    /// (`d`, `x`, `o` or `c`), in that order; parts may be left out, but not all. A blank follows it.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%3u1x mydata"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    FORMAT = "X12", error, "bad format";
    /// Each field of a format has a label of its own. Two labels are the same also where they differ in white space alone.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%2u1x cmd %2u1x cmd"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    LABEL = "X13", error, "empty or repeated label";
    /// Only an attribute that is spelt `sformat` may hold arrays, that is counts above 1.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%2u4x history"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    ARRAY = "X14", error, "array in `format`";
    /// A count of 0 means a text up to its NUL, so it needs the size 1 and no format: `%1s0` or `%1u0`.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%2u0 mydata"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    COUNT = "X15", error, "count of 0";
    /// An enum has a `value` or a `mask`, not both, and a `string`; or it has a `default` alone.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata">
    ///     <event class="6" id="65"/>
    ///     <enum value="1" mask="1" string="one"/>
    ///   </datakey>
    /// </eventdefinitions>
    /// ```
    ENUM = "X16", error, "bad enum";
    /// The text of an enum cannot be empty.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata">
    ///     <event class="6" id="65"/>
    ///     <enum value="1" string=""/>
    ///   </datakey>
    /// </eventdefinitions>
    /// ```
    EMPTY_TEXT = "X17", error, "empty text of an enum";
    /// A condition has a `value`, a `mask`, or both.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata">
    ///     <event class="6" id="65"/>
    ///     <condition name="kind"/>
    ///   </datakey>
    /// </eventdefinitions>
    /// ```
    CONDITION = "X18", error, "condition without test";
    /// A comment that begins with `tfbc:` sets an option for its file and must read `<!-- tfbc: NAME=VALUE -->`; or it allows
    /// warnings, and reads `<!-- tfbc: allow=CODE -->`, or several codes with commas between.
    ///
    /// ```text
    /// <!-- tfbc: bare-s -->
    /// <eventdefinitions/>
    /// ```
    SETTING = "X19", error, "bad setting";
    /// An element that is not known where it stands. It is ignored, with all that it holds. Names are case-sensitive.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <Datakey format="%x mydata"><event class="6" id="65"/></Datakey>
    /// </eventdefinitions>
    /// ```
    UNKNOWN_ELEMENT = "X40", warning, "unknown element";
    /// An attribute that its element does not know. It is ignored. Names are case-sensitive.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata" ofset="4"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    UNKNOWN_ATTRIBUTE = "X41", warning, "unknown attribute";
    /// A DOCTYPE that declares no entities is ignored: nothing is checked against it.
    ///
    /// ```text
    /// <!DOCTYPE eventdefinitions>
    /// <eventdefinitions/>
    /// ```
    DOCTYPE = "X42", warning, "DOCTYPE ignored";
    /// Event definitions hold no text between their tags. It is ignored.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   user events
    /// </eventdefinitions>
    /// ```
    TEXT = "X43", warning, "text between elements";
    /// `key` is an older spelling of `name`; where both are given, `name` counts.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata">
    ///     <event class="6" id="65"/>
    ///     <enum name="mydata" key="other" value="1" string="one"/>
    ///   </datakey>
    /// </eventdefinitions>
    /// ```
    NAME_AND_KEY = "X44", warning, "name and key";
    /// A datakey's format is spelt `format`, and that of an event in an eventclass `sformat`. The other spelling is accepted;
    /// where both are given, the right one counts. Only in an `sformat` may a field be an array.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey sformat="%x mydata"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    SPELLING = "X45", warning, "format in the other spelling";
    /// A number with leading zeros is decimal, not octal.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x a" offset="010"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    LEADING_ZEROS = "X46", warning, "leading zeros";
    /// A `<!-- tfbc: NAME=VALUE -->` comment has an effect only before the first element in the root. Behind it, only
    /// `<!-- tfbc: allow=CODE -->` has one: right before an element, for that element.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata"><event class="6" id="65"/></datakey>
    ///   <!-- tfbc: bare-s=number -->
    /// </eventdefinitions>
    /// ```
    LATE_SETTING = "X47", warning, "setting behind an element";
    /// An eventclass that holds no event defines nothing.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <eventclass id="6" name="User Events"/>
    /// </eventdefinitions>
    /// ```
    EMPTY_CLASS = "X48", warning, "eventclass without event";
    /// `!` before both the `value` and the `mask` of a condition: the two cancel each other.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata">
    ///     <event class="6" id="65"/>
    ///     <condition name="kind" value="!1" mask="!0xf"/>
    ///   </datakey>
    /// </eventdefinitions>
    /// ```
    DOUBLE_NOT = "X49", warning, "two inversions";
    /// A byte order mark says which encoding the file is in, and the declaration names another. The mark counts. In the
    /// example, `␟` is the mark of UTF-8.
    ///
    /// ```text
    /// ␟<?xml version="1.0" encoding="ISO-8859-1"?>
    /// <eventdefinitions/>
    /// ```
    OTHER_MARK = "X50", warning, "byte order mark of another encoding";
}
