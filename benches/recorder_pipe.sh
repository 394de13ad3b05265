#!/usr/bin/env bash
# Whether a live trace keeps up: `trace -o - | trcrpt -` on two cores, at a rate of events a second.
#
#     benches/recorder_pipe.sh [RATE [SECONDS]]
#
# Says how many events were recorded, printed and missed; the exit status is 1 where some were missed.
set -euo pipefail
cd "$(dirname "$0")/.."

rate=${1:-1000000} seconds=${2:-5}
if [[ -z ${TFBC_BIN:-} ]]; then
    cargo build --release --locked -q -p tfbc -p tfbc-benches --bins
    TFBC_BIN=${CARGO_TARGET_DIR:-target}/release
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export TFBC_TRACE_DIR=$scratch/memory
echo '010 1.0 L=APPL "USER" $D1%U8 $D2%U8 $D3%U8 $D4%U8 $D5%U8' >"$scratch/formats"

run=(taskset -c 0,1)
command -v taskset >/dev/null || run=()
"${run[@]}" "$TFBC_BIN/trace" -a -o - -T 8000000 -L 16000000 \
    | "${run[@]}" "$TFBC_BIN/trcrpt" -h -O timestamp=3,ids=off -t "$scratch/formats" - 2>"$scratch/messages" \
    | tee >(grep -c USER >"$scratch/printed") | grep -i missed >"$scratch/missed" &
reader=$!
# The session is there when its channel can be told so.
until "$TFBC_BIN/trcon" 2>/dev/null; do sleep 0.05; done
recorded=$("${run[@]}" "$TFBC_BIN/hook-load" --rate "$rate" --seconds "$seconds")
"$TFBC_BIN/trcstop"
wait "$reader" || true
cat "$scratch/messages" "$scratch/missed"
echo "load $(cut -d' ' -f1 /proc/loadavg): $rate events a second: recorded $recorded, printed $(cat "$scratch/printed")"
[[ $recorded == "$(cat "$scratch/printed")" && ! -s $scratch/missed ]]
