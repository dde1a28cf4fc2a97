// SPDX-License-Identifier: Apache-2.0
#include "waves.h"

#include <gtkwave/fstapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A condition: a part of a signal exceeds a number. An access happens in each cycle in which all
// conditions hold.
typedef struct {
  fstHandle signal;
  unsigned shift;
  uint64_t mask, over;
} term_t;

typedef struct {
  term_t terms[3];
  ufp4_sram_t kind;
  int writes;
  unsigned words;  // the number of words that such an access reads or writes
} rule_t;

typedef struct {
  char scope[300], name[32];
  unsigned bits;
  fstHandle signal;
} variable_t;

typedef struct {
  variable_t *variables;
  rule_t *rules;
  unsigned variable_count, rule_count;
  uint64_t *values;  // of signals, the lowest 64 bits
  uint64_t edge;     // the next rising edge
  waves_accesses_t *found;
} waves_t;

static void *grown(void *array, unsigned count, size_t size) {
  void *out = realloc(array, (count + 1) * size);
  if (out == NULL) abort();
  return out;
}

static void rule(waves_t *waves, ufp4_sram_t kind, int writes, unsigned words, term_t a, term_t b,
                 term_t c) {
  waves->rules = grown(waves->rules, waves->rule_count, sizeof *waves->rules);
  waves->rules[waves->rule_count++] = (rule_t){{a, b, c}, kind, writes, words};
}

// --- The signals of accesses --------------------------------------------------------------------

static const variable_t *find(const waves_t *waves, const char *scope, const char *name) {
  for (unsigned i = 0; i < waves->variable_count; i++) {
    const variable_t *variable = &waves->variables[i];
    const size_t length = strlen(variable->scope), end = strlen(scope);
    if (strcmp(variable->name, name) == 0 && length >= end &&
        strcmp(variable->scope + length - end, scope) == 0)
      return variable;
  }
  return NULL;
}

static term_t bit(const variable_t *variable, unsigned shift) {
  return (term_t){variable->signal, shift, 1, 0};
}

static const term_t always = {0};

// Adds the enables of a memory, found by its path. Waveforms do not have those inside lanes and PEs
// of contract exact.
static int enables(waves_t *waves, const variable_t *variable) {
  static const struct {
    const char *part;
    ufp4_sram_t kind;
  } kinds[] = {{".u_banks.", UFP4_SRAM_ACCUMULATORS},
               {".u_waiting.", UFP4_SRAM_WAITING},
               {".u_addend.", UFP4_SRAM_ADDENDS},
               {".u_strip.", UFP4_SRAM_STRIPS},
               {".u_transpose.", UFP4_SRAM_TRANSPOSE},
               {".u_blocks.", UFP4_SRAM_BLOCKS},
               {".u_transformed.", UFP4_SRAM_TRANSFORMED},
               {".u_units.", UFP4_SRAM_OUTPUT},
               {".u_pairs.", UFP4_SRAM_STRIPS}};
  const int writes = strcmp(variable->name, "we") == 0;
  if ((!writes && strcmp(variable->name, "re") != 0) || strstr(variable->scope, "_parity"))
    return 1;
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (!strstr(variable->scope, kinds[i].part)) continue;
    rule(waves, kinds[i].kind, writes, 1, bit(variable, 0), always, always);
    return 1;
  }
  printf("the memory %s is of no kind\n", variable->scope);
  return 0;
}

// Adds the rules of the lanes at their pins: each lane has codes and scales.
static void lane(waves_t *waves, int side, unsigned index, const variable_t *valid, unsigned shift,
                 const variable_t *first, unsigned first_shift, const variable_t *lanes) {
  const term_t inside = {lanes->signal, 0, UINT64_MAX, index};
  const term_t begins = first ? bit(first, first_shift) : always;
  rule(waves, side ? UFP4_SRAM_CODES_B : UFP4_SRAM_CODES_A, 0, 1, bit(valid, shift), begins,
       inside);
  rule(waves, side ? UFP4_SRAM_SCALES_B : UFP4_SRAM_SCALES_A, 0, 1, bit(valid, shift), begins,
       inside);
}

static void lane_writes(waves_t *waves, int side, unsigned lanes) {
  const variable_t *we = find(waves, ".u_systolic", side ? "we_b_i" : "we_a_i");
  for (unsigned i = 0; i < we->bits; i++) {
    rule(waves, side ? UFP4_SRAM_CODES_B : UFP4_SRAM_CODES_A, 1, lanes / we->bits, bit(we, i),
         always, always);
    rule(waves, side ? UFP4_SRAM_SCALES_B : UFP4_SRAM_SCALES_A, 1, lanes / we->bits, bit(we, i),
         always, always);
  }
}

