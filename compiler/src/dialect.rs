//! Settings for decisions that the languages leave open.

use tfbc_grammar::nearest;
use tfbc_grammar::trcfmt::ast::{Code, Level, Size};

/// Choices that the languages leave open, each with a default.
///
/// `msec`, `timer-key` and `errno` act at run time and apply to a whole blob. The others apply to the source that sets
/// them.
///
/// ```
/// let mut dialect = tfbc_compiler::Dialect::default();
/// dialect.set("hex", "lower")?;
/// assert!(dialect.set("hex", "upside-down").is_err());
/// # Ok::<(), tfbc_compiler::DialectError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialect {
    /// True if a narrow cast takes the first bytes of a macro, false for the last.
    pub(crate) high_casts: bool,
    /// True if `F8` prints eight decimals.
    pub(crate) long_f8: bool,
    /// True if codes in backquotes need not be whole words.
    pub(crate) codes_anywhere: bool,
    /// True if a LOOP runs all its iterations even after the end of the data.
    pub(crate) loop_counts: bool,
    /// True if tab stops count from the first column of the line, false from the margin.
    pub(crate) line_tabs: bool,
    /// True if match values without a prefix are decimal on uncast selectors that print in hex.
    pub(crate) decimal_matches: bool,
    /// Codes that are followed by a soft blank.
    pub(crate) soft: SoftBlankCodes,
    /// True if the label of a subroutine prints.
    pub(crate) subroutine_labels: bool,
    /// Level of a stanza without `L=`.
    pub(crate) level: Level,
    /// Timers print milliseconds from this many microseconds on.
    pub(crate) msec: u32,
    /// True if the key of a timer includes the thread.
    pub(crate) timer_by_thread: bool,
    /// True if error numbers print as AIX names.
    pub(crate) errno_names: bool,
    /// True if hex digits are lower case.
    pub(crate) lower_hex: bool,
    /// First tab stop of a stanza with `L=0`.
    pub(crate) first_tab: u16,
    /// True if `%s label` is a number, like `%4s1 label`.
    pub(crate) bare_s_number: bool,
    /// True if a number without a format prints in hex.
    pub(crate) plain_hex: bool,
    /// True if all matching enums print.
    pub(crate) all_enums: bool,
    /// Offset of wide records without `wide_offset`.
    pub(crate) wide_offset: WideOffset,
    /// True if arrays of characters print as lists.
    pub(crate) char_lists: bool,
}

/// Offset of wide records if a datakey has no `wide_offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WideOffset {
    /// `offset` for class 6, 0 for other classes.
    Class,
    /// `offset`.
    Offset,
    /// 0.
    Zero,
}

/// Codes that are followed by a soft blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SoftBlankCodes {
    /// Numbers: every code except `X0` and those that print text.
    Numbers,
    /// Every code except `X0`.
    All,
    /// No code.
    None,
}

/// Reason why a dialect setting was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialectError(pub String);

impl std::fmt::Display for DialectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DialectError {}

impl Default for Dialect {
    fn default() -> Self {
        Dialect {
            high_casts: false,
            long_f8: false,
            codes_anywhere: false,
            loop_counts: false,
            line_tabs: false,
            decimal_matches: false,
            soft: SoftBlankCodes::Numbers,
            subroutine_labels: true,
            level: Level::Kern,
            msec: 1000,
            timer_by_thread: false,
            errno_names: true,
            lower_hex: false,
            first_tab: 3,
            bare_s_number: false,
            plain_hex: false,
            all_enums: false,
            wide_offset: WideOffset::Class,
            char_lists: false,
        }
    }
}

impl Dialect {
    /// Settings: name, values with the default first, description.
    pub const SETTINGS: &[(&str, &[&str], &str)] = &[
        ("cast-bytes", &["low", "high"], "bytes that a cast takes if it is narrower than the macro"),
        ("f8", &["4", "8"], "number of decimals of F8"),
        (
            "backquote",
            &["words", "anywhere"],
            "codes expanded in back quotes: whole words, or codes that no letter, digit or _ touches",
        ),
        (
            "loop-end",
            &["data", "count"],
            "end of a LOOP if the data ends early: with the data, or after all iterations, which then read zeros",
        ),
        ("tabs", &["margin", "line"], "origin of tab stops: the margin of the level, or the first column of the line"),
        ("first-tab", &["3", "8"], "first tab stop of a stanza with L=0"),
        ("match-base", &["hex", "decimal"], "base of match values without a prefix, for macros that print in hex"),
        (
            "soft-blank",
            &["numbers", "all", "none"],
            "codes followed by a soft blank; numbers: numbers, words and labels",
        ),
        ("subroutine-labels", &["print", "omit"], "if the label of a template subroutine is printed"),
        ("level", &["KERN", "APPL", "SVC", "INT"], "text column of a stanza without L="),
        ("msec", &["1000", "NUMBER"], "smallest number of microseconds that timers print as milliseconds (whole blob)"),
        ("timer-key", &["id", "thread"], "key of a timer: its two numbers, or the numbers and the thread (whole blob)"),
        ("errno", &["names", "number"], "output of E: names of AIX errors, or numbers (whole blob)"),
        ("hex", &["upper", "lower"], "case of hex digits"),
        ("bare-s", &["string", "number"], "meaning of `%s label` in event definitions"),
        ("plain-number", &["decimal", "hex"], "format of a number without one in event definitions"),
        (
            "enum-search",
            &["value", "all"],
            "enums that are printed: up to the first matching value, or all matching ones",
        ),
        (
            "wide-offset",
            &["class", "offset", "zero"],
            "offset in wide records without wide_offset; class: `offset` for user events, 0 for others",
        ),
        ("char-array", &["text", "list"], "format of an array of characters in event definitions"),
    ];

