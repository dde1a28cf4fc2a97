// SPDX-License-Identifier: Apache-2.0
// Writes and reads of any length of a board's memory over a link.
#ifndef UFP4_TRANSFER_H
#define UFP4_TRANSFER_H

#include "check.h"
#include "wire.h"

void transfer_fill(check_random_t *random, uint8_t *bytes, size_t count);
/** Writes; it may return before everything is written, and link_flush waits for the rest. */
ufp4_status_t transfer_write(link_t *link, uint32_t address, const uint8_t *bytes, size_t count);
ufp4_status_t transfer_read(link_t *link, uint32_t address, uint8_t *bytes, size_t count);
/** Adds @p value to a register. */
ufp4_status_t transfer_register(link_t *link, uint32_t offset, uint8_t value);
/** Makes random writes and reads of memory, and writes to a register that adds them up. */
void transfer_exercise(int64_t index, wire_t *wire, link_t *link, int rounds, unsigned most);

#endif
