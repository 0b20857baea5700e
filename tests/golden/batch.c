/*
 * Task sets by deadbeat: const tables, no code (deadbeat/tables.h). Do not edit.
 * A use is {context, repeats}; a segment is {kind, first use, uses, budget in ps}.
 */
#include "deadbeat/tables.h"

extern const struct db_fragment db_fragment_atomic_line;
extern const struct db_fragment db_fragment_bit_count;
extern const struct db_fragment db_fragment_block_sad;
extern const struct db_fragment db_fragment_crc_32;
extern const struct db_fragment db_fragment_event_fd;
extern const struct db_fragment db_fragment_heap_sort;
extern const struct db_fragment db_fragment_matmul;
extern const struct db_fragment db_fragment_pid_update;
extern const struct db_fragment db_fragment_pipe_token;
extern const struct db_fragment db_fragment_pointer_chase;
extern const struct db_fragment db_fragment_semaphore;
extern const struct db_fragment db_fragment_spin_lock;
extern const struct db_fragment db_fragment_string_search;

/* ==== task set 0: M=1 N=1 rho=0 alpha=0 seed=3360898853913176401 generator=1
 * 092147645e622b9718bfd20dbb6eae2f8e7cdd3a7706572e162669bb632a277e */
static const struct db_context_spec contexts_0_0[] = {
    {&db_fragment_pointer_chase, 4096, DB_NO_RESOURCE}, /* 0: pointer_chase/4096 */
    {&db_fragment_matmul, 64, DB_NO_RESOURCE}, /* 1: matmul/64 */
    {&db_fragment_matmul, 32, DB_NO_RESOURCE}, /* 2: matmul/32 */
    {&db_fragment_heap_sort, 256, DB_NO_RESOURCE}, /* 3: heap_sort/256 */
    {&db_fragment_matmul, 16, DB_NO_RESOURCE}, /* 4: matmul/16 */
    {&db_fragment_pid_update, 4, DB_NO_RESOURCE}, /* 5: pid_update/4 */
    {&db_fragment_heap_sort, 1024, DB_NO_RESOURCE}, /* 6: heap_sort/1024 */
    {&db_fragment_block_sad, 4, DB_NO_RESOURCE}, /* 7: block_sad/4 */
    {&db_fragment_pointer_chase, 16384, DB_NO_RESOURCE}, /* 8: pointer_chase/16384 */
    {&db_fragment_crc_32, 16384, DB_NO_RESOURCE}, /* 9: crc_32/16384 */
    {&db_fragment_crc_32, 64, DB_NO_RESOURCE}, /* 10: crc_32/64 */
    {&db_fragment_bit_count, 16, DB_NO_RESOURCE}, /* 11: bit_count/16 */
};
static const struct db_use uses_0_0[] = {
    /* NS */ {0, 9}, {1, 1}, {2, 6}, {3, 23},
    /* NS */ {4, 3}, {5, 30}, {6, 3}, {7, 119},
    /* NS */ {8, 3}, {9, 1}, {8, 2}, {10, 125}, {2, 6}, {11, 23},
};
static const struct db_segment segments_0_0[] = {
    {DB_NS, 0, 4, 123627003u}, /* cost 123592980 ps */
    {DB_NS, 4, 4, 53005227u}, /* cost 52909517 ps */
    {DB_NS, 8, 6, 131773770u}, /* cost 131979714 ps */
};
static const struct db_task tasks_0[] = {
    {
        .core = 0,
        .context_count = 12,
        .segment_count = 3,
        .use_count = 14,
        .priority = 79,
        .wcet_ns = 308406u,
        .period_ns = 3084060u,
        .deadline_ns = 3084060u,
        .offset_ns = 882145u,
        .seed = 10624921170076339018u,
        .contexts = contexts_0_0,
        .segments = segments_0_0,
        .uses = uses_0_0,
    },
};
static const struct db_task_set set_0 = {
    .id = "092147645e622b9718bfd20dbb6eae2f8e7cdd3a7706572e162669bb632a277e",
    .cores = 1,
    .task_count = 1,
    .resource_count = 0,
    .tasks = tasks_0,
    .resources = NULL,
};

/* ==== task set 1: M=2 N=2 rho=1/2 alpha=0 seed=4892631232566978801 generator=1
 * d8fdb7735a062a3ee2519c1e22025906bedf40e0ee549dd020a031026cd5ca43 */
