/*
 * Macros that record trace events: -l rts.
 *
 *   TRCHKL0(hw) ... TRCHKL5(hw, d1, ..., d5)   a hook word and up to five data words, to channel 0
 *   TRCHK(hw) TRCHKL(hw, d1) TRCHKG(hw, d1, ..., d5)   the same as TRCHKL0, TRCHKL1 and TRCHKL5
 *   TRCHK64L1(hw, v1) TRCHK64L2(hw, v1, v2)   64-bit values: in a 32-bit program, two words each
 *   TRCGEN(ch, hw, d1, len, buf)   a data word and len bytes from buf, at most 4096, to channel ch
 *   TRC_ISON(ch)   whether channel ch, 0 to 7, is on
 *
 * With a T behind the name, the event shows its time: TRCHKL1T, TRCGENT.
 *
 * A macro whose channel is off costs one load and one branch; its other arguments are then not evaluated. The channel of
 * TRCGEN is evaluated twice. Data words are integers or pointers.
 *
 * In a 64-bit program, an event whose data words all fit 32 bits by their types (int, not long) is a 32-bit hook, as a
 * 32-bit program records it, so that `U4` reads an int from it on every machine. With a long or a pointer among them it is a
 * 64-bit hook, in which each data word takes 8 bytes. Stanzas that say `$D1` or `UW` read either. TRC_HOOK_BITS, defined as
 * 64 or 32 ahead of this header, makes all hooks of one kind; 32 cuts longer words.
 */
#ifndef TFBC_SYS_TRCMACROS_H
#define TFBC_SYS_TRCMACROS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Nonzero at a channel's number where the channel is on; changed by trcon and trcoff of any process. */
extern const volatile unsigned char Trconflag[];

/* What the macros call. Programs call the macros. */
extern void trchook(unsigned int hw, unsigned int d1, unsigned int d2, unsigned int d3, unsigned int d4, unsigned int d5);
extern void utrchook(unsigned int hw, unsigned int d1, unsigned int d2, unsigned int d3, unsigned int d4, unsigned int d5);
extern void trchook64(unsigned long hw, unsigned long d1, unsigned long d2, unsigned long d3, unsigned long d4,
                      unsigned long d5);
extern void utrchook64(unsigned long hw, unsigned long d1, unsigned long d2, unsigned long d3, unsigned long d4,
                       unsigned long d5);
extern void trcgen(int ch, unsigned long hw, unsigned long d1, unsigned int len, const void *buf);
extern void trcgent(int ch, unsigned long hw, unsigned long d1, unsigned int len, const void *buf);
extern void trcgenk(int ch, unsigned long hw, unsigned long d1, unsigned int len, const void *buf);
extern void trcgenkt(int ch, unsigned long hw, unsigned long d1, unsigned int len, const void *buf);
extern void trcgen32(int ch, unsigned int hw, unsigned int d1, unsigned int len, const void *buf);
extern void trcgent32(int ch, unsigned int hw, unsigned int d1, unsigned int len, const void *buf);

#ifdef __cplusplus
}
#endif

#if defined(__GNUC__)
#define TRC_RARELY_(condition) __builtin_expect(!!(condition), 0)
#else
#define TRC_RARELY_(condition) (condition)
#endif

#define TRC_ISON(ch) (Trconflag[(unsigned int)(ch) & 63u] != 0)
#define TRC_WHEN_ON_(ch, call) (TRC_RARELY_(TRC_ISON(ch)) ? (call) : (void)0)

/* 32-bit hooks: hhh t dddd, where t is 8 for the time, and tells how many words there are: 1, 2 or 6 with the hook word. */
#define TRC_WORD32_(word) ((unsigned int)(unsigned long)(word))
#define TRC_HOOK32_(hw, stamp, n, d1, d2, d3, d4, d5)                                                                    \
    utrchook((TRC_WORD32_(hw) & 0xfff0ffffu) | (unsigned int)(stamp) << 19 | ((n) > 1 ? 6u : (n) + 1u) << 16,            \
             TRC_WORD32_(d1), TRC_WORD32_(d2), TRC_WORD32_(d3), TRC_WORD32_(d4), TRC_WORD32_(d5))

#if defined(__LP64__) || defined(_LP64)

/* 64-bit hooks: ffff llll hhhh ssss, with 8 bytes a data word in llll, and the flag 8000 where the time is shown. */
#define TRC_HOOK64_(hw, stamp, n, d1, d2, d3, d4, d5)                                                                    \
    utrchook64((unsigned long)(stamp) << 63 | (unsigned long)(n) << 35 | (unsigned int)(hw), (unsigned long)(d1),        \
               (unsigned long)(d2), (unsigned long)(d3), (unsigned long)(d4), (unsigned long)(d5))

#if defined(TRC_HOOK_BITS) && TRC_HOOK_BITS == 64
#define TRC_FITS32_(word) 0
#elif defined(TRC_HOOK_BITS)
#define TRC_FITS32_(word) 1
#else
/* Of the operand's promoted type: bit fields are int, arrays are pointers. */
#define TRC_FITS32_(word) (sizeof(1 ? (word) : 0) <= 4)
#endif
/* An id of four digits, such as F5F1, has no place in the hook word of a 32-bit hook. */
#define TRC_HAS_SHORT_ID_(hw) (((unsigned int)(hw)&0x000f0000u) == 0)
#define TRC_HOOK_(hw, stamp, n, d1, d2, d3, d4, d5)                                                                      \
    TRC_WHEN_ON_(0, TRC_HAS_SHORT_ID_(hw) && TRC_FITS32_(d1) && TRC_FITS32_(d2) && TRC_FITS32_(d3) && TRC_FITS32_(d4) &&          \
                            TRC_FITS32_(d5)                                                                              \
                        ? TRC_HOOK32_(hw, stamp, n, d1, d2, d3, d4, d5)                                                  \
                        : TRC_HOOK64_(hw, stamp, n, d1, d2, d3, d4, d5))

