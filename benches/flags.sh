#!/usr/bin/env bash
# Instructions an event of whole reports with many combinations of flags, counted by callgrind: no flag is a cliff.
#
#     benches/flags.sh [PATTERN]      all rows, or those whose name has a match; exit status 1 if one is above its limit
#
# A figure is the difference between a longer and a shorter trace, so the start of the command does not count. `x` is
# its ratio to the default of its vendor. The limit is the goal, in instructions: for AIX 1.5 times the default's figure
# (410), for QNX 1.5 times the default's goal. Rows that miss it have a limit 5 % above their figure: all columns,
# fields with texts, arguments, user events, colours with `--grep`, `--where` by context, summary and latency. The goal
# of summaries is 200, 1.5 times `stats`, but in `realistic` nearly every call has an address and a row of its own.
# Environment: EVENTS of the shorter trace, JOBS at a time, BIN for a directory of binaries that are built already.
set -euo pipefail
cd "$(dirname "$0")/.."

# name | limit | command, load and flags; `tfbc` is its report. The loads are `realistic`, `kev`, and `user`: events of
# `kev` with definitions.
rows() {
    cat <<'ROWS'
default | 480 | tfbc realistic
columns id,elapsed,text | 615 | tfbc realistic --columns id,elapsed,text
columns elapsed,id,text | 615 | tfbc realistic --columns elapsed,id,text
columns id,delta,elapsed,text | 615 | tfbc realistic --columns id,delta,elapsed,text
columns text | 615 | tfbc realistic --columns text
columns id,elapsed | 615 | tfbc realistic --columns id,elapsed
columns tid,filename | 615 | tfbc realistic --columns id,filename,tid,elapsed,delta,text
timestamp 1 | 615 | tfbc realistic --timestamp 1
timestamp 1 and processes | 615 | tfbc realistic --timestamp 1 --columns id,exec,cpu,pid,elapsed,delta,text
timestamp 2 | 615 | tfbc realistic --timestamp 2
timestamp 3 | 615 | tfbc realistic --timestamp 3
processes | 615 | tfbc realistic --columns id,exec,cpu,pid,elapsed,delta,text
all columns | 683 | tfbc realistic --columns id,filename,exec,cpu,reportedcpus,pid,tid,int,svc,elapsed,delta,text
trcrpt exec to svc | 663 | trcrpt realistic -O exec=on,pid=on,tid=on,cpuid=on,svc=on
trcrpt 2line | 615 | trcrpt realistic -O 2line=on
trcrpt hist | 615 | trcrpt realistic -O hist=on
pagesize | 615 | tfbc realistic --pagesize 60
grep, none matches | 615 | tfbc realistic --grep qqq
grep, all match | 615 | tfbc realistic --grep .
grep, some match | 615 | tfbc realistic --grep 7[0-9a-f]*3
grep, ignoring case | 708 | tfbc realistic --grep (?i)ADDR
CPUs | 615 | tfbc realistic --cpu 0-99
where, by an id | 615 | tfbc realistic --where 101
where, by a field | 615 | tfbc realistic --where rc!=1
where, by a CPU | 793 | tfbc realistic --where cpu>=0
where, by a process | 1010 | tfbc realistic --where process!=x
colour | 615 | tfbc realistic --color always
colour and grep, none matches | 619 | tfbc realistic --color always --grep qqq
colour and grep, some match | 1129 | tfbc realistic --color always --grep addr
colour and grep, all match | 1751 | tfbc realistic --color always --grep .
colour and grep, short matches | 1137 | tfbc realistic --color always --grep e
tsv | 615 | tfbc realistic --to tsv
csv | 615 | tfbc realistic --to csv
ndjson | 615 | tfbc realistic --to ndjson --columns id,elapsed,delta,text
ndjson with fields | 720 | tfbc realistic --to ndjson
fields before the text | 1173 | tfbc realistic --columns id,elapsed,delta,fields,text
csv with fields | 1790 | tfbc realistic --to csv --columns id,elapsed,delta,fields,text
ndjson, fields first | 1153 | tfbc realistic --to ndjson --columns id,fields,elapsed,text
tsv of all columns | 846 | tfbc realistic --to tsv --columns id,filename,exec,cpu,reportedcpus,pid,tid,int,svc,elapsed,delta,text
colour and all columns | 707 | tfbc realistic --color always --columns id,filename,exec,cpu,reportedcpus,pid,tid,int,svc,elapsed,delta,text
pages of all columns | 796 | tfbc realistic --pagesize 60 --columns id,filename,exec,cpu,reportedcpus,pid,tid,int,svc,elapsed,delta,text
fields alone | 615 | tfbc realistic --to ndjson --columns id,fields
fields with times | 615 | tfbc realistic --to ndjson --columns id,elapsed,delta,fields
ndjson of processes | 615 | tfbc realistic --to ndjson --columns id,exec,cpu,pid,elapsed,delta,text
stats | 150 | tfbc realistic --stats
only one id | 615 | tfbc realistic --only 200
a thread left out | 615 | tfbc realistic --tid !7
a range of time | 615 | tfbc realistic --from 0.0001
kev default | 1050 | tfbc kev
kev columns | 1575 | tfbc kev --columns class,type,data
kev times from the start | 1575 | tfbc kev --time relative
kev grep, none matches | 1575 | tfbc kev --grep qqq
kev colour | 1575 | tfbc kev --color always
kev colour and grep, some match | 2122 | tfbc kev --color always --grep pid
kev colour and grep, all match | 3940 | tfbc kev --color always --grep .
kev where, by an argument | 1575 | tfbc kev --where coid!=7
kev where, by a CPU | 1575 | tfbc kev --where cpu>=0
kev sorted by time | 1575 | tfbc kev --sort time
kev tsv | 1575 | tfbc kev --to tsv
kev ndjson | 1458 | tfbc kev --to ndjson
kev ndjson with an object | 2078 | tfbc kev --to ndjson --fields object
kev argument as ndjson | 2380 | tfbc kev --to ndjson --columns event,type,arg.pid,data
kev stats | 150 | tfbc kev --stats
user events | 965 | tfbc user
user events sorted by time | 1575 | tfbc user --sort time
user events as csv | 959 | tfbc user --to csv
user events as ndjson | 2398 | tfbc user --to ndjson
user events with typed fields | 2727 | tfbc user --to ndjson --fields object
summary of CPUs | 225 | summary realistic --sections cpu
summary | 4240 | summary realistic
latency | 2763 | latency realistic --pair svc
kev summary of CPUs | 404 | summary kev --sections cpu
kev summary | 604 | summary kev
kev latency | 1044 | latency kev --pair kercall
ROWS
}

