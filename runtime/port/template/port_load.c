/* No kind of background load of its own: the portable ones of runtime/src/host/load_work.c are left. */
#include "deadbeat/port_load.h"

const struct db_load_kind port_load_kinds[1] = {{0}};
const uint32_t port_load_kind_count = 0;

int64_t port_cpu_ns(void)
{
    return 0;
}

size_t port_cache_bytes(void)
{
    return 0;
}

size_t port_free_bytes(void)
{
    return 0;
}

void port_give_way(void)
{
}
