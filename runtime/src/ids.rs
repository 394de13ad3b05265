//! Ids of events as users write them, and sets of hook ids.

use crate::events;
use crate::qnx_report::ids::RecordIds;
use std::fmt;

/// Id of an event of either system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventId {
    /// 16-bit hook id of AIX: hook 106 is `0x1060`.
    Hook(u16),
    /// Class and number of QNX: `USER:65` is 6 and 65.
    Record(u8, u16),
}

impl EventId {
    /// Table of QNX's events by id, for `tfbc list` and completions.
    #[doc(hidden)]
    pub const QNX_LISTING: &str = events::LISTING;

    /// Id as reports and `--only` spell it: a hook id without a final zero, or class and number of a record.
    ///
    /// ```
    /// use tfbc::EventId;
    ///
    /// assert_eq!(EventId::Hook(0x15B0).name(), "15B");
    /// assert_eq!(EventId::Hook(0xF5F1).name(), "F5F1");
    /// assert_eq!(EventId::Record(6, 65).name(), "USER:65");
    /// ```
    pub fn name(self) -> String {
        match self {
            EventId::Hook(id) => display_id(id),
            EventId::Record(class, event) => events::display_id(class, event),
        }
    }

    /// Name of a class of QNX, such as `USER`.
    #[doc(hidden)]
    pub fn class_name(class: u8) -> Option<&'static str> {
        events::class_name(class)
    }

    /// Looks up the name of a class, or of a part of one, such as `KERCALLENTER`. Returns the class and the events that
    /// the name covers in QNX 6.4.
    ///
    /// # Errors
    /// There is no such name; the error lists all names.
    #[doc(hidden)]
    pub fn of_class(name: &str) -> Result<(u8, Vec<u16>), String> {
        let is_number = name.starts_with(|first: char| first.is_ascii_digit() || first == '-');
        let events = if is_number { None } else { events::spelling::class_events(name) };
        events.ok_or_else(events::spelling::class_list)
    }

    /// Resolves a class and an event of QNX, each a number or name, to one event; class 13 becomes 5. The name of a
    /// kernel call means its entry record, unless the class or a suffix says otherwise.
    ///
    /// # Errors
    /// A name is unknown or means several events.
    #[doc(hidden)]
    pub fn of_record(class: &str, event: &str) -> Result<(u8, u16), String> {
        RecordIds::one(class, event)
    }
}

/// Set of 16-bit hook ids of AIX, in which hook 106 is `0x1060`.
#[derive(Clone, PartialEq, Eq)]
pub struct IdSet {
    bits: Box<[u64; 1024]>,
}

/// Error of [`IdSet::parse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdListError {
    /// The whole list.
    pub list: String,
    /// Byte offset of the first word that is not an id.
    pub at: usize,
}

impl fmt::Display for IdListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = self.list.get(self.at..).unwrap_or_default();
        let word = rest.split([',', ' ', '\t']).next().unwrap_or_default();
        write!(
            f,
            "`{word}` at position {} of `{}` is not a hook id; expected 2, 3 or 4 hex digits",
            self.at + 1,
            self.list
        )
    }
}

impl std::error::Error for IdListError {}

impl Default for IdSet {
    fn default() -> Self {
        Self { bits: Box::new([0; 1024]) }
    }
}

impl fmt::Debug for IdSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(display_id)).finish()
    }
}

impl IdSet {
    /// Note about hooks that the built-in format file printed with layouts of its own.
    #[doc(hidden)]
    pub fn guessed_layouts_note(&self) -> String {
        let ids: Vec<String> = self.iter().map(display_id).collect();
        let (hooks, layouts) = if ids.len() == 1 { ("hook", "layout") } else { ("hooks", "layouts") };
        let ids = ids.join(", ");
        format!("{hooks} {ids}: {layouts} of tfbc's own samples; give the system's format file with -t")
    }

    /// Parses ids separated by commas or blanks. `hh` means `hh0` to `hhF`, `hhh` means `hhh0`, and `hhhh` one id.
    ///
    /// ```
    /// use tfbc::aix::IdSet;
    ///
    /// let ids = IdSet::parse("15b, F5F1")?;
    /// assert!(ids.contains(0x15B0) && ids.contains(0xF5F1) && !ids.contains(0x15B1));
    /// assert_eq!(IdSet::parse("010,x").unwrap_err().at, 4);
    /// # Ok::<(), tfbc::aix::IdListError>(())
    /// ```
    ///
    /// # Errors
    /// A word of the list is not an id, or the list is empty.
    pub fn parse(list: &str) -> Result<Self, IdListError> {
        let mut set = Self::default();
        let mut at = 0;
        let mut any = false;
        for word in list.split([',', ' ', '\t']) {
            if !word.is_empty() {
                set.insert_word(word).ok_or_else(|| IdListError { list: list.to_owned(), at })?;
                any = true;
            }
            at += word.len() + 1;
        }
        if any { Ok(set) } else { Err(IdListError { list: list.to_owned(), at: 0 }) }
    }

    fn insert_word(&mut self, word: &str) -> Option<()> {
        if !word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let value = u16::from_str_radix(word, 16).ok()?;
        match word.len() {
            2 => (0..16).for_each(|low| self.insert(value << 8 | low << 4)),
            3 => self.insert(value << 4),
            4 => self.insert(value),
            _ => return None,
        }
        Some(())
    }

    /// Inserts a canonical id.
    #[doc(hidden)]
    pub fn insert(&mut self, id: u16) {
        self.bits[usize::from(id >> 6)] |= 1 << (id & 63);
    }

    /// Inserts all ids of another set.
    #[doc(hidden)]
    pub fn extend(&mut self, other: &Self) {
        self.bits.iter_mut().zip(other.bits.iter()).for_each(|(to, from)| *to |= from);
    }

    /// True if the set contains no id.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|bits| *bits == 0)
    }

    /// True if the set contains a 16-bit id.
    #[inline]
    pub fn contains(&self, id: u16) -> bool {
        self.bits[usize::from(id >> 6)] >> (id & 63) & 1 != 0
    }

    /// The ids in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        set_bits(&*self.bits).map(|id| id as u16)
    }
}

/// Places of the bits that are 1, ascending, of words with the lowest places first.
pub(crate) fn set_bits(words: &[u64]) -> impl Iterator<Item = u32> {
    let of_word = |(word, bits): (u32, &u64)| {
        let mut bits = *bits;
        std::iter::from_fn(move || {
            let at = bits.trailing_zeros();
            // Clears the lowest one; none is left of 0.
            bits &= bits.wrapping_sub(1);
            (at < 64).then_some(word * 64 + at)
        })
    };
    (0..).zip(words).flat_map(of_word)
}

/// Formats an id as reports do: upper-case digits, without a final zero.
pub fn display_id(id: u16) -> String {
    if id & 15 == 0 { format!("{:03X}", id >> 4) } else { format!("{id:04X}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_contain_the_position_of_the_bad_word() {
        for (list, at) in [("", 0), (" ,", 0), ("1", 0), ("12345", 0), ("010 g10", 4), ("010,+10", 4), ("010,,é", 5)] {
            let error = IdSet::parse(list).unwrap_err();
            assert_eq!(error.at, at, "{list}");
            assert!(error.to_string().contains(&format!("position {}", at + 1)));
        }
    }

    #[test]
    fn separators_may_repeat() {
        assert_eq!(IdSet::parse(" 010 ,, 020,").unwrap().iter().collect::<Vec<_>>(), [0x0100, 0x0200]);
    }
}
