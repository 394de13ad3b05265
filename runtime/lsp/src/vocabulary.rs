//! One-sentence descriptions of the words of both languages.

use tfbc_grammar::trcfmt::ast::{Code, Move, Size};
use tfbc_grammar::trcfmt::{CodeWord, code_word};

/// Predefined macros: name, type, meaning.
pub const MACROS: &[(&str, &str, &str)] = &[
    ("HOOKENV", "number", "32 or 64: the environment of the process or kernel that traced the event"),
    ("TRACEENV", "number", "32 or 64: the environment of the trace"),
    ("WORDSIZE", "number", "bytes of the hook's word: 4 or 8"),
    ("GENERIC", "number", "1 for an event of a generic hook, else 0"),
    ("D1", "number, hexadecimal", "the first data word, with the hook's word size; 0 if the event has none"),
    ("D2", "number, hexadecimal", "the second data word"),
    ("D3", "number, hexadecimal", "the third data word"),
    ("D4", "number, hexadecimal", "the fourth data word"),
    ("D5", "number, hexadecimal", "the fifth data word"),
    ("L1", "number, hexadecimal", "the first data word, zero-extended to 64 bits"),
    ("L2", "number, hexadecimal", "the second data word, zero-extended to 64 bits"),
    ("L3", "number, hexadecimal", "the third data word, zero-extended to 64 bits"),
    ("L4", "number, hexadecimal", "the fourth data word, zero-extended to 64 bits"),
    ("L5", "number, hexadecimal", "the fifth data word, zero-extended to 64 bits"),
    ("HD", "number, hexadecimal", "the low 16 bits of the hook word: the subhook, or data of the program"),
    ("HL", "number", "number of bytes of hook data; for a generic hook, without the data word"),
    ("DATAPOINTER", "number, assignable", "the byte at which the next code reads; assigning 5 is the same as `G5`"),
    ("BASEPOINTER", "number, assignable", "an offset that every read adds to the data pointer"),
    ("RELLINENO", "number", "the line within the event's output, from 1"),
    ("TOTALCPUS", "number", "number of processors of the machine"),
    ("TRACEDCPUS", "number", "number of processors that were traced"),
    ("REPORTEDCPUS", "number", "number of processors in the report"),
    ("LARGEDATATYPES", "number", "1 if the trace has large data types, else 0"),
    ("BUFF", "number", "location of the trace buffers: 1 kernel heap, 2 separate segment"),
    ("IPADDR", "number, hexadecimal", "the IP address of the traced machine, 4 bytes"),
    ("PID", "number", "id of the current process; 0 if unknown"),
    ("TID", "number", "id of the current thread; 0 if unknown"),
    ("CPUID", "number", "number of the event's processor; 0 if unknown"),
    ("PRI", "number", "priority of the current thread; 0 if unknown"),
    ("SVC", "text", "the system call that the current thread is in; empty if unknown"),
    ("EXECPATH", "text", "path of the current process's executable; empty if unknown"),
    ("LOGFILE", "text", "the name of the trace file"),
    ("LOGIDX", "number", "the data pointer's offset in the trace file"),
    ("LOGIDX0", "number", "the event's offset in the trace file"),
    ("TRACEID", "text", "the hook id, as the report prints it"),
    ("DEFAULT", "stanza", "inserts stanza 008, which prints the event's words in hexadecimal"),
    ("STOP", "action", "ends the report after this event"),
    ("BREAK", "action", "ends the event and keeps the text printed so far"),
    ("SKIP", "action", "drops the event, so that it has no line"),
    (
        "ERROR",
        "action",
        "prints an error line with file, offset and hook id; the event ends after the enclosing braces",
    ),
];

/// Type and meaning of a predefined macro.
pub fn predefined(name: &str) -> Option<(&'static str, &'static str)> {
    MACROS.iter().find(|(known, ..)| *known == name).map(|(_, kind, text)| (*kind, *text))
}

