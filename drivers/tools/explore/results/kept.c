// SPDX-License-Identifier: Apache-2.0
// Finished cases, each a file of its rows in DIR/cases, from which an interrupted exploration
// continues and in which ranks leave theirs. Numbers are written so that reading them gives the
// same values.
#include "explore/results/kept.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "explore/jobs/jobs.h"
#include "train/study/kept.h"

/** Values in place of a layer's index; totals of kinds of blocks are below. */
enum { OF_STEP = -1, OF_BLOCK = -2 };
enum { PLAIN = 10, OTHERS = PLAIN + EXPLORE_MAX_KINDS, NUMBERS = OTHERS + EXPLORE_COUNTERS };

static const char *const tensors[UFP4_ROLE_COUNT] = {"X", "W", "dY"};

static int fail(ufp4_status_t status, const ufp4_message_t *message) {
  return cli_fail_status(&cli_explore, status, message->text);
}

static int name_folder(const explore_plan_t *plan, char path[PATH_MAX]) {
  if (snprintf(path, PATH_MAX, "%s/cases", plan->folder) < PATH_MAX - 32) return CLI_GO_ON;
  return cli_fail(&cli_explore, CLI_USAGE, "-o: the name is too long");
}

enum { ID = 24 };

static void name_case(int index, char id[ID]) {
  snprintf(id, ID, "case-%d", index);
}

// --- Settings -----------------------------------------------------------------------------------

static json_t *layers_of(const explore_model_t *model) {
  json_t *layers = json_array();
  for (int i = 0; i < model->layer_count + model->host_count; i++) {
    const explore_layer_t *l = &model->layers[i];
    json_array_append_new(
        layers, json_pack("[o, i, I, I, I, I, I, I, I, I, i]", json_text(l->name), (int)l->kind,
                          (json_int_t)l->cin, (json_int_t)l->cout, (json_int_t)l->count,
                          (json_int_t)l->tokens, (json_int_t)l->tokens_of, (json_int_t)l->tokens_by,
                          (json_int_t)l->group, (json_int_t)l->blocks, (int)l->share));
  }
  return layers;
}

static json_t *cases_of(const explore_plan_t *plan) {
  json_t *cases = json_array();
  for (int i = 0; i < plan->case_count; i++) {
    const explore_case_t *one = &plan->cases[i];
    char *recipe = ufp4_recipe_text(&one->recipe);
    json_array_append_new(
        cases, json_pack("[o, o, s, i, i, i, I, s?, s, i]", json_text(one->recipe.name),
                         recipe != NULL ? json_string(recipe) : NULL, one->core.name,
                         (int)one->cores, (int)one->mem_bandwidth, (int)one->mem_latency,
                         (json_int_t)one->tokens, one->dram, one->chips.text, one->micro));
    free(recipe);
  }
  return cases;
}

// Everything on which a row depends, including the program, so that a rebuilt one runs the cases
// again.
static char *settings_of(const explore_plan_t *plan) {
  char version[32], program[16];
  cli_program_mark(program);
  snprintf(version, sizeof version, "%d.%d.%d", UFP4_VERSION_MAJOR, UFP4_VERSION_MINOR,
           UFP4_VERSION_PATCH);
  json_t *settings = json_pack(
      "{s:s, s:s, s:o, s:o, s:I, s:I, s:i, s:b, s:b, s:i, s:i, s:o}", "version", version, "program",
      program, "model", json_text(plan->model.name), "shapes", layers_of(&plan->model), "blocks",
      (json_int_t)plan->model.blocks, "every", (json_int_t)plan->model.every, "source",
      (int)plan->source, "serial", plan->serial, "host_bytes", plan->host_bytes, "split",
      (int)plan->split, "batches", plan->batches, "clock_mhz",
      json_real_or_null(plan->clock_mhz != 0 ? plan->clock_mhz : (double)NAN));
  for (int i = 0; settings != NULL && i < EXPLORE_LISTS; i++)
    json_object_set_new(settings, explore_list_names[i], json_text(plan->lists[i]));
  const explore_layout_t *l = &plan->layout;
  if (settings != NULL)
    json_object_set_new(settings, "layout",
                        json_pack("[f, f, f, f, i, i, i, i, i, f, f]", l->tensor.gbps, l->tensor.us,
                                  l->others.gbps, l->others.us, l->zero, l->recompute, l->sequence,
                                  l->interleave, l->reduce, l->hbm_gb, l->link_pj));
  if (settings != NULL)
    json_object_set_new(
        settings, "ppa",
        json_pack("[o, f, f, f]", json_text(plan->ppa.text != NULL ? plan->ppa.text : ""),
                  plan->ppa.byte_pj, isfinite(plan->ppa.bit_um2) ? plan->ppa.bit_um2 : 0,
                  isfinite(plan->ppa.bit_fj) ? plan->ppa.bit_fj : 0));
  if (settings != NULL) json_object_set_new(settings, "cases", cases_of(plan));
  char *text = settings != NULL ? json_dumps(settings, JSON_INDENT(2)) : NULL;
  json_decref(settings);
  return text;
}

