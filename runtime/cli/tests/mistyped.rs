//! Mistyped or misunderstood command lines: each message leads to the correction.
//!
//! The words of a row name the value found, the value expected, and the flag or command that helps.
#![cfg(target_os = "linux")]

use crate::common::command;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Command line, in which `''` is an empty word; exit status; words of the message.
type MistypedLine = (&'static str, i32, &'static [&'static str]);

const REPORT: &[MistypedLine] = &[
    ("tfbc reprot shell.trc", 1, &["'reprot'", "'report'"]),
    ("tfbc shell.trc", 1, &["`tfbc report shell.trc` formats a trace", "`tfbc check shell.trc`"]),
    ("tfbc report", 1, &["required", "<TRACE>", "`tfbc report trace.log`"]),
    ("tfbc report none.trc", 1, &["cannot read none.trc", "No such file"]),
    ("tfbc report notes.txt", 1, &["notes.txt", "not a trace but a text file"]),
    ("tfbc report -", 1, &["cannot read standard input: it is empty"]),
    (
        "tfbc report --where pdi==1 shell.trc",
        1,
        &["no event has a field `pdi`: expected seq, cpu", "; did you mean `pid`?"],
    ),
    ("tfbc report empty.trc", 1, &["empty.trc", "empty", "--format stream32"]),
    ("tfbc report folder", 1, &["folder", "no file in this directory is a trace"]),
    ("tfbc report pump.trcfmt", 1, &["pump.trcfmt", "not a trace but a format file", "give it with -t"]),
    ("tfbc report user.xml", 1, &["user.xml", "event definitions", "give it with -t"]),
    ("tfbc report pump.tfbc", 1, &["pump.tfbc", "blob", "give it with -t"]),
    ("tfbc report -t shell.trc pump.trcfmt", 1, &["shell.trc is not a format file but a trace", "`tfbc report`"]),
    ("tfbc report -t none.trcfmt shell.trc", 1, &["cannot read none.trcfmt"]),
    ("tfbc report -t folder shell.trc", 1, &["cannot read folder", "directory"]),
    ("tfbc report -t user.xml shell.trc", 0, &["it formats QNX logs", "shell.trc is from AIX"]),
    ("tfbc report -t pump.trcfmt user.kev", 0, &["it formats AIX traces", "user.kev is from QNX"]),
    ("tfbc report -t empty.trcfmt shell.trc", 0, &["empty.trcfmt", "file defines nothing: it has no stanza"]),
    ("tfbc report -f shell.trc", 1, &["'-f'", "[TRACE]"]),
    ("tfbc report --colums id shell.trc", 1, &["'--columns'"]),
    ("tfbc report --columns idd shell.trc", 1, &["`idd`", "expected one of id, filename,", "`id`?"]),
    ("tfbc report --columns '' shell.trc", 1, &["without a name", "expected one of id, filename,"]),
    ("tfbc report --columns time shell.trc", 1, &["`time` is only for QNX logs", "expected one of id, filename,"]),
    (
        "tfbc report --columns exec user.kev",
        1,
        &["`exec` is only for AIX traces", "event, time, cpu, class, id, type, data, pid"],
    ),
    ("tfbc report --columns datta user.kev", 1, &["`datta`", "`data`?", "event, time, cpu"]),
    ("tfbc report --columns text,id shell.trc", 1, &["`text` must be the last column, but `id` follows it"]),
    ("tfbc report --to json shell.trc", 1, &["'json'", "text, tsv, csv, ndjson", "`ndjson`?"]),
    ("tfbc report --to 5 shell.trc", 0, &["--to 5", "`--until 5`"]),
    ("tfbc report --to 5 --until 6 shell.trc", 1, &["--to 5", "only --until"]),
    ("tfbc report --to csv shell.trc user.kev", 1, &["different columns", "`--to ndjson`"]),
    ("tfbc report --from 5 --until 3 shell.trc", 1, &["--from 5 is after --until 3"]),
    ("tfbc report --from -1 shell.trc", 1, &["'-1'", "expected seconds", "12.5"]),
    ("tfbc report --from 1s shell.trc", 1, &["'1s'", "expected seconds", "12.5"]),
    ("tfbc report --until shell.trc", 1, &["--until <SECONDS>", "expected seconds"]),
    ("tfbc report --only 106 --except 106 shell.trc", 1, &["--except", "no event is left"]),
    ("tfbc report --only USER --except USER user.kev", 1, &["--except", "no event is left"]),
    ("tfbc report --only xyz shell.trc", 1, &["`xyz`", "2, 3 or 4 hex digits"]),
    ("tfbc report --only USR user.kev", 1, &["`USR` is not a class", "`USER`?"]),
    ("tfbc report --only USER:2000 user.kev", 1, &["`2000` is not an event", "0 to 1023"]),
    ("tfbc report --pid ksh shell.trc", 1, &["`ksh`", "--exec"]),
    ("tfbc report --pid INTR user.kev", 1, &["--pid", "AIX", "QNX"]),
    ("tfbc report --names user.kev user.kev", 1, &["--names", "AIX", "QNX"]),
    ("tfbc report --time relative shell.trc", 1, &["--time", "AIX", "QNX"]),
    ("tfbc report --time wall user.kev", 1, &["'wall'", "absolute, relative, clock"]),
    ("tfbc report --time clock --from 1 user.kev", 1, &["--time clock", "--time absolute"]),
    ("tfbc report --sort time shell.trc", 1, &["--sort", "AIX", "QNX"]),
    ("tfbc report --sort time --follow user.kev", 1, &["--sort time", "--follow"]),
    ("tfbc report --only COMM:SND user.kev", 1, &["`SND` is not an event", "SND_MESSAGE, SND_PULSE"]),
    ("tfbc report --only SYSTEM:MAPNAME user.kev", 1, &["`MAPNAME`", "SYSTEM:8, SYSTEM:21"]),
    ("tfbc report --exec 4522 shell.trc", 0, &["names of programs", "--pid 4522"]),
    ("tfbc report --cpu two shell.trc", 1, &["`two` is not a CPU", "expected a number"]),
    ("tfbc report --threads 0 shell.trc", 1, &["'0'", "a number from 1", "all cores"]),
    ("tfbc report --threads -1 shell.trc", 1, &["'-1'", "a number from 1"]),
    ("tfbc report --grep ( shell.trc", 1, &["--grep", "unclosed group"]),
    ("tfbc report --timestamp 9 shell.trc", 1, &["--timestamp", "expected 0 to 3"]),
    ("tfbc report --format kev shell.trc", 1, &["a trace from AIX", "--format", "leave it out"]),
    ("tfbc report --format stream64 shell.trc", 2, &["looks like log64", "because of --format stream64"]),
    ("tfbc report --dialect match-bas=hex shell.trc", 1, &["`match-bas`", "`match-base`?"]),
    ("tfbc report --dialect match-base shell.trc", 1, &["NAME=VALUE", "`--dialect help`"]),
    ("tfbc report --allow S999 shell.trc", 1, &["unknown code `S999`"]),
    ("tfbc report --context pump.trcfmt shell.trc", 1, &["pump.trcfmt:1", "--context", "docs/context.md"]),
    ("tfbc report --names shell.trc shell.trc", 1, &["trcnm"]),
    ("tfbc report --follow shell.trc", 1, &["cannot be followed", "`trace -o -`"]),
    ("tfbc report --timestamp 7 shell.trc", 1, &["'--timestamp <FORM>': expected 0 to 3\n"]),
    ("tfbc report --max-work x shell.trc", 1, &["'--max-work <N>': expected a whole number\n"]),
    ("tfbc split -n 0 -o x shell.trc", 1, &["'--parts <N>': expected at least 1\n"]),
    ("tfbc report -o folder shell.trc", 1, &["cannot write folder", "directory"]),
    ("tfbc report -o /no/such/x shell.trc", 1, &["cannot write /no/such/x"]),
];

const FORMAT_FILES: &[MistypedLine] = &[
    ("tfbc check", 1, &["required", "<FORMAT>", "`tfbc check a.trcfmt`"]),
    ("tfbc check shell.trc", 1, &["shell.trc is not a format file but a trace", "`tfbc report`", "`tfbc info`"]),
    ("tfbc check stream32", 1, &["stream32 is not a format file but a trace"]),
    ("tfbc check user.kev", 1, &["user.kev is not a format file but a trace"]),
    ("tfbc fmt user.kev", 1, &["cannot read user.kev: it is a trace", "`tfbc report`"]),
    ("tfbc check pump.tfbc", 1, &["a blob", "`tfbc verify pump.tfbc`"]),
    ("tfbc check defualt", 1, &["defualt", "`default`?"]),
    ("tfbc check empty.trcfmt", 0, &["file defines nothing", "no stanza"]),
    ("tfbc check empty.xml", 0, &["file defines nothing", "neither `datakey` nor `eventclass`"]),
    ("tfbc check --fix safe pump.trcfmt", 1, &["safe", "`--fix=safe`"]),
    ("tfbc check --dry-run pump.trcfmt", 1, &["required", "--fix"]),
    ("tfbc check sign.xml", 1, &["`%4x1d`", "write `%4s1d`"]),
    ("tfbc check if.trcfmt", 1, &["trcfmt has no `if`", "use a switch"]),
    ("tfbc check comma.trcfmt", 1, &["`{`", "add a comma before the match value: `, 2 { … }`"]),
    ("tfbc compile pump.trcfmt", 1, &["required", "--output <FILE>", "`tfbc compile a.trcfmt b"]),
    ("tfbc compile shell.trc -o x.tfbc", 1, &["shell.trc is not a format file but a trace"]),
    ("tfbc compile --emit asm pump.trcfmt", 1, &["'asm'", "tokens, ast, ir, bytecode"]),
    ("tfbc verify pump.trcfmt", 1, &["pump.trcfmt: not a .tfbc blob", "`tfbc check`"]),
    ("tfbc disasm pump.tfbc 0A9", 1, &["no template for 0A9", "`tfbc list -t pump.tfbc`"]),
    ("tfbc disasm user.xml USR:1", 1, &["`USR` is not a class", "`USER`?"]),
    ("tfbc fmt shell.trc", 1, &["shell.trc", "it is a trace, which `tfbc report` formats"]),
    ("tfbc fmt pump.tfbc", 1, &["pump.tfbc", "a compiled blob", "format its source"]),
    ("tfbc convert pump.trcfmt user.xml", 1, &["both languages", "one language at a time"]),
    ("tfbc convert --class USR pump.trcfmt", 1, &["`USR` is not a class", "`USER`?"]),
    ("tfbc list pump.trcfmt", 1, &["`tfbc list -t pump.trcfmt`"]),
    ("tfbc info pump.trcfmt", 1, &["not a trace but a format file", "give it with -t"]),
    ("tfbc explain S7", 1, &["`S7`", "`S07`?", "`tfbc explain` lists them"]),
    ("tfbc explain X", 1, &["`X`", "`tfbc explain` lists them"]),
    ("tfbc test pump.trcfmt", 1, &["`.case.toml`", "`tfbc test --new TRACE -t pump.trcfmt`"]),
    ("tfbc test folder", 1, &["no case file", "`tfbc test --new TRACE -t FORMAT`"]),
    ("tfbc test --coverage lcov", 1, &["`--coverage=lcov`"]),
    ("tfbc test -t pump.trcfmt", 1, &["required", "--new <TRACE>"]),
    ("tfbc watch pump.trcfmt", 1, &["no format file", "`tfbc watch my.trcfmt boot.trc`"]),
    ("tfbc completions", 1, &["<SHELL>", "`tfbc completions bash > /etc/bash_completion.d/tfbc`"]),
    ("tfbc completions cmd", 1, &["'cmd'", "bash, elvish, fish, powershell, zsh"]),
    ("tfbc install", 1, &["--prefix <DIR>", "`tfbc install --prefix ~/.local`"]),
    ("tfbc man reprot", 1, &["`reprot`", "`report`?"]),
    ("tfbc ops 0A1", 1, &["'0A1'", "Usage: tfbc ops"]),
    ("tfbc lsp --port 1", 1, &["'--port'", "Usage: tfbc lsp"]),
];

const EVENTS: &[MistypedLine] = &[
    ("tfbc event -t pump.trcfmt 0A1B0000", 1, &["--env 32 or --env 64", "--class and --id"]),
    ("tfbc event -t pump.trcfmt --env 16 0A1B0000", 1, &["'16'", "32, 64"]),
    ("tfbc event -t pump.trcfmt --env 32", 1, &["required", "<HEX>"]),
    ("tfbc event -t pump.trcfmt --env 32 0A1", 1, &["3 hex digits", "even number"]),
    ("tfbc event -t pump.trcfmt --env 32 0A1B00", 1, &["3 bytes", "4 of a hook word (--env 32)"]),
    ("tfbc event -t pump.trcfmt --env 64 0A1B0000", 1, &["4 bytes", "8 of a hook word (--env 64)"]),
    ("tfbc event -t pump.trcfmt --env 64 0A1B0000 0000002A", 0, &["with --env 32 it is an event of hook 0A1"]),
    ("tfbc event -t pump.trcfmt --env 32 0A1B0000 xyz0", 1, &["`x` in `xyz0` is not a hex digit"]),
    ("tfbc event -t pump.trcfmt --env 32 shell.trc", 1, &["`shell.trc`", "it is a file", "`tfbc report`"]),
    ("tfbc event pump.trcfmt --env 32 0A1B0000", 1, &["`pump.trcfmt`", "it is a file", "with -t"]),
    ("tfbc event -t pump.trcfmt --env 32 0A2B0000", 0, &["no stanza formats hook 0A2", "the format files have 0A1"]),
    ("tfbc event --env 32 0A2B0000", 0, &["no stanza formats hook 0A2", "give yours with -t"]),
    ("tfbc event -t user.xml --env 32 0A2B0000", 0, &["it formats QNX logs", "the event is from AIX"]),
    ("tfbc event -t user.xml --id 65 00030400", 1, &["--id 65 needs the class", "`--class USER --id 65`"]),
    ("tfbc event -t user.xml --class USER 00030400", 1, &["--class USER needs the number", "--id N"]),
    ("tfbc event -t user.xml --class USER --id 66 00030400", 0, &["USER:66", "the format files have USER:15"]),
    ("tfbc event -t user.xml --class USR --id 65 00", 1, &["`USR` is not a class", "`USER`?"]),
    ("tfbc event -t user.xml --env 32 --class USER --id 65 00", 1, &["--env", "cannot be used with", "--class"]),
    ("tfbc hexview -t pump.trcfmt 0A1B0000", 1, &["no file 0A1B0000", "--env (AIX)", "--class and --id (QNX)"]),
    ("tfbc hexview -t user.xml --id 65 00", 1, &["--id 65 needs the class"]),
    ("tfbc hexview -t pump.trcfmt --only 0A9 shell.trc", 1, &["--only 0A9", "`tfbc info`"]),
    ("tfbc hexview -t pump.tfbc --env 32 0A1B0000", 1, &["pump.tfbc is a blob", "hexview needs the source"]),
];

const TIMES: &[MistypedLine] = &[
    ("tfbc summary --frobnicate shell.trc", 1, &["'--frobnicate'", "`tfbc summary trace.log`"]),
    ("tfbc summary --follow shell.trc", 1, &["`tfbc report --follow`", "needs the whole trace"]),
    ("tfbc timeline --follow shell.trc", 1, &["`tfbc report --follow`", "needs the whole trace"]),
    ("tfbc summary", 1, &["<TRACE>", "`tfbc summary trace.log`"]),
    ("tfbc summary --sections calls shell.trc", 1, &["`calls`; did you mean `call`? Expected head, cpu"]),
    ("tfbc summary --to csv shell.trc", 1, &["one section", "`tfbc summary --to tsv --sections call TRACE`"]),
    ("tfbc summary --sections nix shell.trc", 1, &["`nix`", "`tfbc summary trace.log`"]),
    ("tfbc summary --pid ksh shell.trc", 1, &["--pid: `ksh`", "such as 2,5-8", "`tfbc summary trace.log`"]),
    ("tfbc summary --from 5 --until 2 shell.trc", 1, &["--from 5 is after --until 2", "`tfbc summary trace.log`"]),
    ("tfbc summary --plot --to csv shell.trc", 1, &["`--sections utilisation`", "`tfbc summary trace.log`"]),
    ("tfbc summary --at 1 shell.trc", 1, &["--at is for QNX", "`tfbc summary trace.log`"]),
    ("tfbc latency --pair svc --hist --to csv shell.trc", 1, &["`buckets`", "`tfbc latency --pair svc trace.log`"]),
    ("tfbc summary user.kev", 1, &["user.kev", "no TIME record", "CYCLES_PER_SEC"]),
    ("tfbc latency shell.trc", 1, &["--start <EXPR>|--pair <NAME>|--timers", "`tfbc latency --pair svc trace.log`"]),
    ("tfbc latency --start 101 shell.trc", 1, &["--end <EXPR>", "`tfbc latency --pair svc trace.log`"]),
    (
        "tfbc latency --start 101{svc~(} --end 104 shell.trc",
        1,
        &["unclosed group", "`tfbc latency --pair svc trace.log`"],
    ),
    ("tfbc latency --pair svc --match first shell.trc", 1, &["newest, nested, oldest", "`tfbc latency --pair"]),
    ("tfbc latency --pair svc user.kev", 1, &["`svc`", "kercall, irq", "`tfbc latency --start THREADY"]),
    ("tfbc latency --pair kercall shell.trc", 1, &["`kercall`", "svc, slih", "`tfbc latency --start 101"]),
    ("tfbc latency --start 101 --end 104 --key tidd shell.trc", 1, &["`tidd`", "`tid`?", "`tfbc latency --start 101"]),
    ("tfbc latency --timers --pair svc shell.trc", 1, &["--timers", "--pair", "`tfbc latency --pair svc trace.log`"]),
    ("tfbc timeline shell.trc", 1, &["--output <FILE>", "`tfbc timeline -o shell.json trace.log`"]),
    (
        "tfbc timeline -o shell.svg shell.trc",
        1,
        &["shell.svg", ".json, .json.gz nor .pftrace", "`tfbc timeline -o shell.json"],
    ),
    ("tfbc timeline -o t.json --tracks cpu shell.trc", 1, &["`cpu`", "cpus, calls, states", "`tfbc timeline -o"]),
    (
        "tfbc timeline -o t.json --frobnicate shell.trc",
        1,
        &["'--frobnicate'", "`tfbc timeline -o shell.json trace.log`"],
    ),
    ("tfbc curt shell.trc", 1, &["-i", "`curt -i trace.log`"]),
    ("curt", 1, &["-i", "`curt -i trace.log`"]),
    ("curt shell.trc", 1, &["'shell.trc'", "`curt -i shell.trc`"]),
    ("curt -z -i shell.trc", 1, &["'-z'", "`curt -i trace.log`"]),
    ("curt -i shell.trc -f 2 -l 1", 1, &["-f 2 is after -l 1", "`curt -i trace.log`"]),
    ("curt -i shell.trc -r PURR", 1, &["PURR", "leave -r out", "`curt -i trace.log`"]),
    ("curt -i shell.trc -@", 1, &["WPARs", "leave -@ out"]),
    ("curt -i user.kev", 1, &["user.kev"]),
];

const OF_VENDORS: &[MistypedLine] = &[
    ("trcrpt", 1, &["no trace is named", "/var/adm/ras/trcfile", "`trcrpt trace.log`"]),
    ("trcrpt pump.trcfmt", 1, &["not a trace but a format file", "give it with -t"]),
    ("trcrpt user.kev", 1, &["a QNX log", "`traceprinter`"]),
    ("trcrpt shell.trc -d 106", 1, &["-d", "put options before files"]),
    ("trcrpt -z shell.trc", 1, &["'-z'", "Usage: trcrpt"]),
    ("trcrpt -d xyz shell.trc", 1, &["`xyz`", "hex digits"]),
    ("trcrpt -d 106 -k 106 shell.trc", 0, &["-k", "-d", "no event is left"]),
    ("trcrpt -O exec shell.trc", 1, &["-O exec", "`exec=on`", "`-O help`"]),
    ("trcrpt -O exec=yes shell.trc", 1, &["exec=on or exec=off"]),
    ("trcrpt -O timestamp shell.trc", 1, &["`timestamp=0`"]),
    ("trcrpt -O nonsense=on shell.trc", 1, &["`nonsense`", "`-O help`"]),
    ("trcrpt -O starttime=5,endtime=3 shell.trc", 0, &["starttime 5 is after", "endtime 3"]),
    ("trcrpt -s 1028 shell.trc", 1, &["`1028` is not a date", "MMddhhmmssyy"]),
    ("trcrpt -D nogroup shell.trc", 1, &["`nogroup` does not exist", "`trcevgrp -l`"]),
    ("trcrpt -C ALL shell.trc", 1, &["`ALL` is not a CPU", "`all`?"]),
    ("trcupdate", 1, &["<FILE>", "`trcupdate -t my.trcfmt driver`"]),
    ("trcupdate up", 1, &["/etc/trcfmt", "with -t"]),
    ("trcupdate -t pump.trcfmt up.trc", 1, &["the suffix .trc is added", "`up`"]),
    ("trcupdate -t pump.trcfmt shell", 1, &["expected `* /etc/trcfmt` in the first line", "is unchanged"]),
    ("trcupdate -t pump.trcfmt -x 0A9", 1, &["no stanza of 0A9 in pump.trcfmt"]),
    ("trcevgrp io", 1, &["no action", "-l, -r, -a and -u"]),
    ("trcevgrp -a io", 1, &["description (-d)", "hooks (-h)"]),
    ("trcevgrp -l nogroup", 1, &["`nogroup` does not exist", "`trcevgrp -l`"]),
    ("traceprinter", 1, &["tracebuffer.kev", "with -f"]),
    ("traceprinter user.kev", 1, &["`-f user.kev`"]),
    ("traceprinter -f shell.trc", 1, &["not a .kev log but a trace from AIX", "`trcrpt`"]),
    ("traceprinter -f user.xml", 1, &["not a .kev log", "event definitions", "with -t"]),
    ("traceprinter -f user.kev -t pump.trcfmt", 0, &["it formats AIX traces", "user.kev is from QNX"]),
    ("traceprinter -f user.kev -p %q", 1, &["`%q`", "c, C, e, t, Z, z"]),
    ("traceprinter --compat=2 -f user.kev", 1, &["'2'", "1.02"]),
    ("trace my.trc", 1, &["`-o my.trc`"]),
    ("trace -j xyz -x true", 1, &["`xyz`", "hex digits"]),
    ("trace -L 10 -x true", 1, &["10 bytes (-L)", "(-T)"]),
    ("trcon", 1, &["no trace is active", "`trace -a` starts one"]),
    ("trcoff 8", 1, &["`8` is not a channel", "-0 to -7"]),
    ("trcstop -9", 1, &["`-9` is not a channel", "-0 to -7"]),
    ("trcdead", 1, &["nothing to recover"]),
    ("trcnm pump.trcfmt", 1, &["pump.trcfmt", "it is not an ELF file"]),
    ("tracelogger x.kev", 1, &["`-f x.kev`"]),
    ("tracelogger -F 9 -s 1", 1, &["'9'", "-F", "0 to 7", "KER_CALL"]),
    ("tracelogger -n -1", 1, &["'-1'", "-n"]),
    ("tracelogger -S 8X", 1, &["'8X'", "-S", "k, M or G"]),
    ("tracelogger -d 2", 1, &["'2'", "-d", "1"]),
    ("tracelogger -s -1", 1, &["'-1'", "-s", "number of seconds, 0 or more"]),
    ("tracelogger -k 0", 1, &["'0'", "-k"]),
    ("tracelogger -M", 1, &["-S"]),
];

fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(directory.path().join(name), bytes).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["shell.trc", "user.kev", "user.xml"] {
        write(name, &fs::read(root.join("samples").join(name)).unwrap());
    }
    write("stream32", &fs::read(root.join("tests/data/aix/sample32.stream")).unwrap());
    write("pump.trcfmt", b"0A1 1.0 L=APPL \"PUMP\" \"id=\" $D1%U4 \"state=\" $D2%U4, 0 \"off\", 1 \"on\"\n");
    write("if.trcfmt", b"0A1 1.0 L=APPL \"PUMP\" if ($D1 = 1) \"on\"\n");
    write("comma.trcfmt", b"0A1 1.0 L=APPL \"PUMP\" $D1%U4, 1 \"on\" 2 { X4 }\n");
    let format = "<eventdefinitions><datakey format=\"%4u1x state %4x1d frame\"><event class=\"6\" id=\"1\"/></datakey></eventdefinitions>\n";
    write("sign.xml", format.as_bytes());
    write("empty.trcfmt", b"# nothing\n");
    write("empty.xml", b"<eventdefinitions/>\n");
    write("empty.trc", b"");
    write("notes.txt", b"some text\n");
    write("up.trc", b"* /etc/trcfmt\n- 0A1\n");
    fs::create_dir(directory.path().join("folder")).unwrap();
    let compile = run(directory.path(), "tfbc compile pump.trcfmt -o pump.tfbc");
    assert_eq!(compile.2, 0, "{}", compile.1);
    directory
}

fn run(directory: &Path, line: &str) -> (String, String, i32) {
    let mut words = line.split(' ').map(|word| if word == "''" { "" } else { word });
    let mut command = command(words.next().unwrap());
    command.args(words).current_dir(directory).env("HOME", directory).env("TFBC_CACHE", "off");
    command.env("TFBC_TRACE_DIR", directory.join("memory")).env("TRCEVGRP_FILE", directory.join("groups"));
    crate::common::run(command.env_remove("XDG_STATE_HOME").env("NO_COLOR", "1"))
}

#[track_caller]
fn check(lines: &[MistypedLine]) {
    let directory = directory();
    // The directory of shared memory is created when a command starts.
    let files = || {
        let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name != "memory").collect::<BTreeSet<_>>()
    };
    let before = files();
    let mut wrong = Vec::new();
    for (line, expected, words) in lines {
        let (out, err, status) = run(directory.path(), line);
        let missing: Vec<_> = words.iter().filter(|word| !err.contains(**word)).collect();
        if status != *expected || !missing.is_empty() || (status == 1 && !out.is_empty()) {
            wrong.push(format!("$ {line}\n{out}{err}[{status}], expected [{expected}] and {missing:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // No failed command leaves a file.
    assert_eq!(files(), before);
}

#[test]
fn mistakes_about_reports() {
    check(REPORT);
}

#[test]
fn mistakes_about_format_files() {
    check(FORMAT_FILES);
}

#[test]
fn mistakes_about_events() {
    check(EVENTS);
}

#[test]
fn mistakes_about_times() {
    check(TIMES);
}

#[test]
fn mistakes_about_the_vendors_commands() {
    check(OF_VENDORS);
}
