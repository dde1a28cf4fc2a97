// SPDX-License-Identifier: Apache-2.0
// The driver without an operating system (docs/howto/bare-metal.md): the rings of a core, its
// registers, and operands in panels (panel.h), for firmware. It consists of two files,
// drivers/src/bare/ufp4_bare.c and cmodel/src/tensor/panel.c, in C11. They need only memcpy and
// memset of the C library, to which compilers generate calls, and the compiler's run-time library
// for instructions that the processor lacks. They use no heap and no floating point, and run on
// 32-bit and 64-bit processors of either byte order. The driver of ufp4.h is built on them.
#ifndef UFP4_BARE_H
#define UFP4_BARE_H

#include <stdint.h>

#include "ufp4/panel.h"
#include "ufp4/spec.h"
#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** This driver's version, in the format of the version register. */
#define UFP4_BARE_VERSION \
  ((uint32_t)UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH)

/** Checks whether this driver supports a core of version @p is. The patch number is ignored,
 * because it changes nothing that a driver sees (docs/changelog.md). */
#define UFP4_BARE_KNOWS(is) (((uint32_t)(is) ^ UFP4_BARE_VERSION) >> 8 == 0)

/** The size of both rings in bytes: 2^log2 descriptors, then as many completions; log2 up to
 * 15. */
#define UFP4_BARE_RING_BYTES(log2) \
  ((uint32_t)(UFP4_DESCRIPTOR_BYTES + UFP4_COMPLETION_BYTES) << (log2))

/** The watchdog that ufp4_bare_set_up sets, longer than any memory latency. */
#define UFP4_BARE_WATCHDOG_CYCLES 500000u

/** The functions that access a core, as in ufp4_port_t (ufp4_port.h). Each gets @p user and
 * returns UFP4_OK or UFP4_ERROR_DEVICE, which the calls below pass on. Addresses are the core's. A
 * write to memory must be visible to the core before a later register write, and a read must return
 * what the core wrote before a register read that reported it: these functions contain the barriers
 * and the cache maintenance. */
typedef struct {
  void *user;
  ufp4_status_t (*register_read)(void *user, uint32_t offset, uint32_t *value);
  ufp4_status_t (*register_write)(void *user, uint32_t offset, uint32_t value);
  ufp4_status_t (*memory_read)(void *user, uint64_t address, void *data, uint64_t bytes);
  ufp4_status_t (*memory_write)(void *user, uint64_t address, const void *data, uint64_t bytes);
} ufp4_bare_io_t;

/** A core. The caller fills in io, ring and ring_log2; all else is zero before the first call. */
typedef struct {
  ufp4_bare_io_t io;
  uint64_t ring;              ///< address of UFP4_BARE_RING_BYTES(ring_log2) bytes of memory; a
                              ///< multiple of 128
  unsigned ring_log2;         ///< log2 of the number of descriptors
  uint32_t submitted, taken;  ///< jobs since the reset, as the core counts them
} ufp4_bare_t;

/** The registers by which a core identifies itself. */
typedef struct {
  uint32_t id, version, config_array, config_tile, config_memory;
  uint32_t config_quant;  ///< 0 also if the version is unknown, as such a core is not asked
} ufp4_bare_identity_t;

/** Reads these registers. The caller compares id with UFP4_CORE_ID and checks
 * UFP4_BARE_KNOWS(version). */
ufp4_status_t ufp4_bare_identify(const ufp4_bare_t *bare, ufp4_bare_identity_t *identity);

/** Begins a soft reset, which ends all jobs and marks exponent slots as unwritten. */
ufp4_status_t ufp4_bare_reset(ufp4_bare_t *bare);
/** Sets *resetting to 1 while the soft reset is under way, otherwise to 0. Until the reset ends,
 * nothing else may be called. */
ufp4_status_t ufp4_bare_resetting(const ufp4_bare_t *bare, int *resetting);
/** Sets up a core after a reset: gives it the addresses of the rings, sets the watchdog, clears
 * the counters, and enables every interrupt cause. @return UFP4_ERROR_ARGUMENT: ring is not a
 * multiple of 128, ring_log2 is over 15, or the rings reach beyond the core's addresses. */
ufp4_status_t ufp4_bare_set_up(const ufp4_bare_t *bare);

/** Rings the doorbell for one job, whose end raises the interrupt. @return UFP4_ERROR_MEMORY: the
 * ring is full until a completion is taken. */
ufp4_status_t ufp4_bare_submit(ufp4_bare_t *bare, const ufp4_descriptor_t *descriptor);
/** Rings the doorbell for one job, whose end raises the interrupt only if its status is not ok. In
 * a batch, all jobs but the last are submitted this way. */
ufp4_status_t ufp4_bare_submit_quiet(ufp4_bare_t *bare, const ufp4_descriptor_t *descriptor);
/** Clears the interrupt and counts the completions that can be taken. If there is none, @p fatal
 * is the register of that name: not 0 if the core has been stopped; the interrupt of that cause is
 * then cleared, too. */
ufp4_status_t ufp4_bare_poll(const ufp4_bare_t *bare, uint32_t *ended, uint32_t *fatal);
/** Takes the oldest completion, which ufp4_bare_poll has reported. */
ufp4_status_t ufp4_bare_take(ufp4_bare_t *bare, ufp4_completion_t *completion);
/** Waits for the oldest completion and takes it. Between two polls it calls @p pause, which waits
 * for the interrupt or for a while; a status other than UFP4_OK ends the wait. @return
 * UFP4_ERROR_TIMEOUT after @p limit pauses, with nothing taken; UFP4_ERROR_DEVICE: the core has
 * been stopped, or no job is under way. */
ufp4_status_t ufp4_bare_wait(ufp4_bare_t *bare, uint32_t limit, ufp4_status_t (*pause)(void *user),
                             void *user, ufp4_completion_t *completion);

/** Reads exponent slot @p slot < UFP4_SLOTS. @return UFP4_ERROR_ARGUMENT: the slot was never
 * written. */
ufp4_status_t ufp4_bare_slot_read(const ufp4_bare_t *bare, unsigned slot, int *exponent);
/** Reads the counters accumulated since they were cleared, indexed by ufp4_counter_t. */
ufp4_status_t ufp4_bare_counters(const ufp4_bare_t *bare, uint64_t counters[UFP4_COUNTER_COUNT]);

// --- Registers and memory among the processor's own addresses ------------------------------------

/** The four functions below take as user a pointer to this structure, or to a structure that
 * begins with it. Registers are 32-bit words on a bus whose first byte is the lowest. Memory is
 * accessed by aligned words and bytes, so that it may be mapped as a device; it is uncached, or its
 * cache is coherent with the core. With a non-coherent cache the caller wraps these functions in
 * its own, which clean and invalidate the cache. A write to a register waits for earlier writes to
 * memory, and a register read completes before later reads begin. */
typedef struct {
  volatile uint32_t *registers;
  void *memory;          ///< aligned to 8 bytes
  uint64_t memory_base;  ///< the core's address of this memory
} ufp4_bare_mapped_t;

ufp4_status_t ufp4_bare_mapped_register_read(void *user, uint32_t offset, uint32_t *value);
ufp4_status_t ufp4_bare_mapped_register_write(void *user, uint32_t offset, uint32_t value);
ufp4_status_t ufp4_bare_mapped_memory_read(void *user, uint64_t address, void *data,
                                           uint64_t bytes);
ufp4_status_t ufp4_bare_mapped_memory_write(void *user, uint64_t address, const void *data,
                                            uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
