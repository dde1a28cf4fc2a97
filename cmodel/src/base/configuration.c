// SPDX-License-Identifier: Apache-2.0
#include "base/configuration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/shape.h"

/** The state of the parser. */
typedef struct {
  ufp4_configuration_t core;
  uint32_t target, tile_m, tile_n;  // macro-tile in outputs, or 0
  int tiled;                        // tile_m and tile_n were given
  unsigned given;                   // properties that are set: SAYS_*
} parse_t;

/** Properties that a parameter sets. Two parameters that set the same one exclude each other. */
enum {
  SAYS_ROWS = 1 << 0,
  SAYS_COLS = 1 << 1,
  SAYS_TILE_ROWS = 1 << 2,
  SAYS_TILE_COLS = 1 << 3,
  SAYS_CHUNK = 1 << 4,
  SAYS_BUS = 1 << 5,
  SAYS_QUANT = 1 << 6,
  SAYS_LANES = 1 << 7,
  SAYS_CONTRACT = 1 << 8,
  SAYS_FORMATS = 1 << 9,
  SAYS_TARGET = 1 << 10,
  SAYS_MIXED = 1 << 11
};

/** A parameter: a number, a pair of them (second), or a word (words). */
typedef struct {
  const char *name;
  unsigned says;
  size_t first, second;
  const char *const *words;
  uint32_t count;
} parameter_t;

#define AT(field) offsetof(parse_t, field)
static const parameter_t keys[] = {
    {"rows", SAYS_ROWS, AT(core.rows), 0, NULL, 0},
    {"cols", SAYS_COLS, AT(core.cols), 0, NULL, 0},
    {"tile", SAYS_TILE_ROWS | SAYS_TILE_COLS, AT(tile_m), AT(tile_n), NULL, 0},
    {"tile_rows", SAYS_TILE_ROWS, AT(core.tile_rows), 0, NULL, 0},
    {"tile_cols", SAYS_TILE_COLS, AT(core.tile_cols), 0, NULL, 0},
    {"chunk", SAYS_CHUNK, AT(core.chunk), 0, NULL, 0},
    {"bus", SAYS_BUS, AT(core.bus_bytes), 0, NULL, 0},
    {"bus_bytes", SAYS_BUS, AT(core.bus_bytes), 0, NULL, 0},
    {"quant", SAYS_QUANT, AT(core.quant), 0, NULL, 0},
    {"mixed", SAYS_MIXED, AT(core.mixed), 0, NULL, 0},
    {"lanes", SAYS_LANES, AT(core.lanes), 0, NULL, 0},
    {"contract", SAYS_CONTRACT, AT(core.contract), 0, contract_names, UFP4_CONTRACT_COUNT},
    {"formats", SAYS_FORMATS, AT(core.formats), 0, formats_names, UFP4_FORMATS_COUNT},
    {"target", SAYS_TARGET, AT(target), 0, target_names, UFP4_TARGET_COUNT},
    {"simulated", SAYS_TARGET, AT(target), 0, target_names, UFP4_TARGET_COUNT},
};
enum { KEYS = sizeof keys / sizeof *keys };

// --- Text ---------------------------------------------------------------------------------------

static uint32_t *field_at(parse_t *parse, size_t offset) {
  return (uint32_t *)(void *)((char *)parse + offset);
}

// Reads a whole number below 2^20, which exceeds every legal value. @return the text behind it, or
// NULL.
static const char *read_number(const char *text, uint32_t *number) {
  char *end;
  if (*text < '0' || *text > '9') return NULL;
  const unsigned long value = strtoul(text, &end, 10);
  if (value >= 1u << 20) return NULL;
  *number = (uint32_t)value;
  return end;
}

static int read_value(const parameter_t *key, const char *value, parse_t *parse) {
  for (uint32_t i = 0; i < key->count; i++) {
    if (strcmp(value, key->words[i]) != 0) continue;
    *field_at(parse, key->first) = i;
    return 1;
  }
  if (key->words != NULL) return 0;
  const char *rest = read_number(value, field_at(parse, key->first));
  if (rest != NULL && key->second != 0)
    rest = *rest == 'x' ? read_number(rest + 1, field_at(parse, key->second)) : NULL;
  return rest != NULL && *rest == '\0';
}

static ufp4_status_t refuse(ufp4_message_t *message, const char *text, const char *what,
                            const char *word) {
  ufp4_message_set(message, "configuration '%s': %s%s%s%s", text, what, word ? " '" : "",
                   word ? word : "", word ? "'" : "");
  return UFP4_ERROR_ARGUMENT;
}

