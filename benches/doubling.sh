#!/usr/bin/env bash
# Doubling: twice the input takes at most 2.5 times the instructions, counted by callgrind, for sound and hostile inputs.
#
#     benches/doubling.sh [TOP [PATTERN]]     sizes up to TOP bytes (1 MiB; with K or M behind it), all kinds or those with a match
#
# Each kind is read at TOP and at half and a quarter of it; exit status 1 where one step is above 2.5, where nothing was
# counted, and where an input has an error that is to have none, or none. Environment: JOBS at a time, STEPS of doubling
# (2), SHAPE_BINARY for a binary that is built already.
set -euo pipefail
cd "$(dirname "$0")/.."

top=$(numfmt --from=iec "${1:-1M}")
pattern=${2:-}
steps=${STEPS:-2}
limit=2.5
command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 1; }
if [[ -z ${SHAPE_BINARY:-} ]]; then
    cargo build --profile bench --locked -q -p tfbc-benches --bin count-shape
    SHAPE_BINARY=${CARGO_TARGET_DIR:-target}/release/count-shape
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export SHAPE_BINARY top steps limit

# Writes a row: the kind, and the instructions a byte at each size; its status tells whether every step is below the limit.
row() {
    local shape=$1 row="| $1" before='' verdict=well size output bytes collected
    for ((step = steps; step >= 0; step--)); do
        size=$((top >> step))
        output=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no \
            --toggle-collect='*::measured_*' "$SHAPE_BINARY" "$shape" "$size" 2>&1) || true
        bytes=$(sed -n 's/^\([0-9]*\) bytes, sum.*/\1/p' <<<"$output")
        collected=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<<"$output")
        if [[ -z $bytes || $bytes == 0 || -z $collected || $collected == 0 ]]; then
            echo "$row | FAILED: nothing was counted |"
            echo "$output" >&2
            return 1
        fi
        row+=$(awk -v n="$collected" -v bytes="$bytes" 'BEGIN { printf " | %.1f", n / bytes }')
        if [[ -n $before ]] && awk -v n="$collected" -v b="$before" -v l="$limit" 'BEGIN { exit !(n > l * b) }'; then
            verdict=FAILED
        fi
        [[ -n $before ]] && row+=$(awk -v n="$collected" -v b="$before" 'BEGIN { printf " (x%.2f)", n / b }')
        before=$collected
    done
    echo "$row | $verdict |"
    [[ $verdict == well ]]
}
export -f row

"$SHAPE_BINARY" | grep -e "$pattern" >"$scratch/shapes" || true
n_wanted=$(wc -l <"$scratch/shapes")
(( n_wanted > 0 )) || { echo "no kind has a match of $pattern" >&2; exit 1; }
echo "| instructions a byte, up to $top bytes | | | | |"
echo '| --- | --- | --- | --- | --- |'
failed=0
xargs -P "${JOBS:-2}" -L 1 bash -c 'row "$0"' <"$scratch/shapes" | tee "$scratch/rows" || failed=1
n_counted=$(grep -c '| well |$' "$scratch/rows") || true
(( n_counted == n_wanted )) || { echo "$((n_wanted - n_counted)) of $n_wanted kinds failed" >&2; exit 1; }
exit "$failed"
