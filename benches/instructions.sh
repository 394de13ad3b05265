#!/usr/bin/env bash
# Instructions per event, counted by callgrind: the machine beside the hand-written formatters.
#
#     benches/instructions.sh [EVENTS]
#
# Each figure is the difference between two runs that differ only in their number of passes, so that building the load
# and compiling the templates do not count. The table is Markdown, as in README.md.
set -euo pipefail
cd "$(dirname "$0")/.."

events=${1:-2000}
command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 1; }
cargo build --profile bench --locked -q -p tfbc-benches --bin count-run
binary=${CARGO_TARGET_DIR:-target}/release/count-run

# Instructions of a run: who, passes, load options.
count() {
    local who=$1 passes=$2
    shift 2
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$binary" "$who" "$passes" --events "$events" "$@" 2>&1 |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

per_event() {
    local one three
    one=$(count "$1" 1 "${@:2}")
    three=$(count "$1" 3 "${@:2}")
    echo $(( (three - one) / 2 / events ))
}

echo '| load | engine | checked | native | engine : native |'
echo '| --- | --- | --- | --- | --- |'
row() {
    local name=$1 engine checked native
    shift
    engine=$(per_event engine "$@")
    checked=$(per_event checked "$@")
    native=$(per_event native "$@")
    printf '| %s | %d | %d | %d | %s |\n' "$name" "$engine" "$checked" "$native" \
        "$(awk -v e="$engine" -v n="$native" 'BEGIN { printf "%.2f", e / n }')"
}
row disk-read --load disk-read
row ioctl --load ioctl
row wakeup --load wakeup
row dump --load dump
row 'mix of 4' --load mix --templates 4
row 'mix of 200' --load mix --templates 200
row 'mix of 4096' --load mix --templates 4096
for event in value state masks bits numbers conditions codes name address phases octal message; do
    row "datakeys: $event" --load datakeys --event "$event"
done
row 'datakeys: mix' --load datakeys
