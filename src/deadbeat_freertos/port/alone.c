/* The program of `deadbeat export --as c`: the first task set as its settings say, then the end. */
#include "board.h"

#include "deadbeat/core.h"

#include "FreeRTOS.h"
#include "task.h"

_Noreturn void port_main(void);

static void *run(void *unused)
{
    (void)unused;
    port_exit(db_core_main(0, NULL));
}

_Noreturn void port_main(void)
{
    uint64_t thread;
    if (port_start_thread(run, NULL, DB_POLICY_FIFO, DB_PRIORITY_GUARDIAN, 0, &thread) != 0)
        board_fail("no memory for a thread");
    vTaskStartScheduler();
    board_fail("the scheduler has ended");
}
