// SPDX-License-Identifier: Apache-2.0
// Whether the bytes of a file are characters: the model's tokens are bytes.
#ifndef UFP4_TEXT_KIND_H
#define UFP4_TEXT_KIND_H

#include "text_file.h"

/** Looks at the first 64 KiB. UFP4_ERROR_FORMAT, with a message: UTF-16 or UTF-32, by a byte order
 * mark or by zeros in most of the places where Latin letters have them. UFP4_OK: @p message is a
 * note where most bytes are no printable characters of UTF-8, else empty. */
ufp4_status_t text_kind_check(const char *path, const text_bytes_t *bytes, ufp4_message_t *message);

#endif
