/* Linux has the objects of POSIX. */
#include "../posix/port_objects.h"
