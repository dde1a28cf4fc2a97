// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: cycles of whole training steps, over recipes, cores and memories.
#include "explore.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dram.h"
#include "base/file.h"
#include "frame/maker.h"
#include "frame/progress.h"
#include "ufp4_schedule.h"

typedef struct {
  const char *recipes, *configurations, *bandwidths, *latencies, *drams, *channels, *tokens,
      *folder, *timeline, *hf, *cores, *chips, *link, *ppa;
  uint64_t layers, batches;
  float clock_mhz, byte_pj;
  int source, serial, json, resume, attention, host_bytes, split;
} arguments_t;

enum { LISTS = EXPLORE_LISTS, MAX_CASES = 4096, MAX_BANDWIDTH = 4096 };

// --- Lists --------------------------------------------------------------------------------------

static int read_number(const char *option, const char *word, unsigned least, unsigned most,
                       unsigned *number) {
  char *end;
  const unsigned long value = strtoul(word, &end, 10);
  if (word[0] < '0' || word[0] > '9' || *end != '\0' || value < least || value > most) {
    return cli_fail(&cli_explore, CLI_USAGE, "--%s: '%s' is no whole number from %u to %u", option,
                    word, least, most);
  }
  *number = (unsigned)value;
  return CLI_GO_ON;
}

// What the RTL would refuse is a case that does not go, and says so in its words.
static int read_configuration(const char *word, explore_case_t *one) {
  ufp4_message_t why = {0};
  const ufp4_status_t status = cli_configuration(word, &one->core, &why);
  if (status == UFP4_OK) return CLI_GO_ON;
  if (status != UFP4_ERROR_UNSUPPORTED)
    return cli_fail(&cli_explore, CLI_USAGE, "--config: %s", why.text);
  snprintf(one->core.name, sizeof one->core.name, "%s", word);
  snprintf(one->reason, sizeof one->reason, "%s", why.text);
  return CLI_GO_ON;
}

// Its timings are in nanoseconds, and the timed model counts a cycle as one.
static int read_dram(const explore_plan_t *plan, const char *name, const char *channels,
                     explore_case_t *one) {
  unsigned asked = 0;
  int end = read_number("channels", channels, 0, UFP4_DRAM_MAX_CHANNELS, &asked);
  if (end == CLI_GO_ON) end = cli_dram(&cli_explore, name);
  if (end != CLI_GO_ON || strcmp(name, "none") == 0) return end;
  if (plan->clock_mhz != 1000)
    return cli_fail(&cli_explore, CLI_USAGE, "--dram %s is for --clock-mhz 1000", name);
  if (asked != 0 && strchr(name, ':') != NULL)
    return cli_fail(&cli_explore, CLI_USAGE, "--dram %s has its channels: leave --channels out",
                    name);
  snprintf(one->dram, sizeof one->dram, asked != 0 ? "%s:%u" : "%s", name, asked);
  return CLI_GO_ON;
}

// --- The plan -----------------------------------------------------------------------------------

const char *const explore_list_names[LISTS] = {"recipe",   "config", "mem-latency",   "dram",
                                               "channels", "tokens", "mem-bandwidth", "cores"};

static int read_case(const explore_plan_t *plan, const char *const words[LISTS],
                     explore_case_t *one) {
  unsigned tokens = 0;
  int end = cli_recipe(&cli_explore, words[0], &one->recipe);
  if (end == CLI_GO_ON) end = read_configuration(words[1], one);
  if (end == CLI_GO_ON)
    end = read_number(explore_list_names[2], words[2], 0, UFP4_MEM_LATENCY_MAX, &one->mem_latency);
  if (end == CLI_GO_ON) end = read_dram(plan, words[3], words[4], one);
  if (end == CLI_GO_ON)
    end = read_number(explore_list_names[5], words[5], 1, UFP4_MAX_DIM, &tokens);
  if (end == CLI_GO_ON)
    end = read_number(explore_list_names[6], words[6], 0, MAX_BANDWIDTH, &one->mem_bandwidth);
  if (end == CLI_GO_ON)
    end = read_number(explore_list_names[7], words[7], 1, EXPLORE_MAX_CORES, &one->cores);
  if (end != CLI_GO_ON) return end;
  one->tokens = tokens;
  if (one->reason[0] != '\0') return CLI_GO_ON;
  ufp4_message_t why = {0};
  const char *model_key = ufp4_recipe_model_key(&one->recipe);
  if (model_key != NULL && strcmp(model_key, "bf16_layers") == 0) {
    ufp4_message_set(&why, "%s: layers in BF16 are not counted", model_key);
  } else if (one->recipe.quantized && one->recipe.bf16_passes == UFP4_PASSES_ALL) {
    ufp4_message_set(&why, "all of its passes are in BF16: the host multiplies");
  } else if (!plan->serial && one->recipe.quantized && one->recipe.bf16_passes != 0) {
    ufp4_message_set(&why, "the host multiplies passes in BF16: --serial counts the others");
  } else {
    (void)ufp4_recipe_on_core(&one->recipe, UFP4_PASSES_ALL, &one->core, &why);
  }
  snprintf(one->reason, sizeof one->reason, "%s", why.text);
  if (one->mem_bandwidth > one->cores * one->core.bus_bytes) {
    snprintf(one->note, sizeof one->note,
             "mem-bandwidth %u is above the bus, which carries %u bytes a cycle",
             one->mem_bandwidth, one->cores * one->core.bus_bytes);
  }
  if (one->cores > 1 && one->dram[0] != '\0' && one->mem_bandwidth != 0) {
    snprintf(one->reason, sizeof one->reason,
             "several cores share the banks of --dram or a --mem-bandwidth, not both");
  }
  explore_ppa_note(plan, one);
  return CLI_GO_ON;
}

