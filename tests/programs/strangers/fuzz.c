/* The recorder's decoder on bytes of anybody: a target of libFuzzer where there is clang, and a generator
 * with a seed where there is not: fuzz SEED COUNT. */
#define main recorder_main
#include "recorder.c"
#undef main

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the kernel gave a name to: all kinds, fields of all sizes, some beyond the event. */
static void know(void)
{
    static const unsigned sizes[] = {4, 8, 16, 2, 1, 0, 5};
    for (unsigned id = 0; id < 64; id++) {
        struct event *event = events[id] = calloc(1, sizeof *event);
        event->kind = (uint16_t)(id % (KILLED + 2));
        for (unsigned n = 0; n < FIELDS; n++)
            event->field[n] = (struct field){8 + n * 4 + id % 9, sizes[(id + n) % 7], (id + n) % 2 == 0};
        if (id % 8 == 7)
            snprintf(event->call, sizeof event->call, "read");
    }
    deadline_function = 1;
    sleep_function = 2;
    instance = "/nowhere";
    out = open("/dev/null", O_RDWR);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool known;
    uint64_t last = 0;
    char name[40];
    struct field field;
    if (!known)
        know();
    known = true;
    commit_bytes = size % 2 ? 4 : 8;
    header_bytes = 8 + commit_bytes;
    if (size < header_bytes)
        return 0;
    unsigned char *page = malloc(size); /* of this size: one byte beyond is seen */
    memcpy(page, data, size);
    decode(page, size, (uint16_t)(size % CPUS_MOST), &last);
    page[size - 1] = '\0';
    for (unsigned n = 0; n < 4; n++)
        nth_field((const char *)page, n, &field, name);
    free(page);
    return flush_until(size % 3 ? UINT64_MAX : last);
}

#ifndef LIBFUZZER
static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 20) % below;
}

/* A sub-buffer as the kernel has it, but for some bytes; or a format. */
static size_t made(uint8_t *page, size_t room)
{
    size_t size = 16 + draw((uint32_t)room - 16), at = 16;
    for (size_t i = 0; i < size; i++)
        page[i] = (uint8_t)draw(256);
    uint64_t commit = (size - 16) | (uint64_t)draw(4) << 30;
    memcpy(page + 8, &commit, 8);
    while (at + 8 < size) {
        uint32_t type = draw(8) ? 1 + draw(20) : draw(32), head = type | draw(1000) << 5, id = draw(70);
        memcpy(page + at, &head, 4);
        memcpy(page + at + 4 + (type ? 0 : 4), &id, at + 12 < size ? 4 : 0);
        if (type == 0 || type == 29)
            memcpy(page + at + 4, &(uint32_t){draw(10) ? 4 * draw(64) : draw(UINT32_MAX)}, 4);
        at += 4 + (type && type < 29 ? type * 4 : 4);
    }
    for (uint32_t flips = draw(4); flips > 0; flips--)
        page[draw((uint32_t)size)] ^= (uint8_t)(1 << draw(8));
    if (draw(20) == 0)
        return (size_t)snprintf((char *)page, room,
                                "ID: %u\nfield:int %c[%u];\toffset:%u;\tsize:%u;\tsigned:%u;\nfield:",
                                draw(9), draw(255) + 1, draw(99), draw(UINT32_MAX), draw(99), draw(3));
    return size;
}

int main(int argc, char **argv)
{
    static uint8_t page[8192];
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    for (long n = argc > 2 ? strtol(argv[2], NULL, 10) : 1000; n > 0; n--)
        if (LLVMFuzzerTestOneInput(page, made(page, sizeof page)) != 0)
            return 3;
    printf("%zu records\n", come);
    return 0;
}
#endif
