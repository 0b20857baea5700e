/*
 * Writes the job file tests/golden/records-v3.jobs (argument: its name), every field with a value of
 * its own, from the structs of records.h. So the file ties those structs to the numpy dtypes.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "deadbeat/records.h"

#define TASKS 2
#define SLOTS 2
#define PROBES 3
#define JOBS 3
#define COUNTERS 4

struct body {
    struct db_file_header header;
    struct db_task_row tasks[TASKS];
    struct db_slot_row slots[SLOTS];
    struct db_probe_row probes[PROBES];
    struct db_job_record jobs[JOBS];
    struct db_job_detail details[JOBS];
    struct db_counter_row counters[COUNTERS];
};

/* Bit by bit, as the definition of the polynomial says. */
static uint32_t crc32_of(const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= byte[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1u) ? UINT32_C(0xEDB88320) : 0u);
    }
    return ~crc;
}

static void fill_header(struct db_file_header *header)
{
    memcpy(header->magic, DB_RECORDS_MAGIC, sizeof header->magic);
    header->version = DB_RECORDS_VERSION;
    header->header_bytes = sizeof(struct db_file_header);
    header->task_bytes = sizeof(struct db_task_row);
    header->slot_bytes = sizeof(struct db_slot_row);
    header->probe_bytes = sizeof(struct db_probe_row);
    header->record_bytes = sizeof(struct db_job_record);
    header->task_count = TASKS;
    header->slot_count = SLOTS;
    header->probe_count = PROBES;
    header->flags = DB_RUN_REALTIME | DB_RUN_SPLIT | DB_RUN_LATE | DB_RUN_PRIVATE_IPC | DB_RUN_LOCKED;
    header->job_count = JOBS;
    header->epoch_ns = INT64_C(1000000000001);
    header->epoch_realtime_ns = INT64_C(1700000000000000002);
    header->clock_cost_ps = 20003;
    header->measured_ns = 40000004;
    header->setup_ns = 5000005;
    header->wall_ns = 6000006;
    header->detail_bytes = sizeof(struct db_job_detail);
    header->counter_bytes = sizeof(struct db_counter_row);
    header->detail_count = JOBS;
    header->counter_count = COUNTERS;
    header->period_ppm = 700007;
    header->seed = UINT64_C(8000000000000000008);
    for (size_t i = 0; i < sizeof header->set_id; i++)
        header->set_id[i] = "0123456789abcdef"[(i * 7) % 16];
}

static void fill_tasks(struct db_task_row *tasks)
{
    for (uint16_t i = 0; i < TASKS; i++) {
        tasks[i].task = i;
        tasks[i].core = (uint16_t)(i + 10);
        tasks[i].cpu = i + 20;
        tasks[i].policy = 1;
        tasks[i].priority = 60 + i;
        tasks[i].wcet_ns = 300000u + i;
        tasks[i].period_ns = 3000000u + i;
        tasks[i].deadline_ns = 2900000u + i;
        tasks[i].offset_ns = 1000u + i;
    }
    tasks[0].job_count = 2;
    tasks[1].first_job = 2;
    tasks[1].job_count = 1;
}

static void fill_slots(struct db_slot_row *slots, struct db_probe_row *probes)
{
    slots[0] = (struct db_slot_row){0, DB_SLOT_TOGETHER, UINT16_MAX, 3, 50, 100, 20000000};
    slots[1] = (struct db_slot_row){1, DB_SLOT_SOLO, 1, 4, 20000000, 20000100, 40000000};
    probes[0] = (struct db_probe_row){0, DB_PROBE_WITNESS, 10, 0, 20000000, 61000000};
    probes[1] = (struct db_probe_row){0, DB_PROBE_WITNESS, 11, 1, 20000000, 55000};
    probes[2] = (struct db_probe_row){1, DB_PROBE_WITNESS, 11, 1, 40000000, 62000000};
}

static void fill_jobs(struct db_job_record *jobs)
{
    jobs[0] =
        (struct db_job_record){.release_ns = 1000,
                               .start_ns = 3000,
                               .finish_ns = 303000,
                               .cpu_ns = 290000,
                               .run_delay_before_ns = 700,
                               .run_delay_within_ns = 800,
                               .voluntary_switches = 9,
                               .involuntary_switches = 11,
                               .task = 0,
                               .slot = 0,
                               .flags = DB_JOB_COUNTED | DB_JOB_STARTED | DB_JOB_FINISHED | DB_JOB_SPLIT};
    jobs[1] = (struct db_job_record){.release_ns = 3001000,
                                     .start_ns = DB_NEVER,
                                     .finish_ns = DB_NEVER,
                                     .task = 0,
                                     .slot = 0,
                                     .flags = DB_JOB_COUNTED | DB_JOB_SKIPPED};
    jobs[2] = (struct db_job_record){.release_ns = 20001000,
                                     .start_ns = 20003000,
                                     .finish_ns = DB_NEVER,
                                     .task = 1,
                                     .slot = 1,
                                     .flags = DB_JOB_SOLO | DB_JOB_STARTED};
}

static void fill_extras(struct body *body)
{
    body->details[0] = (struct db_job_detail){70001, 80002, 4003, 5, 6, 7, DB_DETAIL_SY};
    body->details[1] = (struct db_job_detail){.worst_use = DB_NO_USE};
    body->details[2] = (struct db_job_detail){.worst_use = DB_NO_USE, .start_cpu = 8};
    body->counters[0] = (struct db_counter_row){0, 0, DB_COUNT_CONTEXT_SWITCHES, DB_COUNTED, 11, 12, 12};
    body->counters[1] = (struct db_counter_row){0, 0, DB_COUNT_CYCLES, DB_COUNT_SCALED, 21, 22, 20};
    body->counters[2] = (struct db_counter_row){0, 0, DB_COUNT_BRANCH_MISSES, DB_COUNT_REFUSED, 0, 0, 0};
    body->counters[3] = (struct db_counter_row){1, 1, DB_COUNT_CYCLES, DB_COUNT_UNSUPPORTED, 0, 0, 0};
}

int main(int argc, char **argv)
{
    static struct body body;
    fill_header(&body.header);
    fill_tasks(body.tasks);
    fill_slots(body.slots, body.probes);
    fill_jobs(body.jobs);
    fill_extras(&body);
    uint32_t crc = crc32_of(&body, sizeof body);
    FILE *file = argc == 2 ? fopen(argv[1], "wb") : NULL;
    if (!file)
        return 1;
    int bad = fwrite(&body, sizeof body, 1, file) != 1 || fwrite(&crc, sizeof crc, 1, file) != 1;
    return fclose(file) != 0 || bad;
}