// Refuses a value with a message that tells which values the key takes.
static ufp4_status_t refuse_value(ufp4_message_t *message, const char *text, const parameter_t *key,
                                  const char *value) {
  const char *number = strstr(value, "..") == NULL ? "a whole number below 2^20"
                                                   : "a whole number (ranges only in ufp4 explore)";
  char what[128];
  size_t used = (size_t)snprintf(what, sizeof what, "%s takes ", key->name);
  if (key->words == NULL)
    used += (size_t)snprintf(what + used, sizeof what - used, "%s",
                             key->second != 0 ? "a size in outputs such as 128x256" : number);
  for (uint32_t i = 0; i < key->count && used < sizeof what; i++)
    used +=
        (size_t)snprintf(what + used, sizeof what - used, "%s%s", i > 0 ? "|" : "", key->words[i]);
  if (used < sizeof what) snprintf(what + used, sizeof what - used, ", not");
  return refuse(message, text, what, value);
}

static ufp4_status_t read_parameter(const char *text, char *word, parse_t *parse,
                                    ufp4_message_t *message) {
  char *value = strchr(word, '=');
  if (value == NULL) return refuse(message, text, "KEY=VALUE is needed, not", word);
  *value++ = '\0';
  for (unsigned i = 0; i < KEYS; i++) {
    if (strcmp(word, keys[i].name) != 0) continue;
    if (parse->given & keys[i].says)
      return refuse(message, text, "there is a second value for", word);
    parse->given |= keys[i].says;
    if (keys[i].second != 0) parse->tiled = 1;
    if (read_value(&keys[i], value, parse)) return UFP4_OK;
    return refuse_value(message, text, &keys[i], value);
  }
  return refuse(message, text,
                "the keys are rows, cols, tile, tile_rows, tile_cols, chunk, bus, quant, mixed, "
                "lanes, contract, formats and target, not",
                word);
}

static ufp4_status_t parse_text(const char *text, parse_t *parse, ufp4_message_t *message) {
  char copy[256], *at = copy;
  if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
    return refuse(message, text, "longer than 255 characters", NULL);
  for (;;) {
    char *end = strchr(at, ':');
    if (end != NULL) *end = '\0';
    const ufp4_status_t status = read_parameter(text, at, parse, message);
    if (status != UFP4_OK || end == NULL) return status;
    at = end + 1;
  }
}

// --- Names that are made ------------------------------------------------------------------------

// Reads @p before and a number. @return the text behind them, or NULL.
static const char *read_part(const char *text, const char *before, uint32_t *number) {
  if (text == NULL || strncmp(text, before, strlen(before)) != 0) return NULL;
  return read_number(text + strlen(before), number);
}

// Reads one of the words behind a dash. The first word is the default, which a name leaves out.
static const char *read_word(const char *text, const char *const words[], uint32_t count,
                             uint32_t *value) {
  for (uint32_t i = 1; text != NULL && *text == '-' && i < count; i++) {
    const size_t length = strlen(words[i]);
    if (strncmp(text + 1, words[i], length) != 0 || strchr("-", text[1 + length]) == NULL) continue;
    *value = i;
    return text + 1 + length;
  }
  return text;
}

static int parse_name(const char *name, parse_t *parse) {
  ufp4_configuration_t *core = &parse->core;
  const char *at = read_part(name, "", &core->rows);
  at = read_part(at, "x", &core->cols);
  at = read_part(at, "-", &parse->tile_m);
  at = read_part(at, "x", &parse->tile_n);
  parse->tiled = 1;
  at = read_part(at, "-c", &core->chunk);
  at = read_part(at, "-b", &core->bus_bytes);
  at = read_part(at, "-q", &core->quant);
  at = read_word(at, contract_names, UFP4_CONTRACT_COUNT, &core->contract);
  at = read_word(at, formats_names, UFP4_FORMATS_COUNT, &core->formats);
  if (at != NULL && strncmp(at, "-l", 2) == 0) at = read_part(at, "-l", &core->lanes);
  if (at != NULL && strncmp(at, "-mixed", 6) == 0) core->mixed = 1, at += 6;
  at = read_word(at, target_names, UFP4_TARGET_COUNT, &parse->target);
  return at != NULL && *at == '\0';
}