// No memory with banks has no channels: with the first of these it is there already.
static int is_again(const char *const words[LISTS], const explore_list_t lists[LISTS]) {
  return strcmp(words[3], "none") == 0 && words[4] != lists[4].words[0];
}

// The product of all lists; the last changes fastest.
static int add_cases(explore_plan_t *plan, const explore_list_t lists[LISTS]) {
  int count = 1;
  for (int i = 0; i < LISTS && count <= MAX_CASES; i++) count *= lists[i].count;
  if (count > MAX_CASES) return cli_fail(&cli_explore, CLI_USAGE, "more than %d cases", MAX_CASES);
  const int of_recipe = count / lists[0].count;
  plan->cases = calloc((size_t)count, sizeof *plan->cases);
  if (plan->cases == NULL) return cli_fail_status(&cli_explore, UFP4_ERROR_MEMORY, NULL);
  for (int index = 0; index < count; index++) {
    const char *words[LISTS];
    for (int i = LISTS - 1, at = index; i >= 0; at /= lists[i--].count)
      words[i] = lists[i].words[at % lists[i].count];
    if (is_again(words, lists)) continue;
    explore_case_t *one = &plan->cases[plan->case_count];
    int end = read_case(plan, words, one);
    if (end != CLI_GO_ON) return end;
    for (int i = 0; index % of_recipe == 0 && i < plan->case_count; i++) {
      if (strcmp(plan->cases[i].recipe.name, one->recipe.name) == 0)
        return cli_fail(&cli_explore, CLI_USAGE, "--recipe: two are called %s; rename one",
                        one->recipe.name);
    }
    end = explore_check_case(plan, one);
    if (end != CLI_GO_ON) return end;
    plan->case_count++;
  }
  return CLI_GO_ON;
}

static int make_plan(const arguments_t *a, const char *shapes, explore_plan_t *plan) {
  const char *const texts[LISTS] = {a->recipes,  a->configurations, a->latencies,  a->drams,
                                    a->channels, a->tokens,         a->bandwidths, a->cores};
  explore_list_t *lists = calloc(LISTS, sizeof *lists);
  if (lists == NULL) return cli_fail_status(&cli_explore, UFP4_ERROR_MEMORY, NULL);
  plan->folder = a->folder;
  plan->source = a->source ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16;
  plan->clock_mhz = a->clock_mhz;
  plan->serial = a->serial;
  plan->batches = (int)a->batches;
  plan->timeline = a->timeline;
  plan->host_bytes = a->host_bytes;
  plan->split = (explore_split_t)a->split;
  int end = explore_model(shapes, a->hf, a->attention, (int64_t)a->layers, &plan->model);
  if (end == CLI_GO_ON) end = explore_chips(a->chips, a->link, plan);
  if (end == CLI_GO_ON) end = explore_ppa(a->ppa, a->byte_pj, plan);
  for (int i = 0; i < LISTS; i++) plan->lists[i] = texts[i];
  for (int i = 0; i < LISTS && end == CLI_GO_ON; i++)
    end = explore_list(explore_list_names[i], texts[i], &lists[i]);
  if (end == CLI_GO_ON) end = add_cases(plan, lists);
  for (int i = 0; i < LISTS; i++) explore_list_free(&lists[i]);
  free(lists);
  return end;
}

// --- Outputs ------------------------------------------------------------------------------------

static const char *const files[] = {"explore.csv", "explore.json", "report.html"};
enum { CSV, DOCUMENT, REPORT, FILES };

