//! The codes of the compiler's diagnostics: what a template means, as opposed to how it is written.

tfbc_grammar::declare_codes! {
    /// `$hhh` with three hex digits (or four, where such a stanza exists) inserts the stanza with that id, and no
    /// stanza of the given files has it.
    ///
    ///     010 1.0 "LABEL" $FED
    ///
    /// Name the file that holds the stanza too, or mend the id.
    NO_SUBROUTINE = "C01", "no such template subroutine";
    /// A call names a function that no stanza of the given files defines.
    ///
    ///     010 1.0 "LABEL" state($D1)
    ///
    /// Functions are defined by `{{ name(param) … }}` in any stanza of the file set.
    NO_FUNCTION = "C02", "no such function";
    /// A call passes more or fewer arguments than the function has parameters.
    ///
    ///     010 1.0 "LABEL" {{ g(v) $v }} g($D1, $D2)
    ARGUMENT_COUNT = "C03", "wrong number of arguments";
    /// Stanzas or functions call each other in a circle, so that the event would never end.
    ///
    ///     010 1.0 "A" $020
    ///     020 1.0 "B" $010
    RECURSION = "C04", "recursion";
    /// Template subroutines and functions may nest 10 levels below the event's own stanza.
    NESTING = "C05", "calls nested too deep";
    /// Predefined macros, but `$DATAPOINTER` and `$BASEPOINTER`, cannot be assigned or declared.
    ///
    ///     010 1.0 "LABEL" {{ $PID = 1 }}
    ASSIGN_PREDEFINED = "C06", "assignment to a predefined macro";
    /// A name of three hex digits (or of four, where such a stanza exists) is a template subroutine, not a variable.
    ///
    ///     010 1.0 "LABEL" {{ $abc = 1 }}
    ASSIGN_SUBROUTINE = "C07", "assignment to a template subroutine";
    /// Expressions, loop counts, BITFLAGS selectors, timers and arguments are numbers. `A`, `S`, `T`, `P` and `F` and
    /// the macros `$SVC`, `$EXECPATH`, `$LOGFILE` and `$TRACEID` print text.
    ///
    ///     010 1.0 "LABEL" {{ $x = A4 }}
    TEXT_VALUE = "C08", "text where a number is needed";
    /// A cast needs a number. Text macros, actions such as `$STOP`, and template subroutines have none.
    ///
    ///     010 1.0 "LABEL" $SVC%X4
    BAD_CAST = "C09", "cast on something that has no value";
    /// A floating point number cannot select a case.
    ///
    ///     010 1.0 "LABEL" F4, 1 "one"
    FLOAT_SELECTOR = "C10", "floating point selector";
    /// A match value, mask, flag or field is no number of the selector's base, or a string where the selector is a
    /// number.
    ///
    ///     010 1.0 "LABEL" D4, "one" "1"
    BAD_NUMBER = "C11", "match value is not a number";
    /// A switch on `E` takes the names of AIX error numbers, or decimal numbers.
    ///
    ///     010 1.0 "LABEL" E4, ENOSUCH "?"
    UNKNOWN_ERRNO = "C12", "unknown error name";
    /// `& mask` needs a number; the selector is a text.
    ///
    ///     010 1.0 "LABEL" A4 & 3, 1 "one"
    TEXT_MASK = "C13", "mask on a text";
    /// A template may define 255 macros.
    TOO_MANY_MACROS = "C14", "too many macros";
    /// A parameter is named like a predefined macro, like a template subroutine, or twice.
    ///
    ///     010 1.0 "LABEL" {{ f(PID) $PID }}
    BAD_PARAMETER = "C15", "bad parameter name";
    /// A stanza or function compiles to more than 65,536 instructions, or all of a file set to more than 4,194,304.
    /// Split the stanza, or put what repeats into a template subroutine, a function or a `LOOP`.
    TOO_LARGE = "C16", "template too large";
    /// The stanza or function, with what it calls, needs more registers than the machine has. Split it.
    TOO_MANY_REGISTERS = "C17", "too many registers";
    /// An action (`$STOP`, `$BREAK`, `$SKIP`, `$ERROR`) or a template subroutine has no value.
    ///
    ///     010 1.0 "LABEL" {{ $x = $STOP }}
    NO_VALUE = "C18", "no value";
    /// A `NAME=VALUE` of a `# tfbc:` comment is not a setting of the dialect. `--dialect help` lists them.
    ///
    ///     # tfbc: colour=red
    BAD_SETTING = "C19", "unknown dialect setting";
    /// The same id stands twice in the files; the later stanza wins.
    ///
    ///     010 1.0 "FIRST"
    ///     010 1.0 "SECOND"
    REDEFINED_STANZA = "C40", "stanza redefined";
    /// Ids below 010 belong to the trace facility itself. The stanza replaces the built-in one.
    ///
    ///     005 1.0 "MY WRAPAROUND"
    RESERVED_ID = "C41", "reserved id";
    /// The same function is defined twice in the files; the later definition wins.
    ///
    ///     010 1.0 "LABEL" {{ f(v) $v }} {{ f(v) "again" }} f($D1)
    REDEFINED_FUNCTION = "C42", "function redefined";
    /// A case behind `\*` is never reached.
    ///
    ///     010 1.0 "LABEL" D4, \* "any", 1 "one"
    UNREACHABLE_CASE = "C43", "unreachable case";
    /// A case repeats a value; the first one wins.
    ///
    ///     010 1.0 "LABEL" D4, 1 "one", 1 "uno"
    DUPLICATE_VALUE = "C44", "duplicate match value";
    /// A match value, signed or unsigned, does not fit the selector's width, and never matches.
    ///
    ///     010 1.0 "LABEL" X1, 100 "never"
    NEVER_MATCHES = "C45", "match value never matches";
    /// The match values of a hex selector look decimal: `10` is sixteen here.
    ///
    ///     010 1.0 "LABEL" $D1, 8 "eight", 9 "nine", 10 "sixteen"
    ///
    /// Cast the selector (`$D1%UW`) to compare decimal numbers, or write `0x10`.
    DECIMAL_LOOKING = "C46", "decimal-looking values on a hex selector";
    /// A macro that is never assigned or declared in its stanza is 0.
    ///
    ///     010 1.0 "LABEL" $cuont
    NEVER_ASSIGNED = "C47", "macro never assigned";
    /// A BITFLAGS number has a digit that the octal base of the selector's cast does not know; it is read as hex, the
    /// base of BITFLAGS without a cast.
    ///
    ///     010 1.0 "LABEL" {{ $m = X2 }} BITFLAGS $m%o4, 080 "M"
    NOT_OCTAL = "C51", "not an octal number";
    /// A macro is assigned and never used.
    ///
    ///     010 1.0 "LABEL" {{ $x = X2 }}
    UNUSED_MACRO = "C49", "unused macro";
    /// A function is defined and never called.
    ///
    ///     010 1.0 "LABEL" {{ f(v) $v }}
    UNUSED_FUNCTION = "C50", "unused function";
}
