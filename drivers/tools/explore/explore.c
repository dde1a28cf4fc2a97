// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: cycles of whole training steps for combinations of recipes, cores and memories.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "explore/jobs/run.h"
#include "explore/options/arguments.h"
#include "explore/options/options.h"
#include "explore/results/kept.h"
#include "frame/maker.h"
#include "frame/progress.h"

// --- Outputs ------------------------------------------------------------------------------------

static const char *const files[] = {"explore.csv", "explore.json", "report.html"};
enum { CSV, DOCUMENT, REPORT, FILES };

static int check_timeline(const explore_plan_t *plan, const char *shapes) {
  const cli_device_t device = {.timeline = plan->timeline};
  if (plan->timeline != NULL && plan->case_count > 1)
    return cli_fail(&cli_explore, CLI_USAGE, "--timeline needs a single case, and there are %d",
                    plan->case_count);
  const int end = cli_output_apart(&cli_explore, plan->timeline, plan->folder, files, FILES);
  return end == CLI_GO_ON ? cli_device_check_trace(&cli_explore, &device, &shapes, 1) : end;
}

static int check_outputs(const explore_plan_t *plan, const char *shapes) {
  struct stat about;
  char path[PATH_MAX];
  const char *folder = plan->folder;
  int end = check_timeline(plan, shapes);
  if (end == CLI_GO_ON) end = cli_output_directory(&cli_explore, folder);
  if (end != CLI_GO_ON || stat(folder, &about) != 0) return end;
  for (int i = 0; i < FILES && end == CLI_GO_ON; i++) {
    if (snprintf(path, sizeof path, "%s/%s", folder, files[i]) >= (int)sizeof path)
      return cli_fail(&cli_explore, CLI_USAGE, "-o: the name is too long");
    end = cli_output_file(&cli_explore, path, CLI_ANY_FILE, &shapes, 1);
  }
  return end;
}

static ufp4_status_t write_csv(const explore_plan_t *plan, const explore_rows_t *rows,
                               const char *path, ufp4_message_t *message) {
  file_out_t file;
  ufp4_status_t status = file_out_open(path, &file, message);
  if (status != UFP4_OK) return status;
  explore_print_csv_head(file.stream, plan);
  for (int i = 0; i < rows->count; i++) explore_print_csv(file.stream, plan, &rows->rows[i]);
  return file_out_close(&file, message);
}

// The rows, and further data for the page.
static int write_files(const explore_plan_t *plan, const explore_rows_t *rows) {
  char path[PATH_MAX];
  ufp4_message_t message = {0};
  ufp4_status_t status = UFP4_OK;
  for (int i = 0; i < REPORT && status == UFP4_OK; i++) {
    snprintf(path, sizeof path, "%s/%s", plan->folder, files[i]);
    if (i == CSV) status = write_csv(plan, rows, path, &message);
    if (i == DOCUMENT) status = json_write(path, explore_document(plan, rows), &message);
  }
  return status == UFP4_OK ? CLI_GO_ON : cli_fail_status(&cli_explore, status, message.text);
}

static int draw(const explore_plan_t *plan) {
  char document[PATH_MAX], page[PATH_MAX];
  snprintf(document, sizeof document, "%s/%s", plan->folder, files[DOCUMENT]);
  snprintf(page, sizeof page, "%s/%s", plan->folder, files[REPORT]);
  return maker_draw(&cli_explore, document, page);
}

static int print_json(const explore_plan_t *plan, const explore_rows_t *rows) {
  json_t *json = json_object(), *cases = json_array();
  for (int i = 0; i < rows->count; i++)
    json_array_append_new(cases, explore_json_row(plan, &rows->rows[i]));
  json_object_set_new(json, "cases", cases);
  return cli_json_print(&cli_explore, json, 9);
}

// --- The command --------------------------------------------------------------------------------

static void say(progress_t *progress, const explore_plan_t *plan, int done) {
  char line[200];
  const explore_case_t *one = &plan->cases[done];
  snprintf(line, sizeof line, "case %d of %d: %s on %s", done + 1, plan->case_count,
           one->recipe.name, one->core.name);
  progress_say(progress, line);
}

static void print_rows(const explore_plan_t *plan, const explore_rows_t *rows, int from) {
  for (int i = from; i < rows->count; i++) explore_print_line(plan, &rows->rows[i]);
}

