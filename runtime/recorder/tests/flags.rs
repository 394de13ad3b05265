//! Rules of `trace`'s flags: resulting options, and each message with its number.

use tfbc_recorder::flags::{Flags, MAX_BUFFER, MIN_BUFFER, Notice, Program, REFUSED, words};
use tfbc_recorder::options::{Hooks, Mode, Output, TraceOptions};
use tfbc_recorder::record::Width;

fn parse(text: &str) -> Result<Flags, Notice> {
    Flags::parse(words(text).unwrap())
}

fn options(text: &str) -> TraceOptions {
    parse(text).and_then(|flags| flags.options()).unwrap_or_else(|error| panic!("{text}: {error}")).0
}

fn refused(text: &str) -> Notice {
    parse(text).and_then(|flags| flags.options()).expect_err(text)
}

fn warned(text: &str) -> (TraceOptions, Vec<u16>) {
    let (options, warnings) = parse(text).unwrap().options().unwrap();
    (options, warnings.iter().map(|warning| warning.number).collect())
}

#[test]
fn flags_are_accepted_as_by_getopt() {
    let expected = TraceOptions {
        background: true,
        off: true,
        output: Output::File("my file".into()),
        message: Some(b"-x".to_vec()),
        ..TraceOptions::default()
    };
    for text in ["-ad -o 'my file' -m -x", "-a -d -o'my file' -m-x", "-dao 'my file' -m -x --", "-am-x -d -o my\\ file"]
    {
        let options = options(text);
        assert_eq!(TraceOptions { command: expected.command.clone(), ..options }, expected, "{text}");
    }
    assert_eq!(options("-a  -d").command, b"trace -a -d");
    assert_eq!(parse("-X 'prog a b'").unwrap().program, Some(Program { command: "prog a b".into(), outlived: true }));
    assert_eq!(options("").trace, Width::W64);
    assert_eq!(options("--bits 32").trace, Width::W32);
    assert_eq!(options("--bits=64 -o -").output, Output::Stdout);
}

#[test]
fn what_is_no_flag_is_named() {
    for (text, named) in [
        ("-q", "`-q`"),
        ("-aq", "`-q`"),
        ("--frob", "`--frob`"),
        ("--bitsy", "`--bitsy`"),
        ("-o", "-o: the value is missing"),
        ("-j", "-j: the value is missing"),
        ("--bits", "--bits: the value is missing"),
        ("--bits 31", "`31`"),
        ("file", "`file`"),
        ("-a -- file", "`file`"),
        ("-", "`-`"),
        ("-é", "`-é`"),
    ] {
        let error = refused(text);
        assert_eq!(error.number, 900, "{text}");
        assert!(error.text.contains(named), "{text}: {error}");
    }
    assert!(words("-m 'no end").unwrap_err().text.contains("is not closed"));
    assert_eq!(words("a\\").unwrap(), ["a"]);
    assert_eq!(words("  '' \"\"x ").unwrap(), ["", "x"]);
}

#[test]
fn aix_only_flags_are_refused_with_a_reason() {
    for (flag, has_value, why) in REFUSED {
        let error = refused(&format!("-a -{flag}{}", if has_value { " all" } else { "" }));
        assert_eq!((error.number, error.text), (901, format!("flag -{flag} is refused: {why}")));
    }
}

#[test]
fn ids_are_listed_and_grouped() {
    let Hooks::Only(ids) = options("-j 010,02 -j '15b F5F1'").hooks else { panic!() };
    assert_eq!((ids.len(), ids[0], ids[1], ids[17], ids[18]), (19, 0x0100, 0x0200, 0x15B0, 0xF5F1));
    assert_eq!(options("-k 010").hooks, Hooks::Except(vec![0x0100]));
    assert_eq!(options("-j 010,020 -k 020").hooks, Hooks::Only(vec![0x0100]));
    assert_eq!(options("-J tidhk").hooks, Hooks::Only(vec![0x1060, 0x10C0, 0x1340, 0x1390, 0x4650]));
    assert_eq!(options("-K tidhk -j 106,107").hooks, Hooks::Only(vec![0x1070]));
    let error = refused("-j 010,g");
    assert_eq!(error.number, 13);
    assert!(error.text.contains("`g` at position 5"), "{error}");
    assert_eq!(refused("-k ''").number, 13);
    let error = refused("-J no_such_group");
    assert_eq!(error.number, 111);
    assert!(error.text.contains("`no_such_group`") && error.text.contains("trcevgrp -l"), "{error}");
}

