/* Text without a C library: what reasons and messages need. */
#ifndef DEADBEAT_TEXT_H
#define DEADBEAT_TEXT_H

#include <stddef.h>

/* As snprintf, for what reasons say: %s %c %d %i %u %x with lengths, flags, width and precision, and %f and
 * %g of numbers below 1e18. %g keeps its trailing zeros. */
__attribute__((format(printf, 3, 4))) int db_text(char *text, size_t bytes, const char *format, ...);

#endif
