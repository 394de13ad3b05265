//! Listings of IR and plain bytecode.

use crate::build::{Built, entry_name};
use crate::emit::{AsmItem, UnlinkedRoutine, UnlinkedTable};
use crate::ir::*;
use std::fmt::Write;
use tfbc_vm::{Space, list_instr};

/// Lists the IR: a paragraph per routine, a line per node, nested blocks indented.
pub(crate) fn ir(program: &IrProgram) -> String {
    let mut out = String::new();
    for stanza in program.stanzas.iter().filter(|stanza| !stanza.builtin) {
        let (version, release) = stanza.version;
        let name = entry_name(stanza.space, stanza.id);
        let _ = match stanza.space {
            Space::Hook | Space::HookFields => {
                let (level, n_slots) = (stanza.level, stanza.n_slots);
                writeln!(out, "stanza {name} {version}.{release} {level:?}, {n_slots} macros")
            }
            Space::Record | Space::RecordFields => writeln!(out, "record {name}"),
        };
        block(&mut out, &stanza.heading, 1);
        block(&mut out, &stanza.body, 1);
    }
    for function in &program.functions {
        let name = String::from_utf8_lossy(&function.name);
        let _ = writeln!(out, "function {name}, {} of {} locals are parameters", function.n_params, function.n_locals);
        block(&mut out, &function.body, 1);
    }
    out
}

fn block(out: &mut String, nodes: &Block, depth: usize) {
    for node in nodes {
        let _ = write!(out, "{:1$}", "", depth * 2);
        inst(out, &node.inst, depth);
    }
}

fn inst(out: &mut String, inst: &Inst, depth: usize) {
    let _ = match inst {
        Inst::Text(text) => writeln!(out, "text \"{}\"", text.escape_ascii()),
        Inst::Put(number, how) => writeln!(out, "put {} as {how:?}", value(number)),
        Inst::CountedBy(number) => writeln!(out, "text of {} bytes", value(number)),
        Inst::Assign(slot, number) => writeln!(out, "{} = {}", slot_name(*slot), value(number)),
        Inst::SetPointer(number) => writeln!(out, "pointer = {}", value(number)),
        Inst::SetBase(number) => writeln!(out, "base = {}", value(number)),
        Inst::CallStanza(id) => writeln!(out, "call ${}", ShowId(*id)),
        Inst::CallFunction { function, arguments } => {
            let arguments: Vec<_> = arguments.iter().map(value).collect();
            writeln!(out, "call function {function} ({})", arguments.join(", "))
        }
        Inst::TimerStart(pair) => writeln!(out, "start timer {}, {}", value(&pair[0]), value(&pair[1])),
        Inst::TimerEnd(pair) => writeln!(out, "end timer {}, {}", value(&pair[0]), value(&pair[1])),
        Inst::Loop(node) => {
            let _ = writeln!(out, "loop {}", value(&node.count));
            block(out, &node.body, depth + 1);
            Ok(())
        }
        Inst::Flags(flags) => {
            let _ = writeln!(out, "flags {}", value(&flags.value));
            for entry in &flags.entries {
                let _ = writeln!(
                    out,
                    "{:w$}& {:#x} == {:#x} \"{}\" else \"{}\"",
                    "",
                    entry.mask,
                    entry.field,
                    entry.yes.text.escape_ascii(),
                    entry.no.text.escape_ascii(),
                    w = depth * 2 + 2
                );
            }
            Ok(())
        }
        Inst::FlagList(flags) => {
            let texts: Vec<_> = flags.entries.iter().map(flag).collect();
            writeln!(out, "flag list {}: {}", value(&flags.value), texts.join(", "))
        }
        Inst::Guarded(node) => pair(out, "guarded", &node.body, "short", &node.short, depth),
        Inst::ByForm(node) => pair(out, "simple", &node.simple, "wide", &node.wide, depth),
        Inst::If(node) => pair(out, &format!("if {}", value(&node.on)), &node.then, "else", &node.otherwise, depth),
        Inst::Switch(node) => {
            switch(out, node, depth);
            Ok(())
        }
        other => writeln!(out, "{}", format!("{other:?}").to_lowercase()),
    };
}

/// Writes two blocks, each with its keyword.
fn pair(out: &mut String, first: &str, one: &Block, second: &str, other: &Block, depth: usize) -> std::fmt::Result {
    writeln!(out, "{first}")?;
    block(out, one, depth + 1);
    if !other.is_empty() {
        writeln!(out, "{:1$}{second}", "", depth * 2)?;
        block(out, other, depth + 1);
    }
    Ok(())
}

fn flag(entry: &Flag) -> String {
    let (yes, no) = (entry.yes.text.escape_ascii(), entry.no.text.escape_ascii());
    format!("{:#x}/{:#x} \"{yes}\" else \"{no}\"", entry.mask, entry.field)
}

