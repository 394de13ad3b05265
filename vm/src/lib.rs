//! Bytecode: blob format, verifier and machine. This package knows nothing about source text.
//!
//! [`Program::open`] verifies a `.tfbc` blob; [`Machine::run`] prints one event with it. [`BlobBuilder`] writes blobs:
//!
//! ```
//! use tfbc_vm::*;
//! let mut blob = BlobBuilder::new();
//! let mut code = [Instr::of(Op::Load, &[0, 4, 4]), Instr::of(Op::PutDec, &[0])];
//! code[0].lit[..4].copy_from_slice(b"pid=");
//! code[0].lit_len = 4;
//! let routine = blob.routine(RoutineRow { need: 8, ..RoutineRow::default() }, &code, &[SourcePos::default(); 2]);
//! blob.source("example", b"");
//! blob.hook(HookRow { id: 0x0100, routines: [routine; 4], ..HookRow::default() });
//! let bytes = blob.finish();
//!
//! let program = Program::open(&bytes)?;
//! let event = Event { bytes: &[0x01, 0x0a, 0, 0, 0, 0, 0, 42], wide: false, record: None, time_ns: 0, offset: 0 };
//! let hook = program.hook(event.hook_id()).unwrap();
//! let (mut timers, mut out) = (Timers::new(), TextBuf::new());
//! let job = Job {
//!     event: &event,
//!     context: &Context::EMPTY,
//!     timers: &mut timers,
//!     layout: Layout::default(),
//!     line: 0,
//!     out: &mut out,
//! };
//! Machine::default().run(&program, hook.index, job);
//! assert_eq!(out.as_bytes(), b"pid=42\n");
//! # Ok::<(), BlobError>(())
//! ```
#![cfg_attr(feature = "safe", forbid(unsafe_code))]

mod blob;
mod context;
mod cursor;
mod disasm;
mod errno;
mod event;
mod flat;
mod flat_fields;
mod flat_timers;
mod machine;
mod mem;
pub mod names;
pub mod num;
mod observe;
mod op;
mod printed;
mod program;
mod row;
mod rule;
mod schema;
#[cfg(all(target_arch = "x86_64", not(feature = "safe")))]
mod sse;
pub mod table;
mod text;
mod timers;
mod verify;

pub use blob::{
    BlobBuilder, BlobError, HookRow, LABEL, OLDEST_VERSION, RoutineRow, SourcePos, SourceRow, TABS_FROM_LINE, TableRow,
    VERSION, is_intact, write_checksum,
};
pub use context::{Context, ProcessNames};
pub use disasm::{list_instr, ops_page};
pub use errno::{ERRNO_NAMES, errno_name, errno_value};
pub use event::{Env, Event, RecordHeader, Space};
pub use flat::FlatRoutine;
pub use flat_fields::{FlagName, FlatFields, FlatFlags, FlatNumber, FlatWord, NameRef};
pub use flat_timers::FlatTimers;
pub use machine::{EventContext, EventInput, Job, Layout, Limits, LineStart, Machine, Outcome, Run};
pub use observe::{Observer, Step, Unobserved};
pub use op::{EnvText, EnvValue, Instr, N_REGS, Op, OpInfo, OperandKind, RETIRED, Reads, Slot, StateUse, form};
pub use program::{Hook, Level, PreparedEntry, Program, Routine};
pub use row::{CellValue, Cells, Items, Row, RowFull};
pub use rule::{Rule, rules_table};
pub use schema::{FieldKind, FieldShown, FormatShown, Hint, Labels, NameRule, Notation, Schema, SchemaField, Shape};
pub use text::{COLUMNS, TextBuf, contains_any, first_equal};
pub use timers::{TimerBefore, TimerUse, Timers, Trail};
pub use verify::MAX_DEPTH;