// Returns an earlier case with the same jobs, since replicas and stages are computed by formula.
// NULL: none.
static const explore_case_t *same_jobs(const explore_plan_t *plan, int index) {
  const explore_case_t *one = &plan->cases[index];
  for (int i = 0; i < index; i++) {
    const explore_case_t *is = &plan->cases[i];
    if (is->reason[0] == '\0' && one->reason[0] == '\0' && is->micro == one->micro &&
        is->chips.tensor == one->chips.tensor && is->chips.experts == one->chips.experts &&
        explore_is_same_case(is, one))
      return is;
  }
  return NULL;
}

static int copy_rows(const explore_case_t *from, const explore_case_t *to, explore_rows_t *rows) {
  int end = CLI_GO_ON;
  for (int i = 0, before = rows->count; i < before && end == CLI_GO_ON; i++) {
    if (rows->rows[i].of != from) continue;
    explore_row_t row = rows->rows[i];
    row.of = to;
    end = explore_add_row(rows, &row);
  }
  return end;
}

// Reads back the results of a finished case. A failed case is tried again, and a case whose
// timeline is to be drawn is run.
static int run_case(const explore_plan_t *plan, int index, explore_rows_t *rows) {
  const int before = rows->count;
  int found = 0, end = CLI_GO_ON;
  if (plan->timeline == NULL) end = explore_kept_read(plan, index, rows, &found);
  explore_case_t *one = &plan->cases[index];
  if (end != CLI_GO_ON || (found && one->reason[0] == '\0')) return end;
  if (found) one->reason[0] = '\0';
  rows->count = before;
  const explore_case_t *same = plan->timeline == NULL ? same_jobs(plan, index) : NULL;
  if (same != NULL) end = copy_rows(same, one, rows);
  if (end == CLI_GO_ON && rows->count == before) end = explore_run(plan, one, rows);
  if (end != CLI_GO_ON) return end;
  return explore_kept_write(plan, index, &rows->rows[before], rows->count - before);
}

// Runs the cases of this rank. If all of them fail, prints nothing.
static int run_cases(const explore_plan_t *plan, int prints, explore_rows_t *rows) {
  progress_t progress = progress_start(1);
  int end = CLI_GO_ON, able = 0, shown = 0;
  for (int i = plan->ranks.rank; i < plan->case_count && end == CLI_GO_ON; i += plan->ranks.count) {
    if (plan->ranks.rank == 0) say(&progress, plan, i);
    end = run_case(plan, i, rows);
    progress_end(&progress);
    able |= plan->cases[i].reason[0] == '\0';
    if (!prints || !able || end != CLI_GO_ON) continue;
    if (shown == 0) explore_print_head(plan);
    print_rows(plan, rows, shown);
    shown = rows->count;
  }
  return end;
}

static int read_all(const explore_plan_t *plan, explore_rows_t *rows) {
  int end = CLI_GO_ON, found = 1;
  rows->count = 0;
  for (int i = 0; i < plan->case_count && end == CLI_GO_ON; i++) {
    end = explore_kept_read(plan, i, rows, &found);
    if (end == CLI_GO_ON && !found)
      end = cli_fail(&cli_explore, CLI_DEVICE, "case %d: its MPI rank has written no results", i);
  }
  return end;
}

static int count_able(const explore_plan_t *plan) {
  int able = 0;
  for (int i = 0; i < plan->case_count; i++) able += plan->cases[i].reason[0] == '\0';
  return able;
}

static int fail_all(const explore_plan_t *plan) {
  const int end = explore_kept_remove(plan);
  return end == CLI_GO_ON ? cli_fail(&cli_explore, CLI_USAGE, "no case runs on a core: %s",
                                     plan->cases[0].reason)
                          : end;
}

static int finish(const explore_plan_t *plan, int json, const explore_rows_t *rows) {
  if (count_able(plan) == 0) return fail_all(plan);
  int end = CLI_GO_ON;
  if (json) end = print_json(plan, rows);
  if (!json) explore_print_steps(plan, rows);
  if (end == CLI_GO_ON) end = cli_printed();
  if (end == CLI_GO_ON) end = write_files(plan, rows);
  cli_signals_resume(NULL);
  if (end == CLI_GO_ON) end = explore_kept_remove(plan);
  return end == CLI_GO_ON ? draw(plan) : end;
}