int explore_kept_mark(explore_plan_t *plan) {
  char *text = settings_of(plan);
  if (text == NULL) return cli_fail_status(&cli_explore, UFP4_ERROR_MEMORY, NULL);
  plan->mark = (uint32_t)crc32_z(0, (const Bytef *)text, strlen(text));
  free(text);
  return CLI_GO_ON;
}

int explore_kept_open(const explore_plan_t *plan, int resume) {
  char folder[PATH_MAX];
  ufp4_message_t message = {0};
  const int end = name_folder(plan, folder);
  if (end != CLI_GO_ON) return end;
  char *text = settings_of(plan);
  ufp4_status_t status = UFP4_ERROR_MEMORY;
  if (text != NULL) status = ufp4_kept_open(folder, text, resume, &message);
  free(text);
  if (status == UFP4_OK && message.text[0] != '\0')
    fprintf(stderr, "ufp4 explore: %s; its cases are run again\n", message.text);
  return status == UFP4_OK ? CLI_GO_ON : fail(status, &message);
}

int explore_kept_remove(const explore_plan_t *plan) {
  char folder[PATH_MAX];
  ufp4_message_t message = {0};
  const int end = name_folder(plan, folder);
  if (end != CLI_GO_ON) return end;
  const ufp4_status_t status = ufp4_kept_remove(folder, &message);
  return status == UFP4_OK ? CLI_GO_ON : fail(status, &message);
}

// --- Rows ---------------------------------------------------------------------------------------

// The numbers of a row that are measured or derived from measurements.
static void numbers_of(explore_row_t *row, double *numbers[NUMBERS]) {
  double *const first[PLAIN] = {&row->macs, &row->cycles, &row->tokens, &row->compute,
                                &row->load, &row->array,  &row->memory, &row->output,
                                &row->read, &row->written};
  for (int i = 0; i < PLAIN; i++) numbers[i] = first[i];
  for (int i = PLAIN; i < OTHERS; i++) numbers[i] = &row->block_cycles[i - PLAIN];
  for (int i = OTHERS; i < NUMBERS; i++) numbers[i] = &row->counters[i - OTHERS];
}

static int layer_of(const explore_plan_t *plan, const explore_row_t *row) {
  for (int i = 0; i < plan->model.layer_count + plan->model.host_count; i++) {
    if (row->layer == plan->model.layers[i].name) return i;
  }
  const int kind = explore_kind_of(&plan->model, row);
  return kind < 0 ? OF_STEP : OF_BLOCK - kind;
}

static int tensor_of(const explore_row_t *row) {
  for (int i = 0; i < UFP4_ROLE_COUNT && row->tensor != NULL; i++) {
    if (strcmp(row->tensor, tensors[i]) == 0) return i;
  }
  return -1;
}

static void put_row(FILE *out, const explore_plan_t *plan, const explore_row_t *row) {
  explore_row_t copy = *row;
  double *numbers[NUMBERS];
  numbers_of(&copy, numbers);
  fprintf(out, "%d,%d,%d,%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, layer_of(plan, row),
          (int)row->pass, tensor_of(row), row->batch, (int)row->split, row->count, row->m, row->n,
          row->k);
  for (int i = 0; i < NUMBERS; i++) fprintf(out, ",%.17g", *numbers[i]);
  fputc('\n', out);
}

