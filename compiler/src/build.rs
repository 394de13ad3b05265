//! Builds a blob from IR: every routine for every environment, callees before callers.

use crate::Dialect;
use crate::codes::{TOO_LARGE, TOO_MANY_REGISTERS};
use crate::emit::{self, AsmLine, Callee, Callees, CallingConvention, EmitContext, EnvDeps, ROW, UnlinkedRoutine};
use crate::fields::FieldRoutine;
use crate::graph::Graph;
use crate::ir::ShowId;
use crate::ir::{Block, IrProgram};
use crate::link::{self, LinkBuffers};
use foldhash::{HashMap, HashMapExt};
use std::fmt;
use tfbc_grammar::{CodeInfo, Diagnostic, Source, SourceId, Span};
use tfbc_vm::{BlobBuilder, Env, HookRow, N_REGS, RoutineRow, SourcePos, Space};

/// Limit on the plain instructions of one routine.
const MAX_ROUTINE: usize = 1 << 18;

/// Limit on the plain instructions of a program in all environments: keeps a blob below a few hundred megabytes.
const MAX_PROGRAM: usize = 1 << 22;

/// Builds the blob of a checked program. `sources` are indexed by the source ids of the IR.
pub(crate) fn build<'p>(
    program: &'p IrProgram,
    graph: &'p Graph,
    fields: &'p [FieldRoutine],
    sources: &'p [&'p Source],
    dialect: &Dialect,
    form: CodeForm,
) -> Built<'p> {
    let functions = program.stanzas.len()..program.stanzas.len() + program.functions.len();
    let mut builder = ProgramBuilder {
        program,
        graph,
        sources,
        blob: BlobBuilder::new(),
        diagnostics: Vec::new(),
        drafts: Vec::new(),
        form,
        places: Vec::new(),
        n_lines: 0,
        buffers: LinkBuffers::default(),
        lines: Vec::new(),
        preserves_pointer: functions.map(|node| !graph.facts[node].touches_pointer).collect(),
        functions: HashMap::new(),
        stanzas: HashMap::new(),
        any_base: graph.facts.iter().any(|facts| facts.sets_base),
    };
    // Adds all sources first, because positions contain their indices.
    for source in sources {
        builder.blob.source(source.name(), source.bytes());
    }
    builder.blob.dialect(&dialect.record());
    let routines = builder.nodes();
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
    for routine in fields {
        builder.fields(routine);
    }
    let ProgramBuilder { blob, diagnostics, drafts, places, .. } = builder;
    Built { blob, diagnostics, drafts, places }
}

/// Result of a build.
pub(crate) struct Built<'p> {
    pub blob: BlobBuilder,
    pub diagnostics: Vec<Diagnostic>,
    /// Plain code of all routines except built-in stanzas, with their names; only for listings.
    pub drafts: Vec<(String, UnlinkedRoutine<'p>)>,
    /// Per routine of a plain program: the source positions of its instructions.
    pub places: Vec<Vec<(SourceId, Span)>>,
}

/// Code that a build generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeForm {
    /// Linked code.
    Linked,
    /// Linked code, and plain code for listings.
    Listed,
    /// Plain code that can be run.
    Plain,
}

/// Heading of a routine without one.
static NOTHING: Block = Vec::new();

struct ProgramBuilder<'p> {
    program: &'p IrProgram,
    graph: &'p Graph,
    sources: &'p [&'p Source],
    blob: BlobBuilder,
    diagnostics: Vec<Diagnostic>,
    drafts: Vec<(String, UnlinkedRoutine<'p>)>,
    form: CodeForm,
    /// Per routine of a plain program: the source positions of its instructions.
    places: Vec<Vec<(SourceId, Span)>>,
    n_lines: usize,
    buffers: LinkBuffers,
    /// Buffer of the emitter, reused for all routines.
    lines: Vec<AsmLine<'p>>,
    /// Per function: true if it and its callees do not use the data pointer.
    preserves_pointer: Vec<bool>,
    /// Routines of functions and called stanzas.
    functions: HashMap<usize, Callees>,
    stanzas: HashMap<u16, Callees>,
    /// True if any template sets the base pointer. Then it may be set in every called one.
    any_base: bool,
}

