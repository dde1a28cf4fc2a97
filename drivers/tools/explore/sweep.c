// SPDX-License-Identifier: Apache-2.0
// The words that an option lists: with commas between them, and of a configuration's parameters
// with ranges in them.
#include <stdlib.h>
#include <string.h>

#include "explore.h"

static int add_word(const char *option, const char *word, explore_list_t *list) {
  if (*word == '\0') return cli_fail(&cli_explore, CLI_USAGE, "--%s: a name is empty", option);
  for (int i = 0; i < list->count; i++) {
    if (strcmp(list->words[i], word) == 0)
      return cli_fail(&cli_explore, CLI_USAGE, "--%s: %s is there twice", option, word);
  }
  if (list->count == EXPLORE_MAX_WORDS)
    return cli_fail(&cli_explore, CLI_USAGE, "--%s: at most %d", option, EXPLORE_MAX_WORDS);
  list->words[list->count] = strdup(word);
  if (list->words[list->count] == NULL)
    return cli_fail_status(&cli_explore, UFP4_ERROR_MEMORY, NULL);
  list->count++;
  return CLI_GO_ON;
}

/** rows=4..16: 4, 8, 16; rows=4..16+4: 4, 8, 12, 16. */
typedef struct {
  unsigned first, last, step;  ///< step 0: each is twice the one before it
  size_t begin, end;           ///< where in a word it stands
} range_t;

static int find_range(const char *word, range_t *range) {
  const char *value = word;
  while ((value = strchr(value, '=')) != NULL) {
    value++;
    int used = 0;
    range->step = 0;
    if (sscanf(value, "%5u..%5u%n", &range->first, &range->last, &used) < 2 || used == 0) continue;
    int more = 0;
    if (sscanf(value + used, "+%5u%n", &range->step, &more) == 1) used += more;
    range->begin = (size_t)(value - word);
    range->end = range->begin + (size_t)used;
    return 1;
  }
  return 0;
}

// Each of a range in its place, the first range slowest.
static int add_range(const char *option, const char *word, explore_list_t *list) {
  range_t range;
  if (!find_range(word, &range)) return add_word(option, word, list);
  if (range.first == 0 || range.first > range.last)
    return cli_fail(&cli_explore, CLI_USAGE, "--%s: '%s': a range goes up from 1 or more", option,
                    word);
  int end = CLI_GO_ON;
  for (unsigned x = range.first; x <= range.last && end == CLI_GO_ON;
       x += range.step != 0 ? range.step : x) {
    char one[256];
    if (snprintf(one, sizeof one, "%.*s%u%s", (int)range.begin, word, x, word + range.end) >=
        (int)sizeof one)
      return cli_fail(&cli_explore, CLI_USAGE, "--%s: '%s' is too long", option, word);
    end = add_range(option, one, list);
  }
  return end;
}

int explore_list(const char *option, const char *text, explore_list_t *list) {
  char *memory = strdup(text), *rest = memory;
  if (memory == NULL) return cli_fail_status(&cli_explore, UFP4_ERROR_MEMORY, NULL);
  int end = CLI_GO_ON;
  while (rest != NULL && end == CLI_GO_ON) {
    const char *word = strsep(&rest, ",");
    end = add_range(option, word, list);
  }
  free(memory);
  return end;
}

void explore_list_free(explore_list_t *list) {
  for (int i = 0; i < list->count; i++) free(list->words[i]);
}
