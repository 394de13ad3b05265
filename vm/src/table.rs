//! Switch tables: lookup of a jump target in constant time for any number of cases.
//!
//! A table is a run of 64-bit words. Values close together make a *dense* table. Other values, and texts by their hash,
//! make a two-level *perfect hash*: the key, mixed with the table's multiplier, selects a bucket, and its product with
//! the bucket's multiplier a slot; then the slot's key is compared. Multipliers are tried until every key has a slot,
//! so no set of keys is bad for all of them.
//!
//! ```text
//! dense   base, count, default, target × count
//! hash    multiplier, bucket shift, slot shift, default, multiplier × buckets, (key, target) × slots
//! text    the same with (hash, target, string) a slot; string = offset << 32 | length
//! flags   (mask, field, yes, no, bits) an entry; yes and no as string, bits: 1 yes soft, 2 no soft
//! ```

use crate::mem::{at_words, unchecked};

/// Maximum number of entries in a dense table for `n` cases.
const fn dense_limit(n: usize) -> u64 {
    n as u64 * 8 + 64
}

/// Number of words before the buckets of a hash table.
pub(crate) const HASH_HEAD: usize = 4;

/// Number of words of a BITFLAGS entry.
pub(crate) const FLAG_WORDS: usize = 5;

/// Flag in the count of a list of short texts: texts have up to 31 bytes instead of 15.
pub const LONG_TEXTS: u64 = 1 << 63;

/// Kind of a table's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum TableKind {
    /// Targets by value, from a base.
    Dense,
    /// Targets by perfect hash.
    Hash,
    /// Targets by perfect hash of a text.
    Text,
    /// BITFLAGS entries.
    Flags,
}

impl TableKind {
    /// Kind with a given number.
    pub const fn from_u32(number: u32) -> Option<TableKind> {
        match number {
            0 => Some(TableKind::Dense),
            1 => Some(TableKind::Hash),
            2 => Some(TableKind::Text),
            3 => Some(TableKind::Flags),
            _ => None,
        }
    }
}

/// FNV-1a hash of a text, seeded with the table's multiplier: the key in a text table.
fn text_hash(text: &[u8], multiplier: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ multiplier;
    text.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Mixes the bits of a key into the upper ones.
#[inline]
fn mix(key: u64, multiplier: u64) -> u64 {
    let product = key.wrapping_mul(multiplier);
    product ^ product >> 32
}

/// Packs offset and length of a string into a table word.
pub const fn pack_str(offset: u32, len: u32) -> u64 {
    (offset as u64) << 32 | len as u64
}

/// Unpacks a word of [`pack_str`] to offset and length.
pub const fn unpack_str(word: u64) -> (usize, usize) {
    ((word >> 32) as usize, word as u32 as usize)
}

/// Words of a switch on numbers. Keys must be distinct; `default` is the target of all other values. Targets are
/// instructions, packed strings, or labels plus 1.
pub fn number_table(cases: &[(u64, u64)], default: u64) -> (TableKind, Vec<u64>) {
    let base = cases.iter().map(|(key, _)| *key).min().unwrap_or(0);
    let last = cases.iter().map(|(key, _)| *key).max().unwrap_or(0);
    // A dense table takes 0.7 ns, a perfect hash 1.9 ns for any number of cases, a scan of 256 cases 65 ns. So seven of
    // eight words of a dense table may be wasted.
    if last - base < dense_limit(cases.len()) {
        let count = if cases.is_empty() { 0 } else { last - base + 1 };
        let mut words = vec![default; 3 + count as usize];
        words[0] = base;
        words[1] = count;
        for (key, target) in cases {
            words[3 + (key - base) as usize] = *target;
        }
        return (TableKind::Dense, words);
    }
    let row = |at: usize, _| vec![cases[at].0, cases[at].1];
    (TableKind::Hash, hash_table(cases.len(), 2, default, row))
}

/// Case of a switch on texts.
#[derive(Debug, Clone, Copy)]
pub struct TextCase<'t> {
    /// The text.
    pub text: &'t [u8],
    /// The text's place in the blob, as [`pack_str`] packs it.
    pub string: u64,
    /// Target of the case.
    pub target: u32,
}

