//! User-defined hooks: id, arguments and stanza in one place.
//!
//! ```
//! use tfbc_recorder::hook::{Hook, format_file};
//!
//! tfbc_recorder::hook! {
//!     /// A block is read.
//!     pub fn read(fd: u32, offset: u64 => " offset=%X8") = 0x010 "READ BLOCK";
//!     /// A file is opened.
//!     pub fn open(fd: u32 => "fd=", path: &str => " path=") = 0x011 L=APPL "OPEN";
//!     /// A state is entered.
//!     pub fn enter(state: u8) = 0x012 "ENTER" { r#"$D1, 0 "idle", 1 "busy", \* "?""# };
//! }
//!
//! // Recorded where channel 0 is on, and otherwise next to nothing.
//! open(3, "/etc/motd");
//! read(3, 0x1000);
//! enter(1);
//!
//! assert_eq!(read::STANZA, r#"010 1.0 L=APPL "READ BLOCK" "fd=" $D1%U4 " offset=" $D2%X8"#);
//! assert_eq!(open::STANZA, r#"011 1.0 L=APPL "OPEN" "fd=" $D1%U4 " path=" W2 $HL%S8"#);
//! assert_eq!(enter::STANZA, r#"012 1.0 L=APPL "ENTER" $D1, 0 "idle", 1 "busy", \* "?""#);
//! std::fs::write(std::env::temp_dir().join("my.trcfmt"), format_file([read::STANZA, open::STANZA, enter::STANZA]))?;
//! # Ok::<(), std::io::Error>(())
//! ```

use crate::hooks;

/// Properties of a [`hook!`](crate::hook!), in addition to the function that records it.
pub trait Hook {
    /// 16-bit id; id `hhh` is `hhh0`.
    const ID: u16;
    /// Stanza of a format file that prints its events, on one line.
    const STANZA: &'static str;

    /// True if its events are recorded now.
    fn is_on() -> bool {
        hooks::is_hook_on(0, Self::ID)
    }
}

/// Argument type of a hook: a data word, or bytes.
pub trait Argument {
    /// Format code used if the argument's text has none: a cast of its data word, `S` for text, or `X` for bytes.
    const CODE: &'static str;
    /// True for bytes, which make the hook generic.
    const IS_BYTES: bool = false;

    /// Data word; signed numbers are sign-extended.
    fn word(&self) -> u64 {
        0
    }

    /// The bytes.
    fn bytes(&self) -> &[u8] {
        &[]
    }
}

macro_rules! words {
    ($($type:ty: $code:literal, |$value:ident| $word:expr;)*) => {$(
        impl Argument for $type {
            const CODE: &'static str = $code;

            #[inline(always)]
            fn word(&self) -> u64 {
                let $value = *self;
                $word
            }
        }
    )*};
}

words! {
    u8: "U1", |value| value.into();
    u16: "U2", |value| value.into();
    u32: "U4", |value| value.into();
    u64: "U8", |value| value;
    usize: "U8", |value| value as u64;
    i8: "D1", |value| value as u64;
    i16: "D2", |value| value as u64;
    i32: "D4", |value| value as u64;
    i64: "D8", |value| value as u64;
    isize: "D8", |value| value as u64;
    bool: "U1", |value| value.into();
    f32: "F4", |value| value.to_bits().into();
    f64: "F8", |value| value.to_bits();
}

