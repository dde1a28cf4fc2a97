// SPDX-License-Identifier: Apache-2.0
// JSON output of the commands by jansson, with numbers and texts that jansson would refuse.
#ifndef UFP4_JSON_H
#define UFP4_JSON_H

#include <jansson.h>

#include "ufp4.h"

/** Returns null if @p value is not finite. */
json_t *json_real_or_null(double value);
/** Returns a string; if it is not UTF-8, bytes outside ASCII become question marks. */
json_t *json_text(const char *value);
/** Writes @p document, and frees it, to a file, completely or not at all. UFP4_ERROR_MEMORY if it
 * is NULL or memory is exhausted. */
ufp4_status_t json_write(const char *path, json_t *document, ufp4_message_t *message);

#endif
