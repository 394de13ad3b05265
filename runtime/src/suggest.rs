//! Suggestions for misspelled names.

/// Returns the known name closest to `name`, if one is similar enough.
#[cfg(feature = "compile")]
pub fn closest<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    let near = tfbc_grammar::nearest(name.as_bytes(), names.iter().map(|known| known.as_bytes()))?;
    names.iter().copied().find(|known| known.as_bytes() == near)
}

/// Always `None`, because the edit distance is part of the compiler, which this build does not contain.
#[cfg(not(feature = "compile"))]
pub fn closest<'n>(_: &str, _: &[&'n str]) -> Option<&'n str> {
    None
}

/// End of a message about an unknown name: `; did you mean …?`, or empty if no known name is similar.
pub fn hint(name: &str, names: &[&str]) -> String {
    closest(name, names).map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

#[cfg(all(test, feature = "compile"))]
mod tests {
    use super::*;

    #[test]
    fn the_closest_known_name_is_suggested() {
        assert_eq!(closest("timestmp", &["ids", "timestamp"]), Some("timestamp"));
        assert_eq!(closest("purr", &["ids", "PURR"]), Some("PURR"));
        assert_eq!(closest("xyz", &["ids", "timestamp"]), None);
        assert_eq!(hint("dispach", &["exec", "dispatch"]), "; did you mean `dispatch`?");
    }
}
