//! Sub-options of `trcrpt -O`.

use super::console::{Failure, Message};
use tfbc::aix::Timestamp;
use tfbc::{Column, Columns};
use tfbc_authoring::times::seconds;
use tfbc_grammar::{closest, hint};

/// Maximum lines per page.
const MAX_PAGE: u64 = 500;

/// Sub-options other than columns: name, values and description.
const OPTIONS: [(&str, &str, &str); 9] = [
    ("2line", "on|off", "the text on a separate line after the columns (off)"),
    ("component", "on|off", "the component column; always empty here (off)"),
    ("endtime", "SECONDS", "only events up to this time since the trace began, such as 12.5"),
    ("hist", "on|off", "after the report, count the events per hook (off)"),
    ("pagesize", "0..500", "lines between two headings; 0 for a single heading (0)"),
    ("PURR", "on|off", "times of the PURR register; these traces have none (off)"),
    ("removedups", "on|off", "with -m, leave out duplicates of events (on)"),
    ("starttime", "SECONDS", "only events from this time since the trace began on"),
    (
        "timestamp",
        "0|1|2|3",
        "0 elapsed seconds and delta milliseconds, 1 elapsed seconds only,\n                       \
         2 elapsed seconds and delta microseconds, 3 no times (0)",
    ),
];

/// Another name of `reportedcpus`.
const REPORTED_PROCESSORS: &str = "reportedprocessors";

/// Text of `-O help`: all sub-options by name.
pub fn help() -> String {
    let default = ReportSettings::default();
    let columns = Column::options().map(|(column, name, help)| {
        let value = if default.columns.contains(&column) { "on" } else { "off" };
        (name, "on|off", format!("{help} ({value})"))
    });
    let others = OPTIONS.into_iter().map(|(name, values, help)| (name, values, help.to_owned()));
    let mut all: Vec<_> = columns.chain(others).collect();
    all.sort_by_key(|(name, ..)| name.to_ascii_lowercase());
    let lines = all.into_iter().map(|(name, values, help)| format!("{:<22} {help}\n", format!("{name}={values}")));
    lines.collect()
}

/// Names of all sub-options, for suggestions.
fn names() -> Vec<&'static str> {
    let columns = Column::options().map(|(_, name, _)| name);
    let mut names: Vec<_> = columns.chain(OPTIONS.map(|(name, ..)| name)).chain([REPORTED_PROCESSORS]).collect();
    names.sort_by_key(|name| name.to_ascii_lowercase());
    names
}

/// Every sub-option with its values, or up to `=` if the value is a number.
pub fn values() -> Vec<String> {
    let values = |name: &'static str| {
        let values: &[&str] = match name {
            "timestamp" => &["0", "1", "2", "3"],
            "pagesize" | "starttime" | "endtime" => &[""],
            _ => &["on", "off"],
        };
        values.iter().map(move |value| format!("{name}={value}"))
    };
    std::iter::once(String::from("help")).chain(names().into_iter().flat_map(values)).collect()
}

/// Settings of `-O`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportSettings {
    /// Selected columns.
    columns: Vec<Column>,
    timestamp: Timestamp,
    two_lines: bool,
    /// `pagesize=`
    pub page_size: u64,
    /// `hist=`: True if a count of the events per hook follows the report.
    pub histogram: bool,
    /// `component=`
    pub component: bool,
    /// `PURR=`
    pub purr: bool,
    /// `removedups=`
    pub remove_duplicates: bool,
    /// `starttime=`, in nanoseconds
    pub from_ns: Option<u64>,
    /// `endtime=`, in nanoseconds
    pub to_ns: Option<u64>,
}

impl Default for ReportSettings {
    fn default() -> Self {
        Self {
            columns: vec![Column::Id],
            timestamp: Timestamp::Milli,
            two_lines: false,
            page_size: 0,
            histogram: false,
            component: false,
            purr: false,
            remove_duplicates: true,
            from_ns: None,
            to_ns: None,
        }
    }
}

impl ReportSettings {
    /// Parses the values of all `-O` flags; later settings win.
    pub fn parse(options: &[String]) -> Result<Self, Failure> {
        let mut settings = Self::default();
        for option in options.iter().flat_map(|list| list.split([',', ' '])).filter(|option| !option.is_empty()) {
            settings
                .set(option)
                .map_err(|message| Failure::Error(Message::Usage, format!("-O {option}: {message}")))?;
        }
        Ok(settings)
    }

