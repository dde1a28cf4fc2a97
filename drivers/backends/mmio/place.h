// SPDX-License-Identifier: Apache-2.0
// Finds registers and memory by the name of a device: DEVICE, whose driver knows the addresses, or
// DEVICE@ADDRESS+SIZE, as for /dev/mem.
#ifndef UFP4_MMIO_PLACE_H
#define UFP4_MMIO_PLACE_H

#include <limits.h>
#include <stdint.h>

#include "ufp4/status.h"

/** A range of physical addresses, and the file by which it is mapped. */
typedef struct {
  char device[256];
  uint64_t address, bytes;  ///< on the bus
  uint64_t offset;          ///< in the file
  int is_uio;               ///< the file also delivers an interrupt
} place_t;

/** Finds registers and memory of "REGISTERS[,MEMORY]". A device without a folder is the name of a
 * UIO device in sysfs, or of a u-dma-buf. Without MEMORY the memory is the UIO device's second map;
 * a MEMORY without a device is on that of REGISTERS. Only files of sysfs are opened. */
ufp4_status_t places_find(const char *text, place_t *registers, place_t *memory,
                          ufp4_message_t *message);

/** Returns UFP4_ERROR_DEVICE, with a message, if the kernel's first FPGA manager is a Zynq's and
 * reports that its FPGA is not operating, because the bus of a Zynq hangs on accesses to logic that
 * is not loaded. Other managers are not asked, because some report "unknown" for a working FPGA. */
ufp4_status_t place_check_loaded(ufp4_message_t *message);

#endif
