/*
 * Threads that take work from a queue: hook 020 records which thread begins and ends which piece, hook 030 the thread's name on a
 * generic channel.
 *
 *   cc -o threads threads.c -l rts -pthread
 *   trace -a -o work.trc; ./threads; trcstop
 *   trcrpt -t threads.trcfmt work.trc
 *
 * With a channel as its argument (trace -a -g -o names.trc; ./threads 1; trcstop -1), the names go there.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/trchkid.h>
#include <sys/trcmacros.h>

#define N_THREADS 4
#define N_PIECES 1000

#define WORK_BEGINS (HKWD_USER2 | 1)
#define WORK_ENDS (HKWD_USER2 | 2)
#define WORKER (HKWD_USER3)

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static int next_piece = 0;
static int names_channel = 0;

static int take_piece(void) {
    int piece;
    pthread_mutex_lock(&queue);
    piece = next_piece < N_PIECES ? next_piece++ : -1;
    pthread_mutex_unlock(&queue);
    return piece;
}

static void *work(void *argument) {
    unsigned long worker = (unsigned long)argument;
    unsigned long sum = 0;
    char name[16] = "";
    int piece;
    int i;

    sprintf(name, "worker %lu", worker % 100);
    TRCGENT(names_channel, WORKER, worker, sizeof name, name);
    while ((piece = take_piece()) >= 0) {
        TRCHKL2T(WORK_BEGINS, worker, piece);
        for (i = 0; i < 1000; i++) {
            sum += (unsigned long)i * (unsigned long)piece;
        }
        TRCHKL3T(WORK_ENDS, worker, piece, sum);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[N_THREADS];
    unsigned long i;

    if (argc > 1) {
        names_channel = atoi(argv[1]);
    }
    for (i = 0; i < N_THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, (void *)i)) {
            perror("pthread_create");
            return 1;
        }
    }
    for (i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
