//! Runs over several events: no state passes from one event to the next.

use std::panic::AssertUnwindSafe;
use tfbc_vm::{
    BlobBuilder, Context, Env, EnvValue, Event, EventInput, HookRow, Instr, Layout, Limits, LineStart, Machine,
    Observer, Op, Outcome, PreparedEntry, ProcessNames, Program, RecordHeader, RoutineRow, Run, SourcePos, Space, Step,
    TextBuf, Timers, Unobserved, form, table,
};

const FIRST: u16 = 0x0100;
const SECOND: u16 = 0x0110;

/// Blob with two hooks and a routine 0 that may be called.
fn blob(first: &[Instr], second: &[Instr], zeroed: u16) -> Vec<u8> {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    let called = RoutineRow { called: 1, ..RoutineRow::default() };
    blob.routine(called, &[Instr::of(Op::Take, &[0, 1]), Instr::new(Op::Ret)], &[SourcePos::default(); 2]);
    for (id, code) in [(FIRST, first), (SECOND, second)] {
        let row = RoutineRow { need: 16, zeroed, ..RoutineRow::default() };
        let routine = blob.routine(row, code, &vec![SourcePos::default(); code.len()]);
        let tab_origin = if id == FIRST { 3 } else { 0 };
        blob.hook(HookRow { id, flags: 4, tab_origin, routines: [routine; 4], ..HookRow::default() });
    }
    blob.finish()
}

/// Instructions that change as much state as an event can.
fn change_everything() -> Vec<Instr> {
    let mut code = vec![
        Instr::of(Op::PtrSet, &[5, 3]),
        Instr::of(Op::Const, &[0, 7]),
        Instr::of(Op::BaseTo, &[0]),
        Instr::of(Op::Div, &[1, 0, 2]),
        Instr::new(Op::Newline),
        Instr::new(Op::Soft),
        Instr::new(Op::Cut),
        Instr::new(Op::Stop),
        Instr::of(Op::Call, &[0]),
        Instr::of(Op::Mark, &[3]),
        // Ends in the called routine, whose steps are counted separately.
        Instr::new(Op::End),
    ];
    code.insert(2, Instr::of(Op::Const, &[2, 0]));
    code
}

/// Instructions that read state, one by one.
fn state_readers() -> Vec<Vec<Instr>> {
    let shown = |instr: Instr| vec![instr, Instr::of(Op::PutHex, &[0, 16])];
    let mut all: Vec<Vec<Instr>> = vec![
        shown(Instr::of(Op::Take, &[0, 2])),
        shown(Instr::of(Op::TakeLe, &[0, 2])),
        shown(Instr::of(Op::TakeBits, &[0, 5])),
        shown(Instr::of(Op::Load, &[0, 4, 4])),
        shown(Instr::of(Op::LoadBits, &[0, 35, 7])),
        shown(Instr::new(Op::PtrGet)),
        shown(Instr::new(Op::BaseGet)),
        vec![Instr::of(Op::TakeReach, &[7, 2]), Instr::new(Op::Error), Instr::new(Op::End)],
        vec![Instr::of(Op::TakeText, &[3, 0])],
        vec![Instr::of(Op::TakeCounted, &[1])],
        vec![Instr::of(Op::Const, &[0, 3]), Instr::of(Op::TextBy, &[0])],
        vec![Instr::of(Op::Const, &[0, 3]), Instr::of(Op::Dump, &[0, 0])],
        vec![Instr::new(Op::TakeString)],
        vec![Instr::of(Op::TakeEscaped, &[3])],
        vec![Instr::of(Op::TakeWords, &[2])],
        vec![Instr::of(Op::TakeName, &[0])],
        vec![Instr::of(Op::TakeHexBytes, &[9])],
        vec![Instr::of(Op::HexBytes, &[0, 9])],
        vec![Instr::of(Op::Text, &[4, 4, 9])],
        vec![Instr::of(Op::StringAt, &[4, 0, 1]), Instr::new(Op::End)],
        vec![Instr::new(Op::Tab), Instr::new(Op::Soft)],
        vec![Instr::new(Op::Newline), Instr::of(Op::Lit, &[0, 0])],
        vec![Instr::new(Op::SoftDrop)],
        vec![Instr::new(Op::Error)],
        vec![Instr::of(Op::Const, &[0, 9]), Instr::of(Op::PutPath, &[0])],
        vec![Instr::of(Op::Call, &[0]), Instr::new(Op::Newline)],
        vec![
            Instr::of(Op::Const, &[0, 3]),
            Instr::of(Op::Loop, &[1, 0, 4]),
            Instr::new(Op::Soft),
            Instr::of(Op::LoopNext, &[1, 2]),
        ],
    ];
    for (what, op) in [Op::PtrAdd, Op::PtrBack].into_iter().flat_map(|op| [(1, op), (9, op)]) {
        all.push(
            [vec![Instr::of(op, &[what, 0][..if op == Op::PtrAdd { 2 } else { 1 }])], shown(Instr::new(Op::PtrGet))]
                .concat(),
        );
    }
    for op in [Op::PtrFloor, Op::PtrCeil] {
        all.push([vec![Instr::new(op)], shown(Instr::of(Op::TakeBits, &[0, 5]))].concat());
    }
    all.extend((0..19).map(|what| shown(Instr::of(Op::Env, &[0, what]))));
    all.extend((0..4).map(|what| vec![Instr::of(Op::PutName, &[what])]));
    all
}

