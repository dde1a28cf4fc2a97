// SPDX-License-Identifier: Apache-2.0
// Lists of words separated by commas, in which parameters of a configuration may be ranges; and
// duplicate cases.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dram.h"
#include "explore/options/options.h"

static int add_word(const char *option, const char *word, explore_list_t *list) {
  if (*word == '\0')
    return cli_fail(&cli_explore, CLI_USAGE, "--%s: an entry of the list is empty", option);
  for (int i = 0; i < list->count; i++) {
    if (strcmp(list->words[i], word) == 0)
      return cli_fail(&cli_explore, CLI_USAGE, "--%s: %s is given twice", option, word);
  }
  if (list->count == EXPLORE_MAX_WORDS)
    return cli_fail(&cli_explore, CLI_USAGE, "--%s: the list may have at most %d entries", option,
                    EXPLORE_MAX_WORDS);
  list->words[list->count] = strdup(word);
  if (list->words[list->count] == NULL)
    return cli_fail_status(&cli_explore, UFP4_ERROR_MEMORY, NULL);
  list->count++;
  return CLI_GO_ON;
}

/** A range: rows=4..16: 4, 8, 16; rows=4..16+4: 4, 8, 12, 16. */
typedef struct {
  unsigned first, last, step;  ///< step 0: each value is twice the previous one
  size_t begin, end;           ///< position in the word
} range_t;

// Reads a number of one to five digits. @return the text behind it, or NULL.
static const char *read_digits(const char *text, unsigned *number) {
  const size_t digits = strspn(text, "0123456789");
  if (digits < 1 || digits > 5) return NULL;
  *number = (unsigned)strtoul(text, NULL, 10);
  return text + digits;
}

// Reads a range. @return the text behind it, or NULL if it is not one.
static const char *read_range(const char *value, range_t *range) {
  const char *at = read_digits(value, &range->first);
  if (at != NULL) at = strncmp(at, "..", 2) == 0 ? read_digits(at + 2, &range->last) : NULL;
  if (at != NULL && *at == '+') {
    at = read_digits(at + 1, &range->step);
    if (range->step == 0) return NULL;
  }
  return at != NULL && (*at == ':' || *at == '\0') ? at : NULL;
}

// Finds the first range of a word. @return 0: there is none; -1: an incomplete range
static int find_range(const char *word, range_t *range) {
  const char *value = word;
  while ((value = strchr(value, '=')) != NULL) {
    const size_t digits = strspn(++value, "0123456789");
    if (digits == 0 || strncmp(value + digits, "..", 2) != 0) continue;
    range->step = 0;
    const char *end = read_range(value, range);
    if (end == NULL) return -1;
    range->begin = (size_t)(value - word);
    range->end = (size_t)(end - word);
    return 1;
  }
  return 0;
}

// Expands each range in its place; the first range changes slowest.
static int add_range(const char *option, const char *word, explore_list_t *list) {
  range_t range;
  const int found = find_range(word, &range);
  if (found == 0) return add_word(option, word, list);
  if (found < 0)
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--%s: '%s': a range must be FIRST..LAST or FIRST..LAST+STEP, of one to five "
                    "digits each, with STEP from 1",
                    option, word);
  if (range.first == 0 || range.first > range.last)
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--%s: '%s': a range must start at 1 or more and go up", option, word);
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

// Returns whether two names mean the same memory, such as hbm3 and hbm3:32.
static int is_same_dram(const char *a, const char *b) {
  const ufp4_dram_t one = ufp4_find_dram(a), other = ufp4_find_dram(b);
  return one.channels == other.channels && (one.channels == 0 || strcmp(one.name, other.name) == 0);
}

// Returns whether two cores have the same cycles under different names.
static int is_same_core(const ufp4_configuration_t *a, const ufp4_configuration_t *b) {
  return memcmp(&a->rows, &b->rows, sizeof *a - offsetof(ufp4_configuration_t, rows)) == 0;
}

// 0 means the bandwidth of the bus; a larger value is kept, with a note.
static unsigned bytes_of(const explore_case_t *of) {
  return of->mem_bandwidth != 0 ? of->mem_bandwidth : of->cores * of->core.bus_bytes;
}

int explore_is_same_case(const explore_case_t *a, const explore_case_t *b) {
  return a->cores == b->cores && bytes_of(a) == bytes_of(b) && a->mem_latency == b->mem_latency &&
         a->tokens == b->tokens && is_same_core(&a->core, &b->core) &&
         strcmp(a->recipe.name, b->recipe.name) == 0 && is_same_dram(a->dram, b->dram);
}

static int is_same_chips(const explore_chips_t *a, const explore_chips_t *b) {
  return a->data == b->data && a->tensor == b->tensor && a->pipeline == b->pipeline &&
         a->experts == b->experts;
}

// Reports the words in which the two differ.
static int fail_again(const explore_case_t *is, const explore_case_t *one) {
  char what[160] = "";
  if (strcmp(is->chips.text, one->chips.text) != 0)
    snprintf(what, sizeof what, " with --chips %s and %s", is->chips.text, one->chips.text);
  else if (is->mem_bandwidth != one->mem_bandwidth)
    snprintf(what, sizeof what, " with --mem-bandwidth 0, which means its bus, and %u",
             bytes_of(one));
  else if (one->dram[0] != '\0')
    snprintf(what, sizeof what, " with --dram %s", one->dram);
  return cli_fail(&cli_explore, CLI_USAGE, "two cases are the same: %s%s", one->core.name, what);
}

int explore_check_case(const explore_plan_t *plan, const explore_case_t *one) {
  for (int i = 0; i < plan->case_count; i++) {
    const explore_case_t *is = &plan->cases[i];
    if (is->reason[0] != '\0' || one->reason[0] != '\0' || is->micro != one->micro ||
        !is_same_chips(&is->chips, &one->chips) || !explore_is_same_case(is, one))
      continue;
    return fail_again(is, one);
  }
  return CLI_GO_ON;
}

void explore_list_free(explore_list_t *list) {
  for (int i = 0; i < list->count; i++) free(list->words[i]);
}
