/*
 * Writes the job files tests/golden/records-v1.jobs and records-v2.jobs (argument 1 or 2, then the
 * name), every field with a value of its own, from the structs of records.h. So the files tie those
 * structs to the numpy dtypes, and they stay readable when a later version exists.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "deadbeat/records.h"

#define TASKS 2
#define WINDOWS 2
#define PROBES 3
#define JOBS 3
#define COUNTERS 4

struct body {
    struct db_file_header header;
    struct db_task_row tasks[TASKS];
    struct db_window_row windows[WINDOWS];
    struct db_probe_row probes[PROBES];
    struct db_job_record jobs[JOBS];
    /* of version 2 */
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
    header->version = 1;
    header->header_bytes = sizeof(struct db_file_header);
    header->task_bytes = sizeof(struct db_task_row);
    header->window_bytes = sizeof(struct db_window_row);
    header->probe_bytes = sizeof(struct db_probe_row);
    header->record_bytes = sizeof(struct db_job_record);
    header->task_count = TASKS;
    header->window_count = WINDOWS;
    header->probe_count = PROBES;
    header->flags = DB_RUN_REALTIME | DB_RUN_SPLIT | DB_RUN_LATE | DB_RUN_PRIVATE_IPC | DB_RUN_LOCKED;
    header->job_count = JOBS;
    header->epoch_ns = INT64_C(1000000000001);
    header->epoch_realtime_ns = INT64_C(1700000000000000002);
    header->clock_cost_ps = 20003;
    header->measured_ns = 40000004;
    header->setup_ns = 5000005;
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

static void fill_windows(struct db_window_row *windows, struct db_probe_row *probes)
{
    windows[0] = (struct db_window_row){0, DB_WINDOW_TOGETHER, UINT16_MAX, 3, 100, 20000000};
    windows[1] = (struct db_window_row){1, DB_WINDOW_SOLO, 1, 4, 20000100, 40000000};
    probes[0] = (struct db_probe_row){0, DB_PROBE_YARDSTICK, 0, UINT16_MAX, -5, 61000000};
    probes[1] = (struct db_probe_row){1, DB_PROBE_CACHE_LINE, 0, 1, 20000050, 55000};
    probes[2] = (struct db_probe_row){2, DB_PROBE_YARDSTICK, 1, UINT16_MAX, 40000050, 62000000};
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
                               .window = 0,
                               .flags = DB_JOB_COUNTED | DB_JOB_STARTED | DB_JOB_FINISHED | DB_JOB_SPLIT};
    jobs[1] = (struct db_job_record){.release_ns = 3001000,
                                     .start_ns = DB_NEVER,
                                     .finish_ns = DB_NEVER,
                                     .task = 0,
                                     .window = 0,
                                     .flags = DB_JOB_COUNTED | DB_JOB_SKIPPED};
    jobs[2] = (struct db_job_record){.release_ns = 20001000,
                                     .start_ns = 20003000,
                                     .finish_ns = DB_NEVER,
                                     .task = 1,
                                     .window = 1,
                                     .flags = DB_JOB_SOLO | DB_JOB_STARTED};
}

static void fill_second_version(struct body *body)
{
    body->header.version = DB_RECORDS_VERSION;
    body->header.waited_ns = 6000006;
    body->header.detail_bytes = sizeof(struct db_job_detail);
    body->header.counter_bytes = sizeof(struct db_counter_row);
    body->header.detail_count = JOBS;
    body->header.counter_count = COUNTERS;
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
    int second = argc == 3 && strcmp(argv[1], "2") == 0;
    size_t bytes = second ? sizeof body : offsetof(struct body, details);
    fill_header(&body.header);
    fill_tasks(body.tasks);
    fill_windows(body.windows, body.probes);
    fill_jobs(body.jobs);
    if (second)
        fill_second_version(&body);
    uint32_t crc = crc32_of(&body, bytes);
    FILE *file = argc == 3 ? fopen(argv[2], "wb") : NULL;
    if (!file)
        return 1;
    int bad = fwrite(&body, bytes, 1, file) != 1 || fwrite(&crc, sizeof crc, 1, file) != 1;
    return fclose(file) != 0 || bad;
}