/// Input of one routine's build.
struct RoutinePlan<'p> {
    node: usize,
    envs: [Env; 4],
    called: bool,
    n_locals: u16,
    lower_hex: bool,
    builtin: bool,
    /// True if it stores the fields of a hook. It contains everything that the stanza calls.
    stores_fields: bool,
    heading: &'p Block,
    body: &'p Block,
    source: SourceId,
    span: Span,
    name: RoutineName<'p>,
}

/// Name of a routine in listings.
#[derive(Clone, Copy)]
enum RoutineName<'p> {
    Entry(Space, u16),
    /// Stanza in its form for callers.
    Called(u16),
    Function(&'p [u8]),
}

impl fmt::Display for RoutineName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoutineName::Entry(Space::Hook, id) => ShowId(*id).fmt(f),
            RoutineName::Entry(Space::Record, id) => write!(f, "{}:{}", id >> 10, id & 1023),
            RoutineName::Entry(Space::RecordFields, id) => write!(f, "{}:{} fields", id >> 10, id & 1023),
            RoutineName::Entry(Space::HookFields, id) => write!(f, "{} fields", ShowId(*id)),
            RoutineName::Called(id) => write!(f, "${}", ShowId(*id)),
            RoutineName::Function(name) => write!(f, "{}()", String::from_utf8_lossy(name)),
        }
    }
}

impl<'p> ProgramBuilder<'p> {
    /// Builds all routines, callees before callers. Returns, per stanza, the routine for every environment.
    fn nodes(&mut self) -> Vec<[u32; 4]> {
        let (program, graph) = (self.program, self.graph);
        let n_stanzas = program.stanzas.len();
        let called = graph.called();
        let mut routines = vec![[0; 4]; n_stanzas];
        for &node in &graph.order {
            let Some(stanza) = program.stanzas.get(node) else {
                let function = &program.functions[node - n_stanzas];
                let plan = RoutinePlan {
                    node,
                    // Only stanzas of hooks call functions.
                    envs: Space::Hook.envs(),
                    called: true,
                    n_locals: function.n_locals,
                    lower_hex: function.lower_hex,
                    builtin: false,
                    stores_fields: false,
                    heading: &NOTHING,
                    body: &function.body,
                    source: function.source,
                    span: function.span,
                    name: RoutineName::Function(&function.name),
                };
                let callees = self.environments(&plan);
                self.functions.insert(node - n_stanzas, callees);
                continue;
            };
            let mut plan = RoutinePlan {
                node,
                envs: stanza.space.envs(),
                called: false,
                n_locals: stanza.n_locals,
                lower_hex: stanza.lower_hex,
                builtin: stanza.builtin,
                stores_fields: false,
                heading: &stanza.heading,
                body: &stanza.body,
                source: stanza.source,
                span: stanza.span,
                name: RoutineName::Entry(stanza.space, stanza.id),
            };
            routines[node] = self.environments(&plan).map(|callee| callee.routine);
            if called[node] {
                plan.called = true;
                plan.heading = &stanza.called_heading;
                plan.name = RoutineName::Called(stanza.id);
                let callees = self.environments(&plan);
                self.stanzas.insert(stanza.id, callees);
            }
        }
        routines
    }

    /// Builds the entry that stores the fields of a stanza or of a QNX event.
    fn fields(&mut self, fields: &'p FieldRoutine) {
        let stanza = &self.program.stanzas[fields.stanza];
        let space = if stanza.space == Space::Hook { Space::HookFields } else { Space::RecordFields };
        let plan = RoutinePlan {
            node: fields.stanza,
            envs: space.envs(),
            called: false,
            n_locals: fields.n_locals,
            lower_hex: false,
            builtin: stanza.builtin,
            stores_fields: space == Space::HookFields,
            heading: &NOTHING,
            body: &fields.body,
            source: stanza.source,
            span: stanza.span,
            name: RoutineName::Entry(space, stanza.id),
        };
        let routines = self.environments(&plan).map(|callee| callee.routine);
        let effects = self.graph.facts[fields.stanza].has_effects;
        let place = self.place(stanza.source, stanza.span);
        let label = self.blob.string(&fields.schema.encode());
        self.blob.hook(HookRow {
            id: stanza.id,
            flags: u8::from(stanza.builtin) << 1 | u8::from(effects) << 2 | (space as u8) << 3,
            label,
            line: place.line,
            source: place.source,
            routines,
            ..HookRow::default()
        });
    }

