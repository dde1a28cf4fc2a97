// SPDX-License-Identifier: Apache-2.0
// Checks that the bytes of a file are characters, because the model's tokens are bytes.
#ifndef UFP4_TEXT_KIND_H
#define UFP4_TEXT_KIND_H

#include "text_file.h"

/** Checks the first 64 KiB. UFP4_ERROR_FORMAT, with a message: UTF-16 or UTF-32, recognized by a
 * byte order mark or by zeros in most of the high bytes of Latin letters. UFP4_OK: @p message is a
 * note if most bytes are not printable UTF-8, otherwise empty. */
ufp4_status_t text_kind_check(const char *path, const text_bytes_t *bytes, ufp4_message_t *message);

#endif