static const struct db_resource_spec resources_1[] = {
    {&db_fragment_semaphore, 0}, /* 0: PAR */
    {&db_fragment_semaphore, 1}, /* 1: PAR */
    {&db_fragment_spin_lock, 0}, /* 2: PAR */
    {&db_fragment_spin_lock, 1}, /* 3: PAR */
};
static const struct db_context_spec contexts_1_0[] = {
    {&db_fragment_pointer_chase, 16384, DB_NO_RESOURCE}, /* 0: pointer_chase/16384 */
    {&db_fragment_crc_32, 64, DB_NO_RESOURCE}, /* 1: crc_32/64 */
    {&db_fragment_pid_update, 4, DB_NO_RESOURCE}, /* 2: pid_update/4 */
    {&db_fragment_pid_update, 1, DB_NO_RESOURCE}, /* 3: pid_update/1 */
    {&db_fragment_matmul, 32, DB_NO_RESOURCE}, /* 4: matmul/32 */
    {&db_fragment_pointer_chase, 256, DB_NO_RESOURCE}, /* 5: pointer_chase/256 */
    {&db_fragment_heap_sort, 64, DB_NO_RESOURCE}, /* 6: heap_sort/64 */
    {&db_fragment_semaphore, 4, 0}, /* 7: semaphore/4 PAR */
    {&db_fragment_spin_lock, 4, 2}, /* 8: spin_lock/4 PAR */
    {&db_fragment_semaphore, 4, 0}, /* 9: semaphore/4 PAR */
    {&db_fragment_pid_update, 16, DB_NO_RESOURCE}, /* 10: pid_update/16 */
    {&db_fragment_crc_32, 4096, DB_NO_RESOURCE}, /* 11: crc_32/4096 */
    {&db_fragment_matmul, 8, DB_NO_RESOURCE}, /* 12: matmul/8 */
    {&db_fragment_spin_lock, 1, 2}, /* 13: spin_lock/1 PAR */
    {&db_fragment_semaphore, 1, 0}, /* 14: semaphore/1 PAR */
    {&db_fragment_spin_lock, 1, 2}, /* 15: spin_lock/1 PAR */
    {&db_fragment_spin_lock, 4, 2}, /* 16: spin_lock/4 PAR */
    {&db_fragment_spin_lock, 1, 2}, /* 17: spin_lock/1 PAR */
    {&db_fragment_pointer_chase, 4096, DB_NO_RESOURCE}, /* 18: pointer_chase/4096 */
    {&db_fragment_block_sad, 16, DB_NO_RESOURCE}, /* 19: block_sad/16 */
    {&db_fragment_semaphore, 1, 0}, /* 20: semaphore/1 PAR */
    {&db_fragment_semaphore, 4, 0}, /* 21: semaphore/4 PAR */
    {&db_fragment_semaphore, 1, 0}, /* 22: semaphore/1 PAR */
    {&db_fragment_spin_lock, 4, 2}, /* 23: spin_lock/4 PAR */
    {&db_fragment_semaphore, 4, 0}, /* 24: semaphore/4 PAR */
    {&db_fragment_semaphore, 1, 0}, /* 25: semaphore/1 PAR */
    {&db_fragment_spin_lock, 1, 2}, /* 26: spin_lock/1 PAR */
    {&db_fragment_semaphore, 1, 0}, /* 27: semaphore/1 PAR */
    {&db_fragment_spin_lock, 1, 2}, /* 28: spin_lock/1 PAR */
    {&db_fragment_spin_lock, 4, 2}, /* 29: spin_lock/4 PAR */
    {&db_fragment_semaphore, 1, 0}, /* 30: semaphore/1 PAR */
};
static const struct db_use uses_1_0[] = {
    /* NS */ {0, 2}, {1, 84}, {2, 13},
    /* NS */ {3, 65}, {4, 1}, {5, 16}, {6, 17},
    /* SY */ {7, 50}, {8, 5}, {9, 91},
    /* NS */ {2, 10}, {10, 5}, {11, 1}, {12, 4},
    /* SY */ {13, 8}, {14, 46}, {15, 17}, {16, 7}, {17, 7},
    /* NS */ {11, 2}, {18, 3}, {19, 16}, {5, 3},
    /* SY */ {20, 74}, {21, 47}, {22, 67}, {23, 4}, {24, 28},
    /* SY */ {25, 94}, {26, 20}, {27, 108}, {28, 19}, {29, 6}, {30, 6},
};
static const struct db_segment segments_1_0[] = {
    {DB_NS, 0, 3, 40418416u}, /* cost 40044852 ps */
    {DB_NS, 3, 4, 30407587u}, /* cost 30711556 ps */
    {DB_SY, 7, 3, 26283597u}, /* cost 26194340 ps */
    {DB_NS, 10, 4, 23436175u}, /* cost 22911013 ps */
    {DB_SY, 14, 5, 31689259u}, /* cost 31735009 ps */
    {DB_NS, 19, 4, 43125822u}, /* cost 43692816 ps */
    {DB_SY, 23, 5, 28881393u}, /* cost 28816748 ps */
    {DB_SY, 28, 6, 50533751u}, /* cost 50646228 ps */
};
static const struct db_context_spec contexts_1_1[] = {
    {&db_fragment_semaphore, 1, 1}, /* 0: semaphore/1 PAR */
    {&db_fragment_spin_lock, 1, 3}, /* 1: spin_lock/1 PAR */
    {&db_fragment_spin_lock, 4, 3}, /* 2: spin_lock/4 PAR */
    {&db_fragment_spin_lock, 1, 3}, /* 3: spin_lock/1 PAR */
    {&db_fragment_spin_lock, 4, 3}, /* 4: spin_lock/4 PAR */
    {&db_fragment_semaphore, 1, 1}, /* 5: semaphore/1 PAR */
    {&db_fragment_spin_lock, 1, 3}, /* 6: spin_lock/1 PAR */
    {&db_fragment_semaphore, 4, 1}, /* 7: semaphore/4 PAR */
    {&db_fragment_semaphore, 1, 1}, /* 8: semaphore/1 PAR */
    {&db_fragment_spin_lock, 4, 3}, /* 9: spin_lock/4 PAR */
    {&db_fragment_semaphore, 4, 1}, /* 10: semaphore/4 PAR */
    {&db_fragment_matmul, 16, DB_NO_RESOURCE}, /* 11: matmul/16 */
    {&db_fragment_pointer_chase, 1024, DB_NO_RESOURCE}, /* 12: pointer_chase/1024 */
    {&db_fragment_matmul, 32, DB_NO_RESOURCE}, /* 13: matmul/32 */
    {&db_fragment_string_search, 256, DB_NO_RESOURCE}, /* 14: string_search/256 */
    {&db_fragment_string_search, 1024, DB_NO_RESOURCE}, /* 15: string_search/1024 */
    {&db_fragment_crc_32, 256, DB_NO_RESOURCE}, /* 16: crc_32/256 */
    {&db_fragment_bit_count, 1024, DB_NO_RESOURCE}, /* 17: bit_count/1024 */
    {&db_fragment_pid_update, 4, DB_NO_RESOURCE}, /* 18: pid_update/4 */
    {&db_fragment_pointer_chase, 4096, DB_NO_RESOURCE}, /* 19: pointer_chase/4096 */
    {&db_fragment_heap_sort, 1024, DB_NO_RESOURCE}, /* 20: heap_sort/1024 */
    {&db_fragment_pid_update, 1, DB_NO_RESOURCE}, /* 21: pid_update/1 */
};
static const struct db_use uses_1_1[] = {
    /* SY */ {0, 87}, {1, 21},
    /* SY */ {2, 5}, {3, 8}, {4, 7}, {5, 42},
    /* SY */ {6, 22}, {7, 85}, {8, 106}, {9, 17}, {10, 4},
    /* NS */ {11, 1}, {12, 7}, {13, 1}, {11, 2}, {14, 10},
    /* NS */ {15, 7}, {16, 24}, {17, 1}, {18, 28},
    /* NS */ {19, 3}, {16, 7}, {20, 1}, {16, 9}, {21, 4},
};
static const struct db_segment segments_1_1[] = {
    {DB_SY, 0, 2, 22371702u}, /* cost 21911192 ps */
    {DB_SY, 2, 4, 21037041u}, /* cost 21475457 ps */
    {DB_SY, 6, 5, 54404757u}, /* cost 54512817 ps */
    {DB_NS, 11, 5, 27937341u}, /* cost 27445794 ps */
    {DB_NS, 16, 4, 46079018u}, /* cost 46380395 ps */
    {DB_NS, 20, 5, 23797141u}, /* cost 23983694 ps */
};
static const struct db_task tasks_1[] = {
    {
        .core = 0,
        .context_count = 31,
        .segment_count = 8,
        .use_count = 34,
        .priority = 79,
        .wcet_ns = 274776u,
        .period_ns = 2747760u,
        .deadline_ns = 2747760u,
        .offset_ns = 2133276u,
        .seed = 14532775937769350647u,
        .contexts = contexts_1_0,
        .segments = segments_1_0,
        .uses = uses_1_0,
    },
    {
        .core = 1,
        .context_count = 22,
        .segment_count = 6,
        .use_count = 25,
        .priority = 79,
        .wcet_ns = 195627u,
        .period_ns = 1956270u,
        .deadline_ns = 1956270u,
        .offset_ns = 86585u,
        .seed = 14721597236469086713u,
        .contexts = contexts_1_1,
        .segments = segments_1_1,
        .uses = uses_1_1,
    },
};
static const struct db_task_set set_1 = {
    .id = "d8fdb7735a062a3ee2519c1e22025906bedf40e0ee549dd020a031026cd5ca43",
    .cores = 2,
    .task_count = 2,
    .resource_count = 4,
    .tasks = tasks_1,
    .resources = resources_1,
};

