/*
 * Times the rounds of a loop: each one leaves an event of hook 010.
 *
 *   cc -o sample sample.c -l rts
 *   ./sample
 *   trcrpt -d 010 -t sample.trcfmt -O exec=on
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/trcctl.h>
#include <sys/trchkid.h>
#include <sys/trcmacros.h>

int main(void) {
    int i;

    printf("configuring trace collection\n");
    if (trcstart("-ad") == -1) {
        perror("trcstart");
        exit(1);
    }
    printf("turning trace on\n");
    if (trcon(0)) {
        perror("trcon");
        exit(1);
    }
    /* Here is the code that is being traced. */
    for (i = 1; i < 11; i++) {
        TRCHKL1T(HKWD_USER1, i);
    }
    printf("turning trace off\n");
    if (trcstop(0)) {
        perror("trcstop");
        exit(1);
    }
    return 0;
}
