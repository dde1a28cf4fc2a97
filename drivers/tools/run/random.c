// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "frame/cli.h"

static int run(int argc, char **argv);
const cli_command_t cli_random = {
    .name = "random",
    .arguments = "[options]",
    .summary =
        "Prints the words of the counter-based generator Threefry-4x32 in hex, one draw per line.",
    .example = "ufp4 random --rounds 12 --key 0,0,0,0 --counter 0,0,0,0",
    .run = run,
};

typedef struct {
  int json;
  uint64_t rounds, count;
  const char *key_text, *counter_text;
  uint32_t key[4], counter[4];
} draw_t;

// Parses "a,b,c,d": exactly 4 words of 32 bits, decimal or 0x.
static int parse_words(const char *text, uint32_t words[4]) {
  for (int i = 0; i < 4; i++) {
    char *end;
    errno = 0;
    unsigned long long word = strtoull(text, &end, 0);
    if (!isdigit((unsigned char)text[0]) || errno != 0 || word > UINT32_MAX) return 0;
    if (*end != (i < 3 ? ',' : '\0')) return 0;
    words[i] = (uint32_t)word;
    text = end + 1;
  }
  return 1;
}

static int read_words(draw_t *draw) {
  if (draw->key_text != NULL && !parse_words(draw->key_text, draw->key)) {
    return cli_fail(&cli_random, CLI_USAGE,
                    "--key: '%s' is not four 32-bit words separated by commas", draw->key_text);
  }
  if (draw->counter_text != NULL && !parse_words(draw->counter_text, draw->counter)) {
    return cli_fail(&cli_random, CLI_USAGE,
                    "--counter: '%s' is not four 32-bit words separated by commas",
                    draw->counter_text);
  }
  return CLI_GO_ON;
}

static void count_up(uint32_t counter[4]) {
  for (int i = 0; i < 4; i++) {
    if (++counter[i] != 0) return;
  }
}

static void print_draw(const draw_t *draw, const uint32_t words[4], int last) {
  if (draw->json) {
    printf("  [\"%08" PRIx32 "\", \"%08" PRIx32 "\", \"%08" PRIx32 "\", \"%08" PRIx32 "\"]%s\n",
           words[0], words[1], words[2], words[3], last ? "" : ",");
  } else {
    printf("%08" PRIx32 " %08" PRIx32 " %08" PRIx32 " %08" PRIx32 "\n", words[0], words[1],
           words[2], words[3]);
  }
}

static void print_draws(draw_t *draw) {
  if (draw->json) printf("[\n");
  for (uint64_t i = 0; i < draw->count && !ferror(stdout); i++) {
    uint32_t words[4];
    ufp4_threefry4x32((int)draw->rounds, draw->key, draw->counter, words);
    print_draw(draw, words, i + 1 == draw->count);
    count_up(draw->counter);
  }
  if (draw->json) printf("]\n");
}

static int run(int argc, char **argv) {
  draw_t draw = {.rounds = 12, .count = 1};
  cli_options_t options = {0};
  cli_option_add(&options, "rounds", CLI_UINT, &draw.rounds, "N", "0 to 72 (default 12)");
  cli_option_add(&options, "key", CLI_TEXT, &draw.key_text, "A,B,C,D", "4 words (default zeros)");
  cli_option_add(&options, "counter", CLI_TEXT, &draw.counter_text, "A,B,C,D",
                 "4 words (default zeros)");
  cli_option_add(&options, "count", CLI_UINT, &draw.count, "N",
                 "draws, with increasing counters (default 1)");
  cli_option_add(&options, "json", CLI_FLAG, &draw.json, NULL, "print an array of draws");
  int end = cli_parse(&cli_random, &options, argc, argv, 0, 0, NULL, NULL);
  if (end != CLI_GO_ON) return end;
  if (draw.rounds > 72)
    return cli_fail(&cli_random, CLI_USAGE, "--rounds: '%llu' is not a whole number from 0 to 72",
                    (unsigned long long)draw.rounds);
  end = read_words(&draw);
  if (end != CLI_GO_ON) return end;
  print_draws(&draw);
  return CLI_OK;
}
