// SPDX-License-Identifier: Apache-2.0
// A serial port as a stream of the board link: raw bytes, one program at a time, over a cable that
// may be unplugged and plugged in again.
#ifndef UFP4_SERIAL_H
#define UFP4_SERIAL_H

#include "link.h"

typedef struct serial serial_t;

/** Opens @p path, 8N1 without flow control, exclusively for this program. @return
 * UFP4_ERROR_DEVICE, with a message: it does not exist, may not be opened, or is in use by another
 * program; UFP4_ERROR_ARGUMENT: it is not a serial port, or does not support this speed. */
ufp4_status_t serial_open(const char *path, uint32_t baud, ufp4_message_t *message, serial_t **out);
void serial_close(serial_t *serial);

/** Sets how long to wait for a port that has vanished. */
#define SERIAL_RETURN_US 10000000u

link_stream_t serial_stream(serial_t *serial);

#endif