/// Format codes for completion: an example, and its effect.
pub const CODES: &[(&str, &str)] = &[
    ("A16", "text of up to 16 bytes"),
    ("A8.16", "text of up to 8 bytes, padded to 16 columns"),
    ("S2", "text after its length of 2 bytes"),
    ("B4", "32 bits in binary"),
    ("B0.8", "8 bits in binary"),
    ("X0", "one byte as 2 hexadecimal digits, no blank after it"),
    ("X1", "1 byte in hexadecimal"),
    ("X2", "2 bytes in hexadecimal"),
    ("X4", "4 bytes in hexadecimal"),
    ("X8", "8 bytes in hexadecimal"),
    ("XW", "the hook's word in hexadecimal"),
    ("D1", "1 byte, signed decimal"),
    ("D2", "2 bytes, signed decimal"),
    ("D4", "4 bytes, signed decimal"),
    ("D8", "8 bytes, signed decimal"),
    ("DW", "the hook's word, signed decimal"),
    ("U1", "1 byte, unsigned decimal"),
    ("U2", "2 bytes, unsigned decimal"),
    ("U4", "4 bytes, unsigned decimal"),
    ("U8", "8 bytes, unsigned decimal"),
    ("UW", "the hook's word, unsigned decimal"),
    ("o4", "4 bytes in octal"),
    ("F4", "floating point of 4 bytes"),
    ("F8", "floating point of 8 bytes"),
    ("HB", "bytes of hook data"),
    ("HT", "the hook's type"),
    ("T4", "GMT time from 4 bytes"),
    ("E4", "name of the errno in 4 bytes"),
    ("P4", "path of the process in 4 bytes"),
    ("G8", "go to byte 8"),
    ("O4", "skip 4 bytes"),
    ("R4", "go back 4 bytes"),
    ("W1", "go to the first data word"),
];

/// Description of a keyword or escape.
pub fn keyword(word: &str) -> Option<&'static str> {
    Some(match word {
        "LOOP" => {
            "`LOOP count { … }`: repeats the items between the braces `count` times. The count is a code or a macro."
        }
        "BITFLAGS" => {
            "`BITFLAGS selector, flag \"true\" \"false\", & mask field \"text\", …`: tests every entry. A flag prints its first \
             text if all its bits are set, else the second. A field prints its text if the masked bits equal the field."
        }
        "starttimer" => "`starttimer(a,b)`: stores the event's time under the pair `a`, `b`.",
        "endtimer" => "`endtimer(a,b)`: prints the time since `starttimer(a,b)` in brackets, and removes the pair.",
        "\\n" => "Ends the line. The next line begins at the margin of the level.",
        "\\t" => "Blanks up to the next multiple of 8 columns.",
        "\\*" => "Matches any value that no earlier case matches.",
        _ => return None,
    })
}

/// Description of a level.
pub fn level(word: &str) -> Option<&'static str> {
    Some(match word {
        "L=APPL" => "Application level: text begins in the first column.",
        "L=SVC" => "System call level: text begins in the second column.",
        "L=KERN" => "Kernel level: text begins in the third column.",
        "L=INT" => "Interrupt level: text begins in the fourth column.",
        "L=0" => "The event prints no columns, and its text begins at column 0.",
        _ => return None,
    })
}

/// Description of a format code in Markdown: its size, an example of its output, and how far it moves the data pointer.
pub fn code(word: &str) -> Option<String> {
    Some(match code_word(word.as_bytes())? {
        CodeWord::Prints(code) => prints(code),
        CodeWord::Moves(code) => moves(code),
        CodeWord::IllegalSize => String::from("Not a format code: the size is invalid."),
    })
}

fn size(size: Size) -> String {
    match size {
        Size::Bytes(1) => String::from("1 byte"),
        Size::Bytes(n) => format!("{n} bytes"),
        Size::Word => String::from("the hook's word (4 or 8 bytes)"),
    }
}

