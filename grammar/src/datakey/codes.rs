//! Codes of event definitions: `X01` to `X39` are errors, `X40` to `X79` warnings. The compiler has `X80` to `X99`.

crate::declare_codes! {
    /// The file is larger than 16 MiB, or than the limit given by `--max-xml`. It is not read at all.
    ///
    /// Split it: `-t` accepts several files.
    TOO_LARGE = "X01", error, "event definitions too large";
    /// Event definitions are UTF-8, UTF-16 with a byte order mark, or US-ASCII, ISO-8859-1 or windows-1252 if the
    /// declaration says so. The file declares another encoding, is UTF-16 without a mark, or has bytes that are invalid
    /// in its encoding. It is not used at all.
    ///
    /// ```text
    /// <?xml version="1.0" encoding="KOI8-R"?>
    /// <eventdefinitions/>
    /// ```
    ENCODING = "X02", error, "bad encoding";
    /// The file is not well-formed XML and is not used at all. The mistake is often before the reported place: a
    /// missing quote, `>` or end tag.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata>
    ///     <event class="6" id="65"/>
    ///   </datakey>
    /// </eventdefinitions>
    /// ```
    NOT_WELL_FORMED = "X03", error, "not well-formed";
    /// Elements are nested deeper than 64, or than the limit given by `--max-nesting`, or an element has more than 64
    /// attributes. The file is not used at all.
    LIMIT = "X04", error, "nesting or attributes beyond the limit";
    /// A file whose DOCTYPE declares entities is refused. A DOCTYPE without entities is ignored.
    ///
    /// ```text
    /// <!DOCTYPE eventdefinitions [<!ENTITY user "6">]>
    /// <eventdefinitions/>
    /// ```
    ENTITIES = "X05", error, "DOCTYPE declares entities";
    /// The root element of event definitions is `eventdefinitions`; `eventdefinition` and `eventformatting` are
    /// accepted too. A file with another root element, or without one, is not used at all.
    ///
    /// ```text
    /// <events>
    ///   <datakey format="%x mydata"><event class="6" id="65"/></datakey>
    /// </events>
    /// ```
    UNKNOWN_ROOT = "X06", error, "unknown root element";
    /// An element lacks a required attribute. `datakey` needs `format`; `event` needs `class` and `id`; `eventclass`
    /// needs `id`; `event` in an eventclass needs `id` and `sformat`; `bitmask` needs `value`; `condition` needs `name`
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
    /// Older samples by QNX name a class and its events without numbers. Without numbers, the events are not known.
    MISSING_ATTRIBUTE = "X07", error, "missing attribute";
    /// A number is decimal, or hexadecimal after `0x`, with `-` before it if it is negative, and fits in 64 bits.
    /// Blanks around it are allowed; `+5` and `0X5` are not. `!` is allowed before it only in `value` and `mask` of
    /// enums and conditions.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x data" offset="+4"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    BAD_NUMBER = "X08", error, "not a number";
    /// `show_masked_value` is `true` or `false`, in upper or lower case.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata" show_masked_value="no">
    ///     <event class="6" id="65"/>
    ///   </datakey>
    /// </eventdefinitions>
    /// ```
    BAD_BOOLEAN = "X09", error, "neither true nor false";
    /// Offsets count bytes from the start of the payload, so they cannot be negative.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x data" offset="-4"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    NEGATIVE_OFFSET = "X10", error, "negative offset";
    /// A datakey without an event applies to nothing.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata"/>
    /// </eventdefinitions>
    /// ```
    NO_EVENT = "X11", error, "datakey without event";
    /// A format is a sequence of `%spec label`. A spec is a size (1, 2, 4 or 8 bytes), a sign (`s` or `u`), a count and
    /// a format (`d`, `x`, `o` or `c`), in this order. At least one part is present, and a blank follows.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%3u1x mydata"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    FORMAT = "X12", error, "bad format";
    /// Each field of a format needs a label of its own. Labels that differ only in white space are the same.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%2u1x cmd %2u1x cmd"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    LABEL = "X13", error, "empty or repeated label";
    /// Arrays, that is counts above 1, are only allowed in an attribute called `sformat`.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%2u4x history"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    ARRAY = "X14", error, "array in `format`";
    /// A count of 0 means a text up to its NUL. It needs size 1 and no format: `%1s0` or `%1u0`.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%2u0 mydata"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    COUNT = "X15", error, "count of 0";
    /// An enum has either `value` or `mask`, and a `string`; or it has only `default`.
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
    /// A condition needs a `value`, a `mask`, or both.
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
    /// A comment that begins with `tfbc:` sets an option for its file, as `<!-- tfbc: NAME=VALUE -->`, or allows
    /// warnings, as `<!-- tfbc: allow=CODE -->` or `<!-- tfbc: allow=CODE,CODE -->`.
    ///
    /// ```text
    /// <!-- tfbc: bare-s -->
    /// <eventdefinitions/>
    /// ```
    SETTING = "X19", error, "bad setting";
    /// The element is not known at this place. It is ignored with everything inside it. Names are case-sensitive.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <Datakey format="%x mydata"><event class="6" id="65"/></Datakey>
    /// </eventdefinitions>
    /// ```
    UNKNOWN_ELEMENT = "X40", warning, "unknown element";
    /// The element does not have this attribute. It is ignored. Names are case-sensitive.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata" ofset="4"><event class="6" id="65"/></datakey>
    /// </eventdefinitions>
    /// ```
    UNKNOWN_ATTRIBUTE = "X41", warning, "unknown attribute";
    /// A DOCTYPE without entities is ignored; the file is not validated against it.
    ///
    /// ```text
    /// <!DOCTYPE eventdefinitions>
    /// <eventdefinitions/>
    /// ```
    DOCTYPE = "X42", warning, "DOCTYPE ignored";
    /// Event definitions have no text between their tags. It is ignored.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   user events
    /// </eventdefinitions>
    /// ```
    TEXT = "X43", warning, "text between elements";
    /// `key` is an older spelling of `name`. If both are given, `name` is used.
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
    /// A datakey has its format in `format`, an event of an eventclass in `sformat`. The other spelling
    /// is accepted; if both are given, the right one is used. Arrays are only allowed in an `sformat`.
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
    /// A `<!-- tfbc: NAME=VALUE -->` comment has an effect only before the first element inside the root. After that,
    /// only `<!-- tfbc: allow=CODE -->` has an effect, on the element directly after it.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <datakey format="%x mydata"><event class="6" id="65"/></datakey>
    ///   <!-- tfbc: bare-s=number -->
    /// </eventdefinitions>
    /// ```
    LATE_SETTING = "X47", warning, "setting after an element";
    /// The eventclass contains no event, so it defines nothing.
    ///
    /// ```text
    /// <eventdefinitions>
    ///   <eventclass id="6" name="User Events"/>
    /// </eventdefinitions>
    /// ```
    EMPTY_CLASS = "X48", warning, "eventclass without event";
    /// `!` precedes both the `value` and the `mask` of a condition: they cancel each other.
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
    /// The byte order mark and the declaration name different encodings. The mark is used. In the example, `␟` is the
    /// mark of UTF-8.
    ///
    /// ```text
    /// ␟<?xml version="1.0" encoding="ISO-8859-1"?>
    /// <eventdefinitions/>
    /// ```
    OTHER_MARK = "X50", warning, "byte order mark of another encoding";
}
