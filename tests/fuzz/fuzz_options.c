// SPDX-License-Identifier: Apache-2.0
// Parses the command line's options. The input: words, each ended by a zero byte.
#include <string.h>

#include "frame/cli.h"
#include "fuzz.h"

#define MAX_WORDS 24

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const cli_command_t command = {
      .name = "fuzz", .arguments = "[IN]... -o OUT", .summary = "Nothing.", .example = "ufp4 fuzz"};
  char text[1024], *words[MAX_WORDS + 1] = {text}, **inputs = NULL;
  int flag = 0, choice = 7, count = 0, given = 1;
  const char *out = NULL;
  uint64_t number = 1;
  int64_t integer = 1;
  float real = 1;
  cli_options_t options = {0};
  cli_option_add(&options, "o", CLI_TEXT, &out, "OUT", "output");
  cli_option_add(&options, "round", CLI_CHOICE, &choice, "rne|sr|up", "rounding");
  cli_option_add(&options, "rne", CLI_FLAG, &flag, NULL, "a flag");
  cli_option_add(&options, "seed", CLI_UINT, &number, "N", "seed");
  cli_option_add(&options, "exponent", CLI_INT, &integer, "N", "exponent");
  cli_option_add(&options, "alpha", CLI_REAL, &real, "X", "alpha");
  if (size > sizeof text - 1) size = sizeof text - 1;
  if (size != 0) memcpy(text, data, size);
  text[size] = '\0';
  for (size_t i = 0; i + 1 < size && given < MAX_WORDS; i++) {
    if (text[i] == '\0') words[given++] = text + i + 1;
  }
  int end = cli_parse(&command, &options, given, words, 1, 3, &inputs, &count);
  fuzz_demand(end == CLI_GO_ON || end == CLI_OK || end == CLI_USAGE,
              "it goes on, is done, or is refused");
  fuzz_demand(choice == 7 || (choice >= 0 && choice < 3), "a choice is one of the words");
  if (end != CLI_GO_ON) return 0;
  fuzz_demand(count >= 1 && count <= 3 && inputs + count == words + given,
              "the inputs are at the end");
  fuzz_demand(flag == 0 || flag == 1, "a flag is 0 or 1");
  return 0;
}
