#!/usr/bin/env bash
# CPU time an event of tfbc beside other trace tools, on the same events: 40 kinds, four words each, a line each.
#
#     benches/peers.sh [EVENTS]
#
# Needs python3, and of babeltrace2 and trace-cmd those that are to be measured (Debian's packages of these names). Each
# figure is user and system time of the whole command, the best of three, start-up included; text goes to /dev/null.
# Then come the numbers of events that each prints of the same file with 64 damaged bytes in its middle, and cut there.
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

# Writes a file with 64 damaged bytes in its middle, or its first half.
spoil() {
    local how=$1 from=$2 to=$3 middle
    middle=$(($(stat -c %s "$from") / 2 + 777))
    cp "$from" "$to"
    case $how in
        damaged) head -c 64 /dev/zero | tr '\0' '\251' | dd of="$to" bs=1 seek="$middle" conv=notrunc status=none ;;
        cut) truncate -s "$middle" "$to" ;;
    esac
}

echo
echo '| tool | file | events |'
echo '| --- | --- | --- |'
for how in damaged cut; do
    mkdir "$scratch/$how-ctf"
    cp "$scratch/ctf/metadata" "$scratch/$how-ctf"
    spoil $how "$scratch/ctf/stream" "$scratch/$how-ctf/stream"
    spoil $how "$scratch/peers.trc" "$scratch/$how.trc"
    spoil $how "$scratch/trace.dat" "$scratch/$how.dat"
    printed() {
        command -v "$2" >/dev/null || return 0
        echo "| $1 | $how | $({ "${@:2}" 2>/dev/null || true; } | grep -c 'event[0-9]*:' || true) |"
    }
    printed tfbc "$tfbc" report -t "$scratch/peers.trcfmt" "$scratch/$how.trc"
    printed trace-cmd trace-cmd report -i "$scratch/$how.dat"
    printed babeltrace2 babeltrace2 "$scratch/$how-ctf"
done
