// SPDX-License-Identifier: Apache-2.0
// The names of the board link's requests and answers for messages.
#ifndef UFP4_LINK_NAMES_H
#define UFP4_LINK_NAMES_H

#include "link.h"

/** Formats command, bytes and address, as far as the command has them, into @p text. */
const char *link_describe(const link_request_t *request, char text[96]);
const char *link_status_name(unsigned status);

#endif
