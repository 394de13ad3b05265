//! The table as Rust source, for the decoder of arguments in the package `tfbc`.

use super::lower::{EXIT, INTERRUPTED, WITH_64_BITS};
use super::table::{Arg, ArgType, Args, CLASSES, EventRow, KER_CALL, PROCESS, Release, THREAD, VTHREAD, call, event};
use std::fmt::Write;

/// Events in logs of a release, as a Rust expression: a slice of `Row`.
///
/// ```
/// use tfbc_compiler::events::{Release, lists};
/// assert!(lists(Release::Qnx6_4).contains(r#"label: "THCREATE""#));
/// ```
pub fn lists(release: Release) -> String {
    let mut out = String::from("&[\n");
    for class in 0..32 {
        for number in 0..1024 {
            let row = if class == KER_CALL { call_row(release, number) } else { event_row(release, class, number) };
            if let Some(row) = row {
                let _ = writeln!(out, "    Row {{ class: {class}, first: {number}, {row} }},");
            }
        }
    }
    out.push(']');
    out
}

/// Record of a kernel call.
fn call_row(release: Release, number: u16) -> Option<String> {
    let row = call(release, number & 127)?;
    let record = number & (EXIT | INTERRUPTED);
    let (class_text, form) = match record {
        0 => ("KER_CALL", "Listed"),
        EXIT => ("KER_EXIT", "Exit"),
        INTERRUPTED => ("INT_CALL", "Interrupted"),
        _ => return None,
    };
    let side_of = |row: &super::table::CallRow| if record == EXIT { row.exit } else { row.enter };
    let side = side_of(row);
    let lists = if number & WITH_64_BITS == 0 {
        by_length(side.fast.or(side.wide), side.wide)
    } else {
        // No record of 6.4 has 64-bit values; the first release that does supplies the list.
        let is_known = |side: &super::table::CallArgs| side.fast_64.is_some() || side.wide_64.is_some();
        let newer = Release::ALL.into_iter().filter(|_| release == Release::Qnx6_4 && !is_known(&side));
        let side = newer.filter_map(|newer| call(newer, row.number)).map(side_of).find(is_known).unwrap_or(side);
        let fast_32 = side.fast.filter(|list| shown_of_two(side.wide_64) == 1 && list.iter().all(is_plain_32));
        format!(
            "Lists::With64 {{ fast: {}, wide: {}, fast_32: {} }}",
            list(side.fast_64),
            list(side.wide_64),
            list(fast_32)
        )
    };
    let label = format!("{}/{:02}", row.label(), row.number);
    Some(format!(
        "last: {number}, label: {label:?}, class_text: {class_text:?}, form: ArgLayout::{form}, lists: {lists}"
    ))
}

/// True for a 32-bit argument that is not a pointer.
fn is_plain_32(arg: &Arg) -> bool {
    matches!(arg.letter, ArgType::Decimal | ArgType::Hex | ArgType::Text | ArgType::MoreText)
}

/// Number of words that a list prints of a record of two words.
fn shown_of_two(args: Args) -> u64 {
    let mut shown = 0;
    for arg in args.unwrap_or_default() {
        if shown + arg.letter.words() > 2 {
            break;
        }
        shown += arg.letter.words();
    }
    shown
}

/// Event of any other class, at the first number of its row.
fn event_row(release: Release, class: u8, number: u16) -> Option<String> {
    let row = event(release, class, number)?;
    if number > row.number {
        return None;
    }
    let class_name = CLASSES.iter().find(|known| known.number == class).map_or("", |known| known.name);
    let class_text = row.class_text.unwrap_or(match row.external_class {
        PROCESS => "PROCESS",
        THREAD => "THREAD",
        VTHREAD => "VTHREAD",
        _ => class_name,
    });
    let wide = row.wide_from_7.filter(|_| release >= Release::Qnx7_1).or(row.wide);
    let lists = match (wide.is_some(), row.known_prefix) {
        (false, Some(prefix)) => format!("Lists::Prefix({})", arguments(prefix)),
        _ => by_length(row.fast.or(wide), wide),
    };
    let (last, label) = (row.last_number, row.label());
    let form = form(row);
    Some(format!("last: {last}, label: {label:?}, class_text: {class_text:?}, form: ArgLayout::{form}, lists: {lists}"))
}

fn form(row: &EventRow) -> &'static str {
    let is_life = row.name.ends_with("CREATE") || row.name.ends_with("DESTROY");
    match row.name {
        "_NTO_TRACE_CONTROLBUFFER" => "Buffer",
        "_NTO_TRACE_USERFIRST" => "User",
        "_NTO_TRACE_SYS_APS_NAME" => "OwnLines",
        name if name.starts_with("_TRACE_INT_") && row.number <= 6 => "Interrupt",
        _ if row.external_class == THREAD && !is_life => "State",
        _ => "Listed",
    }
}

/// Lists for records of up to two words and for longer ones.
fn by_length(short: Args, long: Args) -> String {
    format!("Lists::ByLength {{ short: {}, long: {} }}", list(short), list(long))
}

fn list(args: Args) -> String {
    args.map_or("None".into(), |args| format!("Some({})", arguments(args)))
}

/// Arguments; the words of a text become one argument.
fn arguments(args: &[Arg]) -> String {
    let mut out = String::from("&[");
    let mut rest = args;
    while let [arg, after @ ..] = rest {
        let more = after.iter().take_while(|arg| arg.letter == ArgType::MoreText).count();
        let is_text = matches!(arg.letter, ArgType::Text | ArgType::MoreText);
        let letter = match arg.letter {
            ArgType::Decimal => "Decimal".into(),
            ArgType::Hex => "Hex".into(),
            ArgType::Pointer => "Pointer".into(),
            ArgType::Decimal64 => "Decimal64".into(),
            ArgType::Hex64 => "Hex64".into(),
            ArgType::Text | ArgType::MoreText => format!("Text({})", 1 + more),
            ArgType::Name => String::from("Name"),
        };
        let _ = write!(out, "ListArg::new({:?}, ArgType::{letter}), ", arg.name);
        rest = if is_text { &after[more..] } else { after };
    }
    out.push(']');
    out
}
