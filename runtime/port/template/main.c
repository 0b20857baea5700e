/* A program to copy: whatever starts the system and its threads, then db_core_main() in one of them. */
#include "deadbeat/core.h"

int main(void)
{
    port_exit(db_core_main(0, NULL));
}
