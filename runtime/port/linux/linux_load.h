/* Background loads: the kinds of workers that need this system. */
#ifndef DEADBEAT_LINUX_LOAD_H
#define DEADBEAT_LINUX_LOAD_H

#include "deadbeat/port_load.h"

int load_hdd(struct db_load *load);
int load_iomix(struct db_load *load);
int load_timer(struct db_load *load);
int load_timerfd(struct db_load *load);
int load_itimer(struct db_load *load);
int load_switch(struct db_load *load);
int load_yield(struct db_load *load);

#endif