    /// Builds a routine for each environment. Environments that lead to the same code share one routine.
    fn environments(&mut self, plan: &RoutinePlan<'p>) -> Callees {
        let mut callees = Callees::default();
        let name = plan.name.to_string();
        for (at, env) in plan.envs.iter().enumerate() {
            // Listings show every environment, even if several share their code.
            let same_code_for = |known: &usize| callees[*known].deps.same_code_for(plan.envs[*known], *env);
            callees[at] = match (0..at).find(same_code_for).filter(|_| self.form != CodeForm::Listed) {
                Some(known) => callees[known],
                None => self.routine(plan, &name, *env),
            };
        }
        callees
    }

    /// Builds the routine of an entry or function with a name, in one environment.
    fn routine(&mut self, plan: &RoutinePlan<'p>, name: &str, env: Env) -> Callee {
        let (mut below, mut deps) = (0, EnvDeps::default());
        let callees = self.graph.callees(plan.node).filter(|_| !plan.stores_fields);
        for callee in callees.filter_map(|node| self.callee(node, env)) {
            below = below.max(callee.end);
            deps = deps.and(callee.deps);
        }
        // Registers are assigned from the callees upwards. So caller and callee use different ones, and a call saves
        // none.
        let first = below.max(ROW.into()).min(N_REGS) as u16;
        let facts = self.graph.facts[plan.node];
        // If no template sets the base pointer, reads need not add it, and stay at fixed offsets.
        let base_is_zero = if plan.called { !self.any_base } else { !facts.sets_base };
        let shape = CallingConvention {
            called: plan.called,
            base_is_zero,
            n_locals: plan.n_locals,
            first,
            lower_hex: plan.lower_hex,
            stores_fields: plan.stores_fields,
        };
        let context = EmitContext {
            program: self.program,
            env,
            functions: &self.functions,
            stanzas: &self.stanzas,
            preserves_pointer: &self.preserves_pointer,
        };
        let lines = std::mem::take(&mut self.lines);
        let mut draft = emit::emit(&context, shape, plan.heading, plan.body, lines);
        deps = deps.and(draft.deps);
        // Coverage probes write to the last register.
        let max = N_REGS - usize::from(self.program.probed);
        if draft.end > max {
            let text = format!("{name} and its callees need {} registers, at most {max}", draft.end);
            self.report_error(&TOO_MANY_REGISTERS, plan, text);
        }
        if !self.fits(&draft, plan) {
            return Callee { first, deps, ..Callee::default() };
        }
        // Fields of hooks are stored by plain instructions, because the loop for fields tracks the effect of every
        // single instruction.
        let is_plain = self.form == CodeForm::Plain || plan.stores_fields;
        let linked = link::link(&draft, &mut self.blob, &mut self.buffers, is_plain);
        let places = self.places(plan.source);
        let row = RoutineRow {
            body: linked.body,
            need: linked.need,
            zeroed: if plan.called { 0 } else { facts.n_slots },
            called: plan.called.into(),
            ..RoutineRow::default()
        };
        let name = [name, " ", env.name()];
        let routine = self.blob.named_routine(row, &name, &self.buffers.code, &places);
        if self.form == CodeForm::Plain && routine as usize == self.places.len() {
            self.places.push(self.buffers.spans.iter().map(|span| (plan.source, *span)).collect());
        }
        let callee = Callee { routine, first, end: draft.end, need: linked.need, deps };
        let is_text = matches!(
            plan.name,
            RoutineName::Called(_) | RoutineName::Function(_) | RoutineName::Entry(Space::Hook | Space::Record, _)
        );
        if self.form == CodeForm::Listed && !plan.builtin && is_text {
            self.drafts.push((name.concat(), draft));
        } else {
            draft.lines.clear();
            self.lines = draft.lines;
        }
        callee
    }