/// Event of a hook with its context.
fn event_with_context(id: u16, bytes: &'static [u8]) -> (Event<'static>, Context<'static>, Layout) {
    let first = id == FIRST;
    let event = Event { bytes, wide: false, record: None, time_ns: 5, offset: if first { 1000 } else { 20 } };
    let context = if first {
        Context { pid: 99, tid: 98, cpu: 97, svc: b"first", exec_path: b"first", log_file: b"first", ..Context::EMPTY }
    } else {
        Context { pid: 7, log_file: b"second", ..Context::EMPTY }
    };
    (event, context, Layout { first: 1, further: if first { 9 } else { 2 } })
}

fn print(
    run: &mut Run<'_>,
    program: &Program<'_>,
    id: u16,
    bytes: &'static [u8],
    observer: &mut impl Observer,
) -> (String, Outcome) {
    let (event, context, layout) = event_with_context(id, bytes);
    let mut out = TextBuf::new();
    let hook = program.hook(id).expect("a hook of the program").index;
    let outcome = run.observed(
        hook,
        EventInput { event: &event, context: &context },
        LineStart { layout, line: 0 },
        &mut out,
        observer,
    );
    (String::from_utf8_lossy(out.as_bytes()).into_owned(), outcome)
}

/// Event whose entry was prepared, with its context.
fn print_prepared<'r>(run: &mut Run<'r>, entry: PreparedEntry<'r>, id: u16, bytes: &'static [u8]) -> (String, Outcome) {
    let (event, context, layout) = event_with_context(id, bytes);
    let mut out = TextBuf::new();
    let is_usual = run.run_prepared(
        &entry,
        &EventInput { event: &event, context: &context },
        LineStart { layout, line: 0 },
        |_| 0,
        &mut out,
    );
    let outcome = if is_usual { Outcome::default() } else { run.outcome() };
    (String::from_utf8_lossy(out.as_bytes()).into_owned(), outcome)
}

fn look_up<'r>(program: &'r Program<'r>, id: u16, bytes: &'static [u8]) -> PreparedEntry<'r> {
    let hook = program.hook(id).expect("a hook of the program").index;
    program.prepare(hook, event_with_context(id, bytes).0.env_index()).expect("a routine that is sound")
}

