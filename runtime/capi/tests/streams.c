/* Streams that are released early, moved to another thread, and read by turns: streams TRACE. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../tfbc.h"

static void check(int is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "%s\n", what);
        exit(1);
    }
}

static struct ArrowArrayStream start(tfbc_trace *trace, const char *table)
{
    struct ArrowArrayStream stream;
    char *error = NULL;
    check(tfbc_stream(trace, table, &stream, &error) == 0, error ? error : table);
    return stream;
}

/* Reads a batch and releases it. Returns its number of rows, -1 at the end. */
static long long next(struct ArrowArrayStream *stream)
{
    struct ArrowArray batch;
    long long n_rows;
    check(stream->get_next(stream, &batch) == 0, "get_next");
    if (!batch.release)
        return -1;
    n_rows = batch.length;
    batch.release(&batch);
    return n_rows;
}

static long long rest(struct ArrowArrayStream *stream)
{
    long long n_rows = 0, n;
    while ((n = next(stream)) >= 0)
        n_rows += n;
    stream->release(stream);
    return n_rows;
}

static void *in_thread(void *argument)
{
    struct ArrowArrayStream *stream = argument;
    long long *n_rows = malloc(sizeof *n_rows);
    *n_rows = rest(stream);
    return n_rows;
}

int main(int argc, char **argv)
{
    char *error = NULL;
    struct ArrowArrayStream streams[3], other;
    struct ArrowArray kept;
    struct ArrowSchema schema;
    pthread_t thread;
    void *moved;
    long long by_turns[2] = {0, 0}, n;

    check(argc == 2, "usage: streams TRACE");
    check(!tfbc_open("/no/such/trace", NULL, &error) && error, "a missing trace was opened");
    tfbc_free(error);
    tfbc_trace *trace = tfbc_open(argv[1], "{\"batch_rows\":10}", &error);
    check(trace != NULL, "tfbc_open");
    error = NULL;
    check(tfbc_stream(trace, "no table", &other, &error) != 0 && error, "a missing table was opened");
    tfbc_free(error);
    check(tfbc_stream(trace, "no table", &other, NULL) != 0, "a missing table was opened");

    check(tfbc_fields(trace, "134", &schema, NULL) == 0 && schema.n_children > 0, "tfbc_fields");
    schema.release(&schema);

    /* Released before, after and during the first batch. */
    other = start(trace, "events");
    other.release(&other);
    other = start(trace, "notices");
    check(next(&other) > 0, "a batch of notices");
    other.release(&other);
    other = start(trace, "events");
    check(other.get_schema(&other, &schema) == 0, "get_schema");
    check(other.get_next(&other, &kept) == 0 && kept.length == 10, "get_next");
    other.release(&other);
    schema.release(&schema);

    for (int at = 0; at < 3; at++)
        streams[at] = start(trace, "events");
    tfbc_close(trace);
    check(pthread_create(&thread, NULL, in_thread, &streams[2]) == 0, "pthread_create");
    for (int n_ended = 0; n_ended < 2;) {
        n_ended = 0;
        for (int at = 0; at < 2; at++) {
            if ((n = next(&streams[at])) >= 0)
                by_turns[at] += n;
            else
                n_ended++;
        }
    }
    streams[0].release(&streams[0]);
    streams[1].release(&streams[1]);
    check(pthread_join(thread, &moved) == 0, "pthread_join");
    printf("%lld %lld %lld %lld\n", (long long)kept.length, by_turns[0], by_turns[1], *(long long *)moved);
    free(moved);
    /* A batch outlives its stream and the trace. */
    kept.release(&kept);
    return 0;
}
