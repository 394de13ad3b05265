//! Codes of the compiler's diagnostics: errors of meaning, as opposed to syntax.

tfbc_grammar::declare_codes! {
    /// `$hhh` with three hex digits (or four, if such a stanza exists) inserts the stanza with that id, but no stanza
    /// in the given files has it.
    ///
    ///     010 1.0 "LABEL" $FED
    ///
    /// Add the file that contains the stanza, or correct the id.
    NO_SUBROUTINE = "C01", error, "no such template subroutine";
    /// No stanza in the given files defines the called function.
    ///
    ///     010 1.0 "LABEL" state($D1)
    ///
    /// Define it with `{{ name(param) … }}` in any stanza of any file.
    NO_FUNCTION = "C02", error, "no such function";
    /// A call passes more or fewer arguments than the function has parameters.
    ///
    ///     010 1.0 "LABEL" {{ g(v) $v }} g($D1, $D2)
    ARGUMENT_COUNT = "C03", error, "wrong number of arguments";
    /// Stanzas or functions call each other in a cycle, so the event would never end.
    ///
    ///     010 1.0 "A" $020
    ///     020 1.0 "B" $010
    RECURSION = "C04", error, "recursion";
    /// Calls of template subroutines and functions are nested more than 10 levels below the event's own stanza.
    NESTING = "C05", error, "calls nested too deep";
    /// Predefined macros other than `$DATAPOINTER` and `$BASEPOINTER` cannot be assigned or declared.
    ///
    ///     010 1.0 "LABEL" {{ $PID = 1 }}
    ASSIGN_PREDEFINED = "C06", error, "assignment to a predefined macro";
    /// A name of three hex digits (or of four, if such a stanza exists) is a template subroutine, not a variable.
    ///
    ///     010 1.0 "LABEL" {{ $abc = 1 }}
    ASSIGN_SUBROUTINE = "C07", error, "assignment to a template subroutine";
    /// Expressions, loop counts, BITFLAGS selectors, timers and arguments need numbers. The codes `A`, `S`, `T`, `P` and
    /// `F` and the macros `$SVC`, `$EXECPATH`, `$LOGFILE` and `$TRACEID` print text and have no number.
    ///
    ///     010 1.0 "LABEL" {{ $x = A4 }} $x
    TEXT_VALUE = "C08", error, "text where a number is needed";
    /// A cast needs a number. Text macros, actions such as `$STOP`, and template subroutines have none.
    ///
    ///     010 1.0 "LABEL" $SVC%X4
    BAD_CAST = "C09", error, "cast on something that has no value";
    /// A floating point number cannot select a case.
    ///
    ///     010 1.0 "LABEL" F4, 1 "one"
    FLOAT_SELECTOR = "C10", error, "floating point selector";
    /// A match value, mask, flag or field is not a number in the selector's base, or is a string although the selector
    /// is a number.
    ///
    ///     010 1.0 "LABEL" D4, "one" "1"
    BAD_NUMBER = "C11", error, "match value is not a number";
    /// Match values of a switch on `E` are names of AIX error numbers, or decimal numbers.
    ///
    ///     010 1.0 "LABEL" E4, ENOSUCH "?"
    UNKNOWN_ERRNO = "C12", error, "unknown error name";
    /// `& mask` needs a number, but the selector is a text.
    ///
    ///     010 1.0 "LABEL" A4 & 3, 1 "one"
    TEXT_MASK = "C13", error, "mask on a text";
    /// A template defines more than 255 macros.
    TOO_MANY_MACROS = "C14", error, "too many macros";
    /// A parameter has the name of a predefined macro, of a template subroutine, or of another parameter.
    ///
    ///     010 1.0 "LABEL" {{ f(PID) $PID }} f(1)
    BAD_PARAMETER = "C15", error, "bad parameter name";
    /// A stanza or function compiles to more than 262,144 instructions, or all files together to more than 4,194,304.
    /// Split the stanza, or move repeated parts to a template subroutine, a function or a `LOOP`.
    TOO_LARGE = "C16", error, "template too large";
    /// The stanza or function and its callees need more registers than the machine has. Split it.
    TOO_MANY_REGISTERS = "C17", error, "too many registers";
    /// An action (`$STOP`, `$BREAK`, `$SKIP`, `$ERROR`) or a template subroutine has no value.
    ///
    ///     010 1.0 "LABEL" {{ $x = $STOP }} $x
    NO_VALUE = "C18", error, "no value";
    /// The `NAME=VALUE` of a `# tfbc:` comment is not a setting of the dialect. `--dialect help` lists the settings.
    ///
    ///     # tfbc: colour=red
    ///     010 1.0 "LABEL"
    BAD_SETTING = "C19", error, "unknown dialect setting";
    /// An entry of a `# tfbc: fields=` comment is not of the form `name`, `name:CODE`, `name:enum`, `name=$macro`, `-`
    /// or `*`, or it does not fit its field. Names consist of small letters, digits and `_`; they are not the name of
    /// another field or of a column of every table, such as `pid`. The entry has no effect.
    ///
    ///     # tfbc: fields=Count
    ///     010 1.0 "LABEL" "n=" U4
    FIELD_ENTRY = "C20", error, "bad entry of a fields comment";
    /// Two stanzas have the same id; the later one is used.
    ///
    ///     010 1.0 "FIRST"
    ///     010 1.0 "SECOND"
    REDEFINED_STANZA = "C40", warning, "stanza redefined";
    /// Ids below 010 belong to the trace facility itself. The stanza replaces the built-in one.
    ///
    ///     005 1.0 "MY WRAPAROUND"
    RESERVED_ID = "C41", warning, "reserved id";
    /// A function is defined twice; the later definition is used.
    ///
    ///     010 1.0 "LABEL" {{ f(v) $v }} {{ f(v) "again" }} f($D1)
    REDEFINED_FUNCTION = "C42", warning, "function redefined";
    /// A case after `\*` is never reached.
    ///
    ///     010 1.0 "LABEL" D4, \* "any", 1 "one"
    UNREACHABLE_CASE = "C43", warning, "unreachable case";
    /// Two cases have the same value; the first one is used.
    ///
    ///     010 1.0 "LABEL" D4, 1 "one", 1 "uno"
    DUPLICATE_VALUE = "C44", warning, "duplicate match value";
    /// A match value fits the selector's width neither signed nor unsigned, so it never matches.
    ///
    ///     010 1.0 "LABEL" X1, 100 "never"
    NEVER_MATCHES = "C45", warning, "match value never matches";
    /// The match values of a hex selector look decimal, but `10` means sixteen.
    ///
    ///     010 1.0 "LABEL" $D1, 8 "eight", 9 "nine", 10 "sixteen"
    ///
    /// Cast the selector (`$D1%UW`) to compare decimal numbers, or write `0x10`.
    DECIMAL_LOOKING = "C46", warning, "decimal-looking values on a hex selector";
    /// A macro is never assigned or declared in its stanza, so its value is 0.
    ///
    ///     010 1.0 "LABEL" $cuont
    NEVER_ASSIGNED = "C47", warning, "macro never assigned";
    /// A template subroutine uses `G` or `W` to go to a byte that only some events have. The smallest event with five
    /// data words has 24 bytes including the hook word; a 64-bit hook's has 48. Only generic events are longer. Reads
    /// past the end of an event give 0.
    ///
    ///     010 1.0 "LABEL" $90F
    ///     90F 1.0 "" G28 X4
    ///
    /// There is no warning if the subroutine, or a stanza that calls it, checks the event's size with `$GENERIC`,
    /// `$HOOKENV`, `$WORDSIZE`, `$HL`, `HB` or `HT`.
    PAST_SMALLEST = "C48", warning, "subroutine past the smallest event";
    /// The cast of a BITFLAGS selector sets the base of the numbers, but a number has a digit that this base does not
    /// have. It is read as hexadecimal, the base of BITFLAGS without a cast.
    ///
    ///     010 1.0 "LABEL" {{ $m = X2 }} BITFLAGS $m%o4, 080 "M"
    FLAG_BASE = "C51", warning, "flag in another base";
    /// A macro is assigned and never used.
    ///
    ///     010 1.0 "LABEL" {{ $x = X2 }}
    UNUSED_MACRO = "C49", warning, "unused macro";
    /// A function is defined and never called.
    ///
    ///     010 1.0 "LABEL" {{ f(v) $v }}
    UNUSED_FUNCTION = "C50", warning, "unused function";
    /// A comment allows an unknown code or the code of an error. Only warnings can be allowed.
    ///
    ///     # tfbc: allow=S99
    ///     010 1.0 "LABEL"
    BAD_ALLOW = "C52", warning, "code that cannot be allowed";
    /// A comment allows a warning that does not occur in its scope. This is not checked in files with errors, and not for
    /// codes that depend on the other given files, such as C50.
    ///
    ///     # tfbc: allow=S47
    ///     010 1.0 "LABEL"
    UNUSED_ALLOW = "C53", warning, "unnecessary allow";
    /// The file contains no stanza; or it is event definitions without a `datakey` and an `eventclass`.
    ///
    ///     # 010 1.0 L=APPL "LABEL" X4
    DEFINES_NOTHING = "C54", warning, "file that defines nothing";
    /// A `# tfbc: fields=` comment has more entries than its stanza has fields. `tfbc fields` lists the fields.
    ///
    ///     # tfbc: fields=count, time
    ///     010 1.0 "LABEL" "n=" U4
    SURPLUS_FIELDS = "C55", warning, "more entries than fields";
    /// A stanza with everything that it calls is too large to have fields: it prints more than 4,096 values. Its text is
    /// not affected.
    TOO_MANY_FIELDS = "C56", warning, "too many fields";
    /// A `bitmask` or `enum` names a field that its datakey does not have, or does not name one of several fields.
    /// Runs of white space are the same as one blank; otherwise names must match exactly.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%2u1x ipicmd">
    ///         <event class="6" id="65"/>
    ///         <enum name="ipcmd" value="1" string="one"/>
    ///       </datakey>
    ///     </eventdefinitions>
    UNKNOWN_FIELD = "X80", error, "no such field";
    /// Bitmasks, enums and conditions apply to fields that are one number, not to texts and arrays.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1s0 mystring">
    ///         <event class="6" id="65"/>
    ///         <enum value="1" string="one"/>
    ///       </datakey>
    ///     </eventdefinitions>
    NOT_A_NUMBER = "X81", error, "field is not a number";
    /// A class is a number from 0 to 31, or a known name such as `USER` or `COMM`.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%4u1x a"><event class="USERS" id="65"/></datakey>
    ///     </eventdefinitions>
    BAD_CLASS = "X82", error, "no such class";
    /// An event id is a number from 0 to 1023, or the name of one event of its class. For kernel calls it is the label or
    /// `__KER_` name of the call, optionally with `:enter`, `:exit`, `:int`, `:enter64` or `:exit64`. For other classes it
    /// is the name or the label that `traceprinter` prints.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%4u1x a">
    ///         <event class="KER_CALL" id="MSG_SENDX:exit"/>
    ///       </datakey>
    ///     </eventdefinitions>
    BAD_EVENT_ID = "X83", error, "no such event";
    /// Elements of a character array have 1 byte. With the dialect setting `char-array=list`, others print as lists.
    ///
    ///     <eventdefinitions>
    ///       <eventclass id="6" name="User Events">
    ///         <event id="65" sformat="%2u4c name"/>
    ///       </eventclass>
    ///     </eventdefinitions>
    CHAR_ARRAY = "X84", error, "characters of more than a byte";
    /// The conditions of some datakeys read each other's fields in a cycle. None of them can be decided first, so all of
    /// these datakeys are refused.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x a">
    ///         <event class="6" id="65"/>
    ///         <condition name="b" value="1"/>
    ///       </datakey>
    ///       <datakey format="%1u1x b">
    ///         <event class="6" id="65"/>
    ///         <condition name="a" value="1"/>
    ///       </datakey>
    ///     </eventdefinitions>
    CYCLE = "X85", error, "cycle of conditions";
    /// There are more than 4,194,304 conditions, each counted once per event of its datakey.
    TOO_MANY_CONDITIONS = "X86", error, "too many conditions";
    /// A bitmask is wider than its field; the extra bits are ignored.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x flags">
    ///         <event class="6" id="65"/>
    ///         <bitmask name="flags" value="0x1ff"/>
    ///       </datakey>
    ///     </eventdefinitions>
    MASK_WIDTH = "X87", warning, "mask wider than its field";
    /// The bitmasks of a field have no bit in common, so its value is always 0.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x flags">
    ///         <event class="6" id="65"/>
    ///         <bitmask name="flags" value="0"/>
    ///       </datakey>
    ///     </eventdefinitions>
    MASK_ZERO = "X88", warning, "mask of 0";
    /// A field has several bitmasks; only the bits common to all of them remain.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x flags">
    ///         <event class="6" id="65"/>
    ///         <bitmask name="flags" value="0xf0"/>
    ///         <bitmask name="flags" value="0x30"/>
    ///       </datakey>
    ///     </eventdefinitions>
    SEVERAL_MASKS = "X89", warning, "several bitmasks on one field";
    /// A number fits the field neither signed nor unsigned, so it never matches; with `!` it always does.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x state">
    ///         <event class="6" id="65"/>
    ///         <enum name="state" value="256" string="large"/>
    ///       </datakey>
    ///     </eventdefinitions>
    NO_SUCH_VALUE = "X90", warning, "value beyond the field";
    /// The first matching `value` enum ends the search, so a later one with the same value is never reached. After
    /// `value="!X"`, only the value X itself remains.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x state">
    ///         <event class="6" id="65"/>
    ///         <enum name="state" value="1" string="one"/>
    ///         <enum name="state" value="1" string="uno"/>
    ///       </datakey>
    ///     </eventdefinitions>
    UNREACHABLE_ENUM = "X91", warning, "unreachable enum";
    /// A field has two defaults; the first one is used.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x state">
    ///         <event class="6" id="65"/>
    ///         <enum name="state" default="other"/>
    ///         <enum name="state" default="unknown"/>
    ///       </datakey>
    ///     </eventdefinitions>
    SECOND_DEFAULT = "X92", warning, "second default";
    /// Conditions read fields of other datakeys. A condition on a field of its own datakey is ignored, even if another
    /// datakey has a field of that name.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x ipicmd">
    ///         <event class="6" id="65"/>
    ///         <condition name="ipicmd" mask="1"/>
    ///       </datakey>
    ///     </eventdefinitions>
    OWN_LABEL = "X93", warning, "condition on its own datakey";
    /// No other datakey or eventclass of the event has a field of that name, so the condition is ignored for the event.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x ipicmd">
    ///         <event class="6" id="65"/>
    ///         <condition name="nosuch" mask="1"/>
    ///       </datakey>
    ///     </eventdefinitions>
    NO_CONTRIBUTOR = "X94", warning, "condition on an unknown field";
    /// Several other datakeys of one event have a field of that name. The condition reads the first one, and is false if
    /// that datakey does not apply.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x kind"><event class="6" id="65"/></datakey>
    ///       <datakey format="%1u1x kind"><event class="6" id="65"/></datakey>
    ///       <datakey format="%1u1x text" offset="1" wide_offset="1">
    ///         <event class="6" id="65"/>
    ///         <condition name="kind" value="1"/>
    ///       </datakey>
    ///     </eventdefinitions>
    SEVERAL_CONTRIBUTORS = "X95", warning, "condition on an ambiguous field";
    /// Class 13 is another number of class 5, SYSTEM, and is read as class 5.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%4u1x a"><event class="13" id="1"/></datakey>
    ///     </eventdefinitions>
    CLASS_13 = "X96", warning, "class 13";
    /// A datakey names an event twice, but applies to it once.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%4u1x a">
    ///         <event class="6" id="65"/>
    ///         <event class="6" id="0x41"/>
    ///       </datakey>
    ///     </eventdefinitions>
    SAME_EVENT = "X97", warning, "the same event twice";
    /// Without `wide_offset`, wide records of user events are read from `offset`, but wide records of other classes
    /// from byte 0. The dialect setting `wide-offset` changes this.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%4u1x pid" offset="4">
    ///         <event class="7" id="0"/>
    ///       </datakey>
    ///     </eventdefinitions>
    WIDE_OFFSET = "X98", warning, "wide records are read from elsewhere";
    /// `%s label` is a text up to its NUL, but `%1s label` is a number. The two are easily confused, and the first is not in
    /// QNX's reference. Write `%1s0 label` for a text.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%s mystring"><event class="6" id="65"/></datakey>
    ///     </eventdefinitions>
    BARE_STRING = "X99", warning, "`%s` without count";
    /// `tfbc convert` left this out, because the other language cannot express it. Write a replacement by hand if you need
    /// one.
    ///
    /// Event definitions have labelled fields and names for their values, but no other text, loops, arithmetic, timers or
    /// subroutines. Stanzas cannot locate data after a text of unknown length.
    NOT_CARRIED = "V01", warning, "cannot be translated";
    /// `tfbc convert` translated this, but the result looks or acts slightly differently.
    OTHERWISE_SHOWN = "V02", warning, "shown differently";
}
