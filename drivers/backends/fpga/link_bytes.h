// SPDX-License-Identifier: Apache-2.0
// The byte format of the board link: framing, and a board's identity (docs/reference/link.md).
#ifndef UFP4_LINK_BYTES_H
#define UFP4_LINK_BYTES_H

#include "link.h"

/** END separates frames; inside a frame ESC ESC_END represents END, and ESC ESC_ESC represents
 * ESC. */
enum { END = 0xC0, ESC = 0xDB, ESC_END = 0xDC, ESC_ESC = 0xDD };

enum { LINK_IDENTITY_BYTES = 44 };

/** Writes @p bytes of a frame with escapes, at most twice as many. @return their number. */
size_t link_escape(uint8_t *to, const uint8_t *from, size_t bytes);

/** Parses the answer to a HELLO. @return the version of the link protocol that the board uses. */
unsigned link_read_identity(const uint8_t from[LINK_IDENTITY_BYTES], link_identity_t *identity);

#endif
