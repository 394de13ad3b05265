//! Columns of built-in events in tables: names and types of their arguments, the same for all releases.
//!
//! ```text
//! pid D, tid D, msg[0] H     arg_pid int64, arg_tid int64, msg_0 int64 hex, words list of int64 hex
//! ```

use super::arguments::{ArgumentName, ArgumentValue, Arguments};
use super::table::{self, ArgLayout, ArgType, Args, ListArg, Lists, Release, Row, Table};
use super::{BuiltInEvents, display_id};
use crate::reader::kev::{QnxRelease, classes};
use std::ptr;
use tfbc_vm::names::{Besides, COLUMNS, number, plain, shortened};
use tfbc_vm::{FieldKind, Hint, NameRule, RowFull, SchemaField, Shape};

/// Name of the column for words without a name.
pub(crate) const WORDS: &str = "words";
/// Bit of the number of a kernel call whose record has 64-bit values.
const CALL_64: u16 = 0x200;

/// Columns of an event.
#[derive(Debug)]
pub(crate) struct EventColumns {
    columns: Vec<EventColumn>,
    /// Argument lists of the event, with the columns of their arguments.
    lists: Vec<(&'static [ListArg], Vec<u16>)>,
}

/// Column of an event.
#[derive(Debug)]
struct EventColumn {
    /// Name, unique in the event.
    name: String,
    shape: (FieldKind, Hint),
}

/// Name, type and number that distinguish the arguments of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ArgumentKey {
    /// Name of a column before equal names are numbered.
    base: String,
    shape: (FieldKind, Hint),
    /// Number of earlier arguments with the same name and type.
    n_before: usize,
}

impl EventColumns {
    /// Columns of an event. A kernel call has the same ones in all releases, with and without 64-bit values.
    pub fn of(events: &BuiltInEvents, class: u8, event: u16) -> Self {
        let mut keys: Vec<ArgumentKey> = Vec::new();
        let mut places: Vec<(&'static [ListArg], Vec<u16>)> = Vec::new();
        for list in lists(events, class, event) {
            if places.iter().any(|(known, _)| ptr::eq(*known, list)) {
                continue;
            }
            let columns = keys_of(list).into_iter().map(|key| {
                let at = keys.iter().position(|known| *known == key);
                at.unwrap_or_else(|| {
                    keys.push(key);
                    keys.len() - 1
                }) as u16
            });
            places.push((list, columns.collect()));
        }
        let mut names: Vec<_> = keys.iter().map(|key| (prefixed(&key.base), Besides::default())).collect();
        names.push((WORDS.into(), Besides::default()));
        number(&mut names);
        let columns = keys.iter().zip(names).map(|(key, (name, _))| EventColumn { name, shape: key.shape });
        Self { columns: columns.collect(), lists: places }
    }

    /// Iterates over the values of a record and the columns that they belong to; `None` for words without a name.
    pub fn values<'c, 'r>(
        &'c self,
        arguments: Arguments<'r>,
    ) -> impl Iterator<Item = (Option<u16>, ArgumentValue<'r>)> + use<'c, 'r> {
        let list = self.lists.iter().find(|(list, _)| ptr::eq(*list, arguments.list));
        let mut columns = list.map_or(&[][..], |(_, columns)| columns).iter();
        arguments.filter_map(move |argument| match argument.name {
            ArgumentName::Listed(_) => columns.next().map(|column| (Some(*column), argument.value)),
            ArgumentName::Word(_) => Some((None, argument.value)),
        })
    }

    /// True if an event of a release has a field of this name.
    pub fn any_has(name: &str, release: Option<QnxRelease>) -> bool {
        let events = BuiltInEvents::of(release, false);
        let ids = (0..32).flat_map(|class| (0..1024).map(move |event| (class, event)));
        let known = ids.filter(|(class, event)| events.row(*class, *event).is_some());
        known
            .into_iter()
            .any(|(class, event)| Self::of(&events, class, event).fields().iter().any(|field| field.name == name))
    }

    /// Name of a column.
    pub fn name(&self, column: u16) -> &str {
        &self.columns[usize::from(column)].name
    }

    /// Fields of a table, each with the cell of its number. The words come last.
    pub fn fields(&self) -> Vec<SchemaField> {
        let field = |(at, EventColumn { name, shape }): (usize, &EventColumn)| {
            self::field(name.clone(), Shape::new(shape.0, shape.1), at as u16)
        };
        let item = Shape::new(FieldKind::Int64, Hint::Hex);
        let words = Shape { items: Some(Box::new(item)), ..Shape::new(FieldKind::List, Hint::None) };
        let words = self::field(WORDS.into(), words, self.columns.len() as u16);
        self.columns.iter().enumerate().map(field).chain([words]).collect()
    }

    /// Sets a row to the values of a record.
    ///
    /// # Errors
    /// The row is full.
    pub fn fill(&self, arguments: Arguments<'_>, row: &mut tfbc_vm::Row) -> Result<(), RowFull> {
        let words = self.columns.len() as u16;
        row.begin(u32::from(words) + 1);
        let mut has_words = false;
        for (column, value) in self.values(arguments) {
            let cell = column.unwrap_or_else(|| {
                if !std::mem::replace(&mut has_words, true) {
                    row.begin_list(words, false, 1);
                }
                0
            });
            if column.is_none() {
                row.begin_item()?;
            }
            match value {
                ArgumentValue::Decimal(value) => row.put_number(cell, i64::from(value) as u64),
                ArgumentValue::Decimal64(value) => row.put_number(cell, value as u64),
                ArgumentValue::Hex(value) | ArgumentValue::Pointer(value) => row.put_number(cell, value.into()),
                ArgumentValue::Hex64(value) => row.put_number(cell, value),
                ArgumentValue::Text(words) => {
                    row.put_bytes(cell, &super::text_of_words(words).collect::<Vec<_>>().concat())?
                }
                ArgumentValue::Name(name) => row.put_bytes(cell, name)?,
            }
        }
        row.end_list();
        Ok(())
    }
}

/// Field without a place in a format file.
fn field(name: String, shape: Shape, cell: u16) -> SchemaField {
    let rule = NameRule::Position;
    SchemaField { name, shape, labels: None, shown: String::new(), source: None, line: 0, column: 0, rule, cell }
}

impl BuiltInEvents {
    /// Name of an event's table: `USER:65`, and `KER_EXIT.MSG_SENDV` for a kernel call and direction.
    pub fn table_name(&self, class: u8, event: u16) -> String {
        match self.call(class, event) {
            Some(name) => format!("{}.{name}", DIRECTIONS[usize::from(event >> 7 & 3)]),
            None => display_id(class, event),
        }
    }

