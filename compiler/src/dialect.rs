/// Every decision of ours that a user may see done otherwise (`trcfmt.md` section 15), with its default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dialect {}

/// Why a dialect setting was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialectError(pub String);

impl Dialect {
    /// The settings with their values, default first, and what they do.
    pub const SETTINGS: &[(&str, &[&str], &str)] = &[];

    /// Sets `name` to `value`.
    ///
    /// # Errors
    /// An unknown name or value, with what is known.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), DialectError> {
        let _ = value;
        Err(DialectError(format!("unknown dialect setting `{name}`")))
    }
}
