//! Formats the explanations of diagnostic codes for a terminal of 80 columns.

/// Columns per line.
const WIDTH: usize = 78;

/// Converts a doc comment to terminal text. Paragraphs are filled; examples, fenced or indented, stay as they are and
/// are indented by four columns.
pub fn explanation(text: &str) -> String {
    let mut out = String::new();
    let mut paragraph = String::new();
    let mut in_fence = false;
    for line in text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)) {
        let is_fence = line.starts_with("```");
        let in_example = in_fence || line.starts_with("    ");
        if is_fence || in_example || line.is_empty() {
            fill(&mut out, &std::mem::take(&mut paragraph));
        }
        if is_fence {
            in_fence = !in_fence;
        } else if in_example || line.is_empty() {
            let indent = if in_fence && !line.is_empty() { "    " } else { "" };
            out.push_str(indent);
            out.push_str(line);
            out.push('\n');
        } else {
            paragraph.push_str(line);
            paragraph.push(' ');
        }
    }
    fill(&mut out, &paragraph);
    out.trim_end().to_owned()
}

/// Breaks a paragraph into lines. Text in backquotes is never broken.
fn fill(out: &mut String, paragraph: &str) {
    let mut column = 0;
    let mut word = String::new();
    for piece in paragraph.split_whitespace() {
        if !word.is_empty() {
            word.push(' ');
        }
        word.push_str(piece);
        if !word.matches('`').count().is_multiple_of(2) {
            continue;
        }
        let len = word.chars().count();
        if column > 0 && column + 1 + len > WIDTH {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(&word);
        column += len;
        word.clear();
    }
    if !word.is_empty() {
        out.push_str(if column > 0 { " " } else { "" });
        out.push_str(&word);
        column += 1;
    }
    if column > 0 {
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::explanation;

    #[test]
    fn examples_are_indented_alike() {
        assert_eq!(explanation(" a\n\n     010 1.0\n\n b\n"), "a\n\n    010 1.0\n\nb");
        assert_eq!(explanation(" a\n\n ```text\n 010 1.0 \\\n  X4\n ```\n\n b\n"), "a\n\n    010 1.0 \\\n     X4\n\nb");
    }

    #[test]
    fn paragraphs_are_filled() {
        assert_eq!(explanation(" a\n b\n\n c\n"), "a b\n\nc");
        let words = " word".repeat(40);
        let text = explanation(&words);
        assert!(text.lines().all(|line| line.len() <= 78) && text.lines().count() == 3, "{text}");
        let span = format!("{} `a b c d e f`", "x".repeat(70));
        assert_eq!(explanation(&span), format!("{}\n`a b c d e f`", "x".repeat(70)));
    }
}
