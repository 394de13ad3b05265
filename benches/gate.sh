#!/usr/bin/env bash
# The gate: instructions, counted by callgrind, of the engine beside code written by hand. Times scatter; these do not.
#
#     benches/gate.sh [PATTERN]       all rows, or those whose name has a match; exit status 1 where one is above its limit
#
# A row's figure is the ratio of two counts an event, or one count alone. `less` is taken off both: what an event costs
# without the thing that is measured. The limit is the goal; where the goal is missed, it is what was reached and 5 %,
# and the row says so. The code by hand is the best that we can write: `src/native*.rs`. The table is Markdown, as in
# README.md. Environment: EVENTS of a load, JOBS at a time.
set -euo pipefail
cd "$(dirname "$0")/.."

# name | upper: case side | lower: case side | less: case side | goal | limit
rows() {
    cat <<'ROWS'
body: mix of 4 | run/mix4 engine | run/mix4 native | | 1.40 | 1.55
body: mix of 200 | run/mix200 engine | run/mix200 native | | 1.40 | 1.55
body: mix of 4096 | run/mix4096 engine | run/mix4096 native | | 1.40 | 1.55
body: mix of 200, ahead | run/mix200 ahead | run/mix200 native | | | 1.86
body: disk-read | run/disk-read engine | run/disk-read native | | 1.40 | 1.83
body: ioctl | run/ioctl engine | run/ioctl native | | 1.40 | 1.67
body: wakeup | run/wakeup engine | run/wakeup native | | 1.40 | 1.40
body: dump | run/dump engine | run/dump native | | 1.50 | 1.50
200 templates : 4 | run/mix200 engine | run/mix4 engine | | 1.10 | 1.10
4096 templates : 4 | run/mix4096 engine | run/mix4 engine | | 1.30 | 1.69
checked twin : fast loop | run/mix200 checked | run/mix200 loop | | 1.15 | 1.15
line: mix of 4 | line/mix4 engine | line/mix4 native | | 1.40 | 1.56
line: mix of 200 | line/mix200 engine | line/mix200 native | | 1.40 | 1.66
line: mix of 4096 | line/mix4096 engine | line/mix4096 native | | 1.40 | 2.59
line: disk-read | line/disk-read engine | line/disk-read native | | 1.40 | 1.63
line: dump | line/dump engine | line/dump native | | 1.50 | 1.50
step | step/events engine | step/events native | | 1.40 | 1.66
step with times | step/timed engine | step/timed native | | 1.40 | 1.90
report: realistic, instructions | report/default engine | | | 480 | 480
report: id, elapsed time, text, instructions | report/short engine | | | 720 | 720
report: elapsed time first, instructions | report/turned engine | | | 720 | 720
report: text alone, instructions | report/bare engine | | | 720 | 720
report: realistic with processes, instructions | report/processes engine | | | 720 | 720
report: colour, instructions | report/colour engine | | | 720 | 720
report: realistic as a table, instructions | report/table engine | | | 720 | 720
report: CSV, instructions | report/csv engine | | | 720 | 720
report: NDJSON, instructions | report/ndjson engine | | | 720 | 720
report: counts, instructions | report/stats engine | | | 150 | 150
report: 64 parts : counts | report/split engine | report/stats engine | | 1.00 | 1.00
report: events of the library : report | report/events engine | report/default engine | | 1.30 | 1.30
report: events of the library without texts, instructions | report/stepped engine | | | 60 | 76
report: realistic, 64 logs, instructions | report/merged engine | | | | 907
number: decimal below 1000 | numbers/decimal-small engine | numbers/decimal-small native | | 1.60 | 1.91
number: decimal | numbers/decimal engine | numbers/decimal native | | 1.60 | 1.60
number: hex | numbers/hex engine | numbers/hex native | | 1.60 | 1.60
number: hex, 64 bits | numbers/hex64 engine | numbers/hex64 native | | 1.60 | 1.80
number: octal | numbers/octal engine | numbers/octal native | | 1.60 | 1.60
number: binary | numbers/binary engine | numbers/binary native | | 1.60 | 2.18
8 flags | numbers/flags engine | numbers/flags native | | 1.60 | 2.01
dump of 64 bytes | numbers/dump64 engine | numbers/dump64 native | | 1.50 | 1.50
dump of 64 bytes, unbroken | numbers/dump64-run engine | numbers/dump64-run native | | 1.50 | 1.50
switch: 16 dense | switch/dense16 engine | switch/dense16 native | | 1.60 | 1.75
switch: 256 dense | switch/dense256 engine | switch/dense256 native | | 1.60 | 1.75
switch: 16 sparse | switch/sparse16 engine | switch/sparse16 native | | 1.60 | 2.28
switch: 256 sparse | switch/sparse256 engine | switch/sparse256 native | | 1.60 | 2.28
switch: 16 texts | switch/text16 engine | switch/text16 native | | 1.60 | 3.76
switch alone: 256 sparse : 16 | switch/sparse256 engine | switch/sparse16 engine | switch/none engine | 1.50 | 1.50
datakeys: mix | datakeys/mix engine | datakeys/mix native | | 1.60 | 1.60
datakeys: mix, ahead | datakeys/mix ahead | datakeys/mix native | | | 1.45
datakeys: bits | datakeys/bits engine | datakeys/bits native | | | 1.46
datakeys: message | datakeys/message engine | datakeys/message native | | | 1.39
kev: a simple slot | kev/simple engine | kev/simple native | | | 2.93
kev: a slot of any kind, instructions | kev/all engine | | | | 365
kev: a user event in a table, instructions | kev/defined engine | | | | 1038
kev: a user event as NDJSON, instructions | kev/objects engine | | | 900 | 2447
compile: a template, instructions | compile/templates engine | | | 110000 | 158491
parse: a template, instructions | lex/parse engine | | | | 24612
load: a template whole, instructions | load/whole engine | | | | 18180
load: a template verified, instructions | load/verified engine | | | 2500 | 2903
load: a template lazily, instructions | load/lazily engine | | | 250 | 327
times: CPUs of a summary : counts | times/cpus engine | report/stats engine | | 1.50 | 1.64
times: a summary, instructions | times/all engine | | | | 3141
times: CPUs of a QNX log, instructions | times/kev-cpus engine | | | | 404
times: a summary of a QNX log, instructions | times/kev-all engine | | | | 659
times: a timeline, protobuf : report | times/perfetto engine | report/default engine | | 2.00 | 3.20
times: a timeline, JSON : report | times/chrome engine | report/default engine | | 2.00 | 3.18
ROWS
}