/* ==== task set 2: M=2 N=2 rho=1/2 alpha=3/10 seed=4892631232566978801 generator=1
 * 86475e4740a308d13f68f92a96193a48ca46bb1a9898a92433da5eda95a7b7fc */
static const struct db_resource_spec resources_2[] = {
    {&db_fragment_semaphore, DB_ALL_CORES}, /* 0: CON */
    {&db_fragment_semaphore, 0}, /* 1: PAR */
    {&db_fragment_semaphore, 1}, /* 2: PAR */
    {&db_fragment_spin_lock, DB_ALL_CORES}, /* 3: CON */
    {&db_fragment_spin_lock, 0}, /* 4: PAR */
    {&db_fragment_spin_lock, 1}, /* 5: PAR */
};
static const struct db_context_spec contexts_2_0[] = {
    {&db_fragment_pointer_chase, 16384, DB_NO_RESOURCE}, /* 0: pointer_chase/16384 */
    {&db_fragment_crc_32, 64, DB_NO_RESOURCE}, /* 1: crc_32/64 */
    {&db_fragment_pid_update, 4, DB_NO_RESOURCE}, /* 2: pid_update/4 */
    {&db_fragment_pid_update, 1, DB_NO_RESOURCE}, /* 3: pid_update/1 */
    {&db_fragment_matmul, 32, DB_NO_RESOURCE}, /* 4: matmul/32 */
    {&db_fragment_pointer_chase, 256, DB_NO_RESOURCE}, /* 5: pointer_chase/256 */
    {&db_fragment_heap_sort, 64, DB_NO_RESOURCE}, /* 6: heap_sort/64 */
    {&db_fragment_semaphore, 4, 1}, /* 7: semaphore/4 PAR */
    {&db_fragment_spin_lock, 4, 4}, /* 8: spin_lock/4 PAR */
    {&db_fragment_semaphore, 4, 1}, /* 9: semaphore/4 PAR */
    {&db_fragment_pid_update, 16, DB_NO_RESOURCE}, /* 10: pid_update/16 */
    {&db_fragment_crc_32, 4096, DB_NO_RESOURCE}, /* 11: crc_32/4096 */
    {&db_fragment_matmul, 8, DB_NO_RESOURCE}, /* 12: matmul/8 */
    {&db_fragment_spin_lock, 1, 4}, /* 13: spin_lock/1 PAR */
    {&db_fragment_semaphore, 1, 1}, /* 14: semaphore/1 PAR */
    {&db_fragment_spin_lock, 1, 3}, /* 15: spin_lock/1 CON */
    {&db_fragment_spin_lock, 4, 4}, /* 16: spin_lock/4 PAR */
    {&db_fragment_spin_lock, 1, 4}, /* 17: spin_lock/1 PAR */
    {&db_fragment_pointer_chase, 4096, DB_NO_RESOURCE}, /* 18: pointer_chase/4096 */
    {&db_fragment_block_sad, 16, DB_NO_RESOURCE}, /* 19: block_sad/16 */
    {&db_fragment_semaphore, 1, 1}, /* 20: semaphore/1 PAR */
    {&db_fragment_semaphore, 4, 1}, /* 21: semaphore/4 PAR */
    {&db_fragment_semaphore, 1, 0}, /* 22: semaphore/1 CON */
    {&db_fragment_spin_lock, 4, 4}, /* 23: spin_lock/4 PAR */
    {&db_fragment_semaphore, 4, 1}, /* 24: semaphore/4 PAR */
    {&db_fragment_semaphore, 1, 0}, /* 25: semaphore/1 CON */
    {&db_fragment_spin_lock, 1, 4}, /* 26: spin_lock/1 PAR */
    {&db_fragment_semaphore, 1, 1}, /* 27: semaphore/1 PAR */
    {&db_fragment_spin_lock, 1, 3}, /* 28: spin_lock/1 CON */
    {&db_fragment_spin_lock, 4, 4}, /* 29: spin_lock/4 PAR */
    {&db_fragment_semaphore, 1, 0}, /* 30: semaphore/1 CON */
};
static const struct db_context_spec contexts_2_1[] = {
    {&db_fragment_semaphore, 1, 2}, /* 0: semaphore/1 PAR */
    {&db_fragment_spin_lock, 1, 5}, /* 1: spin_lock/1 PAR */
    {&db_fragment_spin_lock, 4, 5}, /* 2: spin_lock/4 PAR */
    {&db_fragment_spin_lock, 1, 3}, /* 3: spin_lock/1 CON */
    {&db_fragment_spin_lock, 4, 5}, /* 4: spin_lock/4 PAR */
    {&db_fragment_semaphore, 1, 2}, /* 5: semaphore/1 PAR */
    {&db_fragment_spin_lock, 1, 5}, /* 6: spin_lock/1 PAR */
    {&db_fragment_semaphore, 4, 0}, /* 7: semaphore/4 CON */
    {&db_fragment_semaphore, 1, 0}, /* 8: semaphore/1 CON */
    {&db_fragment_spin_lock, 4, 5}, /* 9: spin_lock/4 PAR */
    {&db_fragment_semaphore, 4, 2}, /* 10: semaphore/4 PAR */
    {&db_fragment_matmul, 16, DB_NO_RESOURCE}, /* 11: matmul/16 */
    {&db_fragment_pointer_chase, 1024, DB_NO_RESOURCE}, /* 12: pointer_chase/1024 */
    {&db_fragment_matmul, 32, DB_NO_RESOURCE}, /* 13: matmul/32 */
    {&db_fragment_string_search, 256, DB_NO_RESOURCE}, /* 14: string_search/256 */
    {&db_fragment_string_search, 1024, DB_NO_RESOURCE}, /* 15: string_search/1024 */
    {&db_fragment_crc_32, 256, DB_NO_RESOURCE}, /* 16: crc_32/256 */
    {&db_fragment_bit_count, 1024, DB_NO_RESOURCE}, /* 17: bit_count/1024 */
    {&db_fragment_pid_update, 4, DB_NO_RESOURCE}, /* 18: pid_update/4 */
    {&db_fragment_pointer_chase, 4096, DB_NO_RESOURCE}, /* 19: pointer_chase/4096 */
    {&db_fragment_heap_sort, 1024, DB_NO_RESOURCE}, /* 20: heap_sort/1024 */
    {&db_fragment_pid_update, 1, DB_NO_RESOURCE}, /* 21: pid_update/1 */
};
static const struct db_task tasks_2[] = {
    {
        .core = 0,
        .context_count = 31,
        .segment_count = 8,
        .use_count = 34,
        .priority = 79,
        .wcet_ns = 274776u,
        .period_ns = 2747760u,
        .deadline_ns = 2747760u,
        .offset_ns = 2133276u,
        .seed = 14532775937769350647u,
        .contexts = contexts_2_0,
        .segments = segments_1_0,
        .uses = uses_1_0,
    },
    {
        .core = 1,
        .context_count = 22,
        .segment_count = 6,
        .use_count = 25,
        .priority = 79,
        .wcet_ns = 195627u,
        .period_ns = 1956270u,
        .deadline_ns = 1956270u,
        .offset_ns = 86585u,
        .seed = 14721597236469086713u,
        .contexts = contexts_2_1,
        .segments = segments_1_1,
        .uses = uses_1_1,
    },
};
static const struct db_task_set set_2 = {
    .id = "86475e4740a308d13f68f92a96193a48ca46bb1a9898a92433da5eda95a7b7fc",
    .cores = 2,
    .task_count = 2,
    .resource_count = 6,
    .tasks = tasks_2,
    .resources = resources_2,
};

