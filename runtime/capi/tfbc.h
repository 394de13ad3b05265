/* C library of tfbc: AIX traces and QNX kernel logs as Arrow streams.
 *
 * ArrowSchema and ArrowArrayStream are those of the Arrow C data interface and C stream interface. They are declared
 * here unless ARROW_C_DATA_INTERFACE and ARROW_C_STREAM_INTERFACE are defined.
 *
 * No function prints, and none has global state. A trace may be used from several threads.
 */
#ifndef TFBC_H
#define TFBC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

typedef struct tfbc_trace tfbc_trace;

/* Opens a trace. `options_json` is NULL or a JSON object with the keyword arguments of Python's `open` and `events`:
 * formats builtin kind time_zero, and columns only excluding pid tid cpu exec start end grep defined text fields
 * batch_rows threads. Returns NULL on failure; then *error is a message to be freed with tfbc_free. */
tfbc_trace *tfbc_open(const char *path, const char *options_json, char **error);

/* Starts a pass over a table: "events", "notices", or the id of an event. Returns 0, or an errno and a message. The
 * stream may outlive the trace, move to another thread, and be released early. */
int tfbc_stream(tfbc_trace *trace, const char *table, struct ArrowArrayStream *out, char **error);

/* Stores the schema of the table of an event. Returns 0, or an errno and a message. */
int tfbc_fields(tfbc_trace *trace, const char *id, struct ArrowSchema *out, char **error);

/* Closes a trace; NULL is allowed. */
void tfbc_close(tfbc_trace *trace);

/* Frees a message; NULL is allowed. */
void tfbc_free(char *message);

/* Version of the library, such as "0.1.0". */
const char *tfbc_version(void);

#ifdef __cplusplus
}
#endif

#endif
