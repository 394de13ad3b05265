//! Names that are probably meant by misspelt ones.

/// The name that is spelt most like `name`, where one comes close.
pub(crate) fn closest<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    let distance = |known: &&&str| edit_distance(name.as_bytes(), known.as_bytes());
    names.iter().min_by_key(distance).filter(|known| distance(known) <= 1 + known.len() / 4).copied()
}

/// The end of a message about a misspelt name: `; did you mean …?`, or nothing where no name comes close.
pub(crate) fn hint(name: &str, names: &[&str]) -> String {
    closest(name, names).map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

/// Letters to insert, drop or replace on the way from one word to another, in upper or lower case.
fn edit_distance(from: &[u8], to: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, byte) in from.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(!byte.eq_ignore_ascii_case(other));
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_have_a_neighbour() {
        assert_eq!(closest("timestmp", &["ids", "timestamp"]), Some("timestamp"));
        assert_eq!(closest("purr", &["ids", "PURR"]), Some("PURR"));
        assert_eq!(closest("xyz", &["ids", "timestamp"]), None);
        assert_eq!(hint("dispach", &["exec", "dispatch"]), "; did you mean `dispatch`?");
    }
}
