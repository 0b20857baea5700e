/* The program: [SET [FILE [fifo|other]]], by default set 0 into records.jobs as it was emitted. */
#include "deadbeat/core.h"

#include "posix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words)
{
    struct db_core_options options = db_core_defaults;
    const char *path = count > 2 ? words[2] : "records.jobs";
    char *end = "";
    unsigned long set = count > 1 ? strtoul(words[1], &end, 10) : 0;
    bool other = count > 3 && strcmp(words[3], "other") == 0;
    if (count > 4 || *end || set > UINT16_MAX || (count > 3 && !other && strcmp(words[3], "fifo") != 0)) {
        fprintf(stderr, "usage: %s [SET [FILE [fifo|other]]]\n", words[0]);
        return 2;
    }
    if (count > 3)
        options.policy = other ? DB_POLICY_OTHER : DB_POLICY_FIFO;
    port_records = fopen(path, "wb");
    if (!port_records) {
        perror(path);
        return 1;
    }
    int status = db_core_main((uint32_t)set, &options);
    if (fclose(port_records) != 0) {
        perror(path);
        status = 1;
    }
    if (status)
        remove(path);
    return status;
}