    /// Number of the kernel call that a table's name such as `KER_EXIT.MSG_SENDV` means.
    pub fn call_of_table(&self, name: &str) -> Option<u16> {
        let (direction, call) = name.split_once('.')?;
        let direction = DIRECTIONS.iter().position(|known| *known == direction)? as u16;
        let of_direction = |event: &u16| event >> 7 & 3 == direction;
        (0..2 * CALL_64).filter(of_direction).find(|event| self.call(classes::KER_CALL, *event) == Some(call))
    }

    /// Events whose records are in the table of an event.
    pub fn same_table(&self, class: u8, event: u16) -> Vec<u16> {
        match self.call(class, event) {
            Some(_) => {
                let name = self.table_name(class, event);
                (0..2 * CALL_64).filter(|other| self.table_name(class, *other) == name).collect()
            }
            None => vec![event],
        }
    }

    /// Name of the kernel call of a record.
    fn call(&self, class: u8, event: u16) -> Option<&'static str> {
        let direction = event >> 7 & 3;
        let row = self.row(class, event).filter(|_| class == classes::KER_CALL && direction < 3)?;
        Some(row.label.split_once('/').map_or(row.label, |(name, _)| name))
    }
}

/// Records of a kernel call: its entry, its exit, and its interruption.
const DIRECTIONS: [&str; 3] = ["KER_CALL", "KER_EXIT", "INT_CALL"];

