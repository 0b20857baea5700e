/*
 * What lies between the cross compiler's C library and a machine without an operating system: memory, string
 * and mathematical functions come from that library, so that they are the instructions a Linux program runs;
 * here is what those want in turn, and snprintf, which would bring half of the library with it.
 */
#include "board.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

extern uintptr_t __stack_chk_guard;
uintptr_t __stack_chk_guard = 0x5aa5c33c0ff0a55a;
_Noreturn void __stack_chk_fail(void);
_Noreturn void __stack_chk_fail(void)
{
    board_fail("a function has overwritten its stack");
}

struct out {
    char *text;
    size_t room, length;
};

static void put(struct out *out, char c)
{
    if (out->length + 1 < out->room)
        out->text[out->length] = c;
    out->length++;
}

static void put_number(struct out *out, uint64_t value, unsigned base, bool negative, unsigned width,
                       char fill)
{
    char digits[24];
    unsigned count = 0;
    do
        digits[count++] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    if (negative)
        digits[count++] = '-';
    for (unsigned i = count; i < width; i++)
        put(out, fill);
    while (count)
        put(out, digits[--count]);
}

/* Six digits behind the point: for a reader of a failed check. */
static void put_real(struct out *out, double value)
{
    if (!(value > -1e15 && value < 1e15)) {
        for (const char *c = value > 0 ? "huge" : value < 0 ? "-huge" : "nan"; *c; c++)
            put(out, *c);
        return;
    }
    double positive = value < 0 ? -value : value;
    uint64_t millionths = (uint64_t)(positive * 1e6 + 0.5);
    put_number(out, millionths / 1000000, 10, value < 0, 0, ' ');
    put(out, '.');
    put_number(out, millionths % 1000000, 10, false, 6, '0');
}

static void put_integer(struct out *out, char kind, unsigned longs, unsigned width, char fill,
                        va_list *values)
{
    unsigned base = kind == 'x' ? 16 : 10;
    if (kind == 'd' || kind == 'i') {
        int64_t value = longs ? va_arg(*values, long long) : va_arg(*values, int);
        put_number(out, value < 0 ? -(uint64_t)value : (uint64_t)value, base, value < 0, width, fill);
    } else {
        put_number(out, longs ? va_arg(*values, unsigned long long) : va_arg(*values, unsigned), base, false,
                   width, fill);
    }
}

/* The conversions that runtime and fragments use: s c d i u x g f e, with l, ll, z, a width and zeros. */
int vsnprintf(char *text, size_t room, const char *format, va_list given)
{
    struct out out = {.text = text, .room = room};
    va_list values;
    va_copy(values, given);
    for (const char *f = format; *f; f++) {
        if (*f != '%') {
            put(&out, *f);
            continue;
        }
        char fill = *++f == '0' ? '0' : ' ';
        unsigned width = 0, longs = 0;
        for (; *f == '-' || *f == '.' || (*f >= '0' && *f <= '9'); f++)
            width = *f >= '0' && *f <= '9' ? width * 10 + (unsigned)(*f - '0') : 0;
        for (; *f == 'l' || *f == 'z'; f++)
            longs++;
        if (*f == 's') {
            for (const char *c = va_arg(values, const char *); *c; c++)
                put(&out, *c);
        } else if (*f == 'c') {
            put(&out, (char)va_arg(values, int));
        } else if (*f == 'f' || *f == 'g' || *f == 'e') {
            put_real(&out, va_arg(values, double));
        } else if (*f == '%' || *f == 0) {
            put(&out, '%');
            if (*f == 0)
                break;
        } else {
            put_integer(&out, *f, longs, width, fill, &values);
        }
    }
    va_end(values);
    if (room)
        text[out.length < room ? out.length : room - 1] = 0;
    return (int)out.length;
}

int snprintf(char *text, size_t room, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text, room, format, values);
    va_end(values);
    return length;
}