    /// Settings of commands that read traces. `--dialect` accepts them, but format files and blobs do not contain them.
    pub const REPORT_SETTINGS: &[(&str, &[&str], &str)] = &[
        (
            "b-generic-word",
            &["8", "4"],
            "size of the data word in a 32-bit program's generic hook in a 64-bit trace; its bytes begin at offset 16 or 12",
        ),
        (
            "delta",
            &["reported", "all"],
            "start of the delta in a filtered report: the previous reported event, or the previous event",
        ),
    ];

    /// Choices that have another switch: question, and values of the switch with the default first.
    pub const OTHER_SWITCHES: &[(&str, &str)] = &[
        ("position of the CPU number in an event of trace -p", "--cpuid-word=last, first, after-tid, none"),
        ("words of hooks that name processes, threads and CPUs", "--context FILE (docs/context.md)"),
        (
            "position where a report continues after damage",
            "--after-damage=next-entry (trcrpt), --after-damage=resync (all other commands)",
        ),
        ("time zone of the heading, -s and -e", "TZ; --utc"),
        ("stanza with an error", "left out; --strict refuses the whole file"),
        ("words of the built-in hooks", "assumed as in docs/hooks.md; a format file with -t"),
        ("limits of one event", "1 MiB of text, without margins, and 1048576 iterations; --max-text, --max-turns"),
    ];

    /// Choices without a switch: question and answer. No one is known to need another answer.
    pub const WITHOUT_SWITCH: &[(&str, &str)] = &[
        ("output of %W alone and of an unknown cast", "X2, as for a macro without a cast"),
        ("a bare word such as X17", "an error in check; text in reports, if a bare word is valid there"),
        ("output of $ERROR", "ERROR: log file NAME, offset 0xHEX, traceid HHH"),
        ("labels and texts of 003 to 00A", "the built-in stanzas, unless a file has its own"),
        ("unprintable bytes", "."),
        ("end of A", "at NUL"),
        ("An: text with more than n characters", "not cut"),
        ("start of a timer after endtimer", "deleted"),
        ("timers in events that are filtered out or skipped", "they run"),
        ("timers in 003 and 00A", "they do not run"),
        ("time of an event without a stamp", "the last known time"),
        (
            "event at elapsed time 0",
            "the first 001 if only 003 and 00A precede it, otherwise the first event with a stamp",
        ),
        ("timestamp=1: rounding", "truncated, 6 decimals"),
        ("timestamp=2: decimals", "3"),
        ("width of the CPU column", "4"),
        ("width of the ID column if ids have four digits", "5"),
        ("2line", "columns on one line, text on the next; no second line without text"),
        ("hist", "after the report, with any other option"),
        ("heading counted by pagesize", "no"),
        ("data after the end of an event", "zeros; the event counts as truncated"),
        ("functions: {{ f(x) ... }}", "as production files use them"),
        (
            "logs: offsets, order of entries, bytes of 00A's kinds",
            "offsets from file start; entries in currentry order; docs/recorded-logs.md",
        ),
    ];

    /// True if `name` is one of [`Dialect::REPORT_SETTINGS`].
    pub fn is_of_report(name: &str) -> bool {
        Self::REPORT_SETTINGS.iter().any(|(known, ..)| *known == name)
    }

