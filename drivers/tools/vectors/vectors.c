// SPDX-License-Identifier: Apache-2.0
// ufp4 vectors: expected results of RTL units, as text for $fscanf.
#include "vectors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "frame/cli.h"

static int run(int argc, char **argv);
static void print_details(FILE *out);
const cli_command_t cli_vectors = {
    .name = "vectors",
    .arguments = "UNIT [options]",
    .summary =
        "Prints operands and expected results of one unit of the RTL, for any testbench.\n"
        "Boundary cases come first, then random ones. A record is one line of hexadecimal columns "
        "with a space\n"
        "between; codes and words of a block start at the lowest bits with element 0; negative "
        "numbers are two's\n"
        "complement. The first three lines begin with // (what it is, the columns' names, their "
        "widths in bits); a\n"
        "testbench skips them with $fgets and reads the rest with $fscanf.",
    .example = "ufp4 vectors dot --count 1000 -o dot.txt",
    .details = print_details,
    .run = run,
};

int vectors_columns(const vectors_unit_t *unit) {
  int count = 0;
  while (count < VECTORS_MAX_COLUMNS && unit->columns[count].name != NULL) count++;
  return count;
}

uint64_t vectors_next(vectors_t *vectors) {
  uint64_t z = vectors->random += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

uint32_t vectors_below(vectors_t *vectors, uint32_t bound) {
  return (uint32_t)((vectors_next(vectors) >> 32) * bound >> 32);
}

void vectors_set(vectors_record_t *record, int column, uint64_t value) {
  record->column[column][0] = (uint32_t)value;
  record->column[column][1] = (uint32_t)(value >> 32);
}

void vectors_set_words(vectors_record_t *record, int column, const uint32_t *words, size_t count) {
  memcpy(record->column[column], words, count * sizeof *words);
}

uint64_t vectors_join_codes(const uint8_t codes[16]) {
  uint64_t joined = 0;
  for (int i = 0; i < 16; i++) joined |= (uint64_t)(codes[i] & 15) << 4 * i;
  return joined;
}

ufp4_elem_t vectors_draw_elem(vectors_t *vectors) {
  return (ufp4_elem_t)vectors_below(vectors, UFP4_ELEM_COUNT);
}

void vectors_draw_codes(vectors_t *vectors, uint8_t codes[16]) {
  const uint64_t bits = vectors_next(vectors);
  for (int i = 0; i < 16; i++) codes[i] = bits >> 4 * i & 15;
}

const uint32_t vectors_special_numbers[VECTORS_SPECIAL_NUMBERS] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBFFFFFFF,
    0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF};

// --- Text ---------------------------------------------------------------------------------------

static void print_column(FILE *out, const uint32_t words[VECTORS_WORDS], int bits) {
  for (int digit = (bits + 3) / 4 - 1; digit >= 0; digit--) {
    int width = bits - 4 * digit < 4 ? bits - 4 * digit : 4;
    uint32_t nibble = words[digit / 8] >> 4 * (digit % 8) & ((1u << width) - 1);
    fputc("0123456789abcdef"[nibble], out);
  }
}

void vectors_put(vectors_t *vectors, const vectors_record_t *record) {
  vectors->records++;
  if (vectors->out == NULL) return;
  int columns = vectors_columns(vectors->unit);
  for (int i = 0; i < columns; i++) {
    print_column(vectors->out, record->column[i], vectors->unit->columns[i].bits);
    fputc(i + 1 < columns ? ' ' : '\n', vectors->out);
  }
}

static void print_header(const vectors_t *vectors, uint64_t seed, uint64_t records) {
  const vectors_unit_t *unit = vectors->unit;
  fprintf(vectors->out, "// ufp4 %d.%d.%d vectors %s, seed %" PRIu64 ", %" PRIu64 " records\n//",
          UFP4_VERSION_MAJOR, UFP4_VERSION_MINOR, UFP4_VERSION_PATCH, unit->name, seed, records);
  int columns = vectors_columns(unit);
  for (int i = 0; i < columns; i++) fprintf(vectors->out, " %s", unit->columns[i].name);
  fprintf(vectors->out, "\n//");
  for (int i = 0; i < columns; i++) fprintf(vectors->out, " %d", unit->columns[i].bits);
  fputc('\n', vectors->out);
}

