//! Call graph: cycles, nesting, and properties of a routine including its callees.

use crate::codes::{NESTING, RECURSION};
use crate::ir::ShowId;
use crate::ir::{Block, Inst, IrProgram, walk};
use foldhash::HashMap;
use tfbc_grammar::{Diagnostic, SourceId, Span};
use tfbc_vm::Space;

/// Limit on nested calls below the stanza of an event.
const MAX_NESTING: usize = 10;

/// Calls of a program. Nodes are its stanzas, followed by its functions.
pub(crate) struct Graph {
    n_stanzas: usize,
    /// Per node: its callees with the positions of the calls.
    calls: Vec<Vec<(usize, Span)>>,
    /// All nodes, callees before callers.
    pub order: Vec<usize>,
    /// Per node: properties of the routine including its callees.
    pub facts: Vec<CallFacts>,
}

/// Properties of a routine including its callees.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CallFacts {
    pub sets_base: bool,
    pub touches_pointer: bool,
    /// True for timers and `$STOP`, whose effects outlive the event.
    pub has_effects: bool,
    /// Number of slots used in the event's row.
    pub n_slots: u16,
    /// Depth of calls nested below it.
    depth: usize,
}

impl Graph {
    pub fn new(program: &IrProgram) -> (Graph, Vec<Diagnostic>) {
        let hooks = program.stanzas.iter().enumerate().filter(|(_, stanza)| stanza.space == Space::Hook);
        let stanzas: HashMap<u16, usize> = hooks.map(|(at, stanza)| (stanza.id, at)).collect();
        let n_stanzas = program.stanzas.len();
        let blocks: Vec<&Block> = (program.stanzas.iter().map(|stanza| &stanza.body))
            .chain(program.functions.iter().map(|function| &function.body))
            .collect();
        let calls = blocks.iter().map(|block| calls_of(block, &stanzas, n_stanzas)).collect();
        let mut graph = Graph { n_stanzas, calls, order: Vec::new(), facts: Vec::new() };
        let mut diagnostics = Vec::new();
        graph.sort(program, &mut diagnostics);
        graph.facts = vec![CallFacts::default(); blocks.len()];
        for at in graph.order.clone() {
            graph.facts[at] = graph.facts_of(program, at, blocks[at]);
        }
        graph.check_depth(program, &mut diagnostics);
        (graph, diagnostics)
    }

    /// Direct callees of a node.
    pub fn callees(&self, node: usize) -> impl Iterator<Item = usize> {
        self.calls[node].iter().map(|(callee, _)| *callee)
    }

    /// Per node: true if another node calls it.
    pub fn called(&self) -> Vec<bool> {
        let mut called = vec![false; self.calls.len()];
        self.calls.iter().flatten().for_each(|(callee, _)| called[*callee] = true);
        called
    }

    fn facts_of(&self, program: &IrProgram, node: usize, block: &Block) -> CallFacts {
        let mut facts = CallFacts::default();
        if let Some(stanza) = program.stanzas.get(node) {
            facts.n_slots = stanza.n_slots;
        }
        walk(block, &mut |node| {
            let inst = &node.inst;
            let calls = matches!(inst, Inst::CallStanza(_) | Inst::CallFunction { .. });
            facts.sets_base |= matches!(inst, Inst::SetBase(_));
            // The callee decides if a call moves the pointer; it is added below.
            facts.touches_pointer |= inst.touches_pointer() && !calls;
            facts.has_effects |= matches!(inst, Inst::TimerStart(..) | Inst::TimerEnd(..) | Inst::Stop);
            if let Inst::CallFunction { arguments, .. } = inst {
                facts.touches_pointer |= arguments.iter().any(|argument| argument.touches_pointer());
            }
        });
        for callee in self.callees(node) {
            let below = self.facts[callee];
            facts.sets_base |= below.sets_base;
            facts.touches_pointer |= below.touches_pointer;
            facts.has_effects |= below.has_effects;
            facts.n_slots = facts.n_slots.max(below.n_slots);
            facts.depth = facts.depth.max(below.depth + 1);
        }
        facts
    }