fn prints(code: Code) -> String {
    const BLANK: &str = "A blank follows if more text comes after it.";
    let (what, example, blank) = match code {
        Code::Ascii { len, width } => {
            let padded = if width > 0 { format!(", padded with blanks to {width} columns") } else { String::new() };
            let what = format!("Text of up to {len} bytes, ending at the first NUL{padded}. Moves on by {len} bytes.");
            return format!("{what}\n\nExample: `68 65 6C 6C 6F 00` prints `hello`.");
        }
        Code::Counted(n) => {
            return format!(
                "Text after its length, which is {}. Moves on by length and text.\n\nExample: \
                            a length of 2 and `68 69` print `hi`.",
                size(n)
            );
        }
        Code::Binary { bits } => {
            return format!(
                "{bits} bits as binary digits. Moves on by {bits} bits. {BLANK}\n\nExample: the bits of `A5` \
                            begin `10100101`."
            );
        }
        Code::HexByte => ("1 byte as 2 hexadecimal digits".to_owned(), "`2A` prints `2A`", false),
        Code::Hex(n) => {
            (format!("{} in hexadecimal, with all its digits", size(n)), "`0x2A` in 4 bytes prints `0000002A`", true)
        }
        Code::Signed(n) => (format!("{} in signed decimal", size(n)), "`FF FF FF FE` in 4 bytes prints `-2`", true),
        Code::Unsigned(n) => (format!("{} in unsigned decimal", size(n)), "`00 00 00 2A` in 4 bytes prints `42`", true),
        Code::Octal(n) => (format!("{} in octal", size(n)), "`00 00 01 A4` in 4 bytes prints `644`", true),
        Code::Float(n) => (format!("Floating point of {n} bytes, as `%.4E` of C"), "1.5 prints `1.5000E+00`", true),
        Code::HookBytes => return format!("The number of bytes of hook data, in decimal. Does not move. {BLANK}"),
        Code::HookType => return format!("The hook's type in hexadecimal. Does not move. {BLANK}"),
        Code::Time(n) => (format!("{} of seconds as GMT time", size(n)), "0 prints `Thu Jan  1 00:00:00 1970`", false),
        Code::Errno(n) => (format!("{}: an AIX error number, as its name", size(n)), "2 prints `ENOENT`", false),
        Code::Path(n) => (
            format!("{}: a process, as the path of its executable", size(n)),
            "4711, if unknown, prints `-4711-`",
            false,
        ),
    };
    let first = what[..1].to_uppercase();
    let blank = if blank { BLANK } else { "No blank follows." };
    format!("{first}{}, big-endian. Moves past the value. {blank}\n\nExample: {example}.", &what[1..])
}

fn moves(code: Move) -> String {
    let bits = |bits: u32| if bits > 0 { format!(", bit {bits}") } else { String::new() };
    match code {
        Move::Goto { bytes, bits: n } => format!("Goes to byte {bytes}{} of the event. Prints nothing.", bits(n)),
        Move::Omit { bytes, bits: n } => {
            let n = if n > 0 { format!(" and {n} bits") } else { String::new() };
            format!("Skips {bytes} bytes{n}. Prints nothing.")
        }
        Move::Reverse { bytes: 0 } => String::from("Goes back to the start of the byte. Prints nothing."),
        Move::Reverse { bytes } => format!("Goes back {bytes} bytes. Prints nothing."),
        Move::Word { words: 0 } => String::from("Goes to the hook word. Prints nothing."),
        Move::Word { words } => format!("Goes to data word {words}. Prints nothing."),
    }
}

/// A number in three bases, in Markdown; `None` if the word is not a number. Without a prefix it may be decimal or
/// hexadecimal.
pub fn number(word: &str) -> Option<String> {
    let line = |value: u64| format!("{value} = `0x{value:X}` = `o{value:o}` = binary `{value:b}`");
    if let Some(digits) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok().map(line);
    }
    if let Some(digits) = word.strip_prefix('o') {
        return u64::from_str_radix(digits, 8).ok().map(line);
    }
    if let Some(digits) = word.strip_prefix('-') {
        let value = digits.parse::<i64>().ok()?.checked_neg()?;
        return Some(format!("{value} = `0x{value:X}` in 64 bits"));
    }
    let decimal = word.parse::<u64>().ok().filter(|_| word.bytes().all(|byte| byte.is_ascii_digit()));
    let hex = u64::from_str_radix(word, 16).ok().filter(|_| word.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match (decimal, hex) {
        (Some(decimal), Some(hex)) if decimal != hex => {
            Some(format!("as decimal: {}\n\nas hexadecimal: {}", line(decimal), line(hex)))
        }
        (_, Some(value)) => Some(line(value)),
        _ => None,
    }
}

