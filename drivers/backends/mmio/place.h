// SPDX-License-Identifier: Apache-2.0
// Finds the registers and the memory by the name of a device: DEVICE, whose driver says where they
// are, or DEVICE@ADDRESS+SIZE, as /dev/mem has it.
#ifndef UFP4_MMIO_PLACE_H
#define UFP4_MMIO_PLACE_H

#include <limits.h>
#include <stdint.h>

#include "ufp4/status.h"

/** A range of physical addresses, in a file that maps it. */
typedef struct {
  char device[256];
  uint64_t address, bytes;  ///< as the bus has them
  uint64_t offset;          ///< in the file
  int is_uio;               ///< the file has an interrupt, too
} place_t;

/** Finds registers and memory of "REGISTERS[,MEMORY]". A device without a folder is a name: that of
 * a UIO device in sysfs, or of a u-dma-buf. Without MEMORY it is the second map of the
 * UIO device; MEMORY without a device is of that of REGISTERS. Nothing is opened but what sysfs
 * says. */
ufp4_status_t places_find(const char *text, place_t *registers, place_t *memory,
                          ufp4_message_t *message);

/** UFP4_ERROR_DEVICE, with a message, where the kernel's first FPGA manager is a Zynq's and says
 * that its FPGA does not operate: the bus of a Zynq never answers for logic that is not loaded.
 * Other managers are not asked, since some say "unknown" of an FPGA that works. */
ufp4_status_t place_check_loaded(ufp4_message_t *message);

#endif
