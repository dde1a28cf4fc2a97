// SPDX-License-Identifier: Apache-2.0
// The commands write their JSON by jansson, and add numbers and texts that it would refuse.
#ifndef UFP4_JSON_H
#define UFP4_JSON_H

#include <jansson.h>

#include "ufp4.h"

/** null where @p value is not finite. */
json_t *json_real_or_null(double value);
/** In a text that is no UTF-8 the bytes outside ASCII become question marks. */
json_t *json_text(const char *value);
/** Writes @p document, which it frees, to a file, whole or not at all; NULL, or too little memory
 * to write it, is UFP4_ERROR_MEMORY. */
ufp4_status_t json_write(const char *path, json_t *document, ufp4_message_t *message);

#endif
