// SPDX-License-Identifier: Apache-2.0
// The driver without an operating system (docs/howto/bare-metal.md): the rings of a core, its
// registers, and operands in panels (panel.h), for firmware. It is two files,
// drivers/src/bare/ufp4_bare.c and cmodel/src/tensor/panel.c. They are C11, and need no C library
// but memcpy and memset, which compilers call, and the compiler's own library for instructions that
// a processor lacks. They use no heap and no floating point, and work on 32 and 64 bits, in either
// byte order. The driver of ufp4.h is built on it.
#ifndef UFP4_BARE_H
#define UFP4_BARE_H

#include <stdint.h>

#include "ufp4/panel.h"
#include "ufp4/spec.h"
#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** This driver's version, as the register has it. */
#define UFP4_BARE_VERSION \
  ((uint32_t)UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH)

/** Whether this driver knows a core of version @p is: the patch number changes nothing that a
 * driver sees (docs/changelog.md), so it may be another one. */
#define UFP4_BARE_KNOWS(is) (((uint32_t)(is) ^ UFP4_BARE_VERSION) >> 8 == 0)

/** Bytes of both rings: 2^log2 descriptors, then as many completions; log2 up to 15. */
#define UFP4_BARE_RING_BYTES(log2) \
  ((uint32_t)(UFP4_DESCRIPTOR_BYTES + UFP4_COMPLETION_BYTES) << (log2))

/** The watchdog that ufp4_bare_set_up sets: longer than a memory waits. */
#define UFP4_BARE_WATCHDOG_CYCLES 500000u

/** The way to a core, as in ufp4_port_t (ufp4_port.h). Each gets @p user and returns UFP4_OK or
 * UFP4_ERROR_DEVICE, which the calls below hand on. Addresses are the core's. A write to memory is
 * there for a register write after it, and a read sees what the core wrote before a register read
 * that told of it: barriers, and what caches there are, are the business of these functions. */
typedef struct {
  void *user;
  ufp4_status_t (*register_read)(void *user, uint32_t offset, uint32_t *value);
  ufp4_status_t (*register_write)(void *user, uint32_t offset, uint32_t value);
  ufp4_status_t (*memory_read)(void *user, uint64_t address, void *data, uint64_t bytes);
  ufp4_status_t (*memory_write)(void *user, uint64_t address, const void *data, uint64_t bytes);
} ufp4_bare_io_t;

/** A core. The caller fills in io, ring and ring_log2; the rest is zero before the first call. */
typedef struct {
  ufp4_bare_io_t io;
  uint64_t ring;              ///< UFP4_BARE_RING_BYTES(ring_log2) of memory; a multiple of 128
  unsigned ring_log2;         ///< log2 of the descriptors
  uint32_t submitted, taken;  ///< jobs since the reset, as the core counts them
} ufp4_bare_t;

/** The registers by which a core identifies itself. */
typedef struct {
  uint32_t id, version, config_array, config_tile, config_memory;
  uint32_t config_quant;  ///< 0 too where the version is not known: such a core is not asked
} ufp4_bare_identity_t;

/** Reads them. The caller compares id with UFP4_CORE_ID and asks UFP4_BARE_KNOWS(version). */
ufp4_status_t ufp4_bare_identify(const ufp4_bare_t *bare, ufp4_bare_identity_t *identity);

/** Begins a soft reset: all jobs end, exponent slots are unwritten. */
ufp4_status_t ufp4_bare_reset(ufp4_bare_t *bare);
/** Whether it is still under way; while it is, nothing else may be called. */
ufp4_status_t ufp4_bare_resetting(const ufp4_bare_t *bare, int *resetting);
/** Tells a core that has been reset where the rings are, sets the watchdog, clears the counters,
 * and lets every cause raise the interrupt. @return UFP4_ERROR_ARGUMENT: ring is no multiple of
 * 128, ring_log2 is over 15, or the rings reach beyond the core's addresses. */
ufp4_status_t ufp4_bare_set_up(const ufp4_bare_t *bare);

/** Rings the doorbell for one job, whose end raises the interrupt.
 *  @return UFP4_ERROR_MEMORY: the ring is full, a completion has to be taken first. */
ufp4_status_t ufp4_bare_submit(ufp4_bare_t *bare, const ufp4_descriptor_t *descriptor);
/** Does the same for a job whose end raises no interrupt unless its status is another than ok. Of
 * many jobs all but the last are submitted so. */
ufp4_status_t ufp4_bare_submit_quiet(ufp4_bare_t *bare, const ufp4_descriptor_t *descriptor);
/** Clears the interrupt and says how many completions can be taken. Where there is none,
 * @p fatal is the register of this name: not 0 if the core has been stopped; then the interrupt of
 * that is cleared, too. */
ufp4_status_t ufp4_bare_poll(const ufp4_bare_t *bare, uint32_t *ended, uint32_t *fatal);
/** Takes the oldest completion, of which ufp4_bare_poll has told. */
ufp4_status_t ufp4_bare_take(ufp4_bare_t *bare, ufp4_completion_t *completion);
/** Waits for the oldest completion and takes it. Between two looks it calls @p pause, which waits
 * for the interrupt or a while, and whose status other than UFP4_OK ends the wait.
 *  @return UFP4_ERROR_TIMEOUT after @p limit pauses, with nothing taken; UFP4_ERROR_DEVICE: the
 * core has been stopped, or no job is under way. */
ufp4_status_t ufp4_bare_wait(ufp4_bare_t *bare, uint32_t limit, ufp4_status_t (*pause)(void *user),
                             void *user, ufp4_completion_t *completion);

/** Reads exponent slot @p slot < UFP4_SLOTS. @return UFP4_ERROR_ARGUMENT: it was never written. */
ufp4_status_t ufp4_bare_slot_read(const ufp4_bare_t *bare, unsigned slot, int *exponent);
/** Reads the counters since they were cleared, by ufp4_counter_t. */
ufp4_status_t ufp4_bare_counters(const ufp4_bare_t *bare, uint64_t counters[UFP4_COUNTER_COUNT]);

// --- Registers and memory among the processor's own addresses ------------------------------------

/** The four functions below take a pointer to this as their user, or to a structure that begins
 * with it. Registers are words of 32 bits, on a bus whose first byte is the lowest. Memory is
 * accessed by aligned words and bytes, so that it may be mapped as a device; it is not cached, or
 * its cache sees what the core writes. Where the cache does not see it, functions of the caller's
 * own have to clean and invalidate the cache around these. A write to a register waits for earlier
 * writes to memory, a read holds up later reads. */
typedef struct {
  volatile uint32_t *registers;
  void *memory;          ///< aligned to 8 bytes
  uint64_t memory_base;  ///< its address for the core
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
