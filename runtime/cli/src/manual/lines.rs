//! Sections of a manual page.

/// Writes a section with unfilled lines.
pub fn write_lines(section: &str, lines: &str, page: &mut Vec<u8>) {
    if lines.is_empty() {
        return;
    }
    page.extend_from_slice(format!(".SH {section}\n.nf\n").as_bytes());
    for line in lines.lines() {
        let line = line.strip_prefix("  ").unwrap_or(line).replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with(['.', '\'']) {
            page.extend_from_slice(b"\\&");
        }
        page.extend_from_slice(line.as_bytes());
        page.push(b'\n');
    }
    page.extend_from_slice(b".fi\n");
}
