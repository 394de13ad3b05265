/// A diagnostic's stable code with its title and long text.
///
/// Numbers are never reused. `S` codes are about syntax, `C` codes about meaning, `B` codes about blobs.
#[derive(Debug, PartialEq, Eq)]
pub struct CodeInfo {
    /// Such as `S07`.
    pub code: &'static str,
    /// A short title, lower case.
    pub title: &'static str,
    /// The text of `tfbc explain`, with an example that triggers the code.
    pub explain: &'static str,
}

/// Declares the codes of one package: a doc comment (the long text), a name, the code, the title.
#[macro_export]
macro_rules! declare_codes {
    ($($(#[doc = $doc:literal])* $name:ident = $code:literal, $title:literal;)*) => {
        $($(#[doc = $doc])* pub static $name: $crate::CodeInfo = $crate::CodeInfo {
            code: $code, title: $title, explain: concat!($($doc, "\n"),*),
        };)*
        /// Every code of this table, in order.
        pub static ALL: &[&$crate::CodeInfo] = &[$(&$name),*];
    };
}

/// Every syntax code, in order.
pub static CODES: &[&CodeInfo] = rows::ALL;

pub(crate) mod rows {
    declare_codes! {
        /// A source file is larger than 64 MiB.
        SOURCE_TOO_LARGE = "S01", "source too large";
    }
}
