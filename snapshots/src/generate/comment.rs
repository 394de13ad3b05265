use tfbc_grammar::{Arena, Source, Sources};

use super::Rng;
use crate::reference::Reference;

const NAMES: &[&str] =
    &["a", "b", "c1", "c2", "state", "x_text", "f1", "f2", "a_2", "_t", "zz", "long_name_of_a_field"];
const CODES: &[&str] = &[
    "U4", "U8", "D8", "D2", "DW", "X4", "X1", "X12", "XW", "T4", "E4", "EW", "P4", "PW", "o2", "ow", "B0.1", "B1",
    "A4", "A08.9", "F8", "F4",
];
const PREDEFINED: &[&str] = &[
    "D1",
    "D2",
    "D5",
    "L1",
    "HD",
    "HL",
    "PID",
    "CPUID",
    "IPADDR",
    "DATAPOINTER",
    "RELLINENO",
    "SVC",
    "TRACEID",
    "LOGFILE",
];

/// Adds `fields` comments without errors to some stanzas of a format file.
pub fn with_comments(rng: &mut Rng, source: &str) -> String {
    let mut sources = Sources::new();
    sources.add(Source::new("generated.trcfmt", source));
    let arena = Arena::new();
    let reference = Reference::parse(&arena, &sources).unwrap_or_else(|found| panic!("{found:?}\n{source}"));
    let mut stanzas = reference.stanzas_of_files();
    stanzas.sort_unstable_by_key(|stanza| std::cmp::Reverse(stanza.span.start));
    let mut out = source.to_owned();
    for stanza in stanzas {
        if rng.chance(50) {
            continue;
        }
        let n_fields = reference.schema(stanza).len();
        let macros = reference.macros(stanza);
        let wanted = rng.below(n_fields + 3) + 1;
        let mut entries: Vec<String> = (0..wanted).map(|_| entry(rng, &macros)).collect();
        loop {
            let bad = reference.bad_entries(stanza, &entries);
            for at in bad.iter().rev() {
                if entries[*at].contains('=') {
                    entries.remove(*at);
                } else {
                    entries[*at] = "*".into();
                }
            }
            if bad.is_empty() {
                break;
            }
        }
        let line_start = out[..stanza.span.start as usize].rfind('\n').map_or(0, |end| end + 1);
        out.insert_str(line_start, &comment(rng, &entries));
    }
    out
}

fn entry(rng: &mut Rng, macros: &[String]) -> String {
    let name = *rng.pick(NAMES);
    match rng.below(10) {
        0 | 1 => "*".into(),
        2 => "-".into(),
        3 | 4 => format!("{name}:{}", rng.pick(CODES)),
        5 | 6 => format!("{name}:enum"),
        7 => {
            let own = !macros.is_empty() && rng.chance(50);
            let shown = if own { rng.pick(macros).clone() } else { (*rng.pick(PREDEFINED)).to_owned() };
            let cast = if rng.chance(50) { format!("%{}", rng.pick(CODES)) } else { String::new() };
            format!("{name}=${shown}{cast}")
        }
        _ => name.into(),
    }
}

/// Comment lines with these entries.
fn comment(rng: &mut Rng, entries: &[String]) -> String {
    let mut lines = String::new();
    let first = rng.below(entries.len() + 1);
    for part in [&entries[..first], &entries[first..]] {
        if part.is_empty() {
            continue;
        }
        let head = *rng.pick(&["# tfbc: fields=", "# tfbc: fields=", "#tfbc: fields=", "  # tfbc: fields= "]);
        let remark = *rng.pick(&["", "", " remark, more", " "]);
        let between = *rng.pick(&[", ", ",", " , "]);
        lines += &format!("{head}{}{remark}\n", part.join(between));
        if rng.chance(20) {
            lines += "# another comment\n";
        }
    }
    lines
}
