//! Time zone of the dates of AIX reports.

use super::console::{Console, Message};
use clap::Args;
use std::path::PathBuf;
use tfbc::aix::TimeZone;

/// Flags of the commands that show dates.
#[derive(Debug, Clone, Default, Args)]
pub struct ZoneArgs {
    /// Show and read dates of AIX traces in UTC, regardless of TZ
    #[arg(long)]
    utc: bool,
}

impl ZoneArgs {
    /// Time zone from `TZ`; warns if the name is unknown.
    pub fn zone(&self, console: &Console) -> TimeZone {
        let value = std::env::var_os("TZ").unwrap_or_default();
        if self.utc || value.is_empty() {
            return TimeZone::UTC;
        }
        let value = value.to_string_lossy();
        let folder = std::env::var_os("TZDIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
        TimeZone::parse(&value, folder.as_deref()).unwrap_or_else(|| {
            let expected = "expected a rule such as CET-1CEST,M3.5.0,M10.5.0/3 or the name of a zone file";
            console
                .warning(Message::Notable, format!("TZ={value} is not a time zone, so dates are in UTC; {expected}"));
            TimeZone::UTC
        })
    }
}
