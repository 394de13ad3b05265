/*
 * Control of trace sessions from a program: -l rts.
 *
 * Each function returns -1 and sets errno where it fails:
 *   EINVAL  the options are wrong, or there is no such channel
 *   EBUSY   the channel has a session already, or all generic channels have one
 *   EPERM   the session is interactive: it ends at its prompt
 *   ENXIO   the channel has no session
 *   ESRCH   the channel's session was killed: the command trcdead recovers its events
 *   others  as the system gives them: no room, no such directory, no permission
 */
#ifndef TFBC_SYS_TRCCTL_H
#define TFBC_SYS_TRCCTL_H

#ifdef __cplusplus
extern "C" {
#endif

/* Added to trcstop's channel: return when the log is complete, which it always is here; leave out what the buffers hold. */
#define TRCSTOP_WAIT 0x40000000
#define TRCSTOP_DISCARD 0x20000000

/* Starts a session with the flags of the command trace, such as "-ad -o my.trc". Returns its channel: 0, or 1 to 7 with -g. */
extern int trcstart(const char *args);
/* Begins and interrupts the collection. Return 0. */
extern int trcon(int ch);
extern int trcoff(int ch);
/* Ends the session. Returns 0. */
extern int trcstop(int ch);

/* 1 where a hook word's id would be recorded on a channel now, else 0. */
extern int trc_ishookon(int ch, long hw);
/* The same for any id of a set: size bytes, with bit id%8 of byte id/8 for each 12-bit id. */
extern int trc_ishookset(int ch, const void *set, unsigned long size);

#ifdef __cplusplus
}
#endif

#endif
