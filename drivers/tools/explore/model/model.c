// SPDX-License-Identifier: Apache-2.0
// The layers of a model: built in, from a transformers configuration, or from a CSV file.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explore/plan.h"

void explore_model_details(FILE *out) {
  fprintf(out,
          "\n"
          "SHAPES is one of the models below, or a CSV file whose first line is "
          "name,cin,cout,count, followed by\n"
          "any of kind,tokens,repeat,group,share.\n\n");
  explore_architecture_details(out);
  fprintf(out,
          "\n"
          "Layers that read the same tensor are one GEMM: q, k and v; gate and up.\n"
          "Attention's own products (without --attention), embeddings, the head, the router and "
          "norms are left out;\n"
          "--host-bytes counts the bytes that they read and write.\n\n"
          "Of each kind, one block and two blocks are run, forward and backward; each further "
          "block counts as the\n"
          "second one. With --serial every job runs once, alone.\n");
}

// --- CSV ----------------------------------------------------------------------------------------

typedef struct {
  const char *path;
  FILE *stream;
  int line, columns, of[9];  ///< of: the field of a layer in each column
  int is_binary;             ///< a line contains a zero byte
} csv_t;

static const char no_text[] = "the line holds a zero byte";

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

// Reads the columns of a line.
enum { NAME, CIN, COUT, COUNT, KIND, TOKENS, REPEAT, GROUP, SHARE, FIELDS };
static const char *const columns[FIELDS] = {"name",   "cin",    "cout",  "count", "kind",
                                            "tokens", "repeat", "group", "share"};
static const char *const kinds[] = {"linear", "matmul", "bf16", "host"};
enum {
  MOST_LAYERS = 100000000
};  // limit, because counts are multiplied by blocks and
    // micro-batches
enum { KINDS = sizeof kinds / sizeof *kinds };

static int read_width(const csv_t *csv, const char *text, const char *column, int64_t *width) {
  *width = EXPLORE_SEQUENCE;
  if (strcmp(text, "seq") == 0) return CLI_GO_ON;
  return read_size(csv, text, column, UFP4_MAX_DIM, width);
}

static int read_kind(const csv_t *csv, const char *text, explore_kind_t *kind) {
  for (int i = 0; i < KINDS; i++) {
    if (strcmp(text, kinds[i]) != 0) continue;
    *kind = (explore_kind_t)i;
    return CLI_GO_ON;
  }
  return fail_line(csv, "kind must be linear, matmul, bf16 or host");
}

// Reads a number of tokens: all of the step's (empty), a number, or a share such as 2/8.
static int read_tokens(const csv_t *csv, char *text, explore_layer_t *layer) {
  char *by = strchr(text, '/');
  if (*text == '\0') return CLI_GO_ON;
  if (by == NULL) return read_size(csv, text, "tokens", UFP4_MAX_DIM, &layer->tokens);
  *by++ = '\0';
  int end = read_size(csv, text, "tokens", UFP4_MAX_DIM, &layer->tokens_of);
  if (end == CLI_GO_ON) end = read_size(csv, by, "tokens", UFP4_MAX_DIM, &layer->tokens_by);
  if (end != CLI_GO_ON || layer->tokens_of <= layer->tokens_by) return end;
  return fail_line(csv, "tokens is a share of more than 1");
}

// Reads how the chips that share a layer divide it; products of activations are divided by count.
static int read_share(const csv_t *csv, const char *text, explore_layer_t *layer) {
  static const char *const shares[] = {"whole", "columns", "rows"};
  layer->share = EXPLORE_WHOLE;
  while (layer->share < EXPLORE_HEADS && strcmp(text, shares[layer->share]) != 0) layer->share++;
  if (layer->share == EXPLORE_HEADS || layer->kind != EXPLORE_LINEAR)
    return fail_line(csv, "share must be whole, columns or rows, and only a linear layer has one");
  layer->parts = layer->share == EXPLORE_ROWS ? layer->cin : layer->cout;
  return CLI_GO_ON;
}

