//! Test results for other programs: JUnit XML for build servers, and JSON.

use super::run::{CaseError, CaseResult, EventResult, Results, Verdict};
use crate::render;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use serde_json::{Value, json};
use std::io;

/// Reason why a case is broken, as plain text.
pub fn reason(case: &CaseResult, results: &Results) -> String {
    match &case.broken {
        None => String::new(),
        Some(CaseError::Other(lines)) => lines.join("\n"),
        Some(CaseError::Case(bad)) => {
            bad.diagnostics.iter().map(|found| render::human(&bad.sources, found, false)).collect::<Vec<_>>().join("\n")
        }
        Some(CaseError::Formats(set)) => match results.sets.get(*set).map(|set| &set.loaded) {
            Some(Err(tfbc::LoadError::Source(findings))) => {
                let shown = findings.diagnostics.iter().map(|found| render::human(&findings.sources, found, false));
                shown.collect::<Vec<_>>().join("\n")
            }
            Some(Err(error)) => error.to_string(),
            _ => String::new(),
        },
    }
}

/// Results as one JSON object: a summary, then each case with its events.
pub fn json(results: &Results) -> String {
    let event = |event: &EventResult| {
        json!({
            "name": event.name,
            "verdict": event.verdict.word(),
            "text": event.text,
            "limited": event.limited,
            "failure": event.failure,
        })
    };
    let case = |case: &CaseResult| {
        let diff = if matches!(case.verdict, Verdict::Changed | Verdict::New) {
            Value::from(case.diff(false))
        } else {
            Value::Null
        };
        json!({
            "file": case.path.to_string_lossy(),
            "snapshot": case.places.accepted.to_string_lossy(),
            "verdict": case.verdict.word(),
            "diff": diff,
            "reason": case.broken.as_ref().map(|_| reason(case, results)),
            "events": case.events.iter().map(event).collect::<Vec<_>>(),
        })
    };
    let summary: serde_json::Map<String, Value> =
        Verdict::ALL.iter().map(|verdict| (verdict.word().to_owned(), results.count(*verdict).into())).collect();
    let object = json!({ "summary": summary, "cases": results.cases.iter().map(case).collect::<Vec<_>>() });
    format!("{object:#}\n")
}

/// Results as JUnit XML: one suite per case file, one test per event.
///
/// # Errors
/// Never fails in practice, because it writes to memory.
pub fn junit(results: &Results) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let (mut n_failures, mut n_errors) = (0, 0);
    let mut n_tests = 0;
    for case in &results.cases {
        let counts = counts(case);
        n_tests += counts.0;
        n_failures += counts.1;
        n_errors += counts.2;
    }
    let mut top = BytesStart::new("testsuites");
    for (name, value) in [("name", "tfbc test".to_owned()), ("tests", n_tests.to_string())] {
        top.push_attribute((name, value.as_str()));
    }
    top.push_attribute(("failures", n_failures.to_string().as_str()));
    top.push_attribute(("errors", n_errors.to_string().as_str()));
    writer.write_event(Event::Start(top))?;
    for case in &results.cases {
        suite(&mut writer, case, results)?;
    }
    writer.write_event(Event::End(BytesEnd::new("testsuites")))?;
    let mut text = String::from_utf8(writer.into_inner()).map_err(|_| io::Error::other("XML that is not UTF-8"))?;
    text.push('\n');
    Ok(text)
}

/// Number of tests, failures and errors of a case. A case without events counts as one test.
fn counts(case: &CaseResult) -> (usize, usize, usize) {
    let n = |verdicts: &[Verdict]| case.events.iter().filter(|event| verdicts.contains(&event.verdict)).count();
    if case.events.is_empty() || case.verdict == Verdict::Broken {
        return (case.events.len().max(1), 0, n(&[Verdict::Broken]).max(1));
    }
    (
        case.events.len() + usize::from(only_order_changed(case)),
        n(&[Verdict::Changed, Verdict::New]) + usize::from(only_order_changed(case)),
        0,
    )
}

/// True if the case changed but no single event did: events were removed or reordered.
fn only_order_changed(case: &CaseResult) -> bool {
    case.verdict == Verdict::Changed && case.events.iter().all(|event| event.verdict == Verdict::Passed)
}

fn suite(writer: &mut Writer<Vec<u8>>, case: &CaseResult, results: &Results) -> io::Result<()> {
    let path = case.path.to_string_lossy();
    let (tests, failures, errors) = counts(case);
    let mut start = BytesStart::new("testsuite");
    start.push_attribute(("name", xml(&path).as_str()));
    for (name, n) in [("tests", tests), ("failures", failures), ("errors", errors)] {
        start.push_attribute((name, n.to_string().as_str()));
    }
    writer.write_event(Event::Start(start))?;
    let mut has_problem = false;
    for event in &case.events {
        let problem = match event.verdict {
            Verdict::Passed => None,
            Verdict::Changed | Verdict::New => Some(Problem::failure(event.verdict, case)),
            Verdict::Broken => Some(Problem::error(event.failure.clone().unwrap_or_default())),
        };
        has_problem |= problem.is_some();
        test(writer, &path, &event.name, problem)?;
    }
    if !has_problem && case.verdict != Verdict::Passed {
        let problem = match case.verdict {
            Verdict::Broken => Problem::error(reason(case, results)),
            verdict => Problem::failure(verdict, case),
        };
        test(writer, &path, "the case file", Some(problem))?;
    }
    writer.write_event(Event::End(BytesEnd::new("testsuite")))
}

/// Problem of a test, as JUnit's XML shows it.
struct Problem {
    element: &'static str,
    message: &'static str,
    text: String,
}

impl Problem {
    fn failure(verdict: Verdict, case: &CaseResult) -> Self {
        Self { element: "failure", message: verdict.word(), text: case.diff(false) }
    }

    fn error(text: String) -> Self {
        Self { element: "error", message: "broken", text }
    }
}

fn test(writer: &mut Writer<Vec<u8>>, path: &str, name: &str, problem: Option<Problem>) -> io::Result<()> {
    let mut start = BytesStart::new("testcase");
    start.push_attribute(("classname", xml(path).as_str()));
    start.push_attribute(("name", xml(name).as_str()));
    let Some(Problem { element, message, text }) = problem else { return writer.write_event(Event::Empty(start)) };
    writer.write_event(Event::Start(start))?;
    let mut inner = BytesStart::new(element);
    inner.push_attribute(("message", message));
    writer.write_event(Event::Start(inner))?;
    writer.write_event(Event::Text(BytesText::new(&xml(&text))))?;
    writer.write_event(Event::End(BytesEnd::new(element)))?;
    writer.write_event(Event::End(BytesEnd::new("testcase")))
}

/// Removes the characters that XML does not allow.
fn xml(text: &str) -> String {
    let fits = |char: char| matches!(char, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    text.chars().map(|char| if fits(char) { char } else { '\u{fffd}' }).collect()
}
