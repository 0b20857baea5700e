/* The first process of a virtual machine: what its two files share. */
#ifndef DEADBEAT_PORT_LINUX_GUEST_H
#define DEADBEAT_PORT_LINUX_GUEST_H

#include <stdbool.h>
#include <stddef.h>

/* What leaves the machine is collected in a file in memory: for each entry the lengths of name and content
 * (two uint32_t, little-endian), the name, the content. */
int collect_open(void);
void collect_bytes(int to, const char *name, const void *content, size_t bytes);
/* A file, or as much of it as can be read; `name` stands before its path. False where there is none. */
bool collect_file(int to, const char *name, const char *path);
/* Hands over what was collected: through the memory that the host shares with us, else as base64 on the
 * console. */
void hand_over(int from);

#endif