/// Words of a switch on texts. Texts must be distinct.
pub fn text_table(cases: &[TextCase<'_>], default: u32) -> (TableKind, Vec<u64>) {
    // The hash depends on the multiplier: two texts with one hash get different ones at the next try.
    let row = |at: usize, multiplier: u64| {
        let TextCase { text, string, target } = cases[at];
        vec![text_hash(text, multiplier), u64::from(target), string]
    };
    (TableKind::Text, hash_table(cases.len(), 3, default.into(), row))
}

/// Hash table with `n` rows of `width` words. `row` returns the words of a row, key first, for a multiplier.
fn hash_table(n: usize, width: usize, default: u64, row: impl Fn(usize, u64) -> Vec<u64>) -> Vec<u64> {
    // The seed is fixed, so that the same source always gives the same blob.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    // At most half of the slots are used, so that a multiplier is found after a few tries.
    let mut slot_bits = (n * 2).next_power_of_two().trailing_zeros().max(1);
    let bucket_bits = n.div_ceil(4).next_power_of_two().trailing_zeros().max(1);
    loop {
        for _ in 0..16 {
            let multiplier = next_odd(&mut random);
            let rows: Vec<_> = (0..n).map(|at| row(at, multiplier)).collect();
            let head = [multiplier, u64::from(64 - bucket_bits), u64::from(64 - slot_bits), default];
            if let Some(words) = try_hash(&rows, width, head, &mut random) {
                return words;
            }
        }
        // More slots make the next tries easier, so the loop ends for any set of keys.
        slot_bits += 1;
    }
}

fn next_odd(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    random.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1
}

fn try_hash(rows: &[Vec<u64>], width: usize, head: [u64; HASH_HEAD], random: &mut u64) -> Option<Vec<u64>> {
    const TRIES: usize = 4096;
    let [multiplier, bucket_shift, slot_shift, default] = head;
    let (n_buckets, n_slots) = (1usize << (64 - bucket_shift), 1usize << (64 - slot_shift));
    let mixed: Vec<u64> = rows.iter().map(|row| mix(row[0], multiplier)).collect();
    let mut buckets = vec![Vec::new(); n_buckets];
    for (at, key) in mixed.iter().enumerate() {
        buckets[(key >> bucket_shift) as usize].push(at);
    }
    let mut order: Vec<usize> = (0..n_buckets).collect();
    // Large buckets first, while most slots are free.
    order.sort_by_key(|bucket| std::cmp::Reverse(buckets[*bucket].len()));
    let mut slots: Vec<Option<usize>> = vec![None; n_slots];
    let mut seeds = vec![1; n_buckets];
    for bucket in order {
        let members = &buckets[bucket];
        seeds[bucket] = (0..TRIES).find_map(|_| {
            let seed = next_odd(random);
            place(members, &mixed, seed, slot_shift, &mut slots).then_some(seed)
        })?;
    }
    let mut words = head.to_vec();
    words.extend(&seeds);
    for slot in &slots {
        match slot {
            Some(at) => words.extend(&rows[*at]),
            // Key 0 in an empty slot is harmless: its target is the default.
            None => words.extend([0, default, 0].iter().take(width)),
        }
    }
    Some(words)
}

/// Puts the members of a bucket into free slots. Returns false, without changes, if a slot is taken.
fn place(members: &[usize], mixed: &[u64], seed: u64, shift: u64, slots: &mut [Option<usize>]) -> bool {
    let slot_of = |member: usize| (mixed[member].wrapping_mul(seed) >> shift) as usize;
    for (done, member) in members.iter().enumerate() {
        let slot = slot_of(*member);
        if slots[slot].is_some() {
            members[..done].iter().for_each(|undo| slots[slot_of(*undo)] = None);
            return false;
        }
        slots[slot] = Some(*member);
    }
    true
}

/// Offset of the first word of a key's slot in a hash table.
#[inline]
fn hash_slot(words: &[u64], key: u64, width: usize) -> Option<usize> {
    let [multiplier, bucket_shift, slot_shift, _] = *words.first_chunk::<HASH_HEAD>()?;
    let n_buckets = ((u64::MAX >> (bucket_shift & 63)) as usize).wrapping_add(1);
    let mixed = mix(key, multiplier);
    let [seed] = unchecked!(Tables: at_words(words, HASH_HEAD + (mixed >> (bucket_shift & 63)) as usize));
    let slot = (mixed.wrapping_mul(*seed) >> (slot_shift & 63)) as usize;
    Some(HASH_HEAD + n_buckets + slot * width)
}

/// Target of a value in a number table.
#[inline]
pub(crate) fn find_number(kind: TableKind, words: &[u64], value: u64) -> Option<u64> {
    if kind == TableKind::Dense {
        let [base, count, default] = *words.first_chunk::<3>()?;
        // Values below the base become huge, so one comparison tests both ends.
        let index = value.wrapping_sub(base);
        return if index < count { words.get(3 + index as usize).copied() } else { Some(default) };
    }
    let [key, target] = *unchecked!(Tables: at_words(words, hash_slot(words, value, 2)?));
    Some(if key == value { target } else { words[3] })
}

/// Label of a value in a table of labels.
#[inline]
pub(crate) fn find_label(kind: TableKind, words: &[u64], value: u64) -> Option<u32> {
    find_number(kind, words, value).and_then(|target| target.checked_sub(1)).map(|label| label as u32)
}

/// Slot of a text table that a text has by its hash.
struct TextSlot {
    /// True if the slot's text has the hash.
    has_hash: bool,
    /// The slot's text, as [`pack_str`] packs it.
    string: u64,
    target: u64,
    /// Target of a text that is not in the table.
    default: u64,
}

#[inline(always)]
fn text_slot(words: &[u64], text: &[u8]) -> Option<TextSlot> {
    let [multiplier, _, _, default] = *words.first_chunk::<HASH_HEAD>()?;
    let hash = text_hash(text, multiplier);
    let [key, target, string] = *unchecked!(Tables: at_words(words, hash_slot(words, hash, 3)?));
    Some(TextSlot { has_hash: key == hash, string, target, default })
}

/// Target of a text in a text table.
pub(crate) fn find_text(words: &[u64], strings: &[u8], text: &[u8]) -> Option<u64> {
    let TextSlot { has_hash, string, target, default } = text_slot(words, text)?;
    let (offset, len) = unpack_str(string);
    let known = strings.get(offset..offset + len)?;
    Some(if has_hash && known == text { target } else { default })
}

/// Like [`find_text`], for the first `len` bytes of sixteen: one comparison instead of a call.
#[inline(always)]
pub(crate) fn find_short_text(words: &[u64], strings: &[u8], sixteen: &[u8; 16], len: usize) -> Option<u64> {
    let text = &sixteen[..len.min(16)];
    let TextSlot { has_hash, string, target, default } = text_slot(words, text)?;
    let (offset, known_len) = unpack_str(string);
    let Some(known) = strings.get(offset..).and_then(|rest| rest.first_chunk::<16>()) else {
        // The string pool ends after fewer bytes.
        return find_text(words, strings, text);
    };
    let differing = u128::from_le_bytes(*known) ^ u128::from_le_bytes(*sixteen);
    let is_equal = known_len == text.len() && differing.trailing_zeros() as usize >= known_len * 8;
    Some(if has_hash && is_equal { target } else { default })
}

/// Facts about a table for rules V8 and V9, computed once for all instructions that use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableFacts {
    pub kind: TableKind,
    /// Lowest and highest target, including the default.
    pub targets: (u64, u64),
    /// True if every target is a valid string.
    pub texts: bool,
}