/// Output of the second hook for some bytes: observed, as the first event, after the first hook, and with an entry
/// prepared before that.
fn printed(
    second: &[Instr],
    zeroed: u16,
    machine: impl Fn() -> Machine,
    bytes: &'static [u8],
) -> [(String, Outcome); 4] {
    let blob = blob(&change_everything(), second, zeroed);
    let program = Program::open(&blob).unwrap_or_else(|error| panic!("{error}: {second:?}"));
    let (mut first, mut timers) = (machine(), Timers::new());
    let watched = print(&mut first.start(&program, &mut timers), &program, SECOND, bytes, &mut |_: Step<'_>| {});
    let alone = print(&mut first.start(&program, &mut timers), &program, SECOND, bytes, &mut Unobserved);
    let before = &b"\x01\0\x0a\0\0\0\0\0\0\x01\x02\x03\x04"[..];
    let mut run = first.start(&program, &mut timers);
    print(&mut run, &program, FIRST, before, &mut Unobserved);
    let second = print(&mut run, &program, SECOND, bytes, &mut Unobserved);
    let (entry, ahead) = (look_up(&program, FIRST, before), look_up(&program, SECOND, bytes));
    print_prepared(&mut run, entry, FIRST, before);
    [watched, alone, second, print_prepared(&mut run, ahead, SECOND, bytes)]
}

#[test]
fn an_event_sees_nothing_of_the_one_before() {
    let whole: &[u8] = b"\x01\x1a\x12\x34ab\0d\x88\x99some more";
    for second in state_readers() {
        for zeroed in [0, 4] {
            for bytes in [whole, &whole[..5], &[]] {
                let texts = printed(&second, zeroed, Machine::default, bytes);
                let watched = [(); 4].map(|()| texts[0].clone());
                assert_eq!(texts, watched, "{second:?} of {bytes:?}");
                let checked = || Machine::checked(Limits::default());
                assert_eq!(printed(&second, zeroed, checked, bytes), watched);
            }
        }
    }
}

#[test]
fn registers_that_are_zeroed_are_so_in_each_event() {
    for register in [0, 1, 3] {
        let texts = printed(&[Instr::of(Op::PutDec, &[register])], 4, Machine::default, &[1, 0, 0x1a, 0]);
        assert_eq!(texts.map(|(text, _)| text), [" 0\n"; 4]);
    }
}

#[test]
fn processes_are_those_of_the_event() {
    let blob = blob(&change_everything(), &[Instr::of(Op::Const, &[0, 9]), Instr::of(Op::PutPath, &[0])], 0);
    let program = Program::open(&blob).unwrap();
    let names = ProcessNames::from([(9, b"/bin/ls".to_vec())]);
    let (mut machine, mut timers, mut out) = (Machine::default(), Timers::new(), TextBuf::new());
    let event = Event { bytes: &[1, 0x1a, 0, 0, 0, 0, 0, 0], wide: false, record: None, time_ns: 0, offset: 0 };
    let mut run = machine.start(&program, &mut timers);
    let hook = program.hook(SECOND).expect("a hook of the program").index;
    for context in [Context { processes: &names, ..Context::EMPTY }, Context::EMPTY] {
        run.event(
            hook,
            EventInput { event: &event, context: &context },
            LineStart { layout: Layout::default(), line: 0 },
            &mut out,
        );
    }
    assert_eq!(String::from_utf8_lossy(out.as_bytes()), "/bin/ls\n-9-\n");
}

#[test]
fn who_watches_may_unwind_an_event() {
    let blob = blob(
        &change_everything(),
        &[Instr::of(Op::Env, &[0, EnvValue::RelLine as u32]), Instr::of(Op::PutDec, &[0])],
        0,
    );
    let program = Program::open(&blob).unwrap();
    let (mut machine, mut timers) = (Machine::default(), Timers::new());
    let mut unwind = |step: Step<'_>| {
        if step.instr.op == Op::Stop as u8 {
            std::panic::resume_unwind(Box::new(()));
        }
    };
    let mut run = machine.start(&program, &mut timers);
    let watched = AssertUnwindSafe(|| print(&mut run, &program, FIRST, b"\x01\x0a\0\0", &mut unwind));
    assert!(std::panic::catch_unwind(watched).is_err());
    let second = b"\x01\x1a\0\0";
    let expected = (" 1\n".to_owned(), Outcome::default());
    assert_eq!(print(&mut run, &program, SECOND, second, &mut |_: Step<'_>| {}), expected, "in the same run");
    let watched = AssertUnwindSafe(|| print(&mut run, &program, FIRST, b"\x01\x0a\0\0", &mut unwind));
    assert!(std::panic::catch_unwind(watched).is_err());
    assert_eq!(print(&mut machine.start(&program, &mut timers), &program, SECOND, second, &mut Unobserved), expected);
}

#[test]
fn prepared_entries_belong_to_their_own_programs() {
    let blobs = ["one", "two"].map(|text| {
        blob(
            &[crate::common::printed(text)],
            &[Instr::of(Op::Take, &[0, 2]), Instr::of(Op::PutDec, &[0]), crate::common::printed(text)],
            0,
        )
    });
    let of = |id| (id, if id == FIRST { &b"\x01\x0a\0\0"[..] } else { &b"\x01\x1a\0\0"[..] });
    for lazily in [false, true] {
        let [one, two] = blobs.each_ref().map(|blob| {
            let opened = if lazily { Program::open_lazily(blob) } else { Program::open(blob) };
            opened.expect("a sound blob")
        });
        let (mut machine, mut timers) = (Machine::default(), Timers::new());
        let mut run = machine.start(&one, &mut timers);
        let mut texts = Vec::new();
        for (program, id) in [(&two, SECOND), (&one, SECOND), (&two, FIRST), (&one, FIRST)] {
            texts.push({
                let (id, bytes) = of(id);
                print_prepared(&mut run, look_up(program, id, bytes), id, bytes).0
            });
        }
        assert_eq!(texts, [" 282two\n", " 282one\n", " two\n", " one\n"]);
        // Unknown hook.
        assert!(two.prepare(u32::MAX, 0).is_none());
    }
}

#[test]
fn each_environment_of_an_entry_runs_its_own_routine() {
    let mut blob = BlobBuilder::new();
    blob.source("test", b"");
    for space in [Space::Hook, Space::Record] {
        for id in [FIRST, SECOND] {
            let routines = space.envs().map(|env| {
                let code = [crate::common::printed(format!("{:x} {}", id >> 4, env.name()))];
                blob.routine(RoutineRow::default(), &code, &[SourcePos::default()])
            });
            blob.hook(HookRow { id, flags: (space as u8) << 3, routines, ..HookRow::default() });
        }
    }
    let blob = blob.finish();
    let event = |env: Env| {
        let bytes: &[u8] = match env {
            Env::Hook32 => &[1, 0x0a],
            Env::Generic32 => &[1, 0x08],
            Env::Hook64 => &[0x80],
            Env::Generic64 => &[0xc0],
            _ => &[],
        };
        let record = bytes.is_empty().then(|| RecordHeader { event: 1, big_endian: !env.little_endian() });
        Event { bytes, wide: env.word() == 8 || env.combine(), record, time_ns: 0, offset: 0 }
    };
    for program in [Program::open(&blob), Program::open_lazily(&blob)].map(|program| program.expect("a sound blob")) {
        let (mut machine, mut timers) = (Machine::default(), Timers::new());
        let mut run = machine.start(&program, &mut timers);
        for entry in program.entries(Space::Hook).chain(program.entries(Space::Record)) {
            for env in entry.space.envs() {
                let event = event(env);
                assert_eq!(event.env(), env);
                let (of, place) = (
                    EventInput { event: &event, context: &Context::EMPTY },
                    LineStart { layout: Layout::default(), line: 0 },
                );
                let mut texts = [(); 3].map(|()| TextBuf::new());
                let mut routines = Vec::new();
                run.event(entry.index, of, place, &mut texts[0]);
                let prepared = program.prepare(entry.index, event.env_index()).expect("a routine that is sound");
                run.run_prepared(&prepared, &of, place, |_| 0, &mut texts[1]);
                run.observed(entry.index, of, place, &mut texts[2], &mut |step: Step<'_>| routines.push(step.routine));
                let expected = format!("{:x} {}\n", entry.id >> 4, env.name());
                for text in texts {
                    assert_eq!(String::from_utf8_lossy(text.as_bytes()), expected);
                }
                assert_eq!(routines, [program.routine_of(&entry, env).expect("a routine").index]);
            }
        }
    }
}

/// Groups of instructions that may follow one another in a straight routine, with the tables that they use.
fn straight_groups(blob: &mut BlobBuilder) -> Vec<Vec<Instr>> {
    let form = |left: u32, right: u32, more: u32| left | right << form::RIGHT | 8 << form::END | more;
    let (low, whole, byte) = (form(32, 32, 0), form(0, 0, 0), form(8, 56, 0));
    let little = form(32, 32, form::LITTLE);
    let packed = |text: &[u8]| {
        let mut bytes = [0; 32];
        bytes[..text.len()].copy_from_slice(text);
        bytes[31] = text.len() as u8;
        bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>()
    };
    let texts = |n: u32| (0..n).map(|n| format!("text{n}")).collect::<Vec<_>>();
    let long: Vec<u64> =
        [3 | table::LONG_TEXTS].into_iter().chain(texts(4).iter().flat_map(|text| packed(text.as_bytes()))).collect();
    let nibbles: Vec<u64> = [2].into_iter().chain(texts(33).iter().flat_map(|text| packed(text.as_bytes()))).collect();
    let (long, nibbles) = (blob.words(&long), blob.words(&nibbles));
    let mut string = |text: &str| {
        let [offset, len] = blob.string(text.as_bytes());
        table::pack_str(offset, len)
    };
    let dense: Vec<_> = (0..9).map(|n| (n, string(&format!("dense {n}")))).collect();
    let sparse: Vec<_> = (0..9).map(|n| (n * n * 1000, string(&format!("sparse {n}")))).collect();
    let (none, very_long) = (string(""), string(&"long ".repeat(20)));
    let [dense, sparse] = [(dense, none), (sparse, very_long)].map(|(cases, default)| {
        let (kind, words) = table::number_table(&cases, default);
        blob.table(kind, &words)
    });
    // Strings of at most 32 bytes are copied with the bytes after them.
    blob.string(&[b'-'; 40]);
    let mut groups: Vec<Vec<Instr>> = [low, whole, byte, little]
        .into_iter()
        .flat_map(|how| {
            [
                Instr::of(Op::HexAt, &[5, 8, how]),
                Instr::of(Op::HexLowAt, &[12, 16, how]),
                Instr::of(Op::HexMinAt, &[8, how]),
                Instr::of(Op::HexCAt, &[8, how]),
                Instr::of(Op::OctCAt, &[16, how]),
                Instr::of(Op::DecAt, &[16, how]),
                Instr::of(Op::IntAt, &[8, how]),
                Instr::of(Op::LitAt, &[8, long, how]),
                Instr::of(Op::LitHexAt, &[8, long, how]),
                Instr::of(Op::HexCLitAt, &[8, long, how]),
                Instr::of(Op::CaseAt, &[8, dense, how]),
                Instr::of(Op::CaseAt, &[16, sparse, how]),
                Instr::of(Op::HexCCaseAt, &[8, sparse, how]),
                Instr::of(Op::NibblesAt, &[8, nibbles, how]),
                Instr::of(Op::HexCNibblesAt, &[16, nibbles, how]),
            ]
        })
        .map(|instr| vec![instr])
        .collect();
    groups.extend([
        vec![Instr::new(Op::Print)],
        vec![Instr::of(Op::Text, &[8, 16, 0])],
        vec![Instr::of(Op::Text, &[20, 4, 0])],
        vec![Instr::of(Op::Get, &[3, 8, low]), Instr::of(Op::PutOct, &[3])],
        vec![Instr::of(Op::Get, &[3, 8, whole]), Instr::of(Op::PutOct, &[3])],
        vec![Instr::of(Op::Get, &[3, 16, whole]), Instr::of(Op::PutBin, &[3, 13])],
        vec![Instr::of(Op::Get, &[3, 12, low]), Instr::of(Op::PutBin, &[3, 16])],
        vec![Instr::of(Op::Get, &[3, 8, low]), Instr::of(Op::PutErrno, &[3, 4])],
        vec![Instr::of(Op::Get, &[3, 8, byte]), Instr::of(Op::PutErrno, &[3, 2])],
        vec![Instr::new(Op::SoftDrop)],
        vec![Instr::new(Op::Soft), Instr::new(Op::SoftDrop)],
        // A soft blank that is not removed at once is left to the loop.
        vec![Instr::new(Op::Soft), Instr::of(Op::HexAt, &[5, 8, low]), Instr::new(Op::SoftDrop)],
    ]);
    // Hex numbers run together, in runs of any length and of up to eight digits, or more.
    for (n, digits) in (0..4).flat_map(|n| [(n, 8), (n, 3), (n, 16)]) {
        let how = if digits == 16 { whole } else { form(32, 32, 0) };
        let run = |at: u32| Instr::of(Op::HexFullAt, &[digits, 8 + 2 * at, how | (n - at) << form::MORE]);
        groups.push((0..=n).map(run).collect());
        groups.push(vec![Instr::of(Op::HexLowFullAt, &[digits, 8, how])]);
    }
    groups
}

/// The instruction, with a literal.
fn literal(text: &str, mut instr: Instr) -> Instr {
    instr.lit_len = text.len() as u8;
    instr.lit[..text.len()].copy_from_slice(text.as_bytes());
    instr
}

/// The texts of an event in the loop, in the checked loop, and without the loop.
#[test]
fn straight_routines_print_what_the_loop_prints() {
    let mut random = 1u64;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    for _ in 0..400 {
        let mut blob = BlobBuilder::new();
        blob.source("test", b"");
        let groups = straight_groups(&mut blob);
        let mut code: Vec<Instr> = (0..=next(4)).flat_map(|_| groups[next(groups.len())].clone()).collect();
        for instr in &mut code {
            let len = next(17);
            instr.lit_len = len as u8;
            instr.lit[..len].copy_from_slice(&b"0123456789ABCDEF"[..len]);
        }
        match next(5) {
            0 => {
                let ends = next(2) as u32;
                code.push(Instr::of(Op::Env, &[9, EnvValue::HookLen as u32]));
                code.push(Instr::of(Op::PtrSet, &[8, 0]));
                code.push(Instr::of(Op::Dump, &[9, ends]));
                code.extend((ends == 1).then(|| Instr::new(Op::SoftDrop)));
            }
            1 => {
                // A switch, whose cases jump over the others. The default case ends in a soft blank.
                let start = code.len() as u32;
                let cases: Vec<_> = (0..6).map(|n| (n * [1, 5000][next(2)], u64::from(start) + 2 + n)).collect();
                let (kind, words) = table::number_table(&cases, u64::from(start) + 8);
                let table = blob.table(kind, &words);
                let how = [0, 32 | 32 << form::RIGHT, 8 | 56 << form::RIGHT][next(3)] | 8 << form::END;
                code.extend([Instr::of(Op::Get, &[3, 8, how]), Instr::of(Op::Switch, &[3, table])]);
                code.extend((0..6).map(|n| literal(&format!("case {n}"), Instr::of(Op::Jump, &[start + 11]))));
                code.extend([literal("other ", Instr::of(Op::DecAt, &[8, how])), Instr::new(Op::Soft)]);
                code.extend((next(2) == 0).then(|| Instr::of(Op::Jump, &[start + 11])));
                code.resize(start as usize + 11, Instr::new(Op::Print));
                code.push(Instr::new(Op::SoftDrop));
                code.push(literal(" after", Instr::of(Op::HexAt, &[16, 8, 8 << form::END])));
            }
            2 => {
                // Jumps over the last instruction, or after the body.
                let end = code.len() as u32 + 2;
                let how = 8 | 56 << form::RIGHT | 8 << form::END;
                code.push(Instr::of(Op::JumpEqualAt, &[8, 0, how, end]));
                code.push(Instr::of(Op::DecAt, &[8, how]));
            }
            _ => {}
        }
        let row = RoutineRow { need: 24, ..RoutineRow::default() };
        let routine = blob.routine(row, &code, &vec![SourcePos::default(); code.len()]);
        blob.hook(HookRow { id: FIRST, flags: 4, routines: [routine; 4], ..HookRow::default() });
        let blob = blob.finish();
        let program = Program::open(&blob).unwrap_or_else(|error| panic!("{error}: {code:?}"));
        let machines = || {
            let in_loop = Limits { text: 767, ..Limits::default() };
            [Machine::default(), Machine::new(in_loop), Machine::checked(Limits::default())]
        };
        for _ in 0..8 {
            let n_bytes = if next(4) == 0 { next(24) } else { 24 + next(80) };
            let mut bytes: Vec<u8> =
                (0..n_bytes).map(|_| if next(3) == 0 { next(256) as u8 } else { b'a' + next(9) as u8 }).collect();
            // Values that tables know, ends of texts, and lengths of dumps.
            for (at, byte) in bytes.iter_mut().enumerate().skip(2) {
                if at < 4 || next(3) == 0 {
                    *byte = if at == 3 { next(100) as u8 } else { 0 };
                }
            }
            let event = Event { bytes: &bytes, wide: true, record: None, time_ns: 5, offset: 0 };
            let entry = program.prepare(0, 2).expect("the routine is sound");
            let columns = next(2) * 600;
            let lines = machines().map(|mut machine| {
                let (mut timers, mut out) = (Timers::new(), TextBuf::new());
                let mut run = machine.start(&program, &mut timers);
                let input = EventInput { event: &event, context: &Context::EMPTY };
                let outcomes: Vec<bool> = (0..20)
                    .map(|n| {
                        let layout = Layout { first: [0, 3, 40][n % 3], further: 0 };
                        let line = LineStart { layout, line: out.len() };
                        if n % 2 == 0 {
                            return run.event(0, input, line, &mut out) == Outcome::default();
                        }
                        run.run_prepared(
                            &entry,
                            &input,
                            line,
                            |room| {
                                room[..columns].fill(b'c');
                                columns
                            },
                            &mut out,
                        )
                    })
                    .collect();
                (String::from_utf8_lossy(out.as_bytes()).into_owned(), outcomes)
            });
            assert_eq!(lines[0], lines[1], "{code:?} of {bytes:?}");
            assert_eq!(lines[0], lines[2], "{code:?} of {bytes:?}");
        }
    }
}
