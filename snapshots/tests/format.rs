//! The canonical layout is stable, keeps meaning and comments, and does not depend on the source's line breaks.

use std::path::{Path, PathBuf};

use tfbc_compiler::{Options, Stage, compile, emit};
use tfbc_grammar::trcfmt::{LineKind, logical_lines};
use tfbc_grammar::{Severity, Source, SourceId, SourceLimits, Sources, datakey, format};
use tfbc_snapshots::case::CorpusCase;
use tfbc_snapshots::datakey::case::DatakeyCase as XmlCase;
use tfbc_snapshots::generate::{Rng, datakey as generated, seeds, template};
use tfbc_vm::{Schema, SchemaField, Space};

fn layout(bytes: &[u8]) -> Vec<u8> {
    let source = Source::new("t", bytes);
    format(SourceId(0), &source, &SourceLimits::default()).text(&source)
}

fn sources(bytes: &[u8]) -> Sources {
    let mut sources = Sources::new();
    sources.add(Source::new("t", bytes));
    sources
}

/// Listing of a compiler stage without source positions.
fn listing(bytes: &[u8], stage: Stage) -> Vec<String> {
    let text = emit(&sources(bytes), &Options::default(), stage).0;
    let without_place = |line: &str| {
        let indent = line.len() - line.trim_start().len();
        format!("{}{}", &line[..indent], line.trim_start().split_once(' ').map_or("", |(_, rest)| rest))
    };
    text.lines().map(without_place).collect()
}

/// Blob of a source without its source positions: sections 2 and 8, lines in section 4, and in section 7 the lines and
/// columns of the schemas of fields.
fn meaning(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    const HEADER: usize = 32;
    let blob = compile(&sources(bytes), &Options::default()).blob?;
    let number = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let section = |row: usize| {
        let at = HEADER + row * 16;
        blob[number(&blob, at + 4)..][..number(&blob, at + 8)].to_vec()
    };
    let mut sections: Vec<Vec<u8>> = (0..9).map(section).collect();
    for row in [1, 7] {
        sections[row].clear();
    }
    let mut strings = std::mem::take(&mut sections[6]);
    for hook in sections[3].chunks_mut(44) {
        hook[20..26].fill(0);
        if [Space::HookFields, Space::RecordFields].map(|space| space as u8).contains(&(hook[3] >> 3)) {
            let schema = &mut strings[number(hook, 12)..][..number(hook, 16)];
            let placed = Schema::decode(schema).unwrap();
            let (fields, omitted) = (without_places(placed.fields), without_places(placed.omitted));
            schema.copy_from_slice(&Schema { fields, omitted, ..placed }.encode());
        }
    }
    sections[6] = strings;
    Some(sections)
}

fn without_places(mut fields: Vec<SchemaField>) -> Vec<SchemaField> {
    for field in &mut fields {
        (field.line, field.column) = (0, 0);
        let mut shape = &mut field.shape;
        while let Some(items) = &mut shape.items {
            shape = items;
        }
        shape.members = without_places(std::mem::take(&mut shape.members));
    }
    fields
}

/// Codes of errors and warnings, without the lexer's warnings about blanks and line ends, which formatting removes.
fn findings(bytes: &[u8]) -> Vec<&'static str> {
    let found = compile(&sources(bytes), &Options::default()).diagnostics;
    let mut codes: Vec<_> = found
        .iter()
        .filter(|found| found.severity == Severity::Error || found.code.code.starts_with('C'))
        .map(|found| found.code.code)
        .collect();
    codes.sort_unstable();
    codes
}

fn comments(bytes: &[u8]) -> Vec<String> {
    if datakey::looks_like_xml(bytes) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        return text.split("<!--").skip(1).map(|rest| rest.split("-->").next().unwrap_or("").to_owned()).collect();
    }
    let source = Source::new("t", bytes);
    let lines = logical_lines(&source).filter(|line| line.kind == LineKind::Comment);
    lines.map(|line| String::from_utf8_lossy(source.slice(line.span)).trim().to_owned()).collect()
}

/// Checks all properties of a source's layout.
fn check(name: &str, bytes: &[u8]) {
    let text = layout(bytes);
    let shown = || format!("{name}\n---- source\n{}\n---- layout\n{}", lossy(bytes), lossy(&text));
    assert_eq!(lossy(&layout(&text)), lossy(&text), "not idempotent: {}", shown());
    assert_eq!(listing(bytes, Stage::Tokens), listing(&text, Stage::Tokens), "other tokens: {}", shown());
    assert_eq!(listing(bytes, Stage::Ast), listing(&text, Stage::Ast), "another tree: {}", shown());
    assert_eq!(comments(bytes), comments(&text), "other comments: {}", shown());
    assert_eq!(findings(bytes), findings(&text), "other findings: {}", shown());
    assert!(meaning(bytes) == meaning(&text), "another blob: {}", shown());
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn files(directory: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|found| extensions.iter().any(|wanted| found == *wanted)))
        .collect();
    paths.sort();
    paths
}

fn corpus(language: &str) -> Vec<PathBuf> {
    let found = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(language), &["case"]);
    assert!(!found.is_empty());
    found
}

#[test]
fn the_corpus_keeps_its_meaning() {
    for path in corpus("trcfmt") {
        for (_, source) in CorpusCase::read(&path).sources().iter() {
            check(&path.to_string_lossy(), source.bytes());
        }
    }
    for path in corpus("datakey") {
        for (_, source) in XmlCase::read(&path).sources().iter() {
            check(&path.to_string_lossy(), source.bytes());
        }
    }
}