#define TRC_HOOK64_1_(hw, stamp, v1) TRC_WHEN_ON_(0, TRC_HOOK64_(hw, stamp, 1, v1, 0, 0, 0, 0))
#define TRC_HOOK64_2_(hw, stamp, v1, v2) TRC_WHEN_ON_(0, TRC_HOOK64_(hw, stamp, 2, v1, v2, 0, 0, 0))

#else

#define TRC_HAS_SHORT_ID_(hw) 1
#define TRC_FITS32_(word) 1
#define TRC_HOOK_(hw, stamp, n, d1, d2, d3, d4, d5) TRC_WHEN_ON_(0, TRC_HOOK32_(hw, stamp, n, d1, d2, d3, d4, d5))

#define TRC_HIGH_(value) ((unsigned long)((value) >> 16 >> 16))
#define TRC_HOOK64_1_(hw, stamp, v1) TRC_HOOK_(hw, stamp, 2, TRC_HIGH_(v1), v1, 0, 0, 0)
#define TRC_HOOK64_2_(hw, stamp, v1, v2) TRC_HOOK_(hw, stamp, 4, TRC_HIGH_(v1), v1, TRC_HIGH_(v2), v2, 0)

#endif

#define TRC_GENERIC_(function, ch, hw, d1, len, buf)                                                                     \
    TRC_WHEN_ON_(ch, TRC_HAS_SHORT_ID_(hw) && TRC_FITS32_(d1)                                                            \
                         ? function##32((int)(ch), TRC_WORD32_(hw), TRC_WORD32_(d1), (unsigned int)(len),                \
                                        (const void *)(buf))                                                             \
                         : function((int)(ch), (unsigned long)(hw), (unsigned long)(d1), (unsigned int)(len),            \
                                    (const void *)(buf)))

#define TRCGEN(ch, hw, d1, len, buf) TRC_GENERIC_(trcgen, ch, hw, d1, len, buf)
#define TRCGENT(ch, hw, d1, len, buf) TRC_GENERIC_(trcgent, ch, hw, d1, len, buf)
#define TRCGENK(ch, hw, d1, len, buf) TRC_GENERIC_(trcgen, ch, hw, d1, len, buf)
#define TRCGENKT(ch, hw, d1, len, buf) TRC_GENERIC_(trcgent, ch, hw, d1, len, buf)

#define TRCHKL0(hw) TRC_HOOK_(hw, 0, 0, 0, 0, 0, 0, 0)
#define TRCHKL1(hw, d1) TRC_HOOK_(hw, 0, 1, d1, 0, 0, 0, 0)
#define TRCHKL2(hw, d1, d2) TRC_HOOK_(hw, 0, 2, d1, d2, 0, 0, 0)
#define TRCHKL3(hw, d1, d2, d3) TRC_HOOK_(hw, 0, 3, d1, d2, d3, 0, 0)
#define TRCHKL4(hw, d1, d2, d3, d4) TRC_HOOK_(hw, 0, 4, d1, d2, d3, d4, 0)
#define TRCHKL5(hw, d1, d2, d3, d4, d5) TRC_HOOK_(hw, 0, 5, d1, d2, d3, d4, d5)

#define TRCHKL0T(hw) TRC_HOOK_(hw, 1, 0, 0, 0, 0, 0, 0)
#define TRCHKL1T(hw, d1) TRC_HOOK_(hw, 1, 1, d1, 0, 0, 0, 0)
#define TRCHKL2T(hw, d1, d2) TRC_HOOK_(hw, 1, 2, d1, d2, 0, 0, 0)
#define TRCHKL3T(hw, d1, d2, d3) TRC_HOOK_(hw, 1, 3, d1, d2, d3, 0, 0)
#define TRCHKL4T(hw, d1, d2, d3, d4) TRC_HOOK_(hw, 1, 4, d1, d2, d3, d4, 0)
#define TRCHKL5T(hw, d1, d2, d3, d4, d5) TRC_HOOK_(hw, 1, 5, d1, d2, d3, d4, d5)

#define TRCHK(hw) TRCHKL0(hw)
#define TRCHKT(hw) TRCHKL0T(hw)
#define TRCHKL(hw, d1) TRCHKL1(hw, d1)
#define TRCHKLT(hw, d1) TRCHKL1T(hw, d1)
#define TRCHKG(hw, d1, d2, d3, d4, d5) TRCHKL5(hw, d1, d2, d3, d4, d5)
#define TRCHKGT(hw, d1, d2, d3, d4, d5) TRCHKL5T(hw, d1, d2, d3, d4, d5)

#define TRCHK64L1(hw, v1) TRC_HOOK64_1_(hw, 0, v1)
#define TRCHK64L1T(hw, v1) TRC_HOOK64_1_(hw, 1, v1)
#define TRCHK64L2(hw, v1, v2) TRC_HOOK64_2_(hw, 0, v1, v2)
#define TRCHK64L2T(hw, v1, v2) TRC_HOOK64_2_(hw, 1, v1, v2)

#endif