static void print_all(const vectors_unit_t *unit, uint64_t seed, uint64_t count, int bare,
                      FILE *out) {
  vectors_t vectors = {.unit = unit};
  unit->boundary(&vectors);
  if (unit->draw == NULL) count = 0;
  vectors = (vectors_t){.unit = unit, .out = out, .random = seed, .records = vectors.records};
  if (!bare) print_header(&vectors, seed, vectors.records + count);
  unit->boundary(&vectors);
  for (uint64_t i = 0; i < count && !ferror(out); i++) unit->draw(&vectors);
}

// --- Units --------------------------------------------------------------------------------------

// Returns the unit of that number, or NULL past the last.
static const vectors_unit_t *unit_at(size_t index) {
  const struct {
    const vectors_unit_t *units;
    size_t count;
  } tables[] = {{vectors_multiply, vectors_multiply_count},
                {vectors_fp32, vectors_fp32_count},
                {vectors_nv, vectors_nv_count},
                {vectors_scale, vectors_scale_count},
                {vectors_transform, vectors_transform_count},
                {vectors_quantize, vectors_quantize_count}};
  for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
    if (index < tables[t].count) return &tables[t].units[index];
    index -= tables[t].count;
  }
  return NULL;
}

static const vectors_unit_t *find_unit(const char *name) {
  const vectors_unit_t *unit;
  for (size_t u = 0; (unit = unit_at(u)) != NULL; u++) {
    if (strcmp(unit->name, name) == 0) return unit;
  }
  return NULL;
}

static void print_details(FILE *out) {
  const vectors_unit_t *unit;
  fprintf(out, "Units, and their columns with widths in bits:\n");
  for (size_t u = 0; (unit = unit_at(u)) != NULL; u++) {
    fprintf(out, "\n  %s: %s\n", unit->name, unit->what);
    for (int i = 0; i < vectors_columns(unit); i++) {
      fprintf(out, "    %-15s %3d  %s\n", unit->columns[i].name, unit->columns[i].bits,
              unit->columns[i].meaning);
    }
  }
}

static int print_list(void) {
  const vectors_unit_t *unit;
  for (size_t u = 0; (unit = unit_at(u)) != NULL; u++) printf("%-12s %s\n", unit->name, unit->what);
  return CLI_OK;
}

static int write_file(const char *path, const vectors_unit_t *unit, uint64_t seed, uint64_t count,
                      int bare) {
  file_out_t file;
  ufp4_message_t message = {0};
  ufp4_status_t status = file_out_open(path, &file, &message);
  if (status == UFP4_OK) {
    print_all(unit, seed, count, bare, file.stream);
    status = file_out_close(&file, &message);
  }
  return status == UFP4_OK ? CLI_OK : cli_fail_status(&cli_vectors, status, message.text);
}

static int run(int argc, char **argv) {
  const char *output = NULL;
  uint64_t seed = 0, count = 1000;
  int list = 0, bare = 0, inputs_count = 0;
  cli_options_t options = {0};
  char **inputs;
  cli_option_add(&options, "count", CLI_UINT, &count, "N",
                 "random records after the boundary cases (default 1000)");
  cli_option_add(&options, "seed", CLI_UINT, &seed, "S", "seed of the random records (default 0)");
  cli_option_add(&options, "o", CLI_TEXT, &output, "FILE",
                 "output file (default: standard output)");
  cli_option_add(&options, "bare", CLI_FLAG, &bare, NULL,
                 "leave out the three lines that begin with //");
  cli_option_add(&options, "list", CLI_FLAG, &list, NULL, "list the units, one per line");
  int end = cli_parse(&cli_vectors, &options, argc, argv, 0, 1, &inputs, &inputs_count);
  if (end != CLI_GO_ON) return end;
  if (list && inputs_count != 0) {
    return cli_fail(&cli_vectors, CLI_USAGE, "--list lists all units; leave out '%s'", inputs[0]);
  }
  if (list) return print_list();
  if (inputs_count == 0)
    return cli_fail(&cli_vectors, CLI_USAGE, "a unit is needed; see ufp4 vectors --list");
  const vectors_unit_t *unit = find_unit(inputs[0]);
  if (unit == NULL) {
    return cli_fail(&cli_vectors, CLI_USAGE, "no unit is called '%s'; see ufp4 vectors --list",
                    inputs[0]);
  }
  if (output == NULL) {
    print_all(unit, seed, count, bare, stdout);
    return CLI_OK;
  }
  end = cli_output_file(&cli_vectors, output, CLI_ANY_FILE, NULL, 0);
  return end == CLI_GO_ON ? write_file(output, unit, seed, count, bare) : end;
}