/// Checks a table by rule V8 and returns its facts; `None` if its words are malformed.
pub(crate) fn check(kind: TableKind, words: &[u64], strings: &[u8]) -> Option<TableFacts> {
    let is_inside = |word: u64| {
        let (offset, len) = unpack_str(word);
        offset + len <= strings.len()
    };
    let sound = match kind {
        TableKind::Dense => {
            let [_, count, _] = *words.first_chunk::<3>()?;
            words.len() as u64 - 3 == count
        }
        TableKind::Hash | TableKind::Text => {
            let width = if kind == TableKind::Hash { 2 } else { 3 };
            let [_, bucket_shift, slot_shift, _] = *words.first_chunk::<HASH_HEAD>()?;
            // The lookup shifts modulo 64, so a shift of 64 would act as 0. Below 32, no blob has enough slots.
            let size = |shift: u64| (32..64).contains(&shift).then(|| 1usize << (64 - shift));
            let (n_buckets, n_slots) = (size(bucket_shift)?, size(slot_shift)?);
            let slots = words[HASH_HEAD..].get(n_buckets..)?;
            let texts = || slots.iter().skip(2).step_by(3);
            slots.len() == n_slots.checked_mul(width)?
                && (kind == TableKind::Hash || texts().all(|word| is_inside(*word)))
        }
        TableKind::Flags => {
            let (entries, rest) = words.as_chunks::<FLAG_WORDS>();
            rest.is_empty() && entries.iter().all(|[_, _, yes, no, _]| is_inside(*yes) && is_inside(*no))
        }
    };
    let none = TableFacts { kind, targets: (u64::MAX, 0), texts: true };
    sound.then(|| {
        targets(kind, words).fold(none, |TableFacts { targets: (least, greatest), texts, .. }, to| TableFacts {
            kind,
            targets: (least.min(to), greatest.max(to)),
            texts: texts && is_inside(to),
        })
    })
}

