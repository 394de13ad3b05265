//! The codes of the compiler's diagnostics: what a template means, as opposed to how it is written.

tfbc_grammar::declare_codes! {
    /// `$hhh` with three hex digits (or four, where such a stanza exists) inserts the stanza with that id, and no
    /// stanza of the given files has it.
    ///
    ///     010 1.0 "LABEL" $FED
    ///
    /// Name the file that holds the stanza too, or mend the id.
    NO_SUBROUTINE = "C01", error, "no such template subroutine";
    /// A call names a function that no stanza of the given files defines.
    ///
    ///     010 1.0 "LABEL" state($D1)
    ///
    /// Functions are defined by `{{ name(param) … }}` in any stanza of the file set.
    NO_FUNCTION = "C02", error, "no such function";
    /// A call passes more or fewer arguments than the function has parameters.
    ///
    ///     010 1.0 "LABEL" {{ g(v) $v }} g($D1, $D2)
    ARGUMENT_COUNT = "C03", error, "wrong number of arguments";
    /// Stanzas or functions call each other in a circle, so that the event would never end.
    ///
    ///     010 1.0 "A" $020
    ///     020 1.0 "B" $010
    RECURSION = "C04", error, "recursion";
    /// Template subroutines and functions may nest 10 levels below the event's own stanza.
    NESTING = "C05", error, "calls nested too deep";
    /// Predefined macros, but `$DATAPOINTER` and `$BASEPOINTER`, cannot be assigned or declared.
    ///
    ///     010 1.0 "LABEL" {{ $PID = 1 }}
    ASSIGN_PREDEFINED = "C06", error, "assignment to a predefined macro";
    /// A name of three hex digits (or of four, where such a stanza exists) is a template subroutine, not a variable.
    ///
    ///     010 1.0 "LABEL" {{ $abc = 1 }}
    ASSIGN_SUBROUTINE = "C07", error, "assignment to a template subroutine";
    /// Expressions, loop counts, BITFLAGS selectors, timers and arguments are numbers. `A`, `S`, `T`, `P` and `F` and
    /// the macros `$SVC`, `$EXECPATH`, `$LOGFILE` and `$TRACEID` print text.
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
    /// A match value, mask, flag or field is no number of the selector's base, or a string where the selector is a
    /// number.
    ///
    ///     010 1.0 "LABEL" D4, "one" "1"
    BAD_NUMBER = "C11", error, "match value is not a number";
    /// A switch on `E` takes the names of AIX error numbers, or decimal numbers.
    ///
    ///     010 1.0 "LABEL" E4, ENOSUCH "?"
    UNKNOWN_ERRNO = "C12", error, "unknown error name";
    /// `& mask` needs a number; the selector is a text.
    ///
    ///     010 1.0 "LABEL" A4 & 3, 1 "one"
    TEXT_MASK = "C13", error, "mask on a text";
    /// A template may define 255 macros.
    TOO_MANY_MACROS = "C14", error, "too many macros";
    /// A parameter is named like a predefined macro, like a template subroutine, or twice.
    ///
    ///     010 1.0 "LABEL" {{ f(PID) $PID }} f(1)
    BAD_PARAMETER = "C15", error, "bad parameter name";
    /// A stanza or function compiles to more than 262,144 instructions, or all of a file set to more than 4,194,304.
    /// Split the stanza, or put what repeats into a template subroutine, a function or a `LOOP`.
    TOO_LARGE = "C16", error, "template too large";
    /// The stanza or function, with what it calls, needs more registers than the machine has. Split it.
    TOO_MANY_REGISTERS = "C17", error, "too many registers";
    /// An action (`$STOP`, `$BREAK`, `$SKIP`, `$ERROR`) or a template subroutine has no value.
    ///
    ///     010 1.0 "LABEL" {{ $x = $STOP }} $x
    NO_VALUE = "C18", error, "no value";
    /// A `NAME=VALUE` of a `# tfbc:` comment is not a setting of the dialect. `--dialect help` lists them.
    ///
    ///     # tfbc: colour=red
    ///     010 1.0 "LABEL"
    BAD_SETTING = "C19", error, "unknown dialect setting";
    /// The same id stands twice in the files; the later stanza wins.
    ///
    ///     010 1.0 "FIRST"
    ///     010 1.0 "SECOND"
    REDEFINED_STANZA = "C40", warning, "stanza redefined";
    /// Ids below 010 belong to the trace facility itself. The stanza replaces the built-in one.
    ///
    ///     005 1.0 "MY WRAPAROUND"
    RESERVED_ID = "C41", warning, "reserved id";
    /// The same function is defined twice in the files; the later definition wins.
    ///
    ///     010 1.0 "LABEL" {{ f(v) $v }} {{ f(v) "again" }} f($D1)
    REDEFINED_FUNCTION = "C42", warning, "function redefined";
    /// A case behind `\*` is never reached.
    ///
    ///     010 1.0 "LABEL" D4, \* "any", 1 "one"
    UNREACHABLE_CASE = "C43", warning, "unreachable case";
    /// A case repeats a value; the first one wins.
    ///
    ///     010 1.0 "LABEL" D4, 1 "one", 1 "uno"
    DUPLICATE_VALUE = "C44", warning, "duplicate match value";
    /// A match value, signed or unsigned, does not fit the selector's width, and never matches.
    ///
    ///     010 1.0 "LABEL" X1, 100 "never"
    NEVER_MATCHES = "C45", warning, "match value never matches";
    /// The match values of a hex selector look decimal: `10` is sixteen here.
    ///
    ///     010 1.0 "LABEL" $D1, 8 "eight", 9 "nine", 10 "sixteen"
    ///
    /// Cast the selector (`$D1%UW`) to compare decimal numbers, or write `0x10`.
    DECIMAL_LOOKING = "C46", warning, "decimal-looking values on a hex selector";
    /// A macro that is never assigned or declared in its stanza is 0.
    ///
    ///     010 1.0 "LABEL" $cuont
    NEVER_ASSIGNED = "C47", warning, "macro never assigned";
    /// A template subroutine goes, by `G` or `W`, to a byte that only some events have. Subroutines are called for several
    /// events. Of those with five data words, the one of a 32-bit hook is the smallest: hook word and data are 24 bytes, in a
    /// 64-bit hook 48; only generic events are longer. What is read behind an event's end is 0.
    ///
    ///     010 1.0 "LABEL" $90F
    ///     90F 1.0 "" G28 X4
    ///
    /// Nothing is said where the subroutine, or a stanza that calls it, asks for the event's size: `$GENERIC`, `$HOOKENV`,
    /// `$WORDSIZE`, `$HL`, `HB` or `HT`.
    PAST_SMALLEST = "C48", warning, "subroutine past the smallest event";
    /// A BITFLAGS number has a digit that the octal base of the selector's cast does not know; it is read as hex, the
    /// base of BITFLAGS without a cast.
    ///
    ///     010 1.0 "LABEL" {{ $m = X2 }} BITFLAGS $m%o4, 080 "M"
    NOT_OCTAL = "C51", warning, "not an octal number";
    /// A macro is assigned and never used.
    ///
    ///     010 1.0 "LABEL" {{ $x = X2 }}
    UNUSED_MACRO = "C49", warning, "unused macro";
    /// A function is defined and never called.
    ///
    ///     010 1.0 "LABEL" {{ f(v) $v }}
    UNUSED_FUNCTION = "C50", warning, "unused function";
    /// A comment allows a code that there is not, or that of an error. Only warnings can be allowed.
    ///
    ///     # tfbc: allow=S99
    ///     010 1.0 "LABEL"
    BAD_ALLOW = "C52", warning, "code that cannot be allowed";
    /// A comment allows a warning, and nothing that the comment is about has it. Nothing is said of codes that depend on what
    /// other files are given too, such as C50, and of files with errors.
    ///
    ///     # tfbc: allow=S47
    ///     010 1.0 "LABEL"
    UNUSED_ALLOW = "C53", warning, "needless allow";
    /// The file has no stanza, or as event definitions neither a `datakey` nor an `eventclass`: it formats nothing.
    ///
    ///     # 010 1.0 L=APPL "LABEL" X4
    DEFINES_NOTHING = "C54", warning, "file that defines nothing";
    /// A `bitmask` or `enum` names a field that the format of its datakey does not have, or names none where the format has
    /// several. Runs of white space count as one blank; else names are compared exactly.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%2u1x ipicmd">
    ///         <event class="6" id="65"/>
    ///         <enum name="ipcmd" value="1" string="one"/>
    ///       </datakey>
    ///     </eventdefinitions>
    UNKNOWN_FIELD = "X80", error, "no such field";
    /// Bitmasks, enums and conditions are about fields that are one number, not about texts and arrays.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1s0 mystring">
    ///         <event class="6" id="65"/>
    ///         <enum value="1" string="one"/>
    ///       </datakey>
    ///     </eventdefinitions>
    NOT_A_NUMBER = "X81", error, "field is not a number";
    /// A class is a number of 0 to 31, or the name of one of the table, such as `USER` or `COMM`.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%4u1x a"><event class="USERS" id="65"/></datakey>
    ///     </eventdefinitions>
    BAD_CLASS = "X82", error, "no such class";
    /// An event id is a number of 0 to 1023, or a name that stands for one event of its class: for kernel calls the label or
    /// `__KER_` name of the call with `:enter` (or nothing), `:exit`, `:int`, `:enter64` or `:exit64`; for other classes the
    /// name or the label that `traceprinter` prints.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%4u1x a">
    ///         <event class="KER_CALL" id="MSG_SENDX:exit"/>
    ///       </datakey>
    ///     </eventdefinitions>
    BAD_EVENT_ID = "X83", error, "no such event";
    /// An array of characters has elements of 1 byte. With the dialect setting `char-array=list` others show as lists.
    ///
    ///     <eventdefinitions>
    ///       <eventclass id="6" name="User Events">
    ///         <event id="65" sformat="%2u4c name"/>
    ///       </eventclass>
    ///     </eventdefinitions>
    CHAR_ARRAY = "X84", error, "characters of more than a byte";
    /// The conditions of some datakeys read each other's fields in a circle. None of them can be shown first, so all of them are
    /// refused.
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
    CYCLE = "X85", error, "circle of conditions";
    /// All conditions, each counted once for each event of its datakey, come to more than 4,194,304.
    TOO_MANY_CONDITIONS = "X86", error, "too many conditions";
    /// A bitmask is wider than its field: the bits beyond it are cut.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x flags">
    ///         <event class="6" id="65"/>
    ///         <bitmask name="flags" value="0x1ff"/>
    ///       </datakey>
    ///     </eventdefinitions>
    MASK_WIDTH = "X87", warning, "mask wider than its field";
    /// A bitmask, or all of a field's bitmasks together, leave no bit: the field's value is always 0.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x flags">
    ///         <event class="6" id="65"/>
    ///         <bitmask name="flags" value="0"/>
    ///       </datakey>
    ///     </eventdefinitions>
    MASK_ZERO = "X88", warning, "mask of 0";
    /// Several bitmasks on one field leave the bits that are in all of them.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x flags">
    ///         <event class="6" id="65"/>
    ///         <bitmask name="flags" value="0xf0"/>
    ///         <bitmask name="flags" value="0x30"/>
    ///       </datakey>
    ///     </eventdefinitions>
    SEVERAL_MASKS = "X89", warning, "several bitmasks on one field";
    /// A number that no value of the field is, signed or unsigned: it never matches, and behind `!` always.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x state">
    ///         <event class="6" id="65"/>
    ///         <enum name="state" value="256" string="large"/>
    ///       </datakey>
    ///     </eventdefinitions>
    NO_SUCH_VALUE = "X90", warning, "value beyond the field";
    /// The first `value` enum that matches ends the search, so one behind it with the same value is never reached; nor is, behind
    /// `value="!X"`, any with a value but X.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x state">
    ///         <event class="6" id="65"/>
    ///         <enum name="state" value="1" string="one"/>
    ///         <enum name="state" value="1" string="uno"/>
    ///       </datakey>
    ///     </eventdefinitions>
    UNREACHABLE_ENUM = "X91", warning, "unreachable enum";
    /// A field has two defaults; the first counts.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x state">
    ///         <event class="6" id="65"/>
    ///         <enum name="state" default="other"/>
    ///         <enum name="state" default="unknown"/>
    ///       </datakey>
    ///     </eventdefinitions>
    SECOND_DEFAULT = "X92", warning, "second default";
    /// Conditions read fields of other datakeys. One on a field of its own datakey is ignored, also where another has a field of
    /// that name.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x ipicmd">
    ///         <event class="6" id="65"/>
    ///         <condition name="ipicmd" mask="1"/>
    ///       </datakey>
    ///     </eventdefinitions>
    OWN_LABEL = "X93", warning, "condition on its own datakey";
    /// No other datakey or eventclass that names the event has a field of that name, so the condition is ignored for that event.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x ipicmd">
    ///         <event class="6" id="65"/>
    ///         <condition name="nosuch" mask="1"/>
    ///       </datakey>
    ///     </eventdefinitions>
    NO_CONTRIBUTOR = "X94", warning, "condition on a field that nothing has";
    /// Several other datakeys of one event have a field of that name. The condition reads the one that is declared first, and is
    /// false where that one does not apply.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%1u1x kind"><event class="6" id="65"/></datakey>
    ///       <datakey format="%1u1x kind"><event class="6" id="65"/></datakey>
    ///       <datakey format="%1u1x text" offset="1" wide_offset="1">
    ///         <event class="6" id="65"/>
    ///         <condition name="kind" value="1"/>
    ///       </datakey>
    ///     </eventdefinitions>
    SEVERAL_CONTRIBUTORS = "X95", warning, "condition on a field that several have";
    /// Class 13 is another number of class 5, SYSTEM, and counts as that.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%4u1x a"><event class="13" id="1"/></datakey>
    ///     </eventdefinitions>
    CLASS_13 = "X96", warning, "class 13";
    /// A datakey names one event twice; it applies once.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%4u1x a">
    ///         <event class="6" id="65"/>
    ///         <event class="6" id="0x41"/>
    ///       </datakey>
    ///     </eventdefinitions>
    SAME_EVENT = "X97", warning, "the same event twice";
    /// Where `wide_offset` is not given, wide records of user events are read from `offset`, but those of other classes from byte 0.
    /// The dialect setting `wide-offset` changes that.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%4u1x pid" offset="4">
    ///         <event class="7" id="0"/>
    ///       </datakey>
    ///     </eventdefinitions>
    WIDE_OFFSET = "X98", warning, "wide records are read from elsewhere";
    /// `%s label` is a text up to its NUL, and `%1s label` a number. The first is not in QNX's reference, and both are taken for one
    /// another: write `%1s0 label` for a text.
    ///
    ///     <eventdefinitions>
    ///       <datakey format="%s mystring"><event class="6" id="65"/></datakey>
    ///     </eventdefinitions>
    BARE_STRING = "X99", warning, "`%s` without count";
    /// `tfbc convert`: the other language has no way to say this, so it is left out. What stands there has to be written by hand, or done without.
    ///
    /// Event definitions have labelled fields with names for their values; no text of their own, loops, arithmetic, timers or subroutines. Stanzas cannot find
    /// what stands behind a text of unknown length.
    NOT_CARRIED = "V01", warning, "does not carry over";
    /// `tfbc convert`: this is there in the other language too, and looks or acts a little otherwise.
    OTHERWISE_SHOWN = "V02", warning, "shown otherwise";
}
