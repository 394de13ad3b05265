//! Suggestions for misspelt names.

/// The name that is most like `name`, if one comes close.
#[cfg(feature = "compile")]
pub fn closest<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    let near = tfbc_grammar::nearest(name.as_bytes(), names.iter().map(|known| known.as_bytes()))?;
    names.iter().copied().find(|known| known.as_bytes() == near)
}

/// A build without the compiler suggests nothing.
#[cfg(not(feature = "compile"))]
pub fn closest<'n>(_: &str, _: &[&'n str]) -> Option<&'n str> {
    None
}

/// The end of a message about a misspelt name: `; did you mean …?`, or nothing if no name comes close.
pub fn hint(name: &str, names: &[&str]) -> String {
    closest(name, names).map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

#[cfg(all(test, feature = "compile"))]
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