static int check_timeline(const explore_plan_t *plan, const char *shapes) {
  const cli_device_t device = {.timeline = plan->timeline};
  if (plan->timeline != NULL && plan->case_count > 1)
    return cli_fail(&cli_explore, CLI_USAGE, "--timeline is of one case, and there are %d",
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

// The rows, and what the page needs beside them.
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
  json_object_set_new(json, "clock_mhz", json_real(plan->clock_mhz));
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

// What has ended is read, but what did not go is tried again, and what is to be drawn is run.
static int run_case(const explore_plan_t *plan, int index, explore_rows_t *rows) {
  const int before = rows->count;
  int found = 0, end = CLI_GO_ON;
  if (plan->timeline == NULL) end = explore_kept_read(plan, index, rows, &found);
  explore_case_t *one = &plan->cases[index];
  if (end != CLI_GO_ON || (found && one->reason[0] == '\0')) return end;
  if (found) one->reason[0] = '\0';
  rows->count = before;
  end = explore_run(plan, one, rows);
  if (end != CLI_GO_ON) return end;
  return explore_kept_write(plan, index, &rows->rows[before], rows->count - before);
}

// Those of this rank. Where none goes, nothing is printed.
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
      end = cli_fail(&cli_explore, CLI_DEVICE, "case %d: its rank has left nothing", i);
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

// A signal may end it at any time: each line is then whole, and the rest is kept.
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

static int check(const arguments_t *a, const cli_options_t *options) {
  const int batches_given = cli_option_given(options, "batches");
  const int layers_given = cli_option_given(options, "layers");
  if (a->folder == NULL) return cli_fail(&cli_explore, CLI_USAGE, "-o DIR is missing");
  if (strcmp(a->cores, "1") != 0 && (!a->serial || a->timeline != NULL))
    return cli_fail(&cli_explore, CLI_USAGE, "--cores goes with --serial, without --timeline");
  if (cli_option_given(options, "channels") && strcmp(a->drams, "none") == 0)
    return cli_fail(&cli_explore, CLI_USAGE, "--channels goes with a --dram that is not none");
  if (cli_option_given(options, "split") && !cli_option_given(options, "cores"))
    return cli_fail(&cli_explore, CLI_USAGE, "--split goes with --cores");
  if (batches_given && a->serial)
    return cli_fail(&cli_explore, CLI_USAGE, "--batches goes side by side: leave --serial out");
  if (batches_given && (a->batches < 1 || a->batches > UFP4_SCHEDULE_BATCHES))
    return cli_fail(&cli_explore, CLI_USAGE, "--batches: 1 or %d", UFP4_SCHEDULE_BATCHES);
  if (layers_given && (a->layers < 1 || a->layers > 1000000))
    return cli_fail(&cli_explore, CLI_USAGE, "--layers: a whole number from 1 to 1000000");
  if (cli_option_given(options, "byte-pj") &&
      (a->ppa == NULL || !(a->byte_pj > 0 && a->byte_pj <= 1e6f)))
    return cli_fail(&cli_explore, CLI_USAGE, "--byte-pj: over 0, at most 1000000, with --ppa");
  if (!(a->clock_mhz > 0 && a->clock_mhz <= 1e6f))
    return cli_fail(&cli_explore, CLI_USAGE, "--clock-mhz: over 0, at most 1000000");
  return CLI_GO_ON;
}

static void add_options(cli_options_t *options, arguments_t *a) {
  cli_option_add(options, "o", CLI_TEXT, &a->folder, "DIR", "for explore.csv and report.html");
  cli_option_add(options, "recipe", CLI_TEXT, &a->recipes, "LIST",
                 "recipes, with commas between them (default ufp4)");
  cli_option_add(options, "config", CLI_TEXT, &a->configurations, "LIST",
                 "configurations of the core: names, FILE.toml, or parameters as "
                 "rows=8:cols=16:bus=32, with ranges as rows=4..32 (doubling) or rows=4..32+4 "
                 "(default default)");
  cli_option_add(options, "mem-bandwidth", CLI_TEXT, &a->bandwidths, "LIST",
                 "memory: bytes a cycle, each way (default 0: as wide as the bus)");
  cli_option_add(options, "mem-latency", CLI_TEXT, &a->latencies, "LIST",
                 "memory: cycles from address to first data (default 100)");
  cli_option_add(options, "dram", CLI_TEXT, &a->drams, "LIST",
                 "memory: none, or with the banks, rows and refresh of lpddr5 or hbm3, or with so "
                 "many channels hbm3:8, behind --mem-latency, every cycle stepped (default none)");
  cli_option_add(options, "channels", CLI_TEXT, &a->channels, "LIST",
                 "of --dram, among which addresses go round, 256 bytes each (default 0: as many as "
                 "a package has)");
  cli_option_add(options, "source", CLI_CHOICE, &a->source, "bf16|f32",
                 "X, W, dY, Y and dX (default bf16); dW is FP32");
  cli_option_add(options, "tokens", CLI_TEXT, &a->tokens, "LIST",
                 "tokens of a step (default 4096)");
  cli_option_add(options, "hf", CLI_TEXT, &a->hf, "config.json",
                 "the model of a transformers configuration, in the place of SHAPES");
  cli_option_add(options, "attention", CLI_FLAG, &a->attention, NULL,
                 "attention's products (kind bf16, with a side of seq) on the core, too");
  cli_option_add(options, "host-bytes", CLI_FLAG, &a->host_bytes, NULL,
                 "rows of what the host does, without cycles: bytes that it reads and writes");
  cli_option_add(
      options, "cores", CLI_TEXT, &a->cores, "LIST",
      "cores that share the memory, each GEMM split among them; with --serial (default 1)");
  cli_option_add(options, "split", CLI_CHOICE, &a->split, "tokens|n|auto|gemms",
                 "how: by rows or by columns of D, or the better of both for each GEMM (default "
                 "auto); or of layers with a count, as experts, one on each core");
  cli_option_add(options, "chips", CLI_TEXT, &a->chips, "DPxTPxPP",
                 "chips, data, tensor and pipeline parallel, by formula from the cycles of one; "
                 "with --link");
  cli_option_add(options, "link", CLI_TEXT, &a->link, "GBps,us",
                 "between chips: 10^9 bytes a second each way, and a message's latency");
  cli_option_add(options, "ppa", CLI_TEXT, &a->ppa, "asap7|FILE.json",
                 "joules and um2 of a step, by rows of ./ufp4 ppa: those that are built in, or its "
                 "ppa.json with --energy");
  cli_option_add(options, "byte-pj", CLI_REAL, &a->byte_pj, "F",
                 "likewise energy of a byte on the bus, in pJ (default: not in it)");
  cli_option_add(options, "layers", CLI_UINT, &a->layers, "N",
                 "blocks of the model (default: its own)");
  cli_option_range(options, "a whole number from 1 to 1000000");
  cli_option_add(
      options, "batches", CLI_UINT, &a->batches, "1|2",
      "micro-batches of a step (default 2 where each has two macro-tiles of rows in every "
      "layer, else 1)");
  cli_option_range(options, "1 or 2");
  cli_option_add(options, "clock-mhz", CLI_REAL, &a->clock_mhz, "F",
                 "clock, for milliseconds and tokens a second (default 1000)");
  cli_option_add(options, "serial", CLI_FLAG, &a->serial, NULL,
                 "one job after the other, all tokens at once: one micro-batch");
  cli_option_add(options, "resume", CLI_FLAG, &a->resume, NULL,
                 "go on with a run that was stopped");
  cli_option_add(options, "timeline", CLI_TEXT, &a->timeline, "FILE.json",
                 "of one case: write what each unit is at, for ui.perfetto.dev");
  cli_option_add(options, "json", CLI_FLAG, &a->json, NULL,
                 "print all columns of explore.csv as JSON");
}

static int run(int argc, char **argv) {
  arguments_t a = {.recipes = "ufp4",
                   .configurations = "default",
                   .bandwidths = "0",
                   .latencies = "100",
                   .drams = "none",
                   .channels = "0",
                   .tokens = "4096",
                   .cores = "1",
                   .split = EXPLORE_SPLIT_AUTO,
                   .clock_mhz = 1000};
  cli_options_t options = {0};
  char **inputs;
  int count = 0;
  explore_plan_t *plan = calloc(1, sizeof *plan);
  if (plan == NULL) return cli_fail_status(&cli_explore, UFP4_ERROR_MEMORY, NULL);
  cli_join_words(argc, argv, plan->words, sizeof plan->words);
  add_options(&options, &a);
  int end = cli_parse(&cli_explore, &options, argc, argv, 0, 1, &inputs, &count);
  if (end == CLI_GO_ON && (count != 0) == (a.hf != NULL))
    end = cli_fail(&cli_explore, CLI_USAGE, "SHAPES or --hf config.json is needed, and not both");
  if (end == CLI_GO_ON) end = check(&a, &options);
  if (end == CLI_GO_ON) end = ranks_begin(&cli_explore, &plan->ranks);
  const char *shapes = a.hf != NULL || count == 0 ? a.hf : inputs[0];
  if (end == CLI_GO_ON) end = make_plan(&a, shapes, plan);
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
        "Tells how many cycles a training step of a model takes, and where they go.\nFor each "
        "core, "
        "memory and recipe: AMAX and QUANT of every tensor and FPROP, DGRAD and WGRAD of "
        "every layer\non the timed model, in micro-batches, AMAX and QUANT beside the GEMMs. "
        "Lists are tried in\nevery combination. A run that was interrupted goes on with --resume.",
    .example = "ufp4 explore llama-7b --layers 1 --mem-bandwidth 32,64 -o out",
    .run = run,
    .details = explore_model_details,
};
