/* The record file of a run (deadbeat/records.h). */
#include "run.h"

#include <string.h>

static uint32_t counter_count(const struct run *run)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < run->set->task_count; t++)
        count += run->tasks[t].counter_count;
    return count;
}

static uint32_t witness_count(const struct run *run)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < run->set->task_count; t++)
        for (uint32_t s = 0; s < run->slot_count; s++)
            count += run->tasks[t].witness_ps[s] != 0;
    return count;
}

static uint32_t round_trip_count(const struct run *run)
{
    uint32_t count = 0;
    for (uint32_t p = 0; p < run->pair_count; p++)
        for (uint32_t s = 0; s <= run->slot_count; s++)
            count += run->pairs[p].trip_ps[s] != 0;
    return count;
}

static void put_header(struct sink *sink, const struct run *run, uint64_t jobs)
{
    const struct run_options *o = &run->options;
    struct db_file_header header = {
        .version = DB_RECORDS_VERSION,
        .header_bytes = sizeof(struct db_file_header),
        .task_bytes = sizeof(struct db_task_row),
        .slot_bytes = sizeof(struct db_slot_row),
        .probe_bytes = sizeof(struct db_probe_row),
        .record_bytes = sizeof(struct db_job_record),
        .detail_bytes = sizeof(struct db_job_detail),
        .counter_bytes = sizeof(struct db_counter_row),
        .task_count = run->set->task_count,
        .slot_count = run->slot_count,
        .probe_count = witness_count(run) + round_trip_count(run),
        .flags = o->flags | (o->policy == DB_POLICY_FIFO ? DB_RUN_REALTIME : 0) | (o->late ? DB_RUN_LATE : 0),
        .job_count = jobs,
        .epoch_ns = run->epoch_ns,
        .epoch_realtime_ns = run->epoch_realtime_ns,
        .clock_cost_ps = run->clock_cost_ps,
        .measured_ns = run->measured_ns,
        .setup_ns = (uint64_t)run->setup_ns,
        .wall_ns = run->wall_ns,
        .period_ppm = o->period_ppm,
        .seed = run->seed,
        .detail_count = o->details ? jobs : 0,
        .counter_count = counter_count(run),
    };
    memcpy(header.magic, DB_RECORDS_MAGIC, sizeof header.magic);
    memcpy(header.set_id, run->set->id, sizeof header.set_id);
    sink_put(sink, &header, sizeof header);
}

static void put_tasks(struct sink *sink, const struct run *run)
{
    uint64_t first = 0;
    for (uint32_t t = 0; t < run->set->task_count; t++) {
        const struct db_task *task = &run->set->tasks[t];
        const struct task_state *state = &run->tasks[t];
        struct db_task_row row = {.task = (uint16_t)t,
                                  .core = task->core,
                                  .cpu = state->cpu,
                                  .policy = state->policy,
                                  .priority = state->priority,
                                  .wcet_ns = task->wcet_ns,
                                  .period_ns = (uint64_t)state->period_ns,
                                  .deadline_ns = (uint64_t)state->deadline_ns,
                                  .offset_ns = (uint64_t)state->offset_ns,
                                  .first_job = first,
                                  .job_count = state->record_count};
        sink_put(sink, &row, sizeof row);
        first += state->record_count;
    }
}

static void put_slots(struct sink *sink, const struct run *run)
{
    int64_t base = *run->base_ns - run->epoch_ns;
    for (uint32_t s = 0; s < run->slot_count; s++) {
        const struct slot *slot = &run->slots[s];
        struct db_slot_row row = {.slot = (uint16_t)s,
                                  .kind = (uint16_t)slot->kind,
                                  .task = (uint16_t)slot->task,
                                  .round = (uint16_t)slot->round,
                                  .begin_ns = base + slot->begin_ns,
                                  .start_ns = base + slot->start_ns,
                                  .end_ns = base + slot->end_ns};
        sink_put(sink, &row, sizeof row);
    }
}

static void put_witnesses(struct sink *sink, const struct run *run)
{
    for (uint32_t s = 0; s < run->slot_count; s++)
        for (uint32_t t = 0; t < run->set->task_count; t++) {
            struct db_probe_row row = {.slot = (uint16_t)s,
                                       .kind = DB_PROBE_WITNESS,
                                       .core_a = run->set->tasks[t].core,
                                       .core_b = (uint16_t)t,
                                       .at_ns = *run->base_ns + run->slots[s].end_ns - run->epoch_ns,
                                       .value_ps = run->tasks[t].witness_ps[s]};
            if (row.value_ps)
                sink_put(sink, &row, sizeof row);
        }
}

static void put_round_trips(struct sink *sink, const struct run *run)
{
    for (uint32_t s = 0; s <= run->slot_count; s++)
        for (uint32_t p = 0; p < run->pair_count; p++) {
            struct db_probe_row row = {.slot = (uint16_t)s,
                                       .kind = DB_PROBE_ROUND_TRIP,
                                       .core_a = 0,
                                       .core_b = (uint16_t)(1 + p),
                                       .at_ns = *run->base_ns + boundary_ns(run, s) - run->epoch_ns,
                                       .value_ps = run->pairs[p].trip_ps[s]};
            if (row.value_ps)
                sink_put(sink, &row, sizeof row);
        }
}

static void put_extras(struct sink *sink, const struct run *run)
{
    for (uint32_t t = 0; run->options.details && t < run->set->task_count; t++)
        sink_put(sink, run->tasks[t].details, run->tasks[t].record_count * sizeof(struct db_job_detail));
    for (uint32_t t = 0; t < run->set->task_count; t++)
        sink_put(sink, run->tasks[t].counters, run->tasks[t].counter_count * sizeof(struct db_counter_row));
}

void put_records(const struct run *run, struct sink *sink)
{
    uint64_t jobs = 0;
    for (uint32_t t = 0; t < run->set->task_count; t++)
        jobs += run->tasks[t].record_count;
    put_header(sink, run, jobs);
    put_tasks(sink, run);
    put_slots(sink, run);
    put_witnesses(sink, run);
    put_round_trips(sink, run);
    for (uint32_t t = 0; t < run->set->task_count; t++)
        sink_put(sink, run->tasks[t].records, run->tasks[t].record_count * sizeof(struct db_job_record));
    put_extras(sink, run);
}
