// SPDX-License-Identifier: Apache-2.0
// Restricts a core to one program at a time, whichever device is used to access it, by a lock on a
// file named after the core's physical address.
#ifndef UFP4_MMIO_LOCK_H
#define UFP4_MMIO_LOCK_H

#include <stdint.h>

#include "ufp4/status.h"

/** Locks the core whose registers are at @p address; close(*file), or the end of the program,
 * releases the lock. The file is in /run/lock, or in /tmp if that does not exist; it remains, and
 * every user can lock it. @return UFP4_ERROR_DEVICE: another program has the lock, or the file
 * cannot be created. */
ufp4_status_t lock_core(uint64_t address, ufp4_message_t *message, int *file);

#endif
