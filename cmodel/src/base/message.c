// SPDX-License-Identifier: Apache-2.0
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ufp4/status.h"

#define LONGEST 16384  // several paths of the greatest length

void ufp4_message_set(ufp4_message_t *message, const char *format, ...) {
  static const char cut[] = "...";
  char text[LONGEST];
  if (message == NULL) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  // Names come first and the reason last, so a message that is too long keeps its end.
  const size_t length = strlen(text), room = sizeof message->text - 1;
  if (length > room) memcpy(text + length - room, cut, strlen(cut));
  memcpy(message->text, length > room ? text + length - room : text,
         (length > room ? room : length) + 1);
  // Names from files and from the command line may hold any characters; the message must stay one
  // line of text.
  for (char *at = message->text; *at != '\0'; at++) {
    if ((unsigned char)*at < ' ' || *at == 0x7F) *at = '?';
  }
}
