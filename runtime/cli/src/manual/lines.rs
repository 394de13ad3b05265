//! Sections of a manual page.

use std::io::{self, Write};

/// Writes the line after `Usage: ` of a help page. A line with all flags would be too long to be read.
pub fn write_synopsis(usage: &str, page: &mut Vec<u8>) -> io::Result<()> {
    let usage = usage.trim().trim_start_matches("Usage: ").replace('\\', "\\e").replace('-', "\\-");
    let end = [" [", " <"].iter().filter_map(|start| usage.find(start)).min().unwrap_or(usage.len());
    let (name, arguments) = usage.split_at(end);
    writeln!(page, ".SH SYNOPSIS\n\\fB{name}\\fR{arguments}")
}

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