/// Elements of event definitions: name, allowed parents, meaning, attributes.
pub const ELEMENTS: &[(&str, &[&str], &str, &[&str])] = &[
    ("eventdefinitions", &[], "The root: contains datakeys and eventclasses.", &[]),
    (
        "datakey",
        &["eventdefinitions", "eventdefinition", "eventformatting"],
        "Describes how to print the payload of events: a format, the events, and the meaning of values.",
        &["format", "offset", "wide_offset", "show_masked_value"],
    ),
    (
        "eventclass",
        &["eventdefinitions", "eventdefinition", "eventformatting"],
        "Formats for the events of one class, one `event` each. A datakey can do more.",
        &["id", "name"],
    ),
    ("event", &["datakey"], "An event that the datakey applies to.", &["class", "id"]),
    (
        "bitmask",
        &["datakey"],
        "Bits of a field: the value is ANDed with the mask and shifted right.",
        &["name", "value"],
    ),
    ("enum", &["datakey"], "A text for a value of a field.", &["name", "value", "mask", "string", "default"]),
    (
        "condition",
        &["datakey"],
        "The datakey applies only if a field of another datakey of the event has this value.",
        &["name", "value", "mask"],
    ),
];

/// Attributes of an element. An event in an eventclass has other attributes than one in a datakey.
pub fn attributes(element: &str, parent: &str) -> &'static [&'static str] {
    if (element, parent) == ("event", "eventclass") {
        return &["id", "sformat"];
    }
    ELEMENTS.iter().find(|(name, ..)| *name == element).map_or(&[], |(.., attributes)| attributes)
}

/// Description of an attribute.
pub fn attribute(element: &str, name: &str) -> Option<&'static str> {
    Some(match (element, name) {
        (_, "format" | "sformat") => {
            "The fields in their order, each `%spec label`. A spec is a size in bytes (1, 2, 4, 8), a sign (s, u), a count, and \
             a notation (d, x, o, c). Each part is optional. `%1s0` is a text up to its NUL."
        }
        ("datakey", "offset") => "Bytes from the start of the payload to the first field; 0 by default.",
        ("datakey", "wide_offset") => "The offset in combine records.",
        ("datakey", "show_masked_value") => {
            "With `false`, a field that an enum matches prints only the text of the enum."
        }
        ("eventclass", "id") | (_, "class") => "The class: a number from 0 to 31, or a name such as `USER`.",
        ("eventclass", "name") => "A name for the class, without effect.",
        ("event", "id") => "The event in its class: a number from 0 to 1023, or a name of an event of the class.",
        ("bitmask", "value") => "The mask.",
        ("enum", "value") => {
            "Matches a field with this value; `!` before it negates that. The first match ends the search."
        }
        ("enum", "mask") => "Matches a field with all of these bits; `!` before it negates that.",
        ("enum", "string") => "The text to print.",
        ("enum", "default") => "The text if no other enum of the field matches.",
        ("condition", "value") => "Required value of the field, or of its bits in `mask`; `!` before it negates that.",
        ("condition", "mask") => "Bits that must be set, or that are compared with `value`.",
        (_, "name" | "key") => "The label of the field; optional if the format has only one field.",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_and_macro_is_known_to_the_language() {
        for (word, _) in CODES {
            assert!(matches!(code_word(word.as_bytes()), Some(CodeWord::Prints(_) | CodeWord::Moves(_))), "{word}");
            assert!(code(word).is_some_and(|text| text.len() > 20), "{word}");
        }
        for (name, ..) in MACROS {
            // The compiler rejects assignments to all predefined macros except two.
            let text = format!("010 1.0 {{{{ ${name} = 1 }}}}\n");
            let mut sources = tfbc_grammar::Sources::new();
            sources.add(tfbc_grammar::Source::new("t", text));
            let found = tfbc_compiler::compile(&sources, &tfbc_compiler::Options::default());
            assert_eq!(found.blob.is_some(), name.ends_with("POINTER"), "{name}");
        }
    }

    #[test]
    fn numbers_have_three_bases() {
        assert_eq!(number("0x1F").as_deref(), Some("31 = `0x1F` = `o37` = binary `11111`"));
        assert!(number("10").unwrap().contains("as hexadecimal: 16 = `0x10`"));
        assert_eq!(number("B0").as_deref(), Some("176 = `0xB0` = `o260` = binary `10110000`"));
        assert_eq!(number("ENOENT"), None);
    }
}
