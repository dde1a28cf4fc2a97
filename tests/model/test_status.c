// SPDX-License-Identifier: Apache-2.0
// Tests the texts of statuses and messages.
#include <string.h>

#include "check.h"
#include "ufp4/status.h"

TEST(every_status_has_a_phrase_of_its_own) {
  for (int i = 0; i <= UFP4_ERROR_STORAGE + 1; i++) {
    const char *text = ufp4_status_string((ufp4_status_t)i);
    check_that(i, text != NULL && text[0] != '\0' && strchr(text, '\n') == NULL, "not one line");
    for (int j = 0; j < i; j++) {
      check_that(i, strcmp(text, ufp4_status_string((ufp4_status_t)j)) != 0, "'%s', as status %d",
                 text, j);
    }
  }
}

TEST(a_message_is_cut_where_it_does_not_fit) {
  char path[2000];
  ufp4_message_t message;
  memset(&message, 'x', sizeof message);
  memset(path, 'p', sizeof path);
  path[sizeof path - 1] = '\0';
  ufp4_message_set(&message, "%s: %d", path, 7);
  check_bits(0, strlen(message.text), sizeof message.text - 1, "length");
  ufp4_message_set(&message, "%s", "short");
  check_that(1, strcmp(message.text, "short") == 0, "'%s'", message.text);
  ufp4_message_set(NULL, "%s", "nowhere");
}

TEST(a_message_is_one_line) {
  ufp4_message_t message;
  ufp4_message_set(&message, "%s: no such tensor", "a\nb\x1b[2J\x7f\r\xc3\xa9");
  check_that(0, strcmp(message.text, "a?b?[2J??\xc3\xa9: no such tensor") == 0, "'%s'",
             message.text);
}