static void make_name(parse_t *parse) {
  ufp4_configuration_t *c = &parse->core;
  char lanes[16] = "";
  if (c->lanes != 16) snprintf(lanes, sizeof lanes, "-l%u", c->lanes);
  snprintf(c->name, sizeof c->name, "%ux%u-%ux%u-c%u-b%u-q%u%s%s%s%s%s%s%s%s", c->rows, c->cols,
           c->rows * c->tile_rows, c->cols * c->tile_cols, c->chunk, c->bus_bytes, c->quant,
           c->contract ? "-" : "", c->contract ? contract_names[c->contract] : "",
           c->formats ? "-" : "", c->formats ? formats_names[c->formats] : "", lanes,
           c->mixed ? "-mixed" : "", parse->target ? "-" : "",
           parse->target ? target_names[parse->target] : "");
}

// --- Find ---------------------------------------------------------------------------------------

static int find_name(const char *name, parse_t *parse) {
  static const ufp4_configuration_t known[UFP4_CONFIGURATION_COUNT] = UFP4_CONFIGURATIONS;
  static const uint32_t simulated[UFP4_CONFIGURATION_COUNT] = SHAPE_TARGETS;
  for (int i = 0; i < UFP4_CONFIGURATION_COUNT; i++) {
    if (strcmp(name, known[i].name) != 0) continue;
    parse->core = known[i];
    parse->target = simulated[i];
    return 1;
  }
  return 0;
}

// Converts a macro-tile from outputs to sub-tiles; 0, which is refused later, if it is not a
// multiple.
static void divide_tile(parse_t *parse) {
  ufp4_configuration_t *c = &parse->core;
  if (!parse->tiled) return;
  c->tile_rows = c->rows != 0 && parse->tile_m % c->rows == 0 ? parse->tile_m / c->rows : 0;
  c->tile_cols = c->cols != 0 && parse->tile_n % c->cols == 0 ? parse->tile_n / c->cols : 0;
}

static ufp4_status_t refuse_name(ufp4_message_t *message, const char *name) {
  static const ufp4_configuration_t known[UFP4_CONFIGURATION_COUNT] = UFP4_CONFIGURATIONS;
  char names[UFP4_CONFIGURATION_COUNT * 24] = "";
  for (int i = 0; i < UFP4_CONFIGURATION_COUNT; i++) {
    const size_t length = strlen(names);
    const char *before = i == 0 ? "" : i == UFP4_CONFIGURATION_COUNT - 1 ? " and " : ", ";
    const size_t room = sizeof names - length;
    if (snprintf(names + length, room, "%s%s", before, known[i].name) >= (int)room) break;
  }
  ufp4_message_set(message,
                   "no configuration is called '%s'; there are %s, or parameters such as "
                   "rows=8:cols=16",
                   name, names);
  return UFP4_ERROR_ARGUMENT;
}

// Refuses a shape in the RTL's words, and lists all values, including the defaults.
static ufp4_status_t refuse_shape(ufp4_message_t *message, const char *text, const parse_t *parse,
                                  const char *refusal) {
  const ufp4_configuration_t *c = &parse->core;
  char what[320];
  snprintf(what, sizeof what,
           "%s; here rows=%u cols=%u %s%u%s%u chunk=%u bus=%u lanes=%u quant=%u mixed=%u "
           "contract=%s formats=%s",
           refusal, c->rows, c->cols,
           parse->tiled ? "tile=" : "tile_rows=", parse->tiled ? parse->tile_m : c->tile_rows,
           parse->tiled ? "x" : " tile_cols=", parse->tiled ? parse->tile_n : c->tile_cols,
           c->chunk, c->bus_bytes, c->lanes, c->quant, c->mixed, contract_names[c->contract],
           formats_names[c->formats]);
  (void)refuse(message, text, what, NULL);
  return UFP4_ERROR_UNSUPPORTED;
}

static ufp4_status_t make(const char *text, parse_t *parse, ufp4_message_t *message) {
  if (!find_name("default", parse)) return UFP4_ERROR_DEVICE;
  parse->target = UFP4_TARGET_ASIC;
  if (strchr(text, '=') != NULL) {
    const ufp4_status_t status = parse_text(text, parse, message);
    if (status != UFP4_OK) return status;
  } else if (!parse_name(text, parse)) {
    return refuse_name(message, text);
  }
  divide_tile(parse);
  const char *refusal = shape_refusal(&parse->core);
  if (refusal != NULL) return refuse_shape(message, text, parse, refusal);
  make_name(parse);
  return UFP4_OK;
}

ufp4_status_t configuration_find(const char *text, ufp4_configuration_t *configuration,
                                 ufp4_target_t *target, ufp4_message_t *message) {
  parse_t parse = {0};
  if (!find_name(text, &parse)) {
    const ufp4_status_t status = make(text, &parse, message);
    if (status != UFP4_OK) return status;
  }
  *configuration = parse.core;
  if (target != NULL) *target = (ufp4_target_t)parse.target;
  return UFP4_OK;
}
