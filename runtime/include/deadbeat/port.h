/* Both parts of a port, for what needs a host. */
#ifndef DEADBEAT_PORT_H
#define DEADBEAT_PORT_H

#include "deadbeat/port_core.h"
#include "deadbeat/port_host.h"

#endif