    /// Turns a column on or off.
    pub fn show(&mut self, column: Column, on: bool) {
        self.columns.retain(|known| *known != column);
        if on {
            self.columns.push(column);
        }
    }

    /// Columns of the report.
    pub fn columns(&self) -> Columns {
        Columns::new(&self.columns, self.timestamp).on_two_lines(self.two_lines)
    }

    fn set(&mut self, option: &str) -> Result<(), String> {
        let Some((name, value)) = option.split_once('=') else {
            let Some(name) = closest(option, &names()) else {
                return Err(String::from("expected NAME=VALUE (`-O help` lists the names)"));
            };
            let value = match name {
                "timestamp" => "0",
                "pagesize" => "20",
                "starttime" | "endtime" => "12.5",
                "ids" | "removedups" => "off",
                _ => "on",
            };
            return Err(format!("expected a value, such as `{name}={value}` (`-O help` lists all)"));
        };
        let number = value.parse::<u64>().ok();
        match name {
            "timestamp" => {
                self.timestamp = number.and_then(Timestamp::from_number).ok_or("expected timestamp=0, 1, 2 or 3")?;
            }
            "pagesize" => {
                self.page_size =
                    number.filter(|lines| *lines <= MAX_PAGE).ok_or("expected pagesize=0 to pagesize=500")?;
            }
            "starttime" => self.from_ns = Some(seconds(value)?),
            "endtime" => self.to_ns = Some(seconds(value)?),
            _ if names().contains(&name) => self.switch(name, on_off(name, value)?),
            _ => return Err(format!("unknown option `{name}`{} (`-O help` lists them)", hint(name, &names()))),
        }
        Ok(())
    }

    fn switch(&mut self, name: &str, on: bool) {
        match name {
            "2line" => self.two_lines = on,
            "component" => self.component = on,
            "hist" => self.histogram = on,
            "PURR" => self.purr = on,
            "removedups" => self.remove_duplicates = on,
            REPORTED_PROCESSORS => self.show(Column::ReportedCpus, on),
            _ => {
                let column = Column::options().find(|(_, option, _)| *option == name);
                column.into_iter().for_each(|(column, ..)| self.show(column, on));
            }
        }
    }
}

fn on_off(name: &str, value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => {
            let meant = closest(value, &["on", "off"]).filter(|_| !value.is_empty());
            let hint = meant.map_or(String::new(), |meant| format!("; did you mean `{name}={meant}`?"));
            Err(format!("expected {name}=on or {name}=off{hint}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(options: &[&str]) -> Result<ReportSettings, String> {
        let options: Vec<_> = options.iter().map(|option| (*option).to_owned()).collect();
        ReportSettings::parse(&options).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn options_may_be_listed_or_repeated() {
        let expected = ReportSettings {
            columns: vec![Column::Exec],
            timestamp: Timestamp::None,
            page_size: 20,
            ..ReportSettings::default()
        };
        assert_eq!(settings(&["ids=off,timestamp=3", "pagesize=20 exec=on"]), Ok(expected));
        assert_eq!(settings(&["exec=on,exec=off"]), Ok(ReportSettings::default()));
        assert_eq!(settings(&["starttime=1.5"]).unwrap().from_ns, Some(1_500_000_000));
        assert_eq!(settings(&["endtime=2"]).unwrap().to_ns, Some(2_000_000_000));
    }

    #[test]
    fn every_name_is_known_and_in_the_help() {
        for name in names() {
            let value = match name {
                "timestamp" | "pagesize" | "starttime" | "endtime" => "1",
                _ => "on",
            };
            assert!(settings(&[&format!("{name}={value}")]).is_ok(), "{name}");
            assert!(help().contains(name), "{name}");
        }
    }

    #[test]
    fn wrong_options_are_refused() {
        for (option, part) in [
            ("ids=maybe", "ids=on"),
            ("exec=onn", "did you mean `exec=on`"),
            ("timestamp=4", "0, 1, 2 or 3"),
            ("pagesize=501", "500"),
            ("starttime=x", "seconds"),
            ("endtime=-1", "seconds"),
            ("timestmp=1", "did you mean `timestamp`"),
            ("ids", "such as `ids=off`"),
            ("exec", "such as `exec=on`"),
            ("timestmp", "such as `timestamp=0`"),
            ("nothing", "NAME=VALUE"),
        ] {
            let message = settings(&[option]).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }
}