events=${EVENTS:-2000}
jobs=${JOBS:-2}
pattern=${1:-}
# Large tables come zeroed from the system, in short and in long runs. By default, glibc learns from what was freed, and
# may clear them itself.
malloc=glibc.malloc.mmap_threshold=131072
[[ $events =~ ^[1-9][0-9]*$ ]] || { echo "EVENTS is to be a number: $events" >&2; exit 1; }
command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 1; }
cargo build --profile bench --locked -q -p tfbc-benches --bin count-run
binary=${CARGO_TARGET_DIR:-target}/release/count-run
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Instructions and units of one pass of a side of a case, after another that makes room.
pass() {
    local case=$1 side=$2 n_events=$3 output units collected
    output=$(GLIBC_TUNABLES=$malloc valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no \
        --toggle-collect='*::measured_pass' "$binary" "$case" "$side" 1 --events "$n_events" 2>&1) || true
    units=$(sed -n 's/^\([0-9]*\) units a pass.*/\1/p' <<<"$output")
    collected=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<<"$output")
    if [[ -z $units || -z $collected || $units == 0 || $collected == 0 ]]; then
        printf '%s %s: nothing was counted\n%s\n' "$case" "$side" "$output" >&2
        return 1
    fi
    echo "$collected $units"
}

# Writes the instructions a unit of one side of a case. Of whole reports the beginning and the end do not count: it is
# the difference between a longer and a shorter one.
count() {
    local case=$1 side=$2 short='0 0' long
    case $case in
    line/* | step/* | report/* | kev/* | times/*)
        short=$(pass "$case" "$side" $((5 * events)))
        long=$(pass "$case" "$side" $((15 * events)))
        ;;
    *) long=$(pass "$case" "$side" "$events") ;;
    esac
    [[ -n $short && -n $long ]] || return 1
    awk '{ printf "%.1f\n", ($1 - $3) / ($2 - $4) }' <<<"$long $short" >"$scratch/${case/\//.}.$side"
}
export -f pass
export -f count
export binary events scratch malloc

rows | awk -F ' *\\| *' -v pattern="$pattern" '$1 ~ pattern' >"$scratch/rows"
[[ -s $scratch/rows ]] || { echo "no row has a match of $pattern" >&2; exit 1; }
awk -F ' *\\| *' '{ for (i = 2; i <= 4; i++) if ($i != "") print $i }' "$scratch/rows" | sort -u |
    xargs -P "$jobs" -L 1 bash -c 'count "$0" "$1"' || echo "some counts failed" >&2

value() {
    [[ -z $1 ]] && return
    local file=${1/\//.}
    cat "$scratch/${file/ /.}" 2>/dev/null || true
}

echo '| | engine | beside | figure | goal | limit | |'
echo '| --- | --- | --- | --- | --- | --- | --- |'
failed=0
while IFS='|' read -r name upper lower less goal limit; do
    read -r upper <<<"$upper" || true
    read -r lower <<<"$lower" || true
    read -r less <<<"$less" || true
    awk -v name="${name% }" -v upper="$(value "$upper")" -v lower="$(value "$lower")" -v less_="$(value "$less")" \
        -v has_lower="${lower:+1}" -v goal="${goal// /}" -v limit="${limit// /}" '
        BEGIN {
            beside = has_lower ? lower - less_ : 1
            figure = beside > 0 ? (upper - less_) / beside : 0
            if (!(figure > 0) || limit == "") verdict = "FAILED: nothing was measured"
            else if (has_lower && figure < 0.4) verdict = "FAILED: too little was counted"
            else if (figure > limit + 0) verdict = "FAILED"
            else if (goal != "" && figure > goal + 0) verdict = "goal missed"
            printf !has_lower ? "| %s | %.0f | %s | %.0f | %s | %s | %s |\n" : "| %s | %.0f | %.0f | %.2f | %s | %s | %s |\n",
                name, upper, lower, figure, goal, limit, verdict
            exit verdict ~ /FAILED/
        }' || failed=1
done <"$scratch/rows"
exit "$failed"
