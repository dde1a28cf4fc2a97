// SPDX-License-Identifier: Apache-2.0
// The linear layers of a model: built in, or from a CSV file.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"

// Layers that read the same tensor are one GEMM, as they are run: q, k and v; gate and up.
// Sources: Radford et al. 2019 (GPT-2); Touvron et al. 2023, arXiv 2302.13971 and 2307.09288
// (Llama); Jiang et al. 2024, arXiv 2401.04088 (Mixtral 8x7B).
static const explore_model_t built_in[] = {
    {"gpt2",
     12,
     4,
     {{"qkv", 768, 2304, 1, 1, 1},
      {"proj", 768, 768, 1, 1, 1},
      {"fc1", 768, 3072, 1, 1, 1},
      {"fc2", 3072, 768, 1, 1, 1}}},
    {"llama-7b",
     32,
     4,
     {{"qkv", 4096, 12288, 1, 1, 1},
      {"o", 4096, 4096, 1, 1, 1},
      {"gate_up", 4096, 22016, 1, 1, 1},
      {"down", 11008, 4096, 1, 1, 1}}},
    {"llama-70b",
     80,
     4,
     {{"qkv", 8192, 10240, 1, 1, 1},
      {"o", 8192, 8192, 1, 1, 1},
      {"gate_up", 8192, 57344, 1, 1, 1},
      {"down", 28672, 8192, 1, 1, 1}}},
    {"moe",
     32,
     4,
     {{"qkv", 4096, 6144, 1, 1, 1},
      {"o", 4096, 4096, 1, 1, 1},
      {"gate_up", 4096, 28672, 8, 2, 8},
      {"down", 14336, 4096, 8, 2, 8}}},
};
enum { BUILT_IN = sizeof built_in / sizeof *built_in };

void explore_model_details(FILE *out) {
  fprintf(out,
          "\nSHAPES is a CSV file whose first line is name,cin,cout,count, or one of:\n"
          "  gpt2       GPT-2 124M: 12 blocks of width 768\n"
          "  llama-7b   32 blocks of width 4096\n"
          "  llama-70b  Llama 2 70B: 80 blocks of width 8192, k and v 1024 wide\n"
          "  moe        Mixtral 8x7B: 32 blocks, 2 of 8 experts a token, tokens split evenly\n"
          "Layers that read the same tensor are one GEMM: q, k and v; gate and up.\n"
          "Left out: attention's own products, embeddings, the head, the router, norms.\n"
          "\nOne block is run, and two, forward and backward; each further one counts as what the "
          "second adds.\nWith --serial every job runs once, alone.\n");
}

// --- CSV ----------------------------------------------------------------------------------------

typedef struct {
  const char *path;
  FILE *stream;
  int line;
} csv_t;

static int fail_line(const csv_t *csv, const char *what) {
  return cli_fail(&cli_explore, CLI_USAGE, "%s, line %d: %s", csv->path, csv->line, what);
}

static int read_size(const csv_t *csv, const char *text, const char *column, int64_t most,
                     int64_t *size) {
  char *end, what[160];
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  if (end != text && *end == '\0' && errno == 0 && value >= 1 && value <= most) {
    *size = value;
    return CLI_GO_ON;
  }
  snprintf(what, sizeof what, "%s is '%.40s'; a whole number from 1 to %" PRId64 " is needed",
           column, text, most);
  return fail_line(csv, what);
}

static const char name_letters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";

static int is_name(const char *text) {
  const size_t length = strspn(text, name_letters);
  return length > 0 && text[length] == '\0' && length < EXPLORE_NAME;
}

static int is_total(const char *name) {
  return strcmp(name, "block") == 0 || strcmp(name, "step") == 0;
}