static int run_ranks(const explore_plan_t *plan, int json, explore_rows_t *rows) {
  const int first = plan->ranks.rank == 0, alone = plan->ranks.count == 1;
  int end = run_cases(plan, alone && !json, rows);
  if (end == CLI_GO_ON) ranks_meet(0);
  if (end != CLI_GO_ON || !first) return end;
  if (!alone) end = read_all(plan, rows);
  if (end == CLI_GO_ON && !alone && !json && count_able(plan) > 0) {
    explore_print_head(plan);
    print_rows(plan, rows, 0);
  }
  return end == CLI_GO_ON ? finish(plan, json, rows) : end;
}

// Each line is flushed as a whole, because a signal may end the program at any time; finished cases
// are kept.
static void begin_lines(const explore_plan_t *plan) {
  static char lines[1 << 16];
  setvbuf(stdout, lines, _IOLBF, sizeof lines);
  if (plan->ranks.rank == 0) cli_signals_resume(&cli_explore);
}

static int run_plan(const explore_plan_t *plan, int json, int resume) {
  explore_rows_t rows = {0};
  int made = 0, end = CLI_GO_ON;
  if (count_able(plan) == 0)
    return cli_fail(&cli_explore, CLI_USAGE, "no case runs on a core: %s", plan->cases[0].reason);
  if (plan->ranks.rank == 0) {
    end = cli_output_make_directory(&cli_explore, plan->folder, &made);
    if (end == CLI_GO_ON) end = cli_output_lock(&cli_explore, plan->folder);
    if (end == CLI_GO_ON) end = explore_kept_open(plan, resume);
  }
  if (end == CLI_GO_ON) ranks_meet(0);
  if (end == CLI_GO_ON) begin_lines(plan);
  if (end == CLI_GO_ON) end = run_ranks(plan, json, &rows);
  if (end != CLI_GO_ON && made) cli_output_remove_directory(plan->folder);
  free(rows.rows);
  return end == CLI_GO_ON ? CLI_OK : end;
}

static int run(int argc, char **argv) {
  explore_arguments_t a = {.recipes = "ufp4",
                           .configurations = "default",
                           .bandwidths = "0",
                           .latencies = "100",
                           .drams = "none",
                           .channels = "0",
                           .tokens = "4096",
                           .cores = "1",
                           .micro = "1",
                           .interleave = 1,
                           .split = EXPLORE_SPLIT_AUTO};
  cli_options_t options = {0};
  char **inputs;
  int count = 0;
  explore_plan_t *plan = calloc(1, sizeof *plan);
  if (plan == NULL) return cli_fail_status(&cli_explore, UFP4_ERROR_MEMORY, NULL);
  cli_join_words(argc, argv, plan->words, sizeof plan->words);
  explore_options(&options, &a);
  int end = cli_parse(&cli_explore, &options, argc, argv, 0, 1, &inputs, &count);
  if (end == CLI_GO_ON && (count != 0) == (a.hf != NULL))
    end =
        cli_fail(&cli_explore, CLI_USAGE, "either SHAPES or --hf config.json is needed, not both");
  if (end == CLI_GO_ON) end = explore_check_options(&a, &options);
  if (end == CLI_GO_ON) end = ranks_begin(&cli_explore, &plan->ranks);
  const char *shapes = a.hf != NULL || count == 0 ? a.hf : inputs[0];
  if (end == CLI_GO_ON) end = explore_plan(&a, shapes, plan);
  if (end == CLI_GO_ON) end = check_outputs(plan, shapes);
  if (end == CLI_GO_ON) end = explore_kept_mark(plan);
  if (end == CLI_GO_ON) end = run_plan(plan, a.json, a.resume);
  free(plan->cases);
  free(plan);
  return ranks_end(end);
}

const cli_command_t cli_explore = {
    .name = "explore",
    .arguments = "SHAPES -o DIR [options]",
    .summary =
        "Tells how many cycles a training step of a model takes, and where they go.\n"
        "For each core, memory and recipe the timed model runs AMAX and QUANT of every tensor and "
        "FPROP, DGRAD and\n"
        "WGRAD of every layer, in micro-batches, with AMAX and QUANT overlapping the GEMMs. All "
        "combinations of the\n"
        "lists are run. An interrupted run continues with --resume.",
    .example = "ufp4 explore llama-7b --layers 1 --mem-bandwidth 32,64 -o out",
    .run = run,
    .details = explore_model_details,
};
