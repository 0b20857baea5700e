/* What guest and host see of one another: the last 64 MiB of RAM, a file of the host. The host writes job and
 * capacities and starts the machine; the guest writes the rest. deadbeat.tasksets.executors.freertos reads
 * it. */
#ifndef DEADBEAT_EXCHANGE_H
#define DEADBEAT_EXCHANGE_H

#include <stdint.h>

#define EXCHANGE_ADDRESS UINT64_C(0x8c000000)
#define EXCHANGE_BYTES UINT64_C(0x4000000)
#define EXCHANGE_MAGIC "DBGUEST1"
#define EXCHANGE_JOB_BYTES 65536

enum exchange_state { EXCHANGE_ASKED = 0, EXCHANGE_STARTED = 1, EXCHANGE_DONE = 2, EXCHANGE_FAILED = 3 };

struct exchange {
    char magic[8];
    uint32_t state;
    uint32_t status;
    uint32_t job_bytes;
    uint32_t reserved;
    uint64_t result_bytes;
    char words[224]; /* why it failed */
    char job[EXCHANGE_JOB_BYTES];
    unsigned char result[];
};

_Static_assert(sizeof(struct exchange) == 256 + EXCHANGE_JOB_BYTES, "as the host reads it");

#endif