static int read_fields(const csv_t *csv, char *const fields[FIELDS], explore_layer_t *layer) {
  int64_t repeat = 1;
  int end = read_width(csv, fields[CIN], "cin", &layer->cin);
  if (end == CLI_GO_ON) end = read_width(csv, fields[COUT], "cout", &layer->cout);
  if (end == CLI_GO_ON) end = read_size(csv, fields[COUNT], "count", 1000000, &layer->count);
  if (end == CLI_GO_ON && *fields[KIND]) end = read_kind(csv, fields[KIND], &layer->kind);
  if (end == CLI_GO_ON) end = read_tokens(csv, fields[TOKENS], layer);
  if (end == CLI_GO_ON && *fields[REPEAT])
    end = read_size(csv, fields[REPEAT], "repeat", 1000000, &repeat);
  if (end == CLI_GO_ON && *fields[GROUP])
    end = read_size(csv, fields[GROUP], "group", 1000000, &layer->group);
  layer->count *= repeat;
  if (end == CLI_GO_ON && layer->count > MOST_LAYERS)
    end = fail_line(csv, "count times repeat is more than 100000000");
  if (layer->kind == EXPLORE_MATMUL) layer->share = EXPLORE_HEADS;
  layer->parts = layer->count;
  return end == CLI_GO_ON && *fields[SHARE] ? read_share(csv, fields[SHARE], layer) : end;
}

static int read_layer(const csv_t *csv, char *text, explore_layer_t *layer) {
  static char none[] = "";
  char *fields[FIELDS] = {none, none, none, none, none, none, none, none, none};
  if (strchr(text, '"') != NULL) return fail_line(csv, "quotes are not supported");
  for (int i = 0; i < csv->columns; i++) {
    char *field = strsep(&text, ",");
    if (field == NULL)
      return fail_line(csv, i < KIND ? "name,cin,cout,count are needed" : "a column is missing");
    fields[csv->of[i]] = field;
  }
  if (text != NULL) return fail_line(csv, "there are more columns than in the first line");
  if (!is_name(fields[NAME]))
    return fail_line(csv, "the name must be 1 to 47 letters, digits or ._-/");
  memset(layer, 0, sizeof *layer);
  snprintf(layer->name, sizeof layer->name, "%s", fields[NAME]);
  layer->tokens_of = layer->tokens_by = layer->group = 1;
  return read_fields(csv, fields, layer);
}

// Removes blanks around commas and at the ends.
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
    const size_t length = strlen(text);
    csv->is_binary =
        length == 0 || (text[length - 1] != '\n' && length + 1 < size && !feof(csv->stream));
    if (csv->is_binary) return 0;
    text[strcspn(text, "\r\n")] = '\0';
    trim(text);
  } while (text[0] == '\0');
  return 1;
}

// Requires the first four columns in their order, and each other column at most once.
static int read_head(csv_t *csv, char *text) {
  unsigned seen = 0;
  for (char *name; (name = strsep(&text, ",")) != NULL; csv->columns++) {
    int i = 0;
    while (i < FIELDS && strcmp(name, columns[i]) != 0) i++;
    if (i == FIELDS || seen >> i & 1 || (csv->columns < KIND && i != csv->columns)) return 0;
    seen |= 1u << i;
    csv->of[csv->columns] = i;
  }
  return csv->columns >= KIND;
}

