// SPDX-License-Identifier: Apache-2.0
// A core on a board, as a port over the board link.
#ifndef UFP4_FPGA_H
#define UFP4_FPGA_H

#include "link.h"
#include "ufp4_port.h"

typedef struct fpga fpga_t;

/** Opens the port of "PORT" or "PORT@BAUD" (default 3,000,000) and begins a session with its
 * board. @p name is used in messages, and is copied. */
ufp4_status_t fpga_open(const char *name, const char *where, const link_options_t *options,
                        ufp4_message_t *message, fpga_t **out);
void fpga_close(fpga_t *fpga);

/** Returns the functions of the port; close is fpga_close. Ticks are microseconds of the host.
 * Writes return before they have arrived, and arrive in order; the next call reports a failed
 * one. */
ufp4_port_t fpga_port(fpga_t *fpga);

const link_identity_t *fpga_identity(const fpga_t *fpga);
link_t *fpga_link(fpga_t *fpga);

#endif