// Adds the rules of the PEs in a row of contract exact, by their control words: valid, keep, load,
// write, bank and index; narrower PEs have two bits of steps before these.
static void sums(waves_t *waves, const char *scope, unsigned index_bits, unsigned cols) {
  const variable_t *control = find(waves, scope, "control");
  const variable_t *drain = find(waves, scope, "drain_read");
  rule(waves, UFP4_SRAM_ACCUMULATORS, 0, cols, bit(control, index_bits + 2), always, always);
  rule(waves, UFP4_SRAM_ACCUMULATORS, 1, cols, bit(control, index_bits + 4),
       bit(control, index_bits + 1), always);
  for (unsigned i = 0; i < drain->bits; i++)
    rule(waves, UFP4_SRAM_ACCUMULATORS, 0, 2 * cols / drain->bits, bit(drain, i), always, always);
}

static int array(waves_t *waves, const ufp4_configuration_t *core) {
  const int narrow = core->lanes < 16;
  for (unsigned r = 0; r < core->rows; r++) {
    char scope[64];
    snprintf(scope, sizeof scope, ".u_systolic.gen_row[%u]", r);
    const variable_t *control = find(waves, scope, "control");
    const variable_t *lanes = find(waves, scope, "lanes");
    if (!control || !lanes) return 0;
    lane(waves, 0, r, control, control->bits - 1, narrow ? control : NULL, control->bits - 2,
         lanes);
    if (core->contract == UFP4_CONTRACT_EXACT)
      sums(waves, scope, control->bits - 5 - (narrow ? 2 : 0), core->cols);
  }
  for (unsigned c = 0; c < core->cols; c++) {
    char scope[64];
    snprintf(scope, sizeof scope, ".u_systolic.gen_lane_b[%u]", c);
    lane(waves, 1, c, find(waves, scope, "valid"), 0, find(waves, scope, "first"), 0,
         find(waves, scope, "lanes"));
  }
  lane_writes(waves, 0, core->rows);
  lane_writes(waves, 1, core->cols);
  return 1;
}

static void take(waves_t *waves, const char *scope, const struct fstHier *hier) {
  waves->variables = grown(waves->variables, waves->variable_count, sizeof *waves->variables);
  variable_t *variable = &waves->variables[waves->variable_count++];
  snprintf(variable->scope, sizeof variable->scope, "%s", scope);
  snprintf(variable->name, sizeof variable->name, "%.*s", (int)strcspn(hier->u.var.name, " "),
           hier->u.var.name);
  variable->bits = hier->u.var.length;
  variable->signal = hier->u.var.handle;
}

static int understand(waves_t *waves, void *reader, const ufp4_configuration_t *core) {
  const struct fstHier *hier;
  while ((hier = fstReaderIterateHier(reader)) != NULL) {
    if (hier->htyp == FST_HT_SCOPE) fstReaderPushScope(reader, hier->u.scope.name, NULL);
    if (hier->htyp == FST_HT_UPSCOPE) fstReaderPopScope(reader);
    if (hier->htyp == FST_HT_VAR) take(waves, fstReaderGetCurrentFlatScope(reader), hier);
  }
  for (unsigned i = 0; i < waves->variable_count; i++)
    if (!enables(waves, &waves->variables[i])) return 0;
  return array(waves, core);
}

// --- Counting -----------------------------------------------------------------------------------

static void count_edges(waves_t *waves, uint64_t until) {
  for (; waves->edge <= until; waves->edge += 2) {
    for (unsigned i = 0; i < waves->rule_count; i++) {
      const rule_t *one = &waves->rules[i];
      int all = 1;
      for (unsigned t = 0; t < 3 && all; t++) {
        const term_t *term = &one->terms[t];
        all = term->mask == 0 ||
              (waves->values[term->signal] >> term->shift & term->mask) > term->over;
      }
      if (all) (one->writes ? waves->found->writes : waves->found->reads)[one->kind] += one->words;
    }
  }
}

// A register samples the values before its edge. The clock rises at even times, so changes at such
// a time come after the edge.
static void changed(void *user, uint64_t time, fstHandle signal, const unsigned char *value) {
  waves_t *waves = user;
  count_edges(waves, time);
  uint64_t bits = 0;
  for (const unsigned char *digit = value; *digit; digit++) bits = bits << 1 | (*digit == '1');
  waves->values[signal] = bits;
}

int waves_accesses(const char *path, const ufp4_configuration_t *core, waves_accesses_t *found) {
  waves_t waves = {.found = found};
  memset(found, 0, sizeof *found);
  void *reader = fstReaderOpen(path);
  if (reader == NULL) return 0;
  int good = understand(&waves, reader, core);
  if (good) {
    waves.values = calloc(fstReaderGetMaxHandle(reader) + 1, sizeof *waves.values);
    if (waves.values == NULL) abort();
    fstReaderClrFacProcessMaskAll(reader);
    for (unsigned i = 0; i < waves.rule_count; i++)
      for (unsigned t = 0; t < 3; t++)
        if (waves.rules[i].terms[t].mask != 0)
          fstReaderSetFacProcessMask(reader, waves.rules[i].terms[t].signal);
    good = fstReaderIterBlocks(reader, changed, &waves, NULL);
    count_edges(&waves, fstReaderGetEndTime(reader));
  }
  fstReaderClose(reader);
  free(waves.variables);
  free(waves.rules);
  free(waves.values);
  return good;
}