events=${EVENTS:-10000}
jobs=${JOBS:-2}
pattern=${1:-}
command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 1; }
if [[ -z ${BIN:-} ]]; then
    cargo build --profile bench --locked -q -p tfbc-cli -p tfbc-benches --bin tfbc --bin make-trace --bin make-kev
    BIN=${CARGO_TARGET_DIR:-target}/release
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# The program acts by the name it is called by.
mkdir "$scratch/bin"
for name in tfbc trcrpt; do
    ln -s "$(realpath "$BIN/tfbc")" "$scratch/bin/$name"
done
for n in 1 3; do
    "$BIN/make-trace" realistic --events $((n * events)) -o "$scratch/realistic.$n"
    "$BIN/make-kev" --slots $((n * events)) -o "$scratch/kev.$n"
    "$BIN/make-kev" --user $((n * events)) -o "$scratch/user.$n"
done
"$BIN/make-trace" templates realistic -o "$scratch/realistic.trcfmt"
"$BIN/make-kev" --definitions -o "$scratch/user.xml"

# Instructions of one command on one trace.
count() {
    local trace=$1 command=$2 load=$3
    shift 3
    local flags=("$@")
    case $command in
    summary | latency) flags=("$command" "${flags[@]}") command=tfbc ;;
    *)
        [[ $load == realistic ]] && flags+=(-t "$scratch/realistic.trcfmt")
        [[ $load == user ]] && flags+=(-t "$scratch/user.xml")
        [[ $command == tfbc ]] && flags=(report --threads 1 "${flags[@]}")
        ;;
    esac
    # Output goes to a file, as to a pipe: what is written to /dev/null costs nothing either way.
    # Large tables come zeroed from the system, in short and in long runs, as in gate.sh.
    XDG_CACHE_HOME=$scratch/cache GLIBC_TUNABLES=glibc.malloc.mmap_threshold=131072 \
        valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$scratch/bin/$command" "${flags[@]}" "$scratch/$load.$trace" 2>&1 >/dev/null | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

row() {
    local name=$1 words short long
    read -ra words <<<"$2"
    short=$(count 1 "${words[@]}")
    long=$(count 3 "${words[@]}")
    echo $(((long - short) / (2 * events))) >"$scratch/${name//[^a-z0-9]/_}"
}
export -f count row
export BIN events scratch

rows | awk -F ' *\\| *' -v pattern="$pattern" '$1 ~ pattern || $1 ~ /default$/' >"$scratch/rows"
awk -F ' *\\| *' '{ print $1; print $3 }' "$scratch/rows" | xargs -d '\n' -n 2 -P "$jobs" bash -c 'row "$0" "$1"'

echo '| flags | instructions | x | limit | |'
echo '| --- | --- | --- | --- | --- |'
failed=0
while IFS='|' read -r name limit command; do
    read -r name <<<"$name"
    read -r limit <<<"$limit"
    figure=$(cat "$scratch/${name//[^a-z0-9]/_}")
    [[ $name == default || $name == 'kev default' ]] && base=$figure
    verdict=
    ((figure <= limit)) || { verdict=FAILED failed=1; }
    printf '| %s | %d | %s | %d | %s |\n' "$name" "$figure" "$(awk "BEGIN { printf \"%.2f\", $figure / $base }")" "$limit" "$verdict"
done <"$scratch/rows"
exit "$failed"