#[test]
fn sizes_fit_each_other() {
    let sizes = |text| {
        let options = options(text);
        (options.log_size, options.buffer_size, options.mode)
    };
    assert_eq!(sizes(""), (2_621_440, 262_144, Mode::Alternate));
    assert_eq!(sizes("--bits 32"), (1_310_720, 131_072, Mode::Alternate));
    assert_eq!(sizes("-L 200000 -T 100000"), (200_000, 100_000, Mode::Alternate));
    assert_eq!(sizes("-f -L 100000 -T 100000"), (100_000, 100_000, Mode::Single));
    assert_eq!(sizes("-l -L 100000 -T 100000"), (100_000, 100_000, Mode::Circular));
    // If only one size is given, the other is adjusted.
    assert_eq!(sizes("-T 10000000"), (20_000_000, 10_000_000, Mode::Alternate));
    assert_eq!(sizes("-l -T 10000000"), (10_000_000, 10_000_000, Mode::Circular));
    assert_eq!(sizes("-L 100000"), (100_000, 50_000, Mode::Alternate));
    for (text, number) in [
        ("-L 199999 -T 100000", 40),
        ("-L 10000", 40),
        ("-L 0", 40),
        ("-f -L 99999 -T 100000", 41),
        ("-l -L 99999 -T 100000", 41),
        ("-T 8191", 900),
        ("-T 268435185", 900),
        ("-T x", 900),
        ("-T 1M", 900),
        ("-L +5", 900),
        ("-L 99999999999999999999", 900),
        ("--bits 32 -L 4294967296", 900),
        ("-f -l", 900),
        ("-g", 900),
    ] {
        assert_eq!(refused(text).number, number, "{text}");
    }
    assert_eq!(sizes("-T 8192").1, MIN_BUFFER);
    assert_eq!(sizes("-T 268435184").1, MAX_BUFFER);
}

#[test]
fn flags_without_meaning_are_left_out_with_a_warning() {
    assert!(warned("-ag").1.is_empty());
    assert_eq!(warned("-b").1, [8]);
    assert_eq!(warned("-B").1, [8]);
    assert_eq!(warned("-r PURR,SPURR").1, [47]);
    let (options, warnings) = warned("-p --bits 32");
    assert_eq!((options.cpu_ids, warnings), (false, vec![17]));
    let (options, warnings) = warned("-c -o -");
    assert_eq!((options.keeps_old, warnings), (false, vec![42]));
    let (options, warnings) = warned("-hn");
    assert_eq!((options.headless, options.symbols, warnings), (true, false, vec![43]));
    let (options, warnings) = warned("-pcn -o file");
    assert!(options.cpu_ids && options.keeps_old && options.symbols && warnings.is_empty());
    assert_eq!(Notice { number: 8, text: "x".into() }.to_string(), "0454-008 x");
}

#[test]
fn a_program_starts_sessions_in_the_background_alone() {
    assert!(TraceOptions::parse("-d").unwrap().background);
    assert!(TraceOptions::parse("-g").unwrap().generic);
    let mut warnings = Vec::new();
    TraceOptions::parse_with("-b -r PURR", |warning| warnings.push(warning.number)).unwrap();
    assert_eq!(warnings, [8, 47]);
    for text in ["-S", "-x ls", "-X ls"] {
        assert_eq!(TraceOptions::parse(text).unwrap_err().number, 900, "{text}");
    }
}

#[test]
fn the_parser_never_panics() {
    let some = ["-", "-a", "-o", "-jé", "--", "--bits", "--bits=", "x", "", "-ad=1", "-T5", "-@", "-@x", "\u{0}", "-C"];
    for first in some {
        for second in some {
            for third in some {
                if let Ok(flags) = Flags::parse([first, second, third].map(str::to_owned)) {
                    drop(flags.options());
                }
            }
        }
    }
    for text in ["\\", "'", "\"\\", "'\\''", "\t\n "] {
        drop(words(text));
    }
}