fn switch(out: &mut String, switch: &Switch, depth: usize) {
    let keys: Vec<(String, usize)> = match &switch.on {
        SwitchSelector::Number { value: on, width, keys } => {
            let width = width.map_or("a word".to_string(), |width| format!("{width} bits"));
            let _ = writeln!(out, "switch {} of {width}", value(on));
            let sign = |negative| if negative { "-" } else { "" };
            keys.iter().map(|(key, body)| (format!("{}{:#x}", sign(key.negative), key.magnitude), *body)).collect()
        }
        SwitchSelector::Text(text, keys) => {
            let _ = writeln!(out, "switch on the text of");
            block(out, text, depth + 2);
            keys.iter().map(|(key, body)| (format!("\"{}\"", key.escape_ascii()), *body)).collect()
        }
    };
    let default = switch.default.map(|body| ("else".to_string(), body));
    for (key, body) in keys.into_iter().chain(default) {
        let _ = writeln!(out, "{:1$}{key}:", "", depth * 2 + 2);
        block(out, &switch.bodies[body], depth + 2);
    }
}

fn slot_name(slot: VarSlot) -> String {
    match slot {
        VarSlot::Row(index) => format!("%{index}"),
        VarSlot::Local(index) => format!("%local{index}"),
    }
}

fn value(of: &Value) -> String {
    match of {
        Value::Const(number) => format!("{number}"),
        Value::Read(EventField::Bytes { size, signed }) => format!("{}{size:?}", if *signed { "signed " } else { "" }),
        Value::Read(EventField::Bits(count)) => format!("{count} bits"),
        Value::Slot(slot) => slot_name(*slot),
        Value::Env(what) => format!("${}", what.name()),
        Value::HookEnv => "$HOOKENV".to_string(),
        Value::WordSize => "$WORDSIZE".to_string(),
        Value::Generic => "$GENERIC".to_string(),
        Value::DataWord(index) => format!("$D{index}"),
        Value::Pointer => "pointer".to_string(),
        Value::Base => "base".to_string(),
        Value::Low { value: of, size, signed } => {
            format!("{}low {size:?} of {}", if *signed { "signed " } else { "" }, value(of))
        }
        Value::First { value: of, taken, .. } => format!("first {taken:?} of {}", value(of)),
        Value::Bits { value: of, low, count } => format!("{count} bits from {low} of {}", value(of)),
        Value::Compare { equal, left, right } => {
            format!("({} {} {})", value(left), if *equal { "==" } else { "!=" }, value(right))
        }
        Value::AnyFlag(flags) => {
            let texts: Vec<_> = flags.entries.iter().map(flag).collect();
            format!("any flag of {}: {}", value(&flags.value), texts.join(", "))
        }
        Value::Binary(op, left, right) => format!("({} {op:?} {})", value(left), value(right)),
    }
}

/// Lists plain bytecode: a paragraph per routine, labels at the left, tables after their routine.
pub(crate) fn bytecode(built: &Built<'_>) -> String {
    let mut out = String::new();
    for (name, draft) in &built.drafts {
        let _ = writeln!(out, "; {name}, needs {} bytes", draft.need);
        routine(&mut out, draft);
    }
    out
}

fn routine(out: &mut String, draft: &UnlinkedRoutine<'_>) {
    for line in &draft.lines {
        let _ = match &line.plain {
            AsmItem::Text(text) => writeln!(out, "  text \"{}\"", text.escape_ascii()),
            AsmItem::Label(label) => writeln!(out, "L{label}:"),
            AsmItem::BodyEnd => writeln!(out, "  end"),
            AsmItem::Op(instr) => writeln!(out, "  {}", list_instr(instr, None).replace("->", "->L")),
        };
    }
    for (index, table) in draft.tables.iter().enumerate() {
        let _ = write!(out, "  .table {index}");
        let quoted = |text: &[u8]| format!("\"{}\"", text.escape_ascii());
        match table {
            UnlinkedTable::Number(cases, default) => {
                for (key, label) in cases {
                    let _ = write!(out, " {key:#x}->L{label}");
                }
                let _ = write!(out, " else->L{default}");
            }
            UnlinkedTable::Texts(texts, default) => {
                for (key, text) in texts {
                    let _ = write!(out, " {key:#x}:{}", quoted(text));
                }
                let _ = write!(out, " else {}", quoted(default));
            }
            UnlinkedTable::Text(cases, default) => {
                for (key, label) in cases {
                    let _ = write!(out, " {}->L{label}", quoted(key));
                }
                let _ = write!(out, " else->L{default}");
            }
            UnlinkedTable::Flags(rows) => {
                for (mask, field, yes, no) in rows {
                    let _ = write!(out, " {mask:#x}/{field:#x}:{},{}", quoted(yes.0), quoted(no.0));
                }
            }
            UnlinkedTable::Labels(labels, default) => {
                for (key, label) in labels {
                    let _ = write!(out, " {key:#x}:{label}");
                }
                let _ = write!(out, " else {default}");
            }
            UnlinkedTable::Lits(texts) => {
                for text in texts {
                    let _ = write!(out, " {}", quoted(text));
                }
            }
            UnlinkedTable::Nibbles(nibbles) => {
                let _ = write!(out, " >>{}", nibbles.shift);
                for text in nibbles.texts.iter().flatten() {
                    let _ = write!(out, " {}", quoted(text.as_bytes()));
                }
                let _ = write!(out, " else {}", quoted(nibbles.default.as_bytes()));
            }
        }
        out.push('\n');
    }
}