static int read_layer(const csv_t *csv, char *text, explore_layer_t *layer) {
  char *fields[4];
  if (strchr(text, '"') != NULL) return fail_line(csv, "quotes are not supported");
  for (int i = 0; i < 4; i++) {
    fields[i] = strsep(&text, ",");
    if (fields[i] == NULL) return fail_line(csv, "name,cin,cout,count are needed");
    fields[i] += strspn(fields[i], " \t");
    for (size_t n = strlen(fields[i]); n > 0 && strchr(" \t", fields[i][n - 1]); n--)
      fields[i][n - 1] = '\0';
  }
  if (text != NULL) return fail_line(csv, "more than name,cin,cout,count");
  if (!is_name(fields[0])) return fail_line(csv, "the name needs 1 to 47 letters, digits or ._-/");
  memset(layer, 0, sizeof *layer);
  snprintf(layer->name, sizeof layer->name, "%s", fields[0]);
  layer->tokens_of = layer->tokens_by = 1;
  int end = read_size(csv, fields[1], "cin", UFP4_MAX_DIM, &layer->cin);
  if (end == CLI_GO_ON) end = read_size(csv, fields[2], "cout", UFP4_MAX_DIM, &layer->cout);
  return end == CLI_GO_ON ? read_size(csv, fields[3], "count", 1000000, &layer->count) : end;
}

// Blanks around commas and at the ends are nothing.
static void trim(char *text) {
  char *to = text;
  for (const char *c = text; *c != '\0'; c++) {
    const char after = c[strspn(c, " \t")];
    const int outside = to == text || to[-1] == ',' || after == ',' || after == '\0';
    if (strchr(" \t", *c) == NULL || !outside) *to++ = *c;
  }
  *to = '\0';
}

static int next_line(csv_t *csv, char *text, size_t size) {
  do {
    if (fgets(text, (int)size, csv->stream) == NULL) return 0;
    csv->line++;
    text[strcspn(text, "\r\n")] = '\0';
    trim(text);
  } while (text[0] == '\0');
  return 1;
}

static int read_layers(csv_t *csv, explore_model_t *model) {
  char text[512] = "";
  const int begun = next_line(csv, text, sizeof text);
  if (ferror(csv->stream)) return cli_fail_errno(&cli_explore, csv->path, "read");
  const char *first = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text;
  if (!begun || strcmp(first, "name,cin,cout,count") != 0) {
    return cli_fail(&cli_explore, CLI_USAGE, "%s: the first line must be name,cin,cout,count",
                    csv->path);
  }
  while (next_line(csv, text, sizeof text)) {
    if (model->layer_count == EXPLORE_MAX_LAYERS) return fail_line(csv, "too many layers");
    explore_layer_t *layer = &model->layers[model->layer_count];
    int end = read_layer(csv, text, layer);
    if (end != CLI_GO_ON) return end;
    if (is_total(layer->name)) return fail_line(csv, "block and step are the names of totals");
    for (int i = 0; i < model->layer_count; i++) {
      if (strcmp(model->layers[i].name, layer->name) == 0)
        return fail_line(csv, "this name is there twice");
    }
    model->layer_count++;
  }
  if (ferror(csv->stream)) return cli_fail_errno(&cli_explore, csv->path, "read");
  if (model->layer_count > 0) return CLI_GO_ON;
  return cli_fail(&cli_explore, CLI_USAGE, "%s: there is no layer in it", csv->path);
}

// The file's name without folder and ending.
static void name_model(const char *path, explore_model_t *model) {
  const char *slash = strrchr(path, '/');
  snprintf(model->name, sizeof model->name, "%s", slash != NULL ? slash + 1 : path);
  char *dot = strrchr(model->name, '.');
  if (dot != NULL && dot != model->name) *dot = '\0';
  for (char *c = model->name; *c != '\0'; c++) {
    if (strchr(name_letters, *c) == NULL) *c = '_';
  }
}

static int is_csv(const char *shapes) {
  const size_t length = strlen(shapes);
  return strchr(shapes, '/') != NULL || (length > 4 && strcmp(shapes + length - 4, ".csv") == 0);
}

int explore_model(const char *shapes, explore_model_t *model) {
  for (int i = 0; i < BUILT_IN; i++) {
    if (strcmp(shapes, built_in[i].name) != 0) continue;
    *model = built_in[i];
    return CLI_GO_ON;
  }
  if (!is_csv(shapes)) {
    return cli_fail(&cli_explore, CLI_USAGE,
                    "no model is called '%.60s'; there are gpt2, llama-7b, llama-70b, moe, or a "
                    "FILE.csv",
                    shapes);
  }
  csv_t csv = {.path = shapes, .stream = fopen(shapes, "r")};
  if (csv.stream == NULL) return cli_fail_errno(&cli_explore, shapes, "read");
  memset(model, 0, sizeof *model);
  model->blocks = 1;
  name_model(shapes, model);
  int end = read_layers(&csv, model);
  fclose(csv.stream);
  return end;
}
