//! Event definitions converted to stanzas print the same for the same bytes.

use tfbc_compiler::{ConvertOptions, Converted, Options, compile, convert};
use tfbc_grammar::{Source, Sources};
use tfbc_snapshots::datakey::ReferenceRecord;
use tfbc_snapshots::generate::datakey::{definitions, record};
use tfbc_snapshots::generate::{Rng, facts};
use tfbc_snapshots::reference::Line;
use tfbc_snapshots::runner::Runner;
use tfbc_vm::{Event, Machine};

fn sources(name: &str, files: &[impl AsRef<[u8]>]) -> Sources {
    let mut sources = Sources::new();
    for (at, file) in files.iter().enumerate() {
        sources.add(Source::new(format!("{name}{at}"), file.as_ref()));
    }
    sources
}

/// 64-bit hook with a payload in its data.
fn hook_with(class: u8, id: u16, wide: bool, payload: &[u8]) -> (u16, Vec<u8>) {
    let hook = 0x1000 + (u16::from(class) << 10) + id;
    let (flags, len) = if wide { (0x4000, payload.len().saturating_sub(8)) } else { (0, payload.len()) };
    let head = flags << 48 | (len as u64) << 32 | u64::from(hook) << 16;
    (hook, [&head.to_be_bytes(), payload].concat())
}

/// Removes known differences: zeros before hex digits, and before an octal zero.
fn plain(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text).replace(":00", ":0").replace("[00", "[0").replace(", 00", ", 0");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("0x0") {
        out.push_str(before);
        let after = after.trim_start_matches('0');
        let is_zero = !after.starts_with(|char: char| matches!(char, '1'..='9' | 'a'..='f'));
        out.push_str(if is_zero { "0x0" } else { "0x" });
        rest = after;
    }
    out + rest
}

#[test]
fn a_definition_and_its_stanza_show_the_same() {
    let mut rng = Rng::new(7);
    let (mut n_compared, mut n_sets, mut n_back) = (0, 0, 0);
    for _ in 0..300 {
        let generated = definitions(&mut rng);
        let xml = sources("generated.xml", &generated.files);
        let Converted { text: Some(text), diagnostics, .. } =
            convert(&xml, &Options::default(), ConvertOptions::default())
        else {
            continue;
        };
        let stanzas = sources("converted.trcfmt", &[&text]);
        let compiled = compile(&stanzas, &Options::default());
        let shown = String::from_utf8_lossy(&text);
        let blob = compiled.blob.unwrap_or_else(|| panic!("{:?}\n{shown}", compiled.diagnostics));
        let alike = ["hex digits are padded", "zero is shown as", "bytes that are not printable"];
        if !diagnostics.iter().all(|found| alike.iter().any(|text| found.message.starts_with(text))) {
            continue;
        }
        n_sets += 1;
        let xml_blob = compile(&xml, &Options::default()).blob.unwrap();
        let mut definitions = Runner::new(&xml_blob, Machine::default()).unwrap();
        let mut runner = Runner::new(&blob, Machine::default()).unwrap();
        // Converts back if nothing was lost.
        let back = convert(&stanzas, &Options::default(), ConvertOptions::default());
        let lost =
            back.diagnostics.iter().any(|found| found.code.code == "V01" || found.message.starts_with("a value"));
        let back_text = back.text.unwrap();
        let back_blob = compile(&sources("back.xml", &[&back_text]), &Options::default()).blob.unwrap();
        let mut back = Runner::new(&back_blob, Machine::default()).unwrap();
        for _ in 0..8 {
            let made = record(&mut rng, &generated, true);
            let record = ReferenceRecord {
                class: made.class,
                id: made.id,
                wide: made.wide,
                big_endian: true,
                payload: &made.payload,
            };
            let Some((wanted, false)) = definitions.show(&record) else { continue };
            if wanted.iter().any(|byte| !matches!(byte, b' '..=b'~') || *byte == b'\\') {
                continue;
            }
            if made.class == 13 || made.wide && made.payload.len() < 8 {
                continue;
            }
            let (hook, bytes) = hook_with(made.class, made.id, made.wide, &made.payload);
            let event = Event { bytes: &bytes, wide: true, record: None, time_ns: 0, offset: 0 };
            let line = Line { columns: b"", layout: tfbc_vm::Layout::default(), limits: tfbc_vm::Limits::default() };
            let printed = runner.print(hook, &event, &facts(&mut rng).context(), line);
            let files = generated.files.join("\n");
            assert_eq!(
                plain(printed.text.strip_suffix(b"\n").unwrap_or(&printed.text)),
                plain(&wanted),
                "{record:?}\n{files}\n{shown}"
            );
            n_compared += 1;
            // Arrays and texts come back as separate fields, or as fields with a length.
            if !lost && !made.wide && !shown.contains("\"]\"") && !shown.contains(" A") {
                let (text, _) = back.show(&record).unwrap();
                let back_text = String::from_utf8_lossy(&back_text);
                assert_eq!(plain(&text), plain(&wanted), "{record:?}\n{files}\n{shown}\n{back_text}");
                n_back += 1;
            }
        }
    }
    assert!(n_compared > 60 && n_sets > 20 && n_back > 2, "{n_compared} records of {n_sets} sets, {n_back}");
}

