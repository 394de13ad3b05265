/*
 * User events of QNX: tracelogger records them, and traceprinter prints them by qnx.xml.
 *
 *   cc -o qnx qnx.c -l rts
 *   tracelogger -s 5 -f my.kev & ./qnx; wait
 *   traceprinter -t qnx.xml -f my.kev
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/trace.h>

enum { TEMPERATURE = 65, MESSAGE = 66, POSITION = 67 };

struct position {
    uint32_t x;
    uint32_t y;
    uint32_t height;
};

int main(void) {
    struct position position = {3, 4, 12};
    unsigned sensor;

    for (sensor = 0; sensor < 3; sensor++) {
        trace_logi(TEMPERATURE, sensor, 20 + sensor);
    }
    trace_logf(MESSAGE, "sensor %d of %d failed", 2, 3);
    trace_nlogf(MESSAGE, 8, "short of breath");
    trace_logb(POSITION, &position, sizeof position);
    trace_here();
    return 0;
}
