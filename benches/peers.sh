#!/usr/bin/env bash
# CPU time an event of tfbc beside other trace tools, on the same events: 40 kinds, four words each, a line each.
#
#     benches/peers.sh [EVENTS]
#
# Needs python3, and of babeltrace2 and trace-cmd those that are to be measured (Debian's packages of these names). Each
# figure is user and system time of the whole command, the best of three, start-up included; text goes to /dev/null.
set -euo pipefail
cd "$(dirname "$0")/.."

events=${1:-500000}
cargo build --release --locked -q -p tfbc-cli
tfbc=${CARGO_TARGET_DIR:-target}/release/tfbc
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 benches/peers.py "$scratch" "$events"

# Nanoseconds of CPU time an event.
best() {
    local TIMEFORMAT='%U %S' best='' time
    for _ in 1 2 3; do
        time=$( { time "$@" >/dev/null 2>"$scratch/messages"; } 2>&1 ) || { cat "$scratch/messages" >&2; return 1; }
        time=$(awk -v events="$events" '{ printf "%.0f", ($1 + $2) * 1e9 / events }' <<<"$time")
        [[ -n $best && $best -le $time ]] || best=$time
    done
    echo "$best"
}

echo '| tool | ns an event |'
echo '| --- | --- |'
row() {
    local name=$1
    shift
    command -v "$1" >/dev/null || { echo "| $name | not installed |"; return; }
    # Every tool prints a line an event, or the comparison is none.
    local lines
    lines=$("$@" 2>/dev/null | grep -c 'event[0-9]*:')
    [[ $lines == "$events" ]] || { echo "$name printed $lines lines of $events events" >&2; return 1; }
    echo "| $name | $(best "$@") |"
}
row 'tfbc, one thread' "$tfbc" report --threads 1 -t "$scratch/peers.trcfmt" "$scratch/peers.trc"
row 'trace-cmd (libtraceevent)' trace-cmd report -i "$scratch/trace.dat"
row 'babeltrace2' babeltrace2 "$scratch/ctf"
