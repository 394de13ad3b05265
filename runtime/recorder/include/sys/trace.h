/*
 * QNX's functions that insert events into a kernel trace: -l rts. tracelogger records them, traceprinter prints them.
 *
 * A code is the number of a user event, _NTO_TRACE_USERFIRST to _NTO_TRACE_USERLAST. While no trace is recorded, the functions
 * do nothing.
 */
#ifndef TFBC_SYS_TRACE_H
#define TFBC_SYS_TRACE_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define _NTO_TRACE_USERFIRST 0
#define _NTO_TRACE_USERLAST 1023

/* Classes of trace_logbc. */
#define _NTO_TRACE_CONTROLC (1 << 10)
#define _NTO_TRACE_KER_CALLC (2 << 10)
#define _NTO_TRACE_INTC (3 << 10)
#define _NTO_TRACE_PR_THC (4 << 10)
#define _NTO_TRACE_SYSTEMC (5 << 10)
#define _NTO_TRACE_USERC (6 << 10)
#define _NTO_TRACE_COMMC (7 << 10)
#define _NTO_TRACE_QUIPC (8 << 10)
#define _NTO_TRACE_SECC (9 << 10)
#define _NTO_TRACE_QVMC (10 << 10)

#if defined(__GNUC__)
#define TRACE_PRINTF_(format, first) __attribute__((__format__(__printf__, format, first)))
#else
#define TRACE_PRINTF_(format, first)
#endif

/* Two words. Returns 0, or an errno value such as EINVAL for a code that is none, as do the next two. */
extern int trace_logi(int code, unsigned data1, unsigned data2);
/* Bytes, at most 4096. */
extern int trace_logb(int code, const void *bytes, size_t nbytes);
/* Bytes as an event of another class. */
extern int trace_logbc(int class_number, int event, const void *bytes, size_t nbytes);
/*
 * Text as printf makes it, at most max bytes with its NUL, or 4096 where max is 0. Returns the bytes of the text with its NUL,
 * or -1. Not for signal handlers.
 */
extern int trace_vnlogf(int code, int max, const char *format, va_list arguments) TRACE_PRINTF_(3, 0);

/* The entry and the exit of a function, and the place of the call. Return 0 or an errno value. */
extern int trace_func_enter(void *this_fn, void *call_site);
extern int trace_func_exit(void *this_fn, void *call_site);
extern int trace_here(void);

#if defined(__GNUC__)
#define TRACE_LOCAL_ static __inline__ __attribute__((__unused__))
#elif defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define TRACE_LOCAL_ static inline
#else
#define TRACE_LOCAL_ static
#endif

/* trace_vnlogf with its arguments in a row. */
TRACE_LOCAL_ int trace_nlogf(int code, int max, const char *format, ...) TRACE_PRINTF_(3, 4);
TRACE_LOCAL_ int trace_nlogf(int code, int max, const char *format, ...) {
    va_list arguments;
    int length;
    va_start(arguments, format);
    length = trace_vnlogf(code, max, format, arguments);
    va_end(arguments);
    return length;
}

/* The same, of any length. */
TRACE_LOCAL_ int trace_logf(int code, const char *format, ...) TRACE_PRINTF_(2, 3);
TRACE_LOCAL_ int trace_logf(int code, const char *format, ...) {
    va_list arguments;
    int length;
    va_start(arguments, format);
    length = trace_vnlogf(code, 0, format, arguments);
    va_end(arguments);
    return length;
}

#ifdef __cplusplus
}
#endif

#endif
