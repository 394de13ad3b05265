//! HTML for notebooks. Everything from a trace is escaped.

/// Appends text with `& < > " '` escaped, and control characters replaced.
pub fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            control if control.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
}

/// Table with a row per name and value.
pub fn pairs<'t>(caption: &str, rows: impl IntoIterator<Item = (&'t str, String)>) -> String {
    let mut out = String::from("<table><caption>");
    escape(caption, &mut out);
    out.push_str("</caption><tbody>");
    for (name, value) in rows {
        out.push_str("<tr><th style=\"text-align:left\">");
        escape(name, &mut out);
        out.push_str("</th><td style=\"text-align:left\">");
        escape(&value, &mut out);
        out.push_str("</td></tr>");
    }
    out.push_str("</tbody></table>");
    out
}

/// Text in a fixed-width font.
pub fn preformatted(text: &str) -> String {
    let mut out = String::from("<pre>");
    escape(text, &mut out);
    out.push_str("</pre>");
    out
}