/// All targets of a well-formed table, including the default.
pub(crate) fn targets(kind: TableKind, words: &[u64]) -> impl Iterator<Item = u64> {
    let (default, first, step) = match kind {
        TableKind::Dense => (2, 3, 1),
        TableKind::Hash | TableKind::Text => {
            let n_buckets = words.get(1).map_or(0, |shift| 1usize << (64 - shift.clamp(&32, &63)));
            (3, HASH_HEAD + n_buckets + 1, if kind == TableKind::Hash { 2 } else { 3 })
        }
        TableKind::Flags => (words.len(), words.len(), 1),
    };
    words.iter().skip(first).step_by(step).chain(words.get(default)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_numbers(keys: impl Iterator<Item = u64>, expected: TableKind) {
        let cases: Vec<_> = keys.enumerate().map(|(at, key)| (key, at as u64)).collect();
        let (kind, words) = number_table(&cases, 99_999);
        assert_eq!(kind, expected);
        for (key, target) in &cases {
            assert_eq!(find_number(kind, &words, *key), Some(*target));
            let near = key.wrapping_add(1);
            if !cases.iter().any(|(key, _)| *key == near) {
                assert_eq!(find_number(kind, &words, near), Some(99_999));
            }
        }
        let facts = super::check(kind, &words, b"").expect("a sound table");
        assert_eq!(facts.targets.1, 99_999);
        assert_eq!(facts.targets.0, if cases.is_empty() { 99_999 } else { 0 });
    }

    #[test]
    fn close_values_make_a_dense_table() {
        check_numbers(7..23, TableKind::Dense);
        // Eight words for each, and 64.
        check_numbers([0, 79].into_iter(), TableKind::Dense);
        check_numbers([0, 80].into_iter(), TableKind::Hash);
        check_numbers(std::iter::empty(), TableKind::Dense);
        check_numbers([u64::MAX].into_iter(), TableKind::Dense);
    }

    #[test]
    fn sparse_values_make_a_perfect_hash() {
        // All low bits zero: the worst for a hash that looks at upper bits of one product.
        check_numbers((0..64).map(|k| k << 58), TableKind::Hash);
        for n in [2, 3, 16, 256, 4096] {
            check_numbers((0..n).map(|k| k * 0x1_0000_0001 + 5), TableKind::Hash);
            check_numbers((0..n).map(|k: u64| k.wrapping_mul(0x9e37_79b9_7f4a_7c15)), TableKind::Hash);
        }
    }

    #[test]
    fn texts_are_found_by_their_bytes() {
        let (strings, names) = (b"LOOKUPREADWRITE", [(0, 6), (6, 4), (10, 5)]);
        let text = |(at, len): (usize, usize)| &strings[at..at + len];
        let cases: Vec<_> = (names.iter().enumerate())
            .map(|(k, name)| {
                let string = pack_str(name.0 as u32, name.1 as u32);
                TextCase { text: text(*name), string, target: k as u32 }
            })
            .collect();
        let (_, words) = text_table(&cases, 7);
        assert_eq!(find_text(&words, strings, b"READ"), Some(1));
        assert_eq!(find_text(&words, strings, b"READS"), Some(7));
        assert_eq!(find_text(&words, strings, b""), Some(7));
        // A text that is not in the table, but has the hash of one that is.
        let mut other = words.clone();
        let slots = HASH_HEAD + (1 << (64 - words[1]));
        other[slots..].iter_mut().skip(2).step_by(3).for_each(|string| *string = pack_str(0, 6));
        assert_eq!([&b"READ"[..], b"WRITE"].map(|text| find_text(&other, strings, text)), [Some(7); 2]);
    }

    #[test]
    fn half_of_a_hash_table_is_free_at_least() {
        // So that a multiplier is found soon; and up to four keys share a bucket. Both are powers of two.
        for (n, n_buckets, n_slots) in [(16, 4, 32), (20, 8, 64), (31, 8, 64), (4096, 1024, 8192)] {
            let cases: Vec<_> = (0..n).map(|key| (key * 0x1_0000_0001, key)).collect();
            let (kind, words) = number_table(&cases, 0);
            assert_eq!((kind, words.len()), (TableKind::Hash, HASH_HEAD + n_buckets + 2 * n_slots));
        }
    }

    #[test]
    fn texts_of_one_byte_are_distinguished() {
        let strings: Vec<u8> = (0..=255).collect();
        let cases: Vec<_> = (0..256)
            .map(|at| TextCase { text: &strings[at..=at], string: pack_str(at as u32, 1), target: at as u32 })
            .collect();
        let (_, words) = text_table(&cases, 999);
        for TextCase { text, target, .. } in &cases {
            assert_eq!(find_text(&words, &strings, text), Some((*target).into()));
        }
        assert_eq!(find_text(&words, &strings, b"ab"), Some(999));
    }

    #[test]
    fn short_texts_are_found_like_others() {
        // Texts of all lengths up to 16. Some begin with others, and the last one is at the end of the strings.
        let strings: Vec<u8> = (0..80).map(|n| b"abab\0c"[n * n % 6]).collect();
        let places: Vec<(usize, usize)> = (0..48).map(|n| (n * 5 % 64, n % 17)).collect();
        let mut cases: Vec<TextCase<'_>> = Vec::new();
        for (target, (at, len)) in places.into_iter().chain([(70, 10)]).enumerate() {
            let (text, string) = (&strings[at..at + len], pack_str(at as u32, len as u32));
            if cases.iter().all(|case| case.text != text) {
                cases.push(TextCase { text, string, target: target as u32 });
            }
        }
        let (_, words) = text_table(&cases, 999);
        let mut n_found = 0;
        for at in 0..=64 {
            for len in 0..=16 {
                let sixteen: &[u8; 16] = strings[at..].first_chunk().unwrap();
                let target = find_text(&words, &strings, &sixteen[..len]);
                assert_eq!(find_short_text(&words, &strings, sixteen, len), target);
                n_found += usize::from(target != Some(999));
                // Bytes after the text are ignored; a differing byte in it is not.
                let mut other = *sixteen;
                other[len.min(15)] ^= 1;
                let target = find_text(&words, &strings, &other[..len]);
                assert_eq!(find_short_text(&words, &strings, &other, len), target);
            }
        }
        assert!(n_found >= cases.len());
    }
}