/// Text of a payload by the definitions made from a stanza.
fn of_stanza(stanza: &str, options: ConvertOptions, id: u16, payload: &[u8]) -> (String, Vec<String>) {
    let converted = convert(&sources("a.trcfmt", &[stanza]), &Options::default(), options);
    let said = converted.diagnostics.iter().map(|found| format!("{} {}", found.code.code, found.message)).collect();
    let text = converted.text.unwrap();
    let compiled = compile(&sources("a.xml", &[&text]), &Options::default());
    let blob = compiled.blob.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    let record = ReferenceRecord { class: 6, id, wide: false, big_endian: true, payload };
    let shown = Runner::new(&blob, Machine::default()).unwrap().show(&record);
    (shown.map_or(String::new(), |(text, _)| String::from_utf8(text).unwrap()), said)
}

#[test]
fn a_stanza_becomes_definitions() {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let in_words_of_4 = ConvertOptions { word: 4, ..ConvertOptions::default() };
    for (stanza, payload, shown, said) in [
        (
            "010 1.0 \"@E\" O2 \"count=\" U4 \"mode\" X2 D2 \"at 0x\" X1",
            words(&[7, 0x0001_FFFF, 0xAB00_0000]),
            "count:7 mode:0x1 value:-1 at 0x:0xab",
            &[][..],
        ),
        ("010 1.0 \"@E\" \"state=\" $D2%U4, 0 \"off\", 1 \"on\", \\* \"unknown\"", words(&[9, 1]), "state:on", &[]),
        (
            "010 1.0 \"@E\" \"state=\" $D2%U4, 0 \"off\", 1 \"on\", \\* \"unknown\"",
            words(&[9, 5]),
            "state:unknown",
            &[],
        ),
        ("010 1.0 \"@E\" \"state=\" $D1%U4 $D1, 0 \"off\", 1 \"on\"", words(&[1]), "state:1 on", &[]),
        (
            "010 1.0 \"@E\" W1 \"kind\" U4, 1 { \"size=\" U4 }, 2 { \"error=\" D4 }, \\* \"other\"",
            words(&[2, u32::MAX]),
            "kind:2 error:-1",
            &[],
        ),
        (
            "010 1.0 \"@E\" W1 \"kind\" U4, 1 { \"size=\" U4 }, \\* { \"error=\" D4 }",
            words(&[3, 8]),
            "kind:3 error:8",
            &["V02 a value without a case is shown as a number"],
        ),
        (
            "010 1.0 \"@E\" W1 {{ $f = X4 }} \"rights=\" BITFLAGS $f%o4, 04 \"r\" \"-\", 02 \"w\" \"-\"",
            words(&[2]),
            "rights:- w",
            &["V02 texts of flags are separated by blanks; the number is shown if there are none"],
        ),
        (
            "010 1.0 \"@E\" W1 \"type=\" BITFLAGS X4, & 0xf000 0x4000 \"dir\", 1 \"x\"",
            words(&[0x4001]),
            "type:x type 0xf000:dir",
            &["V02 texts of flags are separated by blanks; the number is shown if there are none"],
        ),
        (
            "010 1.0 \"@E\" W1 {{ $x = X4 }} \"unit\" $x%W4.7 \"op\" $x%X1, 2A \"read\", \\* \"?\"",
            words(&[0x12C2A]),
            "unit:0x2 op:read",
            &[],
        ),
        ("010 1.0 \"@E\" W1 {{ $x = (U2 & 0xff00) / 256 }} \"high=\" $x%U1", words(&[0x1234_0000]), "high:18", &[]),
        ("010 1.0 \"@E\" W1 \"name=\" A8 \"then\" U1", [&b"abc\0\0\0\0\0"[..], &[9]].concat(), "name:abc then:9", &[]),
        (
            "010 1.0 \"@E\" W1 {{ st(v) $v, 0 \"DOWN\", 1 \"UP\", \\* \"?\" }} \"state=\" st($D2)",
            words(&[0, 1]),
            "state:UP",
            &[],
        ),
        (
            "010 1.0 \"EVENT\" W1 U4 \"us\" \\n LOOP $D1 { X0 } endtimer(1,1) F4",
            words(&[3]),
            "value:3",
            &[
                "V01 text is not the label of a field",
                "V01 loops are left out",
                "V01 event definitions have no timers",
                "V01 event definitions have no floating point numbers",
            ],
        ),
        // Labels that differ only in characters that XML does not allow.
        ("010 1.0 \"@E\" W1 \"a\u{1}=\" U4 \"a\u{2}=\" U4", words(&[1, 2]), "a?:1 a? 2:2", &[]),
        (
            "010 1.0 \"@E\" X2 \"a=\" U4",
            words(&[3]),
            "a:3",
            &["V01 this is read from the hook word, which is not part of a payload"],
        ),
    ] {
        let found = of_stanza(&format!("{stanza}\n"), in_words_of_4, 0, &payload);
        assert_eq!(
            (found.0.as_str(), found.1),
            (shown, said.iter().map(|text| (*text).to_owned()).collect()),
            "{stanza}"
        );
    }
}

#[test]
fn ids_are_given_in_order_and_found_again() {
    let stanzas =
        "# no ids of their own\n010 1.0 \"A\" W1 \"a\" U4\n2841 1.0 \"B\" W1 \"b\" U4\n020 1.0 \"C\" W1 \"c\" U4\n";
    let options = ConvertOptions { first_event: 64, ..ConvertOptions::default() };
    for (id, shown) in [(64, "a:1"), (65, "b:1"), (66, "c:1")] {
        assert_eq!(of_stanza(stanzas, options, id, &[0, 0, 0, 1]).0, shown);
    }
}