/* ==== task set 3: M=2 N=2 rho=1 alpha=1 seed=4892631232566978801 generator=1
 * 5af67e4cea4e6d5ea83d97b5ba56fb634014e44066a8ae986ad0244826624730 */
static const struct db_resource_spec resources_3[] = {
    {&db_fragment_semaphore, DB_ALL_CORES}, /* 0: CON */
    {&db_fragment_spin_lock, DB_ALL_CORES}, /* 1: CON */
};
static const struct db_context_spec contexts_3_0[] = {
    {&db_fragment_semaphore, 4, 0}, /* 0: semaphore/4 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 1: spin_lock/4 CON */
    {&db_fragment_semaphore, 4, 0}, /* 2: semaphore/4 CON */
    {&db_fragment_spin_lock, 1, 1}, /* 3: spin_lock/1 CON */
    {&db_fragment_semaphore, 1, 0}, /* 4: semaphore/1 CON */
    {&db_fragment_spin_lock, 1, 1}, /* 5: spin_lock/1 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 6: spin_lock/4 CON */
    {&db_fragment_spin_lock, 1, 1}, /* 7: spin_lock/1 CON */
    {&db_fragment_semaphore, 1, 0}, /* 8: semaphore/1 CON */
    {&db_fragment_semaphore, 4, 0}, /* 9: semaphore/4 CON */
    {&db_fragment_semaphore, 1, 0}, /* 10: semaphore/1 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 11: spin_lock/4 CON */
    {&db_fragment_semaphore, 4, 0}, /* 12: semaphore/4 CON */
    {&db_fragment_semaphore, 1, 0}, /* 13: semaphore/1 CON */
    {&db_fragment_spin_lock, 1, 1}, /* 14: spin_lock/1 CON */
    {&db_fragment_semaphore, 1, 0}, /* 15: semaphore/1 CON */
    {&db_fragment_spin_lock, 1, 1}, /* 16: spin_lock/1 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 17: spin_lock/4 CON */
    {&db_fragment_semaphore, 1, 0}, /* 18: semaphore/1 CON */
    {&db_fragment_semaphore, 4, 0}, /* 19: semaphore/4 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 20: spin_lock/4 CON */
    {&db_fragment_spin_lock, 1, 1}, /* 21: spin_lock/1 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 22: spin_lock/4 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 23: spin_lock/4 CON */
    {&db_fragment_semaphore, 1, 0}, /* 24: semaphore/1 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 25: spin_lock/4 CON */
    {&db_fragment_spin_lock, 1, 1}, /* 26: spin_lock/1 CON */
    {&db_fragment_spin_lock, 1, 1}, /* 27: spin_lock/1 CON */
    {&db_fragment_semaphore, 1, 0}, /* 28: semaphore/1 CON */
    {&db_fragment_semaphore, 4, 0}, /* 29: semaphore/4 CON */
};
static const struct db_use uses_3_0[] = {
    /* SY */ {0, 57}, {1, 5}, {2, 106},
    /* SY */ {3, 11}, {4, 62}, {5, 22}, {6, 10}, {7, 8},
    /* SY */ {8, 62}, {9, 39}, {10, 56}, {11, 3}, {12, 26},
    /* SY */ {13, 77}, {14, 16}, {15, 90}, {16, 16}, {17, 5},
    /* SY */ {18, 132}, {19, 61},
    /* SY */ {20, 6}, {21, 13}, {22, 12},
    /* SY */ {23, 9}, {24, 104}, {25, 15}, {26, 11},
    /* SY */ {27, 15}, {28, 79}, {29, 38},
};
static const struct db_segment segments_3_0[] = {
    {DB_SY, 0, 3, 29606349u}, /* cost 29458700 ps */
    {DB_SY, 3, 5, 41989460u}, /* cost 41833914 ps */
    {DB_SY, 8, 5, 23734785u}, /* cost 24156101 ps */
    {DB_SY, 13, 5, 41528735u}, /* cost 41317430 ps */
    {DB_SY, 18, 2, 21599911u}, /* cost 21778089 ps */
    {DB_SY, 20, 3, 26042296u}, /* cost 25997737 ps */
    {DB_SY, 23, 4, 40492830u}, /* cost 40558731 ps */
    {DB_SY, 27, 3, 22818634u}, /* cost 22756723 ps */
};
static const struct db_context_spec contexts_3_1[] = {
    {&db_fragment_semaphore, 1, 0}, /* 0: semaphore/1 CON */
    {&db_fragment_spin_lock, 1, 1}, /* 1: spin_lock/1 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 2: spin_lock/4 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 3: spin_lock/4 CON */
    {&db_fragment_spin_lock, 1, 1}, /* 4: spin_lock/1 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 5: spin_lock/4 CON */
    {&db_fragment_semaphore, 1, 0}, /* 6: semaphore/1 CON */
    {&db_fragment_spin_lock, 1, 1}, /* 7: spin_lock/1 CON */
    {&db_fragment_semaphore, 4, 0}, /* 8: semaphore/4 CON */
    {&db_fragment_semaphore, 1, 0}, /* 9: semaphore/1 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 10: spin_lock/4 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 11: spin_lock/4 CON */
    {&db_fragment_semaphore, 1, 0}, /* 12: semaphore/1 CON */
    {&db_fragment_semaphore, 4, 0}, /* 13: semaphore/4 CON */
    {&db_fragment_spin_lock, 1, 1}, /* 14: spin_lock/1 CON */
    {&db_fragment_semaphore, 4, 0}, /* 15: semaphore/4 CON */
    {&db_fragment_semaphore, 4, 0}, /* 16: semaphore/4 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 17: spin_lock/4 CON */
    {&db_fragment_spin_lock, 1, 1}, /* 18: spin_lock/1 CON */
    {&db_fragment_semaphore, 1, 0}, /* 19: semaphore/1 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 20: spin_lock/4 CON */
    {&db_fragment_semaphore, 4, 0}, /* 21: semaphore/4 CON */
    {&db_fragment_spin_lock, 4, 1}, /* 22: spin_lock/4 CON */
    {&db_fragment_semaphore, 4, 0}, /* 23: semaphore/4 CON */
};
static const struct db_use uses_3_1[] = {
    /* SY */ {0, 138}, {1, 22}, {2, 7},
    /* SY */ {3, 21}, {4, 30}, {5, 27}, {6, 139},
    /* SY */ {7, 34}, {8, 136}, {9, 169}, {10, 27},
    /* SY */ {11, 5}, {12, 57}, {13, 58}, {14, 19}, {15, 92},
    /* SY */ {16, 39}, {17, 11}, {18, 7}, {19, 58}, {20, 10},
    /* SY */ {21, 190}, {22, 44}, {23, 128},
};
static const struct db_segment segments_3_1[] = {
    {DB_SY, 0, 3, 35004185u}, /* cost 34682025 ps */
    {DB_SY, 3, 4, 79447504u}, /* cost 79838137 ps */
    {DB_SY, 7, 4, 85927839u}, /* cost 85018512 ps */
    {DB_SY, 11, 5, 44376746u}, /* cost 45242238 ps */
    {DB_SY, 16, 5, 37224966u}, /* cost 36878114 ps */
    {DB_SY, 21, 3, 90525760u}, /* cost 90847249 ps */
};
static const struct db_task tasks_3[] = {
    {
        .core = 0,
        .context_count = 30,
        .segment_count = 8,
        .use_count = 30,
        .priority = 79,
        .wcet_ns = 247813u,
        .period_ns = 2478130u,
        .deadline_ns = 2478130u,
        .offset_ns = 1923943u,
        .seed = 14532775937769350647u,
        .contexts = contexts_3_0,
        .segments = segments_3_0,
        .uses = uses_3_0,
    },
    {
        .core = 1,
        .context_count = 24,
        .segment_count = 6,
        .use_count = 24,
        .priority = 79,
        .wcet_ns = 372507u,
        .period_ns = 3725070u,
        .deadline_ns = 3725070u,
        .offset_ns = 164873u,
        .seed = 14721597236469086713u,
        .contexts = contexts_3_1,
        .segments = segments_3_1,
        .uses = uses_3_1,
    },
};
static const struct db_task_set set_3 = {
    .id = "5af67e4cea4e6d5ea83d97b5ba56fb634014e44066a8ae986ad0244826624730",
    .cores = 2,
    .task_count = 2,
    .resource_count = 2,
    .tasks = tasks_3,
    .resources = resources_3,
};

