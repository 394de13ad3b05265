//! From IR to a blob: every routine for every environment, callees before callers.

use crate::Dialect;
use crate::codes::{TOO_LARGE, TOO_MANY_REGISTERS};
use crate::emit::{self, Callee, Draft, ROW, Shape, Surroundings};
use crate::graph::Graph;
use crate::ir::{Block, Program};
use crate::link;
use crate::lower::show_id;
use std::collections::HashMap;
use tfbc_grammar::{CodeInfo, Diagnostic, Source, SourceId, Span};
use tfbc_vm::{BlobBuilder, Env, HookRow, N_REGS, Place, RoutineRow, Space};

/// Plain instructions of one routine.
const MAX_ROUTINE: usize = 1 << 18;

/// Plain instructions of a program, all environments together: its blob stays below some hundred megabytes.
const MAX_PROGRAM: usize = 1 << 22;

/// Builds the blob of a checked program. `sources` are those that the IR's source ids name; the plain code is kept for
/// looking at where `listed`.
pub(crate) fn build(program: &Program, graph: &Graph, sources: &[&Source], dialect: &Dialect, listed: bool) -> Built {
    let mut builder = Builder {
        program,
        graph,
        sources,
        blob: BlobBuilder::new(),
        diagnostics: Vec::new(),
        drafts: Vec::new(),
        listed,
        n_lines: 0,
        any_base: graph.facts.iter().any(|facts| facts.sets_base),
    };
    for source in sources {
        builder.blob.source(source.name(), source.bytes());
    }
    builder.blob.dialect(&dialect.record());
    let mut routines = vec![[0; 4]; program.stanzas.len()];
    for env in Env::ALL {
        if program.stanzas.iter().any(|stanza| stanza.space.envs().contains(&env)) {
            builder.environment(env, &mut routines);
        }
    }
    for (at, stanza) in program.stanzas.iter().enumerate() {
        let label = builder.blob.string(&stanza.label);
        let place = builder.place(stanza.source, stanza.span);
        let effects = graph.facts[at].has_effects;
        builder.blob.hook(HookRow {
            id: stanza.id,
            level: stanza.level as u8,
            flags: u8::from(stanza.hidden)
                | u8::from(stanza.builtin) << 1
                | u8::from(effects) << 2
                | (stanza.space as u8) << 3,
            version: stanza.version.0,
            release: stanza.version.1,
            label,
            line: place.line,
            source: place.source,
            tab_origin: stanza.tab_origin,
            routines: routines[at],
        });
    }
    Built { blob: builder.blob, diagnostics: builder.diagnostics, drafts: builder.drafts }
}

/// What building gave.
pub(crate) struct Built {
    pub blob: BlobBuilder,
    pub diagnostics: Vec<Diagnostic>,
    /// The plain code of every routine but the built-in stanzas', with its name.
    pub drafts: Vec<(String, Draft)>,
}

struct Builder<'p> {
    program: &'p Program,
    graph: &'p Graph,
    sources: &'p [&'p Source],
    blob: BlobBuilder,
    diagnostics: Vec<Diagnostic>,
    drafts: Vec<(String, Draft)>,
    listed: bool,
    n_lines: usize,
    /// Whether any template sets the base pointer: then a called one may find it set.
    any_base: bool,
}

/// A routine about to be built.
struct Plan<'p> {
    node: usize,
    called: bool,
    n_locals: u16,
    lower_hex: bool,
    builtin: bool,
    heading: &'p Block,
    body: &'p Block,
    source: SourceId,
    span: Span,
    name: String,
}

impl<'p> Builder<'p> {
    fn environment(&mut self, env: Env, routines: &mut [[u32; 4]]) {
        let (program, graph) = (self.program, self.graph);
        let n_stanzas = program.stanzas.len();
        let called = graph.called();
        let apart = |node: usize| match program.stanzas.get(node) {
            Some(stanza) => !stanza.space.envs().contains(&env),
            // Functions are called by hooks' stanzas.
            None => !Space::Hook.envs().contains(&env),
        };
        let functions = n_stanzas..n_stanzas + program.functions.len();
        let still: Vec<bool> = functions.map(|node| !graph.facts[node].touches_pointer).collect();
        let mut function_callees: HashMap<usize, Callee> = HashMap::new();
        let mut stanza_callees: HashMap<u16, Callee> = HashMap::new();
        static NOTHING: Block = Vec::new();
        for &node in graph.order.iter().filter(|node| !apart(**node)) {
            if node >= n_stanzas {
                let function = &program.functions[node - n_stanzas];
                let plan = Plan {
                    node,
                    called: true,
                    n_locals: function.n_locals,
                    lower_hex: function.lower_hex,
                    builtin: false,
                    heading: &NOTHING,
                    body: &function.body,
                    source: function.source,
                    span: function.span,
                    name: format!("{}()", String::from_utf8_lossy(&function.name)),
                };
                let around = Surroundings {
                    program,
                    env,
                    functions: &function_callees,
                    stanzas: &stanza_callees,
                    still: &still,
                };
                let callee = self.routine(&plan, &around);
                function_callees.insert(node - n_stanzas, callee);
                continue;
            }
            let stanza = &program.stanzas[node];
            let mut plan = Plan {
                node,
                called: false,
                n_locals: stanza.n_locals,
                lower_hex: stanza.lower_hex,
                builtin: stanza.builtin,
                heading: &stanza.heading,
                body: &stanza.body,
                source: stanza.source,
                span: stanza.span,
                name: entry_name(stanza.space, stanza.id),
            };
            let around =
                Surroundings { program, env, functions: &function_callees, stanzas: &stanza_callees, still: &still };
            routines[node][env.index()] = self.routine(&plan, &around).routine;
            if called[node] {
                plan.called = true;
                plan.heading = &stanza.called_heading;
                plan.name = format!("${}", show_id(stanza.id));
                let callee = self.routine(&plan, &around);
                stanza_callees.insert(stanza.id, callee);
            }
        }
    }

