//! Columns of built-in events in tables: names and types of their arguments, the same for all releases.
//!
//! ```text
//! pid D, tid D, msg[0] H     arg_pid int64, arg_tid int64, msg_0 int64 hex, words list of int64 hex
//! ```

use super::arguments::Value;
use super::table::{self, ArgLayout, ArgType, Args, Lists, Release, Row, Table};
use crate::reader::kev::classes;
use tfbc_vm::names::{Besides, COLUMNS, number, plain, shortened};
use tfbc_vm::{FieldKind, Hint};

/// Name of the column for words without a name.
pub(crate) const WORDS: &str = "words";

/// Columns of an event.
#[derive(Debug)]
pub(crate) struct EventColumns(Vec<EventColumn>);

/// Column of an event.
#[derive(Debug)]
pub(crate) struct EventColumn {
    /// Key of its arguments.
    key: ArgumentKey,
    /// Name, unique in the event.
    pub name: String,
}

/// Name, type and number that distinguish the arguments of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ArgumentKey {
    /// Name of a column before equal names are numbered.
    base: String,
    shape: (FieldKind, Hint),
    /// Number of earlier arguments with the same name and type.
    n_before: usize,
}

impl EventColumns {
    /// Columns of an event.
    pub fn of(class: u8, event: u16) -> Self {
        let mut columns: Vec<EventColumn> = Vec::new();
        for list in lists(class, event) {
            let mut namer = ArgumentNamer::default();
            for arg in list {
                let key = namer.key(arg.name, shape(arg.letter));
                if !columns.iter().any(|column| column.key == key) {
                    columns.push(EventColumn { name: key.base.clone(), key });
                }
            }
        }
        let mut names: Vec<_> = columns.iter().map(|column| (prefixed(&column.name), Besides::default())).collect();
        names.push((WORDS.into(), Besides::default()));
        number(&mut names);
        columns.iter_mut().zip(names).for_each(|(column, (name, _))| column.name = name);
        Self(columns)
    }

    /// Name of an argument's column.
    pub fn name(&self, namer: &mut ArgumentNamer, name: &'static str, value: &Value<'_>) -> Option<&str> {
        let key = namer.key(name, shape_of(value));
        self.0.iter().find(|column| column.key == key).map(|column| &column.name[..])
    }
}

/// Numbers the arguments of a record.
#[derive(Debug, Default)]
pub(crate) struct ArgumentNamer {
    listed: Vec<&'static str>,
    keys: Vec<(String, (FieldKind, Hint))>,
}

impl ArgumentNamer {
    fn key(&mut self, name: &'static str, shape: (FieldKind, Hint)) -> ArgumentKey {
        let n_equal = self.listed.iter().filter(|listed| **listed == name).count();
        self.listed.push(name);
        let numbered = if n_equal > 0 { format!("{name}_{}", n_equal + 1) } else { name.into() };
        let base = shortened(&plain(numbered.as_bytes())).unwrap_or_else(|| "f".into());
        let n_before = self.keys.iter().filter(|known| **known == (base.clone(), shape)).count();
        self.keys.push((base.clone(), shape));
        ArgumentKey { base, shape, n_before }
    }
}

fn prefixed(name: &str) -> String {
    if COLUMNS.contains(&name) { format!("arg_{name}") } else { name.into() }
}

fn shape(letter: ArgType) -> (FieldKind, Hint) {
    match letter {
        ArgType::Decimal | ArgType::Decimal64 | ArgType::Sequence => (FieldKind::Int64, Hint::None),
        ArgType::Hex | ArgType::Pointer => (FieldKind::Int64, Hint::Hex),
        ArgType::Hex64 => (FieldKind::UInt64, Hint::Hex),
        ArgType::Text(_) | ArgType::Name => (FieldKind::Utf8, Hint::None),
    }
}

fn shape_of(value: &Value<'_>) -> (FieldKind, Hint) {
    match value {
        Value::Decimal(_) | Value::Decimal64(_) => (FieldKind::Int64, Hint::None),
        Value::Hex(_) | Value::Pointer(_) => (FieldKind::Int64, Hint::Hex),
        Value::Hex64(_) => (FieldKind::UInt64, Hint::Hex),
        Value::Text(_) | Value::Name(_) => (FieldKind::Utf8, Hint::None),
    }
}

/// Lists of an event in all releases, lists of wide records first. A kernel call has lists for both sizes.
fn lists(class: u8, event: u16) -> Vec<&'static [table::ListArg]> {
    let sizes = if class == classes::KER_CALL { vec![event & !0x200, event | 0x200] } else { vec![event] };
    let (mut wide, mut fast) = (Vec::new(), Vec::new());
    for release in [Release::Qnx8_0, Release::Qnx7_1, Release::Qnx6_4] {
        for event in &sizes {
            if let Some(row) = Table::of(release).row(class, *event) {
                let (of_wide, of_fast) = lists_of(row, *event);
                wide.extend(of_wide.into_iter().flatten());
                fast.extend(of_fast.into_iter().flatten());
            }
        }
    }
    wide.into_iter().chain(fast).collect()
}

/// Lists of wide and of fast records.
fn lists_of(row: &'static Row, event: u16) -> (Vec<Args>, Vec<Args>) {
    let listed = || match row.lists {
        Lists::ByLength { short, long } => (vec![long], vec![short]),
        Lists::With64 { fast, wide, fast_32 } => (vec![wide], vec![fast, fast_32]),
        Lists::Prefix(list) => (vec![Some(list)], Vec::new()),
    };
    let only = |list: &'static [table::ListArg]| (vec![Some(list)], Vec::new());
    match row.form {
        ArgLayout::State if event < 24 => only(&table::STATE),
        ArgLayout::State => only(&table::NEW_STATE),
        ArgLayout::Buffer => only(&table::BUFFER),
        ArgLayout::User => (vec![Some(&table::USER_TEXT)], vec![Some(&table::USER)]),
        ArgLayout::Interrupt => {
            table::INTERRUPTS.get(usize::from(event).wrapping_sub(1)).map_or_else(listed, |list| only(list))
        }
        ArgLayout::Interrupted => (Vec::new(), Vec::new()),
        ArgLayout::Exit => {
            let (wide, mut fast) = listed();
            fast.push(Some(&table::FAILED));
            (wide, fast)
        }
        ArgLayout::Listed | ArgLayout::OwnLines => listed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(class: u8, event: u16) -> Vec<String> {
        EventColumns::of(class, event).0.into_iter().map(|column| column.name).collect()
    }

    #[test]
    fn names_of_arguments_become_columns() {
        assert_eq!(names(classes::USER, 65), ["str", "d0", "d1"]);
        assert_eq!(names(classes::PR_TH, 24)[..2], ["arg_pid", "arg_tid"]);
        // Two arguments of one name.
        assert_eq!(names(1, 4)[..2], ["cookie", "cookie_2"]);
    }

    #[test]
    fn both_sizes_of_a_kernel_call_have_one_table() {
        for event in 0..128 {
            assert_eq!(names(classes::KER_CALL, event), names(classes::KER_CALL, event | 0x200));
        }
    }

    #[test]
    fn names_are_unique_in_every_event() {
        for id in 0..1 << 15 {
            let mut names = names((id >> 10) as u8, id & 1023);
            names.push(WORDS.into());
            let n = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), n, "{id}");
        }
    }
}
