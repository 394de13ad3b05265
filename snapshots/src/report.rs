//! Expected output of `trcrpt -h -O ids=off,timestamp=3 -t FORMAT STREAM`, from the reference alone.

use tfbc_vm::{Context, Event, Layout, Limits};

use crate::reader::{self, MachineProperties, StreamEvent};
use crate::reference::{Line, Printed, Reference, Timers, label, layout_without_columns, shown_id};

/// A finished report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The lines.
    pub text: Vec<u8>,
    /// Exit status: 2 for a damaged or cut stream, otherwise 0.
    pub status: i32,
}

/// Reports a whole stream. `log_file` is the stream's name as the user gave it.
pub fn report(reference: &Reference, file: &[u8], log_file: &[u8]) -> Report {
    let mut timers = Timers::default();
    report_by(file, log_file, |hook, event, context| {
        let Some(stanza) = reference.stanza(hook) else { return Printed::default() };
        let layout = layout_without_columns(stanza.level.map(|level| level.node));
        let line = Line { columns: b"", layout, limits: Limits::default() };
        reference.format(stanza, event, context, &mut timers, line)
    })
}

/// Reports a whole stream. `print` formats one event of a hook.
pub fn report_by(file: &[u8], log_file: &[u8], mut print: impl FnMut(u16, &Event, &Context) -> Printed) -> Report {
    let stream = reader::read(file);
    let mut text = Vec::new();
    let mut read_to = u64::MAX;
    for event in &stream.events {
        let context = context(&stream.machine, event, log_file);
        let presented =
            Event { bytes: &event.bytes, wide: event.wide, record: None, time_ns: event.time_ns, offset: event.offset };
        let printed = print(event.hook(), &presented, &context);
        text.extend(printed.text);
        if printed.stop {
            read_to = event.offset;
            break;
        }
    }
    let damaged = stream.damage.is_some_and(|offset| offset < read_to);
    Report { text, status: if damaged { 2 } else { 0 } }
}

fn context<'c>(machine: &'c MachineProperties, event: &StreamEvent, log_file: &'c [u8]) -> Context<'c> {
    Context {
        trace_env: machine.trace_env,
        total_cpus: machine.total_cpus,
        traced_cpus: machine.traced_cpus,
        reported_cpus: 0,
        large_data_types: machine.large_data_types,
        buffering: machine.buffering,
        ip_address: machine.ip_address,
        pid: 0,
        tid: event.tid,
        cpu: event.cpu,
        priority: 0,
        svc: b"",
        exec_path: b"",
        log_file,
        processes: &machine.processes,
    }
}

/// Expected output of `tfbc report --to ndjson --columns id,fields`, from the reference alone.
pub fn rows(reference: &Reference, file: &[u8], log_file: &[u8]) -> String {
    let mut timers = Timers::default();
    let mut lines = String::new();
    report_by(file, log_file, |hook, event, context| {
        let Some(stanza) = reference.stanza(hook) else { return Printed::default() };
        let line = Line { columns: b"", layout: Layout::default(), limits: Limits::default() };
        let row = reference.row(stanza, &reference.schema(stanza), event, context, &mut timers, line);
        if let Some(row) = row {
            let label = label(stanza).escape_ascii().to_string();
            lines += &format!("{{\"id\":\"{}\",\"label\":\"{label}\",\"fields\":{}}}\n", shown_id(hook), row.to_json());
        }
        Printed::default()
    });
    lines
}
