// SPDX-License-Identifier: Apache-2.0
// One program at a time on a core, whichever device leads to it: a lock on a file that the core's
// physical address names.
#ifndef UFP4_MMIO_LOCK_H
#define UFP4_MMIO_LOCK_H

#include <stdint.h>

#include "ufp4/status.h"

/** Takes the lock of the core whose registers are at @p address; close(*file) gives it back, and so
 * does the end of the program. The file is in /run/lock, or where there is none in /tmp, stays, and
 * can be locked by every user. @return UFP4_ERROR_DEVICE: another program has the lock, or the file
 * cannot be made. */
ufp4_status_t lock_core(uint64_t address, ufp4_message_t *message, int *file);

#endif
