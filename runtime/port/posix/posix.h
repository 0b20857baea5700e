/* Shared by the files of this port. */
#ifndef DEADBEAT_PORT_POSIX_H
#define DEADBEAT_PORT_POSIX_H

#include <stdio.h>

/* Where port_put() writes. */
extern FILE *port_records;

#endif
