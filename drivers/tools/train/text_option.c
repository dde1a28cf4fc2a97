// SPDX-License-Identifier: Apache-2.0
#include "text_option.h"

#include <string.h>
#include <unistd.h>

int cli_text_read(const cli_command_t *command, const char *name, int64_t context,
                  ufp4_text_t *out) {
  int dictionary = !strcmp(name, CLI_TEXT_DEFAULT);
  const char *path = dictionary ? UFP4_TEXT_GCIDE : name;
  if (dictionary && access(path, R_OK)) {
    return cli_fail(command, CLI_DEVICE,
                    "%s is missing; install it with: apt-get install dict-gcide", path);
  }
  ufp4_message_t message;
  ufp4_status_t status = ufp4_text_read(path, context, out, &message);
  if (status) return cli_fail_status(command, status, message.text);
  return message.text[0] == '\0' ? CLI_GO_ON : cli_fail(command, CLI_GO_ON, "%s", message.text);
}
