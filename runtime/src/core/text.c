/* deadbeat/text.h */
#include "deadbeat/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MOST_DIGITS 40

struct out {
    char *text;
    size_t bytes, length;
};

struct form {
    bool left, plus, zero, other;
    int width, precision; /* precision < 0: none */
};

static void put(struct out *out, char c)
{
    if (out->length + 1 < out->bytes)
        out->text[out->length] = c;
    out->length++;
}

static void put_padded(struct out *out, const struct form *form, const char *text, size_t length)
{
    size_t width = form->width > 0 ? (size_t)form->width : 0, pad = width > length ? width - length : 0;
    bool zeros = form->zero && !form->left;
    size_t signs = zeros && length && (*text == '-' || *text == '+') ? 1 : 0;
    if (signs)
        put(out, *text);
    for (; pad && !form->left; pad--)
        put(out, zeros ? '0' : ' ');
    for (size_t i = signs; i < length; i++)
        put(out, text[i]);
    for (; pad; pad--)
        put(out, ' ');
}

/* Digits of a number at the end of a field; where they begin. */
static char *digits(char *end, uint64_t value, unsigned base, int least)
{
    for (; value || least > 0; value /= base, least--)
        *--end = "0123456789abcdef"[value % base];
    return end;
}

static void put_integer(struct out *out, struct form form, uint64_t value, unsigned base, char sign)
{
    char field[MOST_DIGITS + 4], *end = field + sizeof field;
    int least = form.precision < 0 ? 1 : form.precision < MOST_DIGITS ? form.precision : MOST_DIGITS;
    char *begin = digits(end, value, base, least);
    if (form.other && base == 16 && value) {
        *--begin = 'x';
        *--begin = '0';
    }
    if (sign)
        *--begin = sign;
    form.zero = form.zero && form.precision < 0;
    put_padded(out, &form, begin, (size_t)(end - begin));
}

static char sign_of(const struct form *form, bool negative)
{
    return negative ? '-' : form->plus ? '+' : '\0';
}

/* With so many decimals, rounded; beyond 1e18 the digits would be untrue anyway. */
static void put_fixed(struct out *out, const struct form *form, double value, int decimals)
{
    char field[MOST_DIGITS], *end = field + sizeof field;
    bool negative = value < 0;
    double size = negative ? -value : value, scale = 1;
    if (!(size < 1e18)) {
        put_padded(out, form, size >= 1e18 ? "huge" : "nan", size >= 1e18 ? 4 : 3);
        return;
    }
    decimals = decimals > 15 ? 15 : decimals;
    for (int i = 0; i < decimals; i++)
        scale *= 10;
    uint64_t whole = (uint64_t)size;
    uint64_t part = (uint64_t)((size - (double)whole) * scale + 0.5);
    if ((double)part >= scale) {
        whole++;
        part = 0;
    }
    char *begin = end;
    if (decimals > 0) {
        begin = digits(end, part, 10, decimals);
        *--begin = '.';
    }
    begin = digits(begin, whole, 10, 1);
    if (sign_of(form, negative))
        *--begin = sign_of(form, negative);
    put_padded(out, form, begin, (size_t)(end - begin));
}

/* Significant digits; an exponent where the number is small or large. */
static void put_general(struct out *out, const struct form *form, double value)
{
    int exponent = 0, precision = form->precision < 0 ? 6 : form->precision ? form->precision : 1;
    double size = value < 0 ? -value : value;
    if (size == 0 || !(size <= 1e300)) {
        put_fixed(out, form, value, 0);
        return;
    }
    for (; size >= 10; exponent++)
        size /= 10;
    for (; size < 1; exponent--)
        size *= 10;
    if (exponent >= -5 && exponent < precision) {
        put_fixed(out, form, value, precision - 1 - exponent);
        return;
    }
    put_fixed(out, form, value < 0 ? -size : size, precision - 1);
    put(out, 'e');
    put_integer(out, (struct form){.precision = 2}, (uint64_t)(exponent < 0 ? -exponent : exponent), 10,
                exponent < 0 ? '-' : '+');
}

static const char *parse_form(const char *at, struct form *form, va_list *words)
{
    *form = (struct form){.precision = -1};
    for (; *at && strchr("-+0# ", *at); at++) {
        form->left |= *at == '-';
        form->plus |= *at == '+';
        form->zero |= *at == '0';
        form->other |= *at == '#';
    }
    for (; *at >= '0' && *at <= '9'; at++)
        form->width = form->width * 10 + (*at - '0');
    if (*at == '.') {
        form->precision = 0;
        for (at++; *at >= '0' && *at <= '9'; at++)
            form->precision = form->precision * 10 + (*at - '0');
        if (*at == '*') {
            form->precision = va_arg(*words, int);
            at++;
        }
    }
    return at;
}

static const char *parse_length(const char *at, int *bytes)
{
    int longs = 0;
    *bytes = sizeof(int);
    for (; *at && strchr("hljzt", *at); at++)
        if (*at == 'l')
            *bytes = ++longs == 1 ? (int)sizeof(long) : (int)sizeof(long long);
        else if (*at != 'h')
            *bytes = *at == 'j' ? (int)sizeof(intmax_t) : (int)sizeof(size_t);
    return at;
}

static void put_string(struct out *out, const struct form *form, const char *text)
{
    size_t length = 0;
    while (text[length] && (form->precision < 0 || length < (size_t)form->precision))
        length++;
    put_padded(out, form, text, length);
}

static int64_t next_signed(va_list *words, int bytes)
{
    return bytes == (int)sizeof(long long) ? va_arg(*words, long long) : va_arg(*words, int);
}

static uint64_t next_unsigned(va_list *words, int bytes)
{
    return bytes == (int)sizeof(long long) ? va_arg(*words, unsigned long long) : va_arg(*words, unsigned);
}

static void put_one(struct out *out, const struct form *form, char kind, int bytes, va_list *words)
{
    int64_t number;
    char c;
    switch (kind) {
    case 'd':
    case 'i':
        number = next_signed(words, bytes);
        put_integer(out, *form, number < 0 ? -(uint64_t)number : (uint64_t)number, 10,
                    sign_of(form, number < 0));
        break;
    case 'u':
    case 'x':
        put_integer(out, *form, next_unsigned(words, bytes), kind == 'x' ? 16 : 10, '\0');
        break;
    case 's':
        put_string(out, form, va_arg(*words, const char *));
        break;
    case 'c':
        c = (char)va_arg(*words, int);
        put_padded(out, form, &c, 1);
        break;
    case 'f':
        put_fixed(out, form, va_arg(*words, double), form->precision < 0 ? 6 : form->precision);
        break;
    case 'g':
        put_general(out, form, va_arg(*words, double));
        break;
    default:
        put(out, kind);
    }
}

int db_text(char *text, size_t bytes, const char *format, ...)
{
    struct out out = {.text = text, .bytes = bytes};
    struct form form;
    va_list words;
    va_start(words, format);
    for (const char *at = format; *at; at++) {
        int length;
        if (*at != '%') {
            put(&out, *at);
            continue;
        }
        at = parse_length(parse_form(at + 1, &form, &words), &length);
        if (!*at)
            break;
        put_one(&out, &form, *at, length, &words);
    }
    va_end(words);
    if (bytes)
        text[out.length < bytes ? out.length : bytes - 1] = '\0';
    return (int)out.length;
}
