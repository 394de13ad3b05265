//! Fixes for the diagnostics of `lower`, and guesses of misspelt names.

use crate::names::NameTable;
use crate::predefined::{NAMES, predefined};
use tfbc_grammar::trcfmt::ast::*;
use tfbc_grammar::{Edit, Fix, Span, nearest};

/// Deletes a case that is never reached. Such a case is never the first.
///
/// The fix is safe only if the case contains no names: assignments number macros, and a name used only there would
/// become unused.
pub(crate) fn delete_case(text: &[u8], switch: &Switch<'_>, index: usize) -> Option<Fix> {
    let before = switch.cases.get(index.checked_sub(1)?)?;
    let case = switch.cases.get(index)?;
    let span = Span::new(body_span(&before.body).end, body_span(&case.body).end);
    // The next item may be adjacent to a quote or brace of the case, but not to a word.
    let is_word = |body: &Body<'_>| matches!(body, Body::Text(Text { kind: TextKind::Word { .. }, .. }));
    let is_apart = text.get(span.end as usize).is_none_or(|byte| byte.is_ascii_whitespace() || b",}".contains(byte));
    let between = if is_word(&before.body) && !is_word(&case.body) && !is_apart { " " } else { "" };
    let fix = Fix::safe("delete the case", [Edit::replace(span, between)]);
    Some(Fix { safe: is_plain_body(&case.body), ..fix })
}

fn body_span(body: &Body<'_>) -> Span {
    match body {
        Body::Text(text) => text.span,
        Body::Backquoted(text) => text.span,
        Body::Group(group) => group.span,
    }
}

fn is_plain_body(body: &Body<'_>) -> bool {
    match body {
        Body::Text(_) => true,
        Body::Backquoted(text) => text.parts.iter().all(|part| !matches!(part, BackquotedPart::Macro(_))),
        Body::Group(group) => group.items.iter().all(is_plain),
    }
}

/// True if the item contains no names.
fn is_plain(item: &DescriptorItem<'_>) -> bool {
    let code = |selector: &Selector<'_>| matches!(selector, Selector::Code(_));
    match item {
        DescriptorItem::Text(_)
        | DescriptorItem::Newline(_)
        | DescriptorItem::Tab(_)
        | DescriptorItem::Move(_)
        | DescriptorItem::Code(_) => true,
        DescriptorItem::Backquoted(text) => text.parts.iter().all(|part| !matches!(part, BackquotedPart::Macro(_))),
        DescriptorItem::Switch(switch) => {
            code(&switch.selector) && switch.cases.iter().all(|case| is_plain_body(&case.body))
        }
        DescriptorItem::Loop(node) => code(&node.count) && node.body.items.iter().all(is_plain),
        DescriptorItem::Bitflags(node) => code(&node.selector),
        _ => false,
    }
}

/// Rewrites a hex selector so that its match values are decimal. Returns the new text and the edit, or `None` if there
/// is no such code or cast.
pub(crate) fn decimal_selector(selector: &Selector<'_>) -> Option<(String, Edit)> {
    let decimal = |size: Size| match size {
        Size::Word => Some("UW".to_string()),
        Size::Bytes(n @ (1 | 2 | 4 | 8)) => Some(format!("U{n}")),
        Size::Bytes(_) => None,
    };
    match selector {
        Selector::Code(code) => {
            let Code::Hex(size) = code.node else { return None };
            let text = decimal(size)?;
            Some((text.clone(), Edit::replace(code.span, text)))
        }
        Selector::Macro(node @ MacroRef { cast: Some(cast), .. }) => {
            let Cast::Code(Code::Hex(size)) = cast.node else { return None };
            let text = decimal(size)?;
            Some((format!("${}%{text}", String::from_utf8_lossy(node.name)), Edit::replace(cast.span, text)))
        }
        Selector::Macro(node) => {
            // A data word has the size of the hook's word, other macros have 64 bits.
            let cast = if matches!(node.name, [b'D', b'1'..=b'5']) { "%UW" } else { "%U8" };
            let text = format!("${}{cast}", String::from_utf8_lossy(node.name));
            Some((text, Edit::insert(node.span.end, cast)))
        }
    }
}

/// Finds the macro that was probably meant: one of the stanza or a predefined one.
pub(crate) fn macro_meant<'n>(name: &[u8], variables: impl Iterator<Item = &'n [u8]>) -> Option<String> {
    let mut own: Vec<&[u8]> = variables.collect();
    own.sort_unstable();
    let known = own.into_iter().chain(NAMES.iter().map(|name| name.as_bytes()));
    // Short names are all similar to each other.
    let near = nearest(name, known.filter(|known| known.len() > 2))?;
    Some(String::from_utf8_lossy(near).into_owned())
}

/// Finds a predefined macro whose name differs only in case.
pub(crate) fn predefined_in_another_case(name: &[u8]) -> Option<String> {
    let upper = name.to_ascii_uppercase();
    predefined(&upper).map(|_| String::from_utf8_lossy(&upper).into_owned())
}

/// Replaces the name of a macro and keeps its cast.
pub(crate) fn rename_macro(node: &MacroRef<'_>, meant: &str) -> Fix {
    let end = node.span.start + 1 + node.name.len() as u32;
    Fix::guess(format!("write `${meant}`"), [Edit::replace(Span::new(node.span.start, end), format!("${meant}"))])
}

/// Finds the function that was probably meant.
pub(crate) fn function_meant(name: &[u8], names: &NameTable<'_>) -> Option<String> {
    let mut known: Vec<&[u8]> = names.functions.keys().copied().collect();
    known.sort_unstable();
    nearest(name, known).map(|near| String::from_utf8_lossy(near).into_owned())
}

/// Finds the AIX error name that was probably meant. These names are similar to each other, so most letters must match
/// in place.
pub(crate) fn errno_meant(name: &[u8]) -> Option<&'static str> {
    let known = tfbc_vm::ERRNO_NAMES.iter().map(|(_, name)| *name);
    let near = nearest(name, known.clone().map(str::as_bytes))?;
    let n_first = name.iter().zip(near).take_while(|(one, other)| one == other).count();
    let n_last = name.iter().rev().zip(near.iter().rev()).take_while(|(one, other)| one == other).count();
    let is_alike = n_first + n_last + 2 >= name.len().max(near.len());
    known.clone().find(|name| name.as_bytes() == near).filter(|_| is_alike)
}
