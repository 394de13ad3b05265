//! Listing of the event table.

use super::table::{Args, CALLS, CLASSES, EVENTS, KER_CALL, Release};
use std::fmt::Write;

/// Lists the rows of the table by class and number: event, label, IDE label, releases, and the argument names of simple
/// and of wide records. Columns are separated by at least two blanks; `-` is an empty column.
///
/// ```
/// let listing = tfbc_compiler::events::listing();
/// let line = listing.lines().find(|line| line.contains("THREADY ")).unwrap();
/// let columns: Vec<_> = line.split("  ").filter(|column| !column.is_empty()).map(str::trim).collect();
/// assert_eq!(columns, ["PR_TH:2", "THREADY", "Ready", "6.4 7.1 8.0", "pid,tid", "pid,tid,priority,policy"]);
/// ```
pub fn listing() -> String {
    let mut rows: Vec<(u8, u16, String)> = Vec::new();
    for row in EVENTS {
        let last = if row.last_number > row.number { format!("-{}", row.last_number) } else { String::new() };
        let until = row.until.unwrap_or(Release::Qnx8_0);
        let releases = Release::ALL.iter().filter(|release| (row.since..=until).contains(release));
        let line = line(
            &format!("{}:{}{last}", class_name(row.class), row.number),
            row.label(),
            row.ide,
            &releases.map(|release| name(*release)).collect::<Vec<_>>().join(" "),
            [row.fast.or(row.wide), row.wide],
        );
        rows.push((row.class, row.number, line));
    }
    for row in CALLS {
        let sides = [("", 0, row.enter), (" exit", 128, row.exit)];
        for (side, add, lists) in sides {
            let label = format!("{}/{:02}{side}", row.label(), row.number);
            let number = row.number + add;
            let id = format!("{}:{number}", class_name(KER_CALL));
            rows.push((KER_CALL, number, line(&id, &label, None, name(row.release), [lists.fast, lists.wide])));
            if lists.fast_64.or(lists.wide_64).is_some() {
                let (id, label) = (format!("{}:{}", class_name(KER_CALL), number + 512), format!("{label} 64"));
                let line = line(&id, &label, None, name(row.release), [lists.fast_64, lists.wide_64]);
                rows.push((KER_CALL, number + 512, line));
            }
        }
    }
    rows.sort_by_key(|(class, number, _)| (*class, *number));
    rows.into_iter().map(|(.., line)| line).collect()
}

fn class_name(class: u8) -> &'static str {
    CLASSES.iter().find(|row| row.number == class).map_or("", |row| row.name)
}

fn name(release: Release) -> &'static str {
    match release {
        Release::Qnx6_4 => "6.4",
        Release::Qnx7_1 => "7.1",
        Release::Qnx8_0 => "8.0",
    }
}

fn line(id: &str, label: &str, ide: Option<&str>, releases: &str, arguments: [Args; 2]) -> String {
    let mut out = String::new();
    let _ = write!(out, "{id:<14}  {label:<32}  {:<20}  {releases:<11}", ide.unwrap_or("-"));
    for list in arguments {
        let names: Vec<_> = list.unwrap_or(&[]).iter().map(|argument| argument.name).collect();
        let _ = write!(out, "  {}", if names.is_empty() { String::from("-") } else { names.join(",") });
    }
    out.push('\n');
    out
}
