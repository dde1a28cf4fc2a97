// SPDX-License-Identifier: Apache-2.0
// Bytes of the board link: how a frame is marked off from the next one, and what a board says of
// itself (docs/reference/link.md).
#ifndef UFP4_LINK_BYTES_H
#define UFP4_LINK_BYTES_H

#include "link.h"

/** END marks off frames; within them ESC ESC_END stands for END, and ESC ESC_ESC for ESC. */
enum { END = 0xC0, ESC = 0xDB, ESC_END = 0xDC, ESC_ESC = 0xDD };

enum { LINK_IDENTITY_BYTES = 44 };

/** Writes @p bytes of a frame with their escapes, twice as many at most. @return how many. */
size_t link_escape(uint8_t *to, const uint8_t *from, size_t bytes);

/** Takes the answer to a HELLO apart. @return the version of the link that the board speaks. */
unsigned link_read_identity(const uint8_t from[LINK_IDENTITY_BYTES], link_identity_t *identity);

#endif