/// Names and types of a list's arguments.
fn keys_of(list: &'static [ListArg]) -> Vec<ArgumentKey> {
    let mut keys: Vec<ArgumentKey> = Vec::new();
    for (at, ListArg { name, letter, .. }) in list.iter().enumerate() {
        let n_equal = list[..at].iter().filter(|before| before.name == *name).count();
        let numbered = if n_equal > 0 { format!("{name}_{}", n_equal + 1) } else { (*name).into() };
        let base = shortened(&plain(numbered.as_bytes())).unwrap_or_else(|| "f".into());
        let shape = shape(*letter);
        let n_before = keys.iter().filter(|known| known.base == base && known.shape == shape).count();
        keys.push(ArgumentKey { base, shape, n_before });
    }
    keys
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

/// Lists of an event in all releases, lists of wide records first.
fn lists(events: &BuiltInEvents, class: u8, event: u16) -> Vec<&'static [ListArg]> {
    let call = events.call(class, event);
    let sizes = if class == classes::KER_CALL { vec![event & !CALL_64, event | CALL_64] } else { vec![event] };
    let (mut wide, mut fast) = (Vec::new(), Vec::new());
    for release in [Release::Qnx8_0, Release::Qnx7_1, Release::Qnx6_4] {
        let released = BuiltInEvents { table: Table::of(release), ..*events };
        // Releases give the same call different numbers.
        let sizes = match call {
            Some(call) => {
                let is_same =
                    |other: &u16| other >> 7 & 3 == event >> 7 & 3 && released.call(class, *other) == Some(call);
                (0..2 * CALL_64).filter(is_same).collect()
            }
            None => sizes.clone(),
        };
        for event in sizes {
            if let Some(row) = released.row(class, event) {
                let (of_wide, of_fast) = lists_of(row, event);
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
    let only = |list: &'static [ListArg]| (vec![Some(list)], Vec::new());
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
    use crate::events::samples::payload;
    use crate::reader::kev::KevRecord;

    fn events() -> BuiltInEvents {
        BuiltInEvents::of(Some(QnxRelease { major: 8, minor: 0 }), false)
    }

    fn names(class: u8, event: u16) -> Vec<String> {
        EventColumns::of(&events(), class, event).columns.into_iter().map(|column| column.name).collect()
    }

    #[test]
    fn names_of_arguments_become_columns() {
        assert_eq!(names(classes::USER, 65), ["str", "d0", "d1"]);
        assert_eq!(names(classes::PR_TH, 24)[..2], ["arg_pid", "arg_tid"]);
        // Two arguments have the same name.
        assert_eq!(names(1, 4)[..2], ["cookie", "cookie_2"]);
    }

    #[test]
    fn both_sizes_of_a_kernel_call_have_one_table() {
        for event in (0..384).filter(|event| events().call(classes::KER_CALL, event | CALL_64).is_some()) {
            assert_eq!(names(classes::KER_CALL, event), names(classes::KER_CALL, event | CALL_64));
        }
    }

    #[test]
    fn a_kernel_call_has_one_table_in_all_releases() {
        for major in [6, 7, 8] {
            let events = BuiltInEvents::of(Some(QnxRelease { major, minor: 1 }), false);
            let names = ["KER_CALL.MSG_SENDV", "KER_EXIT.MSG_SENDV", "INT_CALL.MSG_SENDV"];
            for name in names {
                let event = events.call_of_table(name).unwrap();
                assert_eq!(events.table_name(classes::KER_CALL, event), name);
                assert!(events.same_table(classes::KER_CALL, event).contains(&event));
                let columns = EventColumns::of(&events, classes::KER_CALL, event).fields();
                let call = self::events().call_of_table(name).unwrap();
                assert_eq!(columns, EventColumns::of(&self::events(), classes::KER_CALL, call).fields());
            }
            assert_eq!(events.table_name(classes::KER_CALL, 400), "KER_CALL:400");
            assert_eq!(events.call_of_table("KER_CALL.NO_SUCH_CALL"), None);
        }
        assert_eq!(events().table_name(classes::USER, 65), "USER:65");
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

    #[test]
    fn every_argument_has_a_column() {
        for (release, big_endian) in [(6, false), (7, true), (8, false)] {
            let events = BuiltInEvents::of(Some(QnxRelease { major: release, minor: 0 }), big_endian);
            for id in 0..1 << 15 {
                let (class, event) = ((id >> 10) as u8, (id & 1023) as u16);
                if events.label(class, event).is_none() && id % 97 > 0 {
                    continue;
                }
                let columns = EventColumns::of(&events, class, event);
                for (wide, n_words) in [(false, 2), (true, 2), (true, 4), (true, 6), (true, 18)] {
                    let bytes = &payload(id * 31 + n_words as u32, n_words)[..];
                    let (number, offset, cpu, stamp, msb) = (1, 0, 0, 0, None);
                    let record = KevRecord { number, offset, class, event, cpu, wide, stamp, msb, bytes };
                    let arguments = events.arguments(&record);
                    assert_eq!(columns.values(arguments.clone()).count(), arguments.count(), "{record:?}");
                }
            }
        }
    }
}