    fn routine(&mut self, plan: &Plan<'_>, around: &Surroundings<'_>) -> Callee {
        let below = self.graph.callees(plan.node).map(|node| self.callee_end(node, around));
        let first = below.max().unwrap_or(0).max(ROW.into()).min(N_REGS) as u16;
        let facts = self.graph.facts[plan.node];
        let base_is_zero = if plan.called { !self.any_base } else { !facts.sets_base };
        let shape =
            Shape { called: plan.called, base_is_zero, n_locals: plan.n_locals, first, lower_hex: plan.lower_hex };
        let draft = emit::emit(around, shape, plan.heading, plan.body);
        if draft.end > N_REGS {
            let text = format!("{} and what it calls need {} registers, of {N_REGS}", plan.name, draft.end);
            self.complain(&TOO_MANY_REGISTERS, plan, text);
        }
        let name = format!("{} {}", plan.name, around.env.name());
        if !self.fits(&draft, plan) {
            return Callee { routine: 0, first, end: 0, need: 0 };
        }
        let linked = link::link(&draft, &mut self.blob);
        let places: Vec<_> = linked.spans.iter().map(|span| self.place(plan.source, *span)).collect();
        let row = RoutineRow {
            body: linked.body,
            need: linked.need,
            zeroed: if plan.called { 0 } else { facts.n_slots },
            called: plan.called.into(),
            name: self.blob.string(name.as_bytes()),
            ..RoutineRow::default()
        };
        let routine = self.blob.routine(row, &linked.code, &places);
        let callee = Callee { routine, first, end: draft.end, need: linked.need };
        if self.listed && !plan.builtin {
            self.drafts.push((name, draft));
        }
        callee
    }

    /// Reports an error of a stanza or function once, whatever the number of environments that have it.
    fn complain(&mut self, code: &'static CodeInfo, plan: &Plan<'_>, text: String) {
        let found = Diagnostic::error(code, plan.source, plan.span, text);
        if !self.diagnostics.iter().any(|known| known.code == code && known.primary == found.primary) {
            self.diagnostics.push(found);
        }
    }

    /// Whether a routine is small enough; complains once of a program that is not.
    fn fits(&mut self, draft: &Draft, plan: &Plan<'_>) -> bool {
        let before = self.n_lines;
        self.n_lines += draft.lines.len();
        let text = if draft.lines.len() > MAX_ROUTINE {
            format!("{} compiles to {} instructions, of {MAX_ROUTINE}", plan.name, draft.lines.len())
        } else if before <= MAX_PROGRAM && self.n_lines > MAX_PROGRAM {
            format!("with {} the files compile to more than {MAX_PROGRAM} instructions", plan.name)
        } else {
            return self.n_lines <= MAX_PROGRAM;
        };
        self.complain(&TOO_LARGE, plan, text);
        false
    }

    /// The register behind the last that a callee uses.
    fn callee_end(&self, node: usize, around: &Surroundings<'_>) -> usize {
        let n_stanzas = self.program.stanzas.len();
        let callee = match self.program.stanzas.get(node) {
            Some(stanza) => around.stanzas.get(&stanza.id),
            None => around.functions.get(&(node - n_stanzas)),
        };
        callee.map_or(0, |callee| callee.end)
    }

    fn place(&self, source: SourceId, span: Span) -> Place {
        let Some(text) = self.sources.get(source.0 as usize) else { return Place::default() };
        let (line, column) = text.line_column(span.start);
        Place { line, column: column.min(u16::MAX.into()) as u16, source: source.0 }
    }
}

/// An entry in listings: a hook's id, or class and event.
pub(crate) fn entry_name(space: Space, id: u16) -> String {
    match space {
        Space::Hook => show_id(id),
        Space::Record => format!("{}:{}", id >> 10, id & 1023),
        Space::Fields => format!("{}:{} fields", id >> 10, id & 1023),
    }
}
