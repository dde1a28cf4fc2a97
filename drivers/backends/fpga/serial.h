// SPDX-License-Identifier: Apache-2.0
// A serial port as a stream of the board link: raw bytes, one program at a time, and a cable that
// may come and go.
#ifndef UFP4_SERIAL_H
#define UFP4_SERIAL_H

#include "link.h"

typedef struct serial serial_t;

/** Opens @p path, 8N1 without flow control, and takes it for this program.
 * @return UFP4_ERROR_DEVICE, with a message: it is not there, may not be opened, or another program
 * has it; UFP4_ERROR_ARGUMENT: it is no serial port, or has no such speed. */
ufp4_status_t serial_open(const char *path, uint32_t baud, ufp4_message_t *message, serial_t **out);
void serial_close(serial_t *serial);

/** Where the port vanishes, it is waited for: for this long. */
#define SERIAL_RETURN_US 10000000u

link_stream_t serial_stream(serial_t *serial);

#endif
