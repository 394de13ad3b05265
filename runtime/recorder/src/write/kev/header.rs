//! Text header of a log.
//!
//! The header is a sequence of `TRACE_KEY::value` without separators. QNX's reader of 6.4 reads it in windows of 99
//! bytes, each of which begins at a key. It never ends if an attribute does not fit into a window, or if the edge of a
//! window cuts the end marker. It also loses the key after a value with several letters T. So our own values are short
//! and contain one T at most, and a value is padded with blanks if a window could end in the marker.

use super::super::setup::Setup;
use super::date::ctime;
use crate::logger::Logger;
use std::io;

/// Maximum bytes of our own attributes, so that one fits into a window.
const MAX_ATTRIBUTE: usize = 76;
/// Maximum bytes of a file name; a longer one keeps its end.
const MAX_FILE_NAME: usize = 48;
/// Maximum bytes of the command line.
const MAX_ARGUMENTS: usize = 32;
/// Distances from the end marker at which a window would cut it: 99 bytes minus the 18 of the marker, with some bytes
/// added because a window begins after its key.
const CUTTING: (usize, usize) = (80, 107);

const END: &str = "HEADER_END";

/// Key without `TRACE_`, and value.
type HeaderAttribute = (String, String);

/// Attributes in the order of QNX's tracelogger.
///
/// # Errors
/// A key or value added by the user would be read as something else.
pub(super) fn text(setup: &Setup, logger: &Logger, name: &str, page_len: usize) -> io::Result<Vec<u8>> {
    let machine = &setup.machine;
    let endian = if logger.big_endian { "BIG_ENDIAN" } else { "LITTLE_ENDIAN" };
    let mut attributes = vec![
        own("HEADER_BEGIN", ""),
        own("FILE_NAME", tail(name, MAX_FILE_NAME)),
        own("DATE", &ctime(setup.start_seconds)),
        own("VER_MAJOR", "1"),
        own("VER_MINOR", "01"),
        own(endian, "TRUE"),
        own("ENCODING", "16 byte events"),
        own("BOOT_DATE", &ctime(machine.boot_seconds)),
        own("CYCLES_PER_SEC", &setup.clock.hertz.to_string()),
        own("CPU_NUM", &machine.n_cpus.to_string()),
        own("SYSNAME", &machine.sysname),
        own("NODENAME", &machine.nodename),
        own("SYS_RELEASE", &machine.release),
        own("SYS_VERSION", &machine.version),
        own("MACHINE", &machine.machine),
        own("SYSPAGE_LEN", &page_len.to_string()),
    ];
    for (key, value) in &logger.attributes {
        attributes.push(added(key, value)?);
    }
    attributes.push(own("TRACELOGGER_ARGS", head(&command(&logger.arguments), MAX_ARGUMENTS)));
    keep_marker_whole(&mut attributes);
    attributes.push(own(END, ""));
    Ok(attributes.iter().map(|(key, value)| format!("TRACE_{key}::{value}")).collect::<String>().into_bytes())
}

/// Attribute that every reader accepts; the value is shortened if necessary.
fn own(key: &str, value: &str) -> HeaderAttribute {
    let mut n_t = 0;
    let plain = value.chars().map(|char| match char {
        'T' if n_t > 0 => 't',
        'T' => {
            n_t += 1;
            'T'
        }
        ' '..='~' => char,
        _ => '?',
    });
    let max = MAX_ATTRIBUTE - key.len() - "TRACE_::".len();
    (key.to_owned(), plain.take(max).collect())
}

/// Attribute of `-A`, with the user's value unchanged.
fn added(key: &str, value: &str) -> io::Result<HeaderAttribute> {
    let key = key.to_ascii_uppercase();
    let refuse = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_key || key.starts_with("HEADER_") {
        return refuse(format!(
            "attribute `{key}`: a key consists of letters, digits and _, and cannot be one of the log's own"
        ));
    }
    if value.contains("TRACE_") || value.contains('\0') {
        return refuse(format!("attribute `{key}`: its value would be read as another attribute"));
    }
    Ok((key, value.to_owned()))
}

fn command(arguments: &str) -> String {
    let arguments = arguments.trim();
    if arguments.starts_with("tracelogger") { arguments.to_owned() } else { format!("tracelogger {arguments}") }
}

/// First characters of a text.
fn head(text: &str, n: usize) -> &str {
    text.char_indices().nth(n).map_or(text, |(at, _)| &text[..at]).trim_end()
}

/// Last characters of a text.
fn tail(text: &str, n: usize) -> &str {
    text.char_indices().rev().nth(n - 1).map_or(text, |(at, _)| &text[at..])
}

fn len(attribute: &HeaderAttribute) -> usize {
    "TRACE_::".len() + attribute.0.len() + attribute.1.len()
}

/// Pads a value with blanks, so that no window that begins at an attribute ends in the marker.
fn keep_marker_whole(attributes: &mut [HeaderAttribute]) {
    let mut distance = 0;
    for attribute in attributes.iter_mut().rev() {
        distance += len(attribute);
        if distance >= CUTTING.0 {
            let fill = (CUTTING.1 + 1).saturating_sub(distance);
            attribute.1.push_str(&" ".repeat(fill));
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distances of keys from the end marker.
    fn distances(attributes: &[HeaderAttribute]) -> Vec<usize> {
        let mut distance = 0;
        let each = attributes.iter().rev().map(|attribute| {
            distance += len(attribute);
            distance
        });
        each.collect()
    }

    #[test]
    fn no_window_ends_in_the_marker() {
        for n in 0..120 {
            let mut attributes: Vec<HeaderAttribute> = ["A", "BOOT", "MACHINE", "LEN", "ARGS"]
                .map(|key| own(key, &"x".repeat(n % 7 + key.len())))
                .into_iter()
                .chain([own("ARGS", &"x".repeat(n))])
                .collect();
            keep_marker_whole(&mut attributes);
            let bad = |distance: &usize| (CUTTING.0..=CUTTING.1).contains(distance);
            assert_eq!(distances(&attributes).iter().find(|at| bad(at)), None, "{attributes:?}");
            assert!(attributes.iter().all(|attribute| len(attribute) < 99), "{attributes:?}");
        }
    }

    #[test]
    fn values_have_one_letter_t_and_no_control_bytes() {
        let (_, value) = own("SYS_VERSION", "#1 PREEMPT UTC TT\u{1}é");
        assert_eq!(value, "#1 PREEMPT UtC tt??");
        assert_eq!(own("K", &"y".repeat(200)).1.len() + 9, MAX_ATTRIBUTE);
    }

    #[test]
    fn what_would_be_read_as_something_else_is_refused() {
        assert_eq!(added("title", "TT").unwrap(), ("TITLE".to_owned(), "TT".to_owned()));
        for (key, value) in [("", "x"), ("a b", "x"), ("HEADER_END", ""), ("K", "xTRACE_Y::")] {
            assert!(added(key, value).is_err(), "{key}={value}");
        }
    }

    #[test]
    fn long_texts_keep_their_telling_end() {
        assert_eq!((head("abc", 2), head("abc", 3), tail("abc", 2), tail("abc", 9)), ("ab", "abc", "bc", "abc"));
        assert_eq!((command("-n 3"), command("tracelogger -w")), ("tracelogger -n 3".into(), "tracelogger -w".into()));
    }
}