    /// Sorts the nodes after their callees. Nodes that cannot be sorted are part of a cycle or call one.
    fn sort(&mut self, program: &IrProgram, diagnostics: &mut Vec<Diagnostic>) {
        let mut waiting: Vec<usize> = self.calls.iter().map(Vec::len).collect();
        let mut callers = vec![Vec::new(); self.calls.len()];
        for (caller, calls) in self.calls.iter().enumerate() {
            calls.iter().for_each(|(callee, _)| callers[*callee].push(caller));
        }
        // Kahn's algorithm. It needs no recursion, which a hostile chain of calls would exhaust.
        let mut order: Vec<usize> = (0..self.calls.len()).filter(|node| waiting[*node] == 0).collect();
        let mut at = 0;
        while at < order.len() {
            for caller in &callers[order[at]] {
                waiting[*caller] -= 1;
                if waiting[*caller] == 0 {
                    order.push(*caller);
                }
            }
            at += 1;
        }
        self.order = order;
        let mut seen: Vec<bool> = waiting.iter().map(|left| *left == 0).collect();
        let mut on_path = vec![false; self.calls.len()];
        for start in 0..self.calls.len() {
            if !seen[start] {
                self.report_cycle(program, start, &mut seen, &mut on_path, diagnostics);
            }
        }
    }

    /// Follows calls from an unsortable node until a node repeats, and reports that cycle. `on_path` is all false
    /// before and after.
    fn report_cycle(
        &self,
        program: &IrProgram,
        start: usize,
        seen: &mut [bool],
        on_path: &mut [bool],
        found: &mut Vec<Diagnostic>,
    ) {
        let mut path: Vec<(usize, Span)> = Vec::new();
        let mut node = start;
        while !on_path[node] {
            on_path[node] = true;
            let Some((next, span)) = self.calls[node].iter().find(|(callee, _)| !seen[*callee] || on_path[*callee])
            else {
                break;
            };
            path.push((node, *span));
            node = *next;
        }
        let cycle: Vec<_> = path.iter().skip_while(|(on, _)| *on != node).collect();
        for on in path.iter().map(|(on, _)| *on).chain([node]) {
            seen[on] = true;
            on_path[on] = false;
        }
        let Some((first, span)) = cycle.first() else { return };
        let names: Vec<_> = cycle.iter().map(|(on, _)| self.name(program, *on)).collect();
        let text = format!("recursion: {} calls {}", names.join(" calls "), names[0]);
        found.push(Diagnostic::error(&RECURSION, self.source(program, *first), *span, text));
    }

    fn check_depth(&self, program: &IrProgram, diagnostics: &mut Vec<Diagnostic>) {
        for (at, stanza) in program.stanzas.iter().enumerate() {
            let depth = self.facts[at].depth;
            let is_reported = |callee: usize| callee < self.n_stanzas && self.facts[callee].depth > MAX_NESTING;
            // Callers of a reported stanza are not reported again.
            if depth <= MAX_NESTING || self.callees(at).any(is_reported) {
                continue;
            }
            let mut names = vec![self.name(program, at)];
            let mut node = at;
            // The message shows the deepest chain, cut after the first call that is too deep.
            while let Some(next) = self.callees(node).max_by_key(|callee| self.facts[*callee].depth) {
                if names.len() > MAX_NESTING + 1 {
                    names.push(String::from("…"));
                    break;
                }
                names.push(self.name(program, next));
                node = next;
            }
            let text = format!("calls are nested {depth} deep, at most {MAX_NESTING}: {}", names.join(" calls "));
            diagnostics.push(Diagnostic::error(&NESTING, stanza.source, stanza.span, text));
        }
    }

    fn name(&self, program: &IrProgram, node: usize) -> String {
        match program.stanzas.get(node) {
            Some(stanza) => format!("${}", ShowId(stanza.id)),
            None => format!("{}()", String::from_utf8_lossy(&program.functions[node - self.n_stanzas].name)),
        }
    }

    fn source(&self, program: &IrProgram, node: usize) -> SourceId {
        match program.stanzas.get(node) {
            Some(stanza) => stanza.source,
            None => program.functions[node - self.n_stanzas].source,
        }
    }
}

fn calls_of(block: &Block, stanzas: &HashMap<u16, usize>, n_stanzas: usize) -> Vec<(usize, Span)> {
    let mut calls = Vec::new();
    walk(block, &mut |node| match &node.inst {
        Inst::CallStanza(id) => calls.extend(stanzas.get(id).map(|at| (*at, node.span))),
        Inst::CallFunction { function, .. } => calls.push((n_stanzas + function, node.span)),
        _ => {}
    });
    calls
}
