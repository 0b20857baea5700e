/* Names of threads in lines of text: any process may choose one that would end a line, or forge one. */
#ifndef DEADBEAT_OBSERVE_COMM_H
#define DEADBEAT_OBSERVE_COMM_H

#include <stddef.h>
#include <stdio.h>

enum { COMM_BYTES = 16, COMM_TEXT = 4 * COMM_BYTES + 1 };

/* Until a 0 or ``bytes``: control characters and backslashes as \xHH, all else as it is. */
static inline void comm_text(char text[COMM_TEXT], const char *comm, size_t bytes)
{
    size_t at = 0;
    for (size_t i = 0; i < bytes && i < COMM_BYTES && comm[i]; i++) {
        const unsigned char c = (unsigned char)comm[i];
        if (c < 0x20 || c == 0x7f || c == '\\')
            at += (size_t)snprintf(text + at, 5, "\\x%02x", c);
        else
            text[at++] = (char)c;
    }
    text[at] = '\0';
}

#endif