#[test]
fn format_files_of_the_repository_keep_their_meaning() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let directories = ["runtime/formats", "runtime/samples", "snapshots/data/aix", "snapshots/data/qnx"];
    let found = directories.iter().flat_map(|directory| files(&root.join(directory), &["trcfmt", "xml"]));
    let mut n = 0;
    for path in found {
        check(&path.to_string_lossy(), &std::fs::read(&path).unwrap());
        n += 1;
    }
    assert!(n > 0);
}

#[test]
fn generated_files_keep_their_meaning() {
    for seed in seeds(80) {
        let mut rng = Rng::new(seed);
        check(&format!("seed {seed}"), template(&mut rng, 1 + (seed % 40) as usize).source.as_bytes());
        for text in &generated::definitions(&mut rng).files {
            check(&format!("seed {seed}"), text.as_ref());
        }
    }
}

/// Source with other blanks and line ends between its tokens.
fn with_other_blanks(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let source = Source::new("t", bytes);
    let mut out = Vec::new();
    let mut in_string = None;
    for line in logical_lines(&source) {
        for &byte in source.slice(line.span) {
            match (in_string, byte) {
                (None, b' ') if line.kind == LineKind::Stanza => {
                    let blanks = *rng.pick(&[" ", "  ", "\t", " \\\n", "\\\n   \\\n\t", "\\ \n"]);
                    out.extend_from_slice(blanks.as_bytes());
                    continue;
                }
                (None, b'"' | b'`') => in_string = Some(byte),
                (Some(quote), _) if quote == byte => in_string = None,
                _ => {}
            }
            out.push(byte);
        }
        in_string = None;
        out.push(b'\n');
    }
    out
}

#[test]
fn result_does_not_depend_on_the_sources_layout() {
    for seed in seeds(80) {
        let mut rng = Rng::new(seed);
        let source = layout(template(&mut rng, 1 + (seed % 40) as usize).source.as_bytes());
        // Continued strings keep their lines, and padding consists of blanks.
        if !source.windows(2).any(|pair| pair == b"\\\n") {
            let shaken = with_other_blanks(&source, &mut rng);
            assert_eq!(lossy(&layout(&shaken)), lossy(&source), "seed {seed}\n{}", lossy(&shaken));
        }
    }
}

#[test]
fn a_carriage_return_before_blanks_is_no_line_end() {
    check("a comment", b"# a\r \n\n\n# b\n");
    assert_eq!(lossy(&layout(b"# a\r \n\n\n# b\n")), "# a\n\n# b\n");
}

#[test]
fn removed_blank_lines_do_not_choose_line_ends() {
    for (source, expected) in [
        ("\r\n# a\n\n\n# b\r\n", "# a\n\n# b\n"),
        ("\n \r\n# a\r\n\n# b\n", "# a\r\n\r\n# b\r\n"),
        ("\\\n\r\n# a\r\n\n# b\n", "# a\r\n\r\n# b\r\n"),
        ("\r\n\r\n<!-- a\nb -->\r\n<eventdefinitions/>\r\n", "<!-- a\nb -->\n<eventdefinitions/>\n"),
        ("\n<!-- a\r\nb -->\n<eventdefinitions/>\n", "<!-- a\r\nb -->\r\n<eventdefinitions/>\r\n"),
    ] {
        check("blank lines", source.as_bytes());
        assert_eq!(lossy(&layout(source.as_bytes())), expected);
    }
}

/// Tries all texts of up to seven bytes from those that form lines and comments.
#[test]
fn texts_of_line_ends_keep_their_comments() {
    const BYTES: &[u8; 6] = b"#a\\\r\n ";
    let kinds = |bytes: &[u8]| -> Vec<LineKind> {
        let source = Source::new("t", bytes);
        logical_lines(&source).map(|line| line.kind).filter(|kind| *kind != LineKind::Blank).collect()
    };
    for len in 0..=7 {
        for n in 0..BYTES.len().pow(len) {
            let bytes: Vec<u8> = (0..len).map(|place| BYTES[n / BYTES.len().pow(place) % BYTES.len()]).collect();
            let text = layout(&bytes);
            let shown = || format!("{:?} {:?}", lossy(&bytes), lossy(&text));
            assert_eq!(lossy(&layout(&text)), lossy(&text), "not idempotent: {}", shown());
            assert_eq!(kinds(&text), kinds(&bytes), "other lines: {}", shown());
            assert_eq!(comments(&text), comments(&bytes), "other comments: {}", shown());
        }
    }
}

#[test]
fn any_bytes_have_a_layout() {
    let paths: Vec<PathBuf> = [corpus("trcfmt"), corpus("datakey")].concat();
    for seed in seeds(150) {
        let mut rng = Rng::new(seed);
        let path = rng.pick(&paths);
        let mut bytes = std::fs::read(path).unwrap();
        for _ in 0..rng.below(8) {
            let at = rng.below(bytes.len());
            let with = *rng.pick(b"\\\n\r\"`{}$%,&() #\t\xffX41<>-=");
            if rng.chance(50) { bytes[at] = with } else { bytes.insert(at, with) }
        }
        let cut = bytes.len() - rng.below(bytes.len() / 4 + 1);
        bytes.truncate(cut);
        let text = layout(&bytes);
        assert_eq!(lossy(&layout(&text)), lossy(&text), "seed {seed}, {}\n{}", path.display(), lossy(&bytes));
        assert_eq!(listing(&bytes, Stage::Ast), listing(&text, Stage::Ast), "seed {seed}\n{}", lossy(&bytes));
    }
}