static int get_row(FILE *in, const explore_plan_t *plan, explore_row_t *row) {
  int layer, pass, tensor, split;
  double *numbers[NUMBERS];
  *row = (explore_row_t){.layer = "step"};
  if (fscanf(in, "%d,%d,%d,%d,%d,%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",%" SCNd64, &layer, &pass,
             &tensor, &row->batch, &split, &row->count, &row->m, &row->n, &row->k) != 9 ||
      split < 0 || split > EXPLORE_SPLIT_COUNT || layer <= OF_BLOCK - plan->model.kind_count ||
      layer >= plan->model.layer_count + plan->model.host_count || pass < 0 ||
      pass > EXPLORE_BACKWARD || tensor >= UFP4_ROLE_COUNT)
    return 0;
  if (layer <= OF_BLOCK) row->layer = plan->model.kinds[OF_BLOCK - layer].name;
  if (layer >= 0) row->layer = plan->model.layers[layer].name;
  if (tensor >= 0) row->tensor = tensors[tensor];
  row->pass = (explore_pass_t)pass;
  row->split = (explore_split_t)split;
  numbers_of(row, numbers);
  for (int i = 0; i < NUMBERS; i++) {
    if (fscanf(in, ",%lf", numbers[i]) != 1) return 0;
  }
  return 1;
}

typedef struct {
  const explore_plan_t *plan;
  int index;
  const explore_row_t *rows;
  int count;
} case_rows_t;

static void put_case(const void *context, FILE *out) {
  const case_rows_t *one = context;
  fprintf(out, "rows,%d,settings,%08" PRIx32 "\n", one->count, one->plan->mark);
  for (int i = 0; i < one->count; i++) put_row(out, one->plan, &one->rows[i]);
  fprintf(out, "%s\n", one->plan->cases[one->index].reason);
}

int explore_kept_write(const explore_plan_t *plan, int index, const explore_row_t *rows,
                       int count) {
  char folder[PATH_MAX], id[ID];
  ufp4_message_t message = {0};
  const int end = name_folder(plan, folder);
  if (end != CLI_GO_ON) return end;
  name_case(index, id);
  const case_rows_t one = {plan, index, rows, count};
  const ufp4_status_t status = ufp4_kept_write(folder, id, put_case, &one, &message);
  return status == UFP4_OK ? CLI_GO_ON : fail(status, &message);
}

// Returns a line of text without its end.
static int get_line(FILE *in, char *line, size_t size) {
  if (fgetc(in) != '\n' || fgets(line, (int)size, in) == NULL) return 0;
  line[strcspn(line, "\n")] = '\0';
  return 1;
}

// Reads the rows of a case from a file of results.
//  @param[out] found 0: the file is of other settings
//  @return 0: the file is damaged
static int get_case(FILE *in, const explore_plan_t *plan, int index, explore_rows_t *rows,
                    int *found) {
  int count = 0;
  uint32_t mark = 0;
  explore_case_t *one = &plan->cases[index];
  if (fscanf(in, "rows,%d,settings,%08" SCNx32, &count, &mark) != 2) return 0;
  *found = mark == plan->mark;
  if (!*found) return 1;
  for (int i = 0; i < count; i++) {
    explore_row_t row;
    if (!get_row(in, plan, &row)) return 0;
    row.of = one;
    if (explore_add_row(rows, &row) != CLI_GO_ON) return 0;
  }
  return get_line(in, one->reason, sizeof one->reason);
}

int explore_kept_read(const explore_plan_t *plan, int index, explore_rows_t *rows, int *found) {
  char folder[PATH_MAX], id[ID], *text;
  ufp4_message_t message = {0};
  const int end = name_folder(plan, folder), before = rows->count;
  *found = 0;
  if (end != CLI_GO_ON) return end;
  name_case(index, id);
  const ufp4_status_t status = ufp4_kept_read(folder, id, &text, &message);
  if (status != UFP4_OK) return fail(status, &message);
  if (text == NULL) return CLI_GO_ON;
  FILE *in = fmemopen(text, strlen(text), "r");
  const int good = in != NULL && get_case(in, plan, index, rows, found);
  if (in != NULL) fclose(in);
  free(text);
  if (good) return CLI_GO_ON;
  rows->count = before;
  return cli_fail(&cli_explore, CLI_USAGE, "%s/%s: this file does not hold rows of ufp4 explore",
                  folder, id);
}
