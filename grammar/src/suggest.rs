//! "Did you mean" suggestions.

/// Longer names are not compared: the time grows with the square of the length, and typing errors concern short names.
const MAX_LEN: usize = 64;

/// Limit on the names that are compared.
const MAX_NAMES: usize = 1000;

/// Returns the known name nearest to `name`. A name is near if it differs in at most one edit plus one per four bytes.
///
/// ```
/// use tfbc_grammar::nearest;
/// assert_eq!(nearest(b"eunm", [b"enum".as_slice(), b"event"]), Some(b"enum".as_slice()));
/// assert_eq!(nearest(b"colour", [b"enum".as_slice(), b"event"]), None);
/// ```
pub fn nearest<'k>(name: &[u8], known: impl IntoIterator<Item = &'k [u8]>) -> Option<&'k [u8]> {
    let known = known.into_iter().take(MAX_NAMES).filter(|known| known.len() <= MAX_LEN);
    let distances = known.filter(|_| name.len() <= MAX_LEN).map(|known| (distance(name, known), known));
    let (distance, known) = distances.min_by_key(|(distance, _)| *distance)?;
    // One edit per four letters: more would suggest names that only share their length.
    (distance <= 1 + known.len() / 4).then_some(known)
}

/// Returns the known name closest to `name`, if one is [near](nearest).
pub fn closest<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    let near = nearest(name.as_bytes(), names.iter().map(|known| known.as_bytes()))?;
    names.iter().copied().find(|known| known.as_bytes() == near)
}

/// End of a message about an unknown name: `; did you mean …?`, or empty if no known name is near.
pub fn hint(name: &str, names: &[&str]) -> String {
    closest(name, names).map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

/// Edit distance: number of bytes to insert, delete, replace or swap with their neighbour. Case is ignored.
fn distance(from: &[u8], to: &[u8]) -> usize {
    let (mut before, mut last): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=to.len()).collect());
    for (row, byte) in from.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let same = byte.eq_ignore_ascii_case(other);
            let mut best = (last[column] + usize::from(!same)).min(last[column + 1] + 1).min(next[column] + 1);
            // Two letters in the wrong order are one slip, not two.
            let swapped = row > 0 && column > 0 && from[row - 1] == *other && *byte == to[column - 1];
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut last, next);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_known_name_is_suggested() {
        assert_eq!(closest("timestmp", &["ids", "timestamp"]), Some("timestamp"));
        assert_eq!(closest("purr", &["ids", "PURR"]), Some("PURR"));
        assert_eq!(closest("xyz", &["ids", "timestamp"]), None);
        assert_eq!(hint("dispach", &["exec", "dispatch"]), "; did you mean `dispatch`?");
    }

    #[test]
    fn distances() {
        for (from, to, expected) in [
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "ABC", 0),
            ("acb", "abc", 1),
            ("abd", "abc", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from.as_bytes(), to.as_bytes()), expected, "{from} {to}");
        }
    }
}