    /// Reports an error of a stanza or function once, although several environments have it.
    fn report_error(&mut self, code: &'static CodeInfo, plan: &RoutinePlan<'_>, text: String) {
        // All four environments have the same mistake.
        let found = Diagnostic::error(code, plan.source, plan.span, text);
        if !self.diagnostics.iter().any(|known| known.code == code && known.primary == found.primary) {
            self.diagnostics.push(found);
        }
    }

    /// Checks the limits on code size. A program that is too large is reported once.
    fn fits(&mut self, draft: &UnlinkedRoutine<'_>, plan: &RoutinePlan<'_>) -> bool {
        let before = self.n_lines;
        // Counted before the code is linked: a hostile file of nested calls would otherwise fill the memory first.
        self.n_lines += draft.lines.len();
        let text = if draft.lines.len() > MAX_ROUTINE {
            format!("{} compiles to {} instructions, at most {MAX_ROUTINE}", plan.name, draft.lines.len())
        } else if before <= MAX_PROGRAM && self.n_lines > MAX_PROGRAM {
            format!("with {} the files compile to more than {MAX_PROGRAM} instructions", plan.name)
        } else {
            return self.n_lines <= MAX_PROGRAM;
        };
        self.report_error(&TOO_LARGE, plan, text);
        false
    }

    /// Built routine of a callee.
    fn callee(&self, node: usize, env: Env) -> Option<Callee> {
        let n_stanzas = self.program.stanzas.len();
        let callees = match self.program.stanzas.get(node) {
            Some(stanza) => self.stanzas.get(&stanza.id),
            None => self.functions.get(&(node - n_stanzas)),
        };
        callees.map(|callees| callees[env.index()])
    }

    /// Source positions of the instructions of the last linked routine.
    fn places(&self, source: SourceId) -> Vec<SourcePos> {
        let spans = &self.buffers.spans;
        let Some(text) = self.sources.get(source.0 as usize) else { return vec![SourcePos::default(); spans.len()] };
        let (mut line, mut bytes) = (0, 0..0);
        let place = |span: &Span| {
            // Neighbours are mostly on one line, and looking up a line takes a binary search.
            if !bytes.contains(&span.start) {
                (line, bytes) = text.line_at(span.start);
            }
            let column = span.start.saturating_sub(bytes.start) + 1;
            SourcePos { line, column: column.min(u16::MAX.into()) as u16, source: source.0 }
        };
        spans.iter().map(place).collect()
    }

    fn place(&self, source: SourceId, span: Span) -> SourcePos {
        let Some(text) = self.sources.get(source.0 as usize) else { return SourcePos::default() };
        let (line, column) = text.line_column(span.start);
        SourcePos { line, column: column.min(u16::MAX.into()) as u16, source: source.0 }
    }
}

/// Name of an entry in listings: a hook id, or class and event.
pub(crate) fn entry_name(space: Space, id: u16) -> String {
    RoutineName::Entry(space, id).to_string()
}

#[cfg(test)]
mod tests {
    use super::CodeForm;
    use crate::{Options, run};
    use tfbc_grammar::{Source, Sources};

    /// Blob of a source. If `listed`, no routines are shared between environments.
    fn blob(name: &str, text: &str, listed: bool) -> Option<Vec<u8>> {
        let mut sources = Sources::new();
        sources.add(Source::new(name, text));
        let probes = &mut Default::default();
        let form = if listed { CodeForm::Listed } else { CodeForm::Linked };
        run(&sources, &Options::default(), form, probes, |_, built| built.map(|built| built.blob.finish())).0
    }

    #[test]
    fn environments_share_routines_that_are_the_same() {
        let mut n_built = 0;
        for language in ["trcfmt", "datakey"] {
            let folder = format!("{}/../snapshots/corpus/{language}", env!("CARGO_MANIFEST_DIR"));
            for file in std::fs::read_dir(folder).unwrap() {
                let case = String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap()).into_owned();
                let Some((_, section)) = case.split_once("\n==== ") else { continue };
                let text = section.split_once('\n').map_or("", |(_, text)| text);
                let text = text.split("\n==== ").next().unwrap_or("");
                let (shared, anew) = (blob("case", text, false), blob("case", text, true));
                assert!(shared == anew, "{text}");
                n_built += usize::from(shared.is_some());
            }
        }
        assert!(n_built > 100, "{n_built} built");
    }
}
