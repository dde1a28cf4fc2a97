// SPDX-License-Identifier: Apache-2.0
#include "link_names.h"

#include <stdio.h>

const char *link_describe(const link_request_t *request, char text[96]) {
  static const char *const names[LINK_COMMAND_COUNT] = {
      [LINK_HELLO] = "HELLO",
      [LINK_PING] = "PING",
      [LINK_REGISTER_READ] = "REGISTER_READ",
      [LINK_REGISTER_WRITE] = "REGISTER_WRITE",
      [LINK_MEMORY_READ] = "MEMORY_READ",
      [LINK_MEMORY_WRITE] = "MEMORY_WRITE",
      [LINK_MEMORY_CHECKSUM] = "MEMORY_CHECKSUM",
      [LINK_WAIT] = "WAIT",
      [LINK_BOARD_READ] = "BOARD_READ",
      [LINK_BOARD_WRITE] = "BOARD_WRITE",
  };
  const char *name = names[request->command];
  if (request->command == LINK_HELLO || request->command == LINK_PING ||
      request->command == LINK_WAIT) {
    snprintf(text, 96, "%s", name);
  } else {
    snprintf(text, 96, "%s of %u bytes at 0x%x", name, request->length, request->address);
  }
  return text;
}

const char *link_status_name(unsigned status) {
  static const char *const names[] = {"ok",        "unknown",    "refused",
                                      "bus error", "no session", "out of order"};
  return names[status];
}