static int read_layers(csv_t *csv, explore_model_t *model) {
  char text[512] = "";
  const int begun = next_line(csv, text, sizeof text);
  if (ferror(csv->stream)) return cli_fail_errno(&cli_explore, csv->path, "read");
  if (csv->is_binary) return fail_line(csv, no_text);
  char *first = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text;
  if (!begun || !read_head(csv, first)) {
    return cli_fail(&cli_explore, CLI_USAGE,
                    "%s: the first line must be name,cin,cout,count, followed by any of "
                    "kind,tokens,repeat,group,share",
                    csv->path);
  }
  while (next_line(csv, text, sizeof text)) {
    if (model->layer_count == EXPLORE_MAX_LAYERS) return fail_line(csv, "too many layers");
    explore_layer_t *layer = &model->layers[model->layer_count];
    int end = read_layer(csv, text, layer);
    if (end != CLI_GO_ON) return end;
    if (is_total(layer->name))
      return fail_line(csv, "the names block and step are reserved for totals");
    for (int i = 0; i < model->layer_count; i++) {
      if (strcmp(model->layers[i].name, layer->name) == 0)
        return fail_line(csv, "another layer has the same name");
    }
    model->layer_count++;
  }
  if (ferror(csv->stream)) return cli_fail_errno(&cli_explore, csv->path, "read");
  if (csv->is_binary) return fail_line(csv, no_text);
  if (model->layer_count > 0) return CLI_GO_ON;
  return cli_fail(&cli_explore, CLI_USAGE, "%s: the file holds no layer", csv->path);
}

// Returns the file's name without folder and ending.
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

static int read_csv(const char *path, explore_model_t *model) {
  csv_t csv = {.path = path, .stream = fopen(path, "r")};
  if (csv.stream == NULL) return cli_fail_errno(&cli_explore, path, "read");
  memset(model, 0, sizeof *model);
  model->blocks = 1;
  name_model(path, model);
  int end = read_layers(&csv, model);
  fclose(csv.stream);
  return end;
}

// A layer is in all blocks by default.
static void count_blocks(int64_t blocks, explore_model_t *model) {
  if (model->kind_count == 0) {
    if (blocks != 0) model->blocks = blocks;
    model->kinds[model->kind_count++] = (explore_blocks_t){"block", model->blocks};
  }
  for (int i = 0; i < model->layer_count; i++) {
    explore_layer_t *layer = &model->layers[i];
    if (layer->kinds == 0) layer->kinds = (1u << model->kind_count) - 1;
    for (int kind = 0; kind < model->kind_count; kind++)
      layer->blocks += explore_is_of(layer, kind) ? model->kinds[kind].blocks : 0;
  }
}

// Sorts the core's layers first; they include attention's products if requested.
static void sort(explore_model_t *model, int attention) {
  explore_layer_t host[EXPLORE_MAX_LAYERS];
  int hosts = 0, cores = 0;
  for (int i = 0; i < model->layer_count; i++) {
    explore_layer_t layer = model->layers[i];
    const int product = layer.cin == EXPLORE_SEQUENCE || layer.cout == EXPLORE_SEQUENCE;
    if (attention && product && layer.kind == EXPLORE_BF16) layer.kind = EXPLORE_MATMUL;
    if (explore_is_host(&layer)) {
      host[hosts++] = layer;
    } else {
      model->layers[cores++] = layer;
    }
  }
  memcpy(model->layers + cores, host, (size_t)hosts * sizeof *host);
  model->layer_count = cores;
  model->host_count = hosts;
}

int explore_model(const char *shapes, const char *hf, int attention, int64_t blocks,
                  explore_model_t *model) {
  int end = CLI_GO_ON;
  if (hf != NULL) {
    end = explore_hf(hf, blocks, model);
  } else if (!explore_architecture(shapes, model)) {
    if (!is_csv(shapes))
      return cli_fail(
          &cli_explore, CLI_USAGE,
          "no model is called '%.60s'; ufp4 explore --help lists them, or name a FILE.csv", shapes);
    end = read_csv(shapes, model);
  }
  if (end != CLI_GO_ON) return end;
  count_blocks(blocks, model);
  sort(model, attention);
  if (model->layer_count > 0) return CLI_GO_ON;
  return cli_fail(&cli_explore, CLI_USAGE, "%s: no layer of it runs on the core",
                  hf != NULL ? hf : shapes);
}
