// SPDX-License-Identifier: Apache-2.0
// A core behind functions of one's own: a board, a testbench, a virtual platform
// (docs/howto/drive-core.md). ufp4_device_open_port (ufp4.h) makes a device of it.
#ifndef UFP4_PORT_H
#define UFP4_PORT_H

#include <stdint.h>

#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The functions by which the driver reaches a core: its registers, memory that both see, its
 * interrupt, and time.
 *
 * Time is the port's own, in ticks of any length, cycles of the core or microseconds: it passes in
 * the calls, or by itself. The driver waits 2,000,000 ticks for a soft reset, and looks at the
 * host's clock every 20,000 ticks of a wait that has a timeout.
 *
 * Each function gets @p user. One that gives a status returns UFP4_OK, or UFP4_ERROR_DEVICE: the
 * core cannot be reached, and the driver then calls none of them but for ufp4_device_reset, and
 * close. What a call does is done when it returns: a write to memory is there for a doorbell after
 * it. Calls come from the thread that uses the device, one at a time. */
typedef struct {
  /** The name that messages and ufp4_device_info use; it must live as long as the device. */
  const char *name;
  /** The memory that is the device's: its first byte, as the core addresses it, and its size, both
   * multiples of 4096. The first 12 KiB hold the rings, buffers lie in the rest. Devices that share
   * a memory have each a part of their own. */
  uint64_t memory_base, memory_bytes;
  void *user;

  /** Reads or writes a register, by its offset in bytes, a multiple of 4 below 4096
   * (docs/ip/registers.md). */
  ufp4_status_t (*register_read)(void *user, uint32_t offset, uint32_t *value);
  ufp4_status_t (*register_write)(void *user, uint32_t offset, uint32_t value);
  /** Reads or writes any bytes inside the device's memory, at any alignment. */
  ufp4_status_t (*memory_read)(void *user, uint64_t address, void *data, uint64_t bytes);
  ufp4_status_t (*memory_write)(void *user, uint64_t address, const void *data, uint64_t bytes);
  /** Returns once the interrupt is high, at once if it is.
   *  @return UFP4_ERROR_TIMEOUT when it was low for @p limit ticks; the driver may wait again. A
   * host without the interrupt may return UFP4_OK whenever it likes, and is asked again. */
  ufp4_status_t (*wait_interrupt)(void *user, uint64_t limit);
  /** Lets @p ticks pass. */
  ufp4_status_t (*run)(void *user, uint64_t ticks);
  /** Returns the ticks since any fixed moment. */
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
