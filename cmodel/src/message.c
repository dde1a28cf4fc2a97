// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>

#include "ufp4/status.h"

void ufp4_message_set(ufp4_message_t *message, const char *format, ...) {
  if (message == NULL) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message->text, sizeof message->text, format, arguments);
  va_end(arguments);
  // Names from files and from the command line stand in it: whatever they hold, it stays one line of text.
  for (char *at = message->text; *at != '\0'; at++) {
    if ((unsigned char)*at < ' ' || *at == 0x7F) *at = '?';
  }
}