/* ==== task set 4: M=2 N=4 rho=1/10 alpha=1/2 seed=4892631232566978801 generator=1
 * efcd8eedf40419bf55e52a7138bcfa5353621e1180e22791079b72f5d9a7e77d */
static const struct db_resource_spec resources_4[] = {
    {&db_fragment_pipe_token, DB_ALL_CORES}, /* 0: CON */
    {&db_fragment_pipe_token, 0}, /* 1: PAR */
    {&db_fragment_pipe_token, 1}, /* 2: PAR */
    {&db_fragment_semaphore, DB_ALL_CORES}, /* 3: CON */
    {&db_fragment_semaphore, 0}, /* 4: PAR */
    {&db_fragment_semaphore, 1}, /* 5: PAR */
};
static const struct db_context_spec contexts_4_0[] = {
    {&db_fragment_pointer_chase, 16384, DB_NO_RESOURCE}, /* 0: pointer_chase/16384 */
    {&db_fragment_crc_32, 64, DB_NO_RESOURCE}, /* 1: crc_32/64 */
    {&db_fragment_pid_update, 4, DB_NO_RESOURCE}, /* 2: pid_update/4 */
    {&db_fragment_pid_update, 1, DB_NO_RESOURCE}, /* 3: pid_update/1 */
    {&db_fragment_matmul, 32, DB_NO_RESOURCE}, /* 4: matmul/32 */
    {&db_fragment_pointer_chase, 256, DB_NO_RESOURCE}, /* 5: pointer_chase/256 */
    {&db_fragment_heap_sort, 64, DB_NO_RESOURCE}, /* 6: heap_sort/64 */
    {&db_fragment_block_sad, 32, DB_NO_RESOURCE}, /* 7: block_sad/32 */
    {&db_fragment_heap_sort, 256, DB_NO_RESOURCE}, /* 8: heap_sort/256 */
    {&db_fragment_crc_32, 4096, DB_NO_RESOURCE}, /* 9: crc_32/4096 */
    {&db_fragment_pointer_chase, 4096, DB_NO_RESOURCE}, /* 10: pointer_chase/4096 */
    {&db_fragment_block_sad, 16, DB_NO_RESOURCE}, /* 11: block_sad/16 */
    {&db_fragment_matmul, 16, DB_NO_RESOURCE}, /* 12: matmul/16 */
    {&db_fragment_heap_sort, 16, DB_NO_RESOURCE}, /* 13: heap_sort/16 */
    {&db_fragment_matmul, 4, DB_NO_RESOURCE}, /* 14: matmul/4 */
    {&db_fragment_string_search, 64, DB_NO_RESOURCE}, /* 15: string_search/64 */
    {&db_fragment_block_sad, 8, DB_NO_RESOURCE}, /* 16: block_sad/8 */
    {&db_fragment_crc_32, 256, DB_NO_RESOURCE}, /* 17: crc_32/256 */
    {&db_fragment_crc_32, 1024, DB_NO_RESOURCE}, /* 18: crc_32/1024 */
    {&db_fragment_pid_update, 64, DB_NO_RESOURCE}, /* 19: pid_update/64 */
    {&db_fragment_pipe_token, 8, 1}, /* 20: pipe_token/8 PAR */
    {&db_fragment_pipe_token, 512, 0}, /* 21: pipe_token/512 CON */
    {&db_fragment_pipe_token, 64, 0}, /* 22: pipe_token/64 CON */
};
static const struct db_use uses_4_0[] = {
    /* NS */ {0, 2}, {1, 108}, {2, 17},
    /* NS */ {3, 77}, {4, 1}, {5, 22}, {6, 21},
    /* NS */ {2, 12}, {7, 1}, {4, 1}, {8, 5},
    /* NS */ {9, 1}, {10, 2}, {11, 10},
    /* NS */ {12, 1}, {13, 44}, {5, 37}, {14, 31}, {15, 31},
    /* NS */ {7, 1}, {16, 16}, {17, 26}, {16, 15}, {18, 7},
    /* NS */ {0, 1}, {8, 4}, {19, 1}, {12, 4}, {5, 7},
    /* SY */ {20, 49}, {21, 14}, {22, 57},
};
static const struct db_segment segments_4_0[] = {
    {DB_NS, 0, 3, 47439808u}, /* cost 47048208 ps */
    {DB_NS, 3, 4, 35689921u}, /* cost 35748844 ps */
    {DB_NS, 7, 4, 26038305u}, /* cost 26206455 ps */
    {DB_NS, 11, 3, 27507452u}, /* cost 27392637 ps */
    {DB_NS, 14, 5, 31393519u}, /* cost 31641218 ps */
    {DB_NS, 19, 5, 50617539u}, /* cost 49806141 ps */
    {DB_NS, 24, 5, 28611856u}, /* cost 29482252 ps */
    {DB_SY, 29, 3, 27477600u}, /* cost 27461146 ps */
};
static const struct db_context_spec contexts_4_1[] = {
    {&db_fragment_pointer_chase, 4096, DB_NO_RESOURCE}, /* 0: pointer_chase/4096 */
    {&db_fragment_pointer_chase, 1024, DB_NO_RESOURCE}, /* 1: pointer_chase/1024 */
    {&db_fragment_matmul, 32, DB_NO_RESOURCE}, /* 2: matmul/32 */
    {&db_fragment_pointer_chase, 16384, DB_NO_RESOURCE}, /* 3: pointer_chase/16384 */
    {&db_fragment_string_search, 256, DB_NO_RESOURCE}, /* 4: string_search/256 */
    {&db_fragment_semaphore, 4, 5}, /* 5: semaphore/4 PAR */
    {&db_fragment_pipe_token, 512, 0}, /* 6: pipe_token/512 CON */
    {&db_fragment_string_search, 1024, DB_NO_RESOURCE}, /* 7: string_search/1024 */
    {&db_fragment_crc_32, 256, DB_NO_RESOURCE}, /* 8: crc_32/256 */
    {&db_fragment_crc_32, 4096, DB_NO_RESOURCE}, /* 9: crc_32/4096 */
    {&db_fragment_pid_update, 4, DB_NO_RESOURCE}, /* 10: pid_update/4 */
    {&db_fragment_block_sad, 4, DB_NO_RESOURCE}, /* 11: block_sad/4 */
    {&db_fragment_heap_sort, 16, DB_NO_RESOURCE}, /* 12: heap_sort/16 */
    {&db_fragment_string_search, 64, DB_NO_RESOURCE}, /* 13: string_search/64 */
    {&db_fragment_bit_count, 1024, DB_NO_RESOURCE}, /* 14: bit_count/1024 */
    {&db_fragment_matmul, 8, DB_NO_RESOURCE}, /* 15: matmul/8 */
};
static const struct db_use uses_4_1[] = {
    /* NS */ {0, 1}, {1, 10}, {2, 1}, {3, 1}, {4, 18},
    /* SY */ {5, 91}, {6, 60},
    /* NS */ {7, 15}, {8, 49}, {9, 2}, {10, 56},
    /* NS */ {0, 7}, {2, 1}, {3, 1}, {11, 130},
    /* NS */ {2, 4}, {12, 165}, {13, 202},
    /* NS */ {14, 1}, {10, 23}, {15, 18}, {10, 30},
};
static const struct db_segment segments_4_1[] = {
    {DB_NS, 0, 5, 38726317u}, /* cost 38524861 ps */
    {DB_SY, 5, 2, 35851300u}, /* cost 35916596 ps */
    {DB_NS, 7, 4, 94176830u}, /* cost 94116838 ps */
    {DB_NS, 11, 4, 54198545u}, /* cost 54234294 ps */
    {DB_NS, 15, 3, 89393466u}, /* cost 89632799 ps */
    {DB_NS, 18, 4, 46166542u}, /* cost 46067794 ps */
};
static const struct db_context_spec contexts_4_2[] = {
    {&db_fragment_bit_count, 256, DB_NO_RESOURCE}, /* 0: bit_count/256 */
    {&db_fragment_matmul, 32, DB_NO_RESOURCE}, /* 1: matmul/32 */
    {&db_fragment_string_search, 4096, DB_NO_RESOURCE}, /* 2: string_search/4096 */
    {&db_fragment_string_search, 1024, DB_NO_RESOURCE}, /* 3: string_search/1024 */
    {&db_fragment_matmul, 16, DB_NO_RESOURCE}, /* 4: matmul/16 */
    {&db_fragment_pointer_chase, 16384, DB_NO_RESOURCE}, /* 5: pointer_chase/16384 */
    {&db_fragment_pid_update, 1, DB_NO_RESOURCE}, /* 6: pid_update/1 */
    {&db_fragment_string_search, 256, DB_NO_RESOURCE}, /* 7: string_search/256 */
    {&db_fragment_string_search, 64, DB_NO_RESOURCE}, /* 8: string_search/64 */
    {&db_fragment_pipe_token, 512, 0}, /* 9: pipe_token/512 CON */
    {&db_fragment_semaphore, 1, 4}, /* 10: semaphore/1 PAR */
    {&db_fragment_pipe_token, 512, 1}, /* 11: pipe_token/512 PAR */
    {&db_fragment_semaphore, 4, 4}, /* 12: semaphore/4 PAR */
    {&db_fragment_bit_count, 16, DB_NO_RESOURCE}, /* 13: bit_count/16 */
    {&db_fragment_crc_32, 64, DB_NO_RESOURCE}, /* 14: crc_32/64 */
    {&db_fragment_matmul, 4, DB_NO_RESOURCE}, /* 15: matmul/4 */
    {&db_fragment_matmul, 64, DB_NO_RESOURCE}, /* 16: matmul/64 */
    {&db_fragment_crc_32, 1024, DB_NO_RESOURCE}, /* 17: crc_32/1024 */
};
static const struct db_use uses_4_2[] = {
    /* NS */ {0, 3}, {1, 1}, {2, 1}, {3, 13},
    /* NS */ {4, 9}, {5, 1}, {6, 84}, {7, 59}, {8, 133},
    /* SY */ {9, 28}, {10, 119}, {11, 16}, {12, 50},
    /* NS */ {13, 59}, {0, 9}, {2, 1}, {4, 7}, {14, 44},
    /* NS */ {4, 6}, {15, 92}, {16, 2}, {17, 20}, {6, 8},
};
static const struct db_segment segments_4_2[] = {
    {DB_NS, 0, 4, 41229958u}, /* cost 39805070 ps */
    {DB_NS, 4, 5, 94039146u}, /* cost 95421542 ps */
    {DB_SY, 9, 4, 35140100u}, /* cost 35144121 ps */
    {DB_NS, 13, 5, 58657861u}, /* cost 58619494 ps */
    {DB_NS, 18, 5, 122333935u}, /* cost 122401931 ps */
};
static const struct db_context_spec contexts_4_3[] = {
    {&db_fragment_bit_count, 64, DB_NO_RESOURCE}, /* 0: bit_count/64 */
    {&db_fragment_heap_sort, 256, DB_NO_RESOURCE}, /* 1: heap_sort/256 */
    {&db_fragment_string_search, 1024, DB_NO_RESOURCE}, /* 2: string_search/1024 */
    {&db_fragment_pointer_chase, 256, DB_NO_RESOURCE}, /* 3: pointer_chase/256 */
    {&db_fragment_heap_sort, 64, DB_NO_RESOURCE}, /* 4: heap_sort/64 */
    {&db_fragment_crc_32, 16384, DB_NO_RESOURCE}, /* 5: crc_32/16384 */
    {&db_fragment_string_search, 4096, DB_NO_RESOURCE}, /* 6: string_search/4096 */
    {&db_fragment_block_sad, 8, DB_NO_RESOURCE}, /* 7: block_sad/8 */
    {&db_fragment_bit_count, 16, DB_NO_RESOURCE}, /* 8: bit_count/16 */
    {&db_fragment_pointer_chase, 4096, DB_NO_RESOURCE}, /* 9: pointer_chase/4096 */
    {&db_fragment_pid_update, 4, DB_NO_RESOURCE}, /* 10: pid_update/4 */
    {&db_fragment_pipe_token, 512, 0}, /* 11: pipe_token/512 CON */
    {&db_fragment_semaphore, 1, 3}, /* 12: semaphore/1 CON */
    {&db_fragment_pipe_token, 512, 2}, /* 13: pipe_token/512 PAR */
    {&db_fragment_pointer_chase, 1024, DB_NO_RESOURCE}, /* 14: pointer_chase/1024 */
    {&db_fragment_heap_sort, 1024, DB_NO_RESOURCE}, /* 15: heap_sort/1024 */
    {&db_fragment_string_search, 64, DB_NO_RESOURCE}, /* 16: string_search/64 */
    {&db_fragment_block_sad, 4, DB_NO_RESOURCE}, /* 17: block_sad/4 */
};
static const struct db_use uses_4_3[] = {
    /* NS */ {0, 34}, {1, 15}, {2, 9}, {3, 38},
    /* NS */ {4, 82}, {5, 1}, {6, 9}, {7, 42},
    /* NS */ {8, 13}, {9, 1}, {10, 9}, {6, 1}, {4, 21},
    /* SY */ {11, 28}, {12, 56}, {13, 37},
    /* NS */ {9, 7}, {14, 16}, {15, 1}, {16, 51}, {17, 104},
};
static const struct db_segment segments_4_3[] = {
    {DB_NS, 0, 4, 64303074u}, /* cost 64240944 ps */
    {DB_NS, 4, 4, 117653194u}, /* cost 117534758 ps */
    {DB_NS, 8, 5, 24246995u}, /* cost 24253762 ps */
    {DB_SY, 13, 3, 29549300u}, /* cost 29584237 ps */
    {DB_NS, 16, 5, 59740437u}, /* cost 59865633 ps */
};
static const struct db_task tasks_4[] = {
    {
        .core = 0,
        .context_count = 23,
        .segment_count = 8,
        .use_count = 32,
        .priority = 79,
        .wcet_ns = 274776u,
        .period_ns = 549552u,
        .deadline_ns = 549552u,
        .offset_ns = 426655u,
        .seed = 14532775937769350647u,
        .contexts = contexts_4_0,
        .segments = segments_4_0,
        .uses = uses_4_0,
    },
    {
        .core = 1,
        .context_count = 16,
        .segment_count = 6,
        .use_count = 22,
        .priority = 76,
        .wcet_ns = 358513u,
        .period_ns = 717026u,
        .deadline_ns = 717026u,
        .offset_ns = 31735u,
        .seed = 14721597236469086713u,
        .contexts = contexts_4_1,
        .segments = segments_4_1,
        .uses = uses_4_1,
    },
    {
        .core = 0,
        .context_count = 18,
        .segment_count = 5,
        .use_count = 23,
        .priority = 77,
        .wcet_ns = 351401u,
        .period_ns = 702802u,
        .deadline_ns = 702802u,
        .offset_ns = 125097u,
        .seed = 9254126531246693783u,
        .contexts = contexts_4_2,
        .segments = segments_4_2,
        .uses = uses_4_2,
    },
    {
        .core = 1,
        .context_count = 18,
        .segment_count = 5,
        .use_count = 21,
        .priority = 78,
        .wcet_ns = 295493u,
        .period_ns = 590986u,
        .deadline_ns = 590986u,
        .offset_ns = 27693u,
        .seed = 16429003503995958707u,
        .contexts = contexts_4_3,
        .segments = segments_4_3,
        .uses = uses_4_3,
    },
};
static const struct db_task_set set_4 = {
    .id = "efcd8eedf40419bf55e52a7138bcfa5353621e1180e22791079b72f5d9a7e77d",
    .cores = 2,
    .task_count = 4,
    .resource_count = 6,
    .tasks = tasks_4,
    .resources = resources_4,
};

