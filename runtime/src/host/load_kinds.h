/* Background loads: the portable kinds of workers. */
#ifndef DEADBEAT_LOAD_KINDS_H
#define DEADBEAT_LOAD_KINDS_H

#include "deadbeat/port_load.h"

int load_cpu(struct db_load *load);
int load_vm(struct db_load *load);
int load_stream(struct db_load *load);
int load_futex(struct db_load *load);
int load_fork(struct db_load *load);

#endif