impl Argument for &str {
    const CODE: &'static str = "S";
    const IS_BYTES: bool = true;

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl Argument for &[u8] {
    const CODE: &'static str = "X";
    const IS_BYTES: bool = true;

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// Format file with some stanzas, sorted by id.
pub fn format_file<'s>(stanzas: impl IntoIterator<Item = &'s str>) -> String {
    let mut stanzas: Vec<&str> = stanzas.into_iter().collect();
    // A three-digit id sorts as if it ended in 0.
    stanzas.sort_by_key(|stanza| format!("{:0<4}", stanza.split(' ').next().unwrap_or_default()));
    stanzas.iter().map(|stanza| format!("{stanza}\n")).collect()
}

/// Defines hooks: for each, a function that records an event, and a type of the same name that implements
/// [`Hook`](crate::hook::Hook).
///
/// ```text
/// /// Documentation.
/// pub fn NAME(ARGUMENT: TYPE => "TEXT", …) = ID L=LEVEL "LABEL" { "DESCRIPTOR" };
/// ```
///
/// * Arguments are numbers, `bool`, text (`&str`), bytes (`&[u8]`), or any other type that implements
///   [`Argument`](crate::hook::Argument). A hook has at most five data words. Text or bytes must be the last argument,
///   with at most one word before them; 4096 of their bytes are recorded.
/// * `TEXT` prints the argument in a report. A format code after `%`, such as `%X8`, prints the value. A text without
///   a code is printed before the value, and the type chooses the code. The default is `"ARGUMENT="`.
/// * `ID` is the hook id, `0x010` to `0xFFF`, or an id of four digits. `0x010` to `0x0FF` are free for any program.
/// * `L=LEVEL` is the text column; the default is `APPL`.
/// * `DESCRIPTOR` replaces the descriptor that the texts of the arguments make. `$D1` to `$D5` are the words.
///
/// An invalid definition is a compile error.
///
/// ```compile_fail
/// tfbc_recorder::hook! { fn six(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) = 0x010 "SIX"; }
/// six(1, 2, 3, 4, 5, 6);
/// ```
/// ```compile_fail
/// tfbc_recorder::hook! { fn reserved() = 0x009 "RESERVED"; }
/// reserved();
/// ```
/// ```compile_fail
/// tfbc_recorder::hook! { fn code(a: u8 => "%Q1") = 0x010 "CODE"; }
/// code(1);
/// ```
/// ```compile_fail
/// tfbc_recorder::hook! { fn bytes_first(text: &str, a: u8) = 0x010 "BYTES"; }
/// bytes_first("", 1);
/// ```
#[macro_export]
macro_rules! hook {
    ($(
        $(#[$meta:meta])*
        $visible:vis fn $name:ident($($argument:ident: $type:ty $(=> $text:literal)?),* $(,)?)
            = $id:literal $(L=$level:ident)? $label:literal $({ $descriptor:expr })?;
    )*) => {$(
        $(#[$meta])*
        #[inline]
        $visible fn $name($($argument: $type),*) {
            const HOOK_WORD: u32 = (<$name as $crate::hook::Hook>::ID as u32) << 16;
            // Built here, so that an invalid definition does not compile.
            const _: &str = <$name as $crate::hook::Hook>::STANZA;
            if $crate::hooks::is_on(0) {
                let width = $crate::record::Width::W64;
                if false $(|| <$type as $crate::hook::Argument>::IS_BYTES)* {
                    let word = 0 $(| $crate::hook::Argument::word(&$argument))*;
                    let bytes: &[&[u8]] = &[$($crate::hook::Argument::bytes(&$argument)),*];
                    $crate::hooks::generic(0, width, true, HOOK_WORD, word, bytes.last().copied().unwrap_or_default());
                } else {
                    $crate::hooks::words(width, true, HOOK_WORD, [$($crate::hook::Argument::word(&$argument)),*]);
                }
            }
        }

        #[doc = concat!("The hook `", $label, "` and its stanza.")]
        #[expect(non_camel_case_types, reason = "it is named as the function that records")]
        $visible enum $name {}

        impl $crate::hook::Hook for $name {
            const ID: u16 = $crate::stanza::id($id);
            const STANZA: &'static str = {
                const FIELDS: &[$crate::stanza::HookArg] = &[$($crate::stanza::HookArg {
                    name: stringify!($argument),
                    text: $crate::hook!(@option $($text)?),
                    code: <$type as $crate::hook::Argument>::CODE,
                    is_bytes: <$type as $crate::hook::Argument>::IS_BYTES,
                }),*];
                const DESCRIPTOR: Option<&str> = $crate::hook!(@option $($descriptor)?);
                const TEXT: $crate::stanza::StaticText =
                    $crate::stanza::stanza($id, $crate::hook!(@level $($level)?), $label, FIELDS, DESCRIPTOR);
                TEXT.as_str()
            };
        }
    )*};
    (@option) => { None };
    (@option $some:expr) => { Some($some) };
    (@level) => { "APPL" };
    (@level $level:ident) => { stringify!($level) };
}
