// SPDX-License-Identifier: Apache-2.0
// A core that is reached by the caller's own functions: a board, a testbench, a virtual platform
// (docs/howto/drive-core.md). ufp4_device_open_port (ufp4.h) makes a device of it.
#ifndef UFP4_PORT_H
#define UFP4_PORT_H

#include <stdint.h>

#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The functions by which the driver accesses a core: registers, shared memory, interrupt and
 * time.
 *
 * Time is counted in ticks of any length, such as core cycles or microseconds; it passes during the
 * calls, or by itself. The driver waits 2,000,000 ticks for a soft reset, and checks the host's
 * clock every 20,000 ticks while it waits with a timeout.
 *
 * Each function gets @p user. A function that returns a status returns UFP4_OK, or
 * UFP4_ERROR_DEVICE if the core cannot be reached; after that the driver calls only close, and the
 * others only from ufp4_device_reset. An access is complete when its call returns: a doorbell that
 * follows a write to memory sees that write. Calls come from the thread that uses the device, one
 * at a time. */
typedef struct {
  /** The name that messages and ufp4_device_info use; it must live as long as the device. */
  const char *name;
  /** The device's memory: its first byte, as the core addresses it, and its size, both multiples
   * of 4096. The first 12 KiB hold the rings, and the rest holds buffers. Devices that share a
   * memory each have their own part of it. */
  uint64_t memory_base, memory_bytes;
  void *user;

  /** Reads or writes a register, by its offset in bytes, a multiple of 4 below 4096
   * (docs/ip/registers.md). */
  ufp4_status_t (*register_read)(void *user, uint32_t offset, uint32_t *value);
  ufp4_status_t (*register_write)(void *user, uint32_t offset, uint32_t value);
  /** Reads or writes any bytes inside the device's memory, at any alignment. */
  ufp4_status_t (*memory_read)(void *user, uint64_t address, void *data, uint64_t bytes);
  ufp4_status_t (*memory_write)(void *user, uint64_t address, const void *data, uint64_t bytes);
  /** Returns once the interrupt is high, at once if it already is. @return UFP4_ERROR_TIMEOUT if
   * it was low for @p limit ticks; the driver may wait again. A host without the interrupt may
   * return UFP4_OK at any time, and is then called again. */
  ufp4_status_t (*wait_interrupt)(void *user, uint64_t limit);
  /** Lets @p ticks pass. */
  ufp4_status_t (*run)(void *user, uint64_t ticks);
  /** Returns the ticks elapsed since an arbitrary fixed moment. */
  uint64_t (*now)(void *user);
  /** NULL, or one line that says why the last call of another function failed. */
  const char *(*message)(void *user);
  /** NULL, or the function that ufp4_device_close calls last. */
  void (*close)(void *user);
} ufp4_port_t;

#ifdef __cplusplus
}
#endif

#endif
