//! Columns of the table of events.

use arrow_schema::{DataType, Field, TimeUnit};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

macro_rules! columns {
    ($($(#[doc = $doc:literal])* $column:ident $name:literal $($other:literal)*: $type:expr, $null:literal, $given:literal;)*) => {
        /// Column of the table of events.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum EventColumn {
            $($(#[doc = $doc])* $column,)*
        }

        impl EventColumn {
            /// All columns, in the order of the table.
            pub const ALL: &[EventColumn] = &[$(EventColumn::$column),*];

            /// Name of the column.
            pub fn name(self) -> &'static str {
                match self {
                    $(EventColumn::$column => $name,)*
                }
            }

            /// All accepted names: the column's own, and those of the same column in text reports.
            fn names(self) -> &'static [&'static str] {
                match self {
                    $(EventColumn::$column => &[$name, $($other),*],)*
                }
            }

            /// Type of the values.
            pub fn data_type(self) -> DataType {
                match self {
                    $(EventColumn::$column => $type,)*
                }
            }

            /// True if the values may be null.
            pub fn is_nullable(self) -> bool {
                match self {
                    $(EventColumn::$column => $null,)*
                }
            }

            /// True if the table has this column by default.
            pub fn is_default(self) -> bool {
                match self {
                    $(EventColumn::$column => $given,)*
                }
            }
        }
    };
}

// The name, other names in text reports, the type, true if null is allowed, and true for default columns.
columns! {
    /// Position in the input.
    Seq "seq": DataType::Int64, false, true;
    /// Wall clock.
    Time "time": DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true, true;
    /// Nanoseconds since the start of the trace.
    ElapsedNs "elapsed_ns" "elapsed": DataType::Int64, true, true;
    /// CPU.
    Cpu "cpu": DataType::Int32, true, true;
    /// Process id.
    Pid "pid": DataType::Int64, true, true;
    /// Thread id.
    Tid "tid": DataType::Int64, true, true;
    /// Process.
    Process "process" "exec": words(), true, true;
    /// Thread.
    Thread "thread": words(), true, true;
    /// System call.
    Svc "svc": words(), true, true;
    /// Nesting depth of interrupts.
    Depth "depth" "int": DataType::Int32, true, true;
    /// Id.
    Id "id": words(), false, true;
    /// Label.
    Label "label" "type": words(), false, true;
    /// Text.
    Text "text" "data": DataType::Utf8, false, true;
    /// Fields as JSON.
    Fields "fields": DataType::Utf8, false, true;
    /// Reason why text or fields are incomplete.
    Note "note": words(), true, true;
    /// Input.
    File "file" "filename": words(), false, false;
    /// Offset in the input.
    FileOffset "file_offset": DataType::Int64, true, false;
    /// Size of the event.
    EventBytes "event_bytes": DataType::Int32, false, false;
}

/// Type for texts that repeat, such as labels: a dictionary.
pub(crate) fn words() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// Error for an unknown or repeated column name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnError(String);

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ColumnError {}

impl EventColumn {
    /// Parses a list such as `id,elapsed_ns,fields`.
    ///
    /// # Errors
    /// A name is unknown or occurs twice.
    pub fn parse(list: &str) -> Result<Vec<Self>, ColumnError> {
        let mut columns = Vec::new();
        for name in list.split(',').map(str::trim) {
            let known = EventColumn::ALL.iter().find(|column| column.names().contains(&name));
            let Some(column) = known else {
                let names = EventColumn::ALL.iter().map(|column| column.name()).collect::<Vec<_>>();
                let hint = tfbc::internal::hint(name, &names);
                let names = names.join(", ");
                return Err(ColumnError(format!("a table has no column `{name}`{hint}; columns: {names}")));
            };
            if columns.contains(column) {
                return Err(ColumnError(format!("the column `{}` is named twice", column.name())));
            }
            columns.push(*column);
        }
        Ok(columns)
    }

    /// The column in an Arrow schema.
    pub(crate) fn field(self) -> Field {
        let field = Field::new(self.name(), self.data_type(), self.is_nullable());
        match self {
            EventColumn::Fields => field.with_metadata(HashMap::from([("tfbc:content".into(), "json".into())])),
            EventColumn::ElapsedNs => field.with_metadata(HashMap::from([("tfbc:hint".into(), "ns".into())])),
            _ => field,
        }
    }
}

/// Creates a column of an Arrow schema.
pub(crate) fn field(name: &str, data_type: DataType, is_nullable: bool) -> Arc<Field> {
    Arc::new(Field::new(name, data_type, is_nullable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_the_names_of_text_reports_too() {
        let columns = EventColumn::parse("exec, elapsed,int,filename,type,data").unwrap();
        let names: Vec<_> = columns.iter().map(|column| column.name()).collect();
        assert_eq!(names, ["process", "elapsed_ns", "depth", "file", "label", "text"]);
        let error = |list| EventColumn::parse(list).unwrap_err().to_string();
        assert!(
            error("id,fieds").starts_with("a table has no column `fieds`; did you mean `fields`?"),
            "{}",
            error("id,fieds")
        );
        assert_eq!(error("id,exec,process"), "the column `process` is named twice");
        assert!(error("delta").starts_with("a table has no column `delta`"));
    }
}
