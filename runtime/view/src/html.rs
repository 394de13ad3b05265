//! HTML: a template with places to fill, escaped text, and tables.

use super::harmless;
use std::io::{self, Write};
use tfbc_analysis::TextTable;

/// Writes a template, in which `{{name}}` is a place that `write` fills. Filled text is never searched for places.
pub fn fill(
    template: &str,
    out: &mut dyn Write,
    mut write: impl FnMut(&str, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut rest = template;
    while let Some((before, from)) = rest.split_once("{{") {
        let Some((name, after)) = from.split_once("}}") else { break };
        out.write_all(before.as_bytes())?;
        write(name, out)?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// Text as HTML, for elements and for attributes in quotes.
pub fn escaped(text: &str) -> String {
    let text = harmless(text);
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}

/// Appends a table whose first row is its heading.
pub fn push_table(table: &TextTable, out: &mut String) {
    let title = escaped(table.title);
    out.push_str(&format!(
        "<section class=\"table\" tabindex=\"0\" aria-label=\"{title}\">\n<table>\n<caption>{title}</caption>\n"
    ));
    for (at, row) in table.rows.iter().enumerate() {
        let (tag, part) = if at == 0 { ("th scope=\"col\"", "thead") } else { ("td", "tbody") };
        match at {
            0 => out.push_str(&format!("<{part}>")),
            1 => out.push_str(&format!("<{part}>\n")),
            _ => {}
        }
        out.push_str("<tr>");
        for (cell, is_left) in row.iter().zip(&table.is_left) {
            let class = if *is_left { "" } else { " class=\"number\"" };
            let end = &tag[..2];
            out.push_str(&format!("<{tag}{class}>{}</{end}>", escaped(cell)));
        }
        out.push_str(if at == 0 { "</tr></thead>\n" } else { "</tr>\n" });
    }
    out.push_str(if table.rows.len() > 1 { "</tbody></table>\n</section>\n" } else { "</table>\n</section>\n" });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_cannot_control() {
        let text = "</script><b a='1' c=\"2\">&\x1b[31m\u{202e}\u{2028}";
        let expected = "&lt;/script&gt;&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;\\x1b[31m\\u{202e}\u{2028}";
        assert_eq!(escaped(text), expected);
    }

    #[test]
    fn filled_text_is_not_filled_again() {
        let mut out = Vec::new();
        fill("a{{x}}b{{y}}c{{", &mut out, |name, out| write!(out, "<{name}{{{{x}}}}>")).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a<x{{x}}>b<y{{x}}>c{{");
    }
}
