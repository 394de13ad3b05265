#!/usr/bin/env bash
# Nanoseconds that a tracepoint of lttng-ust costs, and a TRCHKL5T hook of ours, both with five integers, in one run.
#
#     benches/lttng.sh
#
# Needs a C compiler, liblttng-ust-dev and lttng-tools; says so where one is missing. Both sessions keep the newest events in
# memory, so that no disk is measured. Each figure is the best of 20,000 runs of 200 events: those that nothing interrupted.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in cc lttng lttng-sessiond; do
    command -v "$tool" >/dev/null || { echo "lttng.sh: $tool is not installed: nothing is measured"; exit 0; }
done
echo '#include <lttng/tracepoint.h>' | cc -E - >/dev/null 2>&1 \
    || { echo 'lttng.sh: liblttng-ust-dev is not installed: nothing is measured'; exit 0; }

scratch=$(mktemp -d)
export LTTNG_HOME=$scratch
daemon=''
end() {
    lttng destroy bench >/dev/null 2>&1 || true
    [[ -z $daemon ]] || kill "$daemon" 2>/dev/null || true
    rm -rf "$scratch"
}
trap end EXIT
cat >"$scratch/bench-tp.h" <<'C'
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./bench-tp.h"
#if !defined(BENCH_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_TP_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(bench, five,
    LTTNG_UST_TP_ARGS(long, a, long, b, long, c, long, d, long, e),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(long, a, a) lttng_ust_field_integer(long, b, b) lttng_ust_field_integer(long, c, c)
        lttng_ust_field_integer(long, d, d) lttng_ust_field_integer(long, e, e)))
#endif
#include <lttng/tracepoint-event.h>
C
cat >"$scratch/bench.c" <<'C'
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench-tp.h"
#include <stdio.h>
#include <time.h>
int main(int argc, char **argv) {
    double best = 1e9;
    for (int run = 0; run < 20000; run++) {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (long i = 0; i < 200; i++)
            lttng_ust_tracepoint(bench, five, i, 2, 3, 4, 5);
        clock_gettime(CLOCK_MONOTONIC, &end);
        double time = ((end.tv_sec - start.tv_sec) * 1e9 + end.tv_nsec - start.tv_nsec) / 200;
        if (time < best)
            best = time;
    }
    printf("lttng-ust %s %.1f ns\n", argv[argc - 1], best);
    return 0;
}
C
(cd "$scratch" && cc -O2 -I. -o bench bench.c -llttng-ust -ldl)
echo "load $(cut -d' ' -f1 /proc/loadavg)"
"$scratch/bench" off
lttng-sessiond --no-kernel >"$scratch/daemon" 2>&1 &
daemon=$!
for _ in $(seq 50); do
    lttng list >/dev/null 2>&1 && break
    sleep 0.1
done
{
    lttng create bench --snapshot --output "$scratch/out"
    lttng enable-channel --userspace --subbuf-size 2M --num-subbuf 4 --overwrite bench
    lttng enable-event --userspace --channel bench bench:five
    lttng start bench
} >"$scratch/said" 2>&1 || { cat "$scratch/said"; exit 1; }
"$scratch/bench" on

if [[ -z ${TFBC_BIN:-} ]]; then
    cargo build --release --locked -q -p tfbc -p tfbc-benches --bins
    TFBC_BIN=${CARGO_TARGET_DIR:-target}/release
fi
export TFBC_TRACE_DIR=$scratch/memory
"$TFBC_BIN/hook-load" --cost
"$TFBC_BIN/trace" -a -l -T 8000000 -L 16000000 -o "$scratch/log"
"$TFBC_BIN/hook-load" --cost
"$TFBC_BIN/trcstop"
