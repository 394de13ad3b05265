//! Values that completion scripts offer for flags without a fixed list of values.

use crate::{explain, report, rptopts};
use clap::Command;
use clap::builder::PossibleValuesParser;
use tfbc::{Column, System};

/// Adds possible values to a program's flags, for completion scripts only. The commands parse these values themselves.
pub fn add_possible_values(program: Command) -> Command {
    let names: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let program = names.into_iter().fold(program, |program, name| program.mut_subcommand(name, add_possible_values));
    let is_trcrpt = program.get_name() == "trcrpt";
    let is_explain = program.get_name() == "explain";
    let has_columns = ["report", "watch"].contains(&program.get_name());
    program.mut_args(|arg| {
        let values: Vec<&str> = match arg.get_id().as_str() {
            "columns" if has_columns => columns(),
            "to" => report::FORM_NAMES.to_vec(),
            "timestamp" => vec!["0", "1", "2", "3"],
            "options" if is_trcrpt => leaked(rptopts::values()),
            "code" if is_explain => explain::codes(),
            "allow" | "warn" | "deny" => explain::codes().into_iter().chain(["all"]).collect(),
            "dialect" => leaked(dialect()),
            _ => return arg,
        };
        arg.value_parser(PossibleValuesParser::new(values))
    })
}

/// Leaks the values, which is harmless: the command ends after writing the script.
fn leaked(values: Vec<String>) -> Vec<&'static str> {
    values.into_iter().map(|value| &*value.leak()).collect()
}

/// Columns of both systems, without duplicates.
fn columns() -> Vec<&'static str> {
    let mut names: Vec<&str> = Column::names(System::Aix).collect();
    // Names of fields are the log's.
    for name in Column::names(System::Qnx).filter(|name| !name.starts_with("arg.")) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Dialect settings with their values.
fn dialect() -> Vec<String> {
    let dialect = (tfbc_compiler::Dialect::REPORT_SETTINGS, tfbc_compiler::Dialect::SETTINGS);
    let settings = dialect.0.iter().chain(dialect.1);
    let values = settings.flat_map(|(name, values, _)| values.iter().map(move |value| format!("{name}={value}")));
    std::iter::once(String::from("help")).chain(values).collect()
}