    /// Sets `name` to `value`.
    ///
    /// # Errors
    /// The name or value is unknown; the message lists the known ones.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), DialectError> {
        if Self::is_of_report(name) {
            let text =
                format!("dialect setting `{name}` belongs to the command: give it with `--dialect {name}={value}`");
            return Err(DialectError(text));
        }
        let Some((_, values, _)) = Self::SETTINGS.iter().find(|(known, ..)| *known == name) else {
            let all = Self::REPORT_SETTINGS.iter().chain(Self::SETTINGS);
            let known: Vec<_> = all.map(|(known, ..)| *known).collect();
            let hint = hint(name, &known);
            return Err(DialectError(format!(
                "unknown dialect setting `{name}`; expected one of {}{hint}",
                known.join(", ")
            )));
        };
        let number = values.contains(&"NUMBER").then(|| value.parse().ok()).flatten();
        if number.is_none() && !values.contains(&value) {
            let known = values.join(", ");
            let hint = hint(value, values);
            return Err(DialectError(format!("dialect setting `{name}` takes {known}, found `{value}`{hint}")));
        }
        match name {
            "cast-bytes" => self.high_casts = value == "high",
            "f8" => self.long_f8 = value == "8",
            "backquote" => self.codes_anywhere = value == "anywhere",
            "loop-end" => self.loop_counts = value == "count",
            "tabs" => self.line_tabs = value == "line",
            "match-base" => self.decimal_matches = value == "decimal",
            "soft-blank" => {
                self.soft = match value {
                    "all" => SoftBlankCodes::All,
                    "none" => SoftBlankCodes::None,
                    _ => SoftBlankCodes::Numbers,
                }
            }
            "subroutine-labels" => self.subroutine_labels = value == "print",
            "level" => {
                self.level = match value {
                    "APPL" => Level::Appl,
                    "SVC" => Level::Svc,
                    "INT" => Level::Int,
                    _ => Level::Kern,
                }
            }
            "msec" => self.msec = number.unwrap_or(1000),
            "timer-key" => self.timer_by_thread = value == "thread",
            "errno" => self.errno_names = value == "names",
            "hex" => self.lower_hex = value == "lower",
            "first-tab" => self.first_tab = if value == "8" { 8 } else { 3 },
            "bare-s" => self.bare_s_number = value == "number",
            "plain-number" => self.plain_hex = value == "hex",
            "enum-search" => self.all_enums = value == "all",
            "wide-offset" => {
                self.wide_offset = match value {
                    "offset" => WideOffset::Offset,
                    "zero" => WideOffset::Zero,
                    _ => WideOffset::Class,
                }
            }
            _ => self.char_lists = value == "list",
        }
        Ok(())
    }

    /// Settings that differ from the default, as `NAME=VALUE` lines for the blob.
    pub(crate) fn record(&self) -> String {
        let default = Dialect::default();
        let differ = Self::SETTINGS.iter().filter(|(name, ..)| self.value(name) != default.value(name));
        differ.map(|(name, ..)| format!("{name}={}\n", self.value(name))).collect()
    }

    /// Value of a setting, in the form that [`Dialect::set`] accepts.
    fn value(&self, name: &str) -> String {
        let either = |second: bool, first: &str, other: &str| if second { other.into() } else { first.into() };
        match name {
            "cast-bytes" => either(self.high_casts, "low", "high"),
            "f8" => either(self.long_f8, "4", "8"),
            "backquote" => either(self.codes_anywhere, "words", "anywhere"),
            "loop-end" => either(self.loop_counts, "data", "count"),
            "tabs" => either(self.line_tabs, "margin", "line"),
            "match-base" => either(self.decimal_matches, "hex", "decimal"),
            "soft-blank" => match self.soft {
                SoftBlankCodes::Numbers => "numbers".into(),
                SoftBlankCodes::All => "all".into(),
                SoftBlankCodes::None => "none".into(),
            },
            "subroutine-labels" => either(self.subroutine_labels, "omit", "print"),
            "level" => format!("{:?}", self.level).to_uppercase(),
            "msec" => self.msec.to_string(),
            "timer-key" => either(self.timer_by_thread, "id", "thread"),
            "errno" => either(self.errno_names, "number", "names"),
            "hex" => either(self.lower_hex, "upper", "lower"),
            "first-tab" => self.first_tab.to_string(),
            "bare-s" => either(self.bare_s_number, "string", "number"),
            "plain-number" => either(self.plain_hex, "decimal", "hex"),
            "enum-search" => either(self.all_enums, "value", "all"),
            "wide-offset" => format!("{:?}", self.wide_offset).to_lowercase(),
            _ => either(self.char_lists, "text", "list"),
        }
    }

    /// True if a soft blank follows the code.
    pub(crate) fn soft_after(&self, code: Code) -> bool {
        let number = match code {
            Code::Ascii { .. } | Code::Counted(_) | Code::Time(_) | Code::Errno(_) | Code::Path(_) => false,
            Code::HexByte => return false,
            _ => true,
        };
        match self.soft {
            SoftBlankCodes::Numbers => number,
            SoftBlankCodes::All => true,
            SoftBlankCodes::None => false,
        }
    }

    /// True if a soft blank follows a macro that prints a number.
    pub(crate) fn soft_after_macro(&self) -> bool {
        self.soft_after(Code::Unsigned(Size::Word))
    }
}

/// End of a message about an unknown word: `; did you mean …?`, or nothing if no known word is near.
fn hint(word: &str, known: &[&str]) -> String {
    let nearest = nearest(word.as_bytes(), known.iter().map(|known| known.as_bytes()));
    nearest.map_or(String::new(), |known| format!("; did you mean `{}`?", String::from_utf8_lossy(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_can_be_set_again() {
        for (name, values, _) in Dialect::SETTINGS {
            for value in values.iter().map(|value| value.replace("NUMBER", "5")) {
                let mut dialect = Dialect::default();
                dialect.set(name, &value).unwrap();
                let expected = if value == values[0] { String::new() } else { format!("{name}={value}\n") };
                assert_eq!(dialect.record(), expected);
            }
        }
    }
}
