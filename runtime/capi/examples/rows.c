/* Prints the number of rows of a table: rows TRACE TABLE [OPTIONS]. */
#include <stdio.h>
#include "../tfbc.h"

int main(int argc, char **argv)
{
    char *error = NULL;
    struct ArrowArrayStream stream;
    long long n_rows = 0, n_batches = 0;

    if (argc < 3) {
        fprintf(stderr, "usage: rows TRACE TABLE [OPTIONS]\n");
        return 2;
    }
    tfbc_trace *trace = tfbc_open(argv[1], argc > 3 ? argv[3] : NULL, &error);
    if (!trace || tfbc_stream(trace, argv[2], &stream, &error) != 0) {
        fprintf(stderr, "%s\n", error);
        tfbc_free(error);
        tfbc_close(trace);
        return 1;
    }
    /* The stream needs the trace no longer. */
    tfbc_close(trace);
    for (;;) {
        struct ArrowArray batch;
        if (stream.get_next(&stream, &batch) != 0) {
            fprintf(stderr, "%s\n", stream.get_last_error(&stream));
            stream.release(&stream);
            return 1;
        }
        if (!batch.release)
            break;
        n_rows += batch.length;
        n_batches++;
        batch.release(&batch);
    }
    stream.release(&stream);
    printf("%lld rows in %lld batches\n", n_rows, n_batches);
    return 0;
}