/* ==== task set 5: M=3 N=3 rho=2/3 alpha=1/3 seed=4662569488067260002 generator=1
 * 74ff29951ac15a5e447601aa269d67a6dd8b4aa06431670245087c8303086d19 */
static const struct db_resource_spec resources_5[] = {
    {&db_fragment_atomic_line, DB_ALL_CORES}, /* 0: CON */
    {&db_fragment_atomic_line, 0}, /* 1: PAR */
    {&db_fragment_atomic_line, 1}, /* 2: PAR */
    {&db_fragment_atomic_line, 2}, /* 3: PAR */
    {&db_fragment_event_fd, DB_ALL_CORES}, /* 4: CON */
    {&db_fragment_event_fd, 0}, /* 5: PAR */
    {&db_fragment_event_fd, 1}, /* 6: PAR */
    {&db_fragment_event_fd, 2}, /* 7: PAR */
    {&db_fragment_semaphore, DB_ALL_CORES}, /* 8: CON */
    {&db_fragment_semaphore, 0}, /* 9: PAR */
};
static const struct db_context_spec contexts_5_0[] = {
    {&db_fragment_bit_count, 1024, DB_NO_RESOURCE}, /* 0: bit_count/1024 */
    {&db_fragment_crc_32, 1024, DB_NO_RESOURCE}, /* 1: crc_32/1024 */
    {&db_fragment_string_search, 256, DB_NO_RESOURCE}, /* 2: string_search/256 */
    {&db_fragment_block_sad, 4, DB_NO_RESOURCE}, /* 3: block_sad/4 */
    {&db_fragment_atomic_line, 16, 1}, /* 4: atomic_line/16 PAR */
    {&db_fragment_semaphore, 4, 8}, /* 5: semaphore/4 CON */
    {&db_fragment_atomic_line, 16, 0}, /* 6: atomic_line/16 CON */
    {&db_fragment_semaphore, 4, 9}, /* 7: semaphore/4 PAR */
    {&db_fragment_event_fd, 1, 5}, /* 8: event_fd/1 PAR */
    {&db_fragment_atomic_line, 1, 1}, /* 9: atomic_line/1 PAR */
    {&db_fragment_atomic_line, 16, 0}, /* 10: atomic_line/16 CON */
    {&db_fragment_event_fd, 8, 5}, /* 11: event_fd/8 PAR */
    {&db_fragment_atomic_line, 1, 1}, /* 12: atomic_line/1 PAR */
    {&db_fragment_event_fd, 1, 5}, /* 13: event_fd/1 PAR */
};
static const struct db_use uses_5_0[] = {
    /* NS */ {0, 2}, {1, 4}, {2, 41}, {3, 2},
    /* SY */ {4, 9}, {5, 84}, {6, 9}, {7, 53},
    /* SY */ {8, 118}, {9, 10}, {10, 18}, {11, 84}, {12, 13}, {13, 3},
};
static const struct db_segment segments_5_0[] = {
    {DB_NS, 0, 4, 40835333u}, /* cost 40841320 ps */
    {DB_SY, 4, 4, 35875203u}, /* cost 35868317 ps */
    {DB_SY, 8, 6, 45795464u}, /* cost 45738261 ps */
};
static const struct db_context_spec contexts_5_1[] = {
    {&db_fragment_string_search, 1024, DB_NO_RESOURCE}, /* 0: string_search/1024 */
    {&db_fragment_crc_32, 64, DB_NO_RESOURCE}, /* 1: crc_32/64 */
    {&db_fragment_heap_sort, 256, DB_NO_RESOURCE}, /* 2: heap_sort/256 */
    {&db_fragment_event_fd, 1, 6}, /* 3: event_fd/1 PAR */
    {&db_fragment_atomic_line, 16, 2}, /* 4: atomic_line/16 PAR */
    {&db_fragment_event_fd, 8, 4}, /* 5: event_fd/8 CON */
};
static const struct db_use uses_5_1[] = {
    /* NS */ {0, 19}, {1, 94}, {2, 29}, {1, 1},
    /* SY */ {3, 741}, {4, 88}, {5, 388},
};
static const struct db_segment segments_5_1[] = {
    {DB_NS, 0, 4, 86640000u}, /* cost 86586335 ps */
    {DB_SY, 4, 3, 173280000u}, /* cost 173255320 ps */
};
static const struct db_context_spec contexts_5_2[] = {
    {&db_fragment_string_search, 1024, DB_NO_RESOURCE}, /* 0: string_search/1024 */
    {&db_fragment_pointer_chase, 4096, DB_NO_RESOURCE}, /* 1: pointer_chase/4096 */
    {&db_fragment_string_search, 4096, DB_NO_RESOURCE}, /* 2: string_search/4096 */
    {&db_fragment_block_sad, 32, DB_NO_RESOURCE}, /* 3: block_sad/32 */
    {&db_fragment_matmul, 8, DB_NO_RESOURCE}, /* 4: matmul/8 */
    {&db_fragment_atomic_line, 16, 3}, /* 5: atomic_line/16 PAR */
    {&db_fragment_event_fd, 8, 7}, /* 6: event_fd/8 PAR */
    {&db_fragment_semaphore, 1, 8}, /* 7: semaphore/1 CON */
};
static const struct db_use uses_5_2[] = {
    /* NS */ {0, 12}, {1, 1}, {2, 2}, {3, 1}, {4, 1},
    /* SY */ {5, 24}, {6, 200}, {7, 340},
};
static const struct db_segment segments_5_2[] = {
    {DB_NS, 0, 5, 37469000u}, /* cost 37413993 ps */
    {DB_SY, 5, 3, 74938000u}, /* cost 74952019 ps */
};
static const struct db_task tasks_5[] = {
    {
        .core = 0,
        .context_count = 14,
        .segment_count = 3,
        .use_count = 14,
        .priority = 71,
        .wcet_ns = 122506u,
        .period_ns = 1225060u,
        .deadline_ns = 1225060u,
        .offset_ns = 543738u,
        .seed = 9954790191250877417u,
        .contexts = contexts_5_0,
        .segments = segments_5_0,
        .uses = uses_5_0,
    },
    {
        .core = 1,
        .context_count = 6,
        .segment_count = 2,
        .use_count = 7,
        .priority = 74,
        .wcet_ns = 259920u,
        .period_ns = 2599200u,
        .deadline_ns = 2599200u,
        .offset_ns = 846344u,
        .seed = 9188987584268287381u,
        .contexts = contexts_5_1,
        .segments = segments_5_1,
        .uses = uses_5_1,
    },
    {
        .core = 2,
        .context_count = 8,
        .segment_count = 2,
        .use_count = 8,
        .priority = 63,
        .wcet_ns = 112407u,
        .period_ns = 1124070u,
        .deadline_ns = 1124070u,
        .offset_ns = 24164u,
        .seed = 5540361923719594082u,
        .contexts = contexts_5_2,
        .segments = segments_5_2,
        .uses = uses_5_2,
    },
};
static const struct db_task_set set_5 = {
    .id = "74ff29951ac15a5e447601aa269d67a6dd8b4aa06431670245087c8303086d19",
    .cores = 3,
    .task_count = 3,
    .resource_count = 10,
    .tasks = tasks_5,
    .resources = resources_5,
};

const uint32_t db_tables_version = 1;
const uint32_t db_task_set_count = 6;
const struct db_task_set *const db_task_sets[] = {
    &set_0,
    &set_1,
    &set_2,
    &set_3,
    &set_4,
    &set_5,
};
