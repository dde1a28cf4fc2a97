// SPDX-License-Identifier: Apache-2.0
// The output folder of ufp4 train, and what is printed.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/maker.h"
#include "train.h"
#include "train/study/capture.h"
#include "train/study/kept.h"

static const char *const files[] = {"losses.csv", "branched.csv", "forward.csv", "train.json",
                                    "report.html"};
enum { LOSSES, BRANCHED, FORWARD, DOCUMENT, REPORT, FILES };

// Files that the program writes in this run; the page is drawn afterwards.
static int writes(const plan_t *plan, int file) {
  if (file == LOSSES) return plan->whole;
  if (file == BRANCHED) return plan->branched;
  return file == FORWARD ? plan->forward : file == DOCUMENT;
}

int train_check_outputs(const cli_command_t *command, const arguments_t *a) {
  struct stat about;
  char path[PATH_MAX];
  int end = cli_output_directory(command, a->folder);
  if (end == CLI_GO_ON) end = cli_device_check_trace(command, &a->device, &a->text_name, 1);
  if (end == CLI_GO_ON)
    end = cli_output_apart(command, a->device.timeline, a->folder, files, FILES);
  if (end != CLI_GO_ON || stat(a->folder, &about) != 0) return end;
  for (int i = 0; i < FILES && end == CLI_GO_ON; i++) {
    snprintf(path, sizeof path, "%s/%s", a->folder, files[i]);
    end = cli_output_file(command, path, CLI_ANY_FILE, &a->text_name, 1);
  }
  return end;
}

// Makes the folder name of a recipe's captured tensors; returns 0 if it is too long.
static int capture_folder(const arguments_t *a, const char *recipe, char path[PATH_MAX]) {
  const int length = snprintf(path, PATH_MAX, "%s/%s", a->folder, recipe);
  if (length >= PATH_MAX) return 0;
  ufp4_kept_name(path + strlen(a->folder) + 1);
  return 1;
}

int train_make_folders(plan_t *plan, const arguments_t *a) {
  int end = cli_output_make_directory(plan->command, a->folder, &plan->made);
  ufp4_experiment_options_t *o = &plan->options;
  for (int i = 0; a->capture && end == CLI_GO_ON && i < o->variant_count; i++) {
    ufp4_message_t message;
    if (o->variants[i].perturbation > 0) continue;
    if (!capture_folder(a, o->variants[i].name, plan->folders[i]))
      return cli_fail(plan->command, CLI_USAGE, "-o: the name is too long");
    end = cli_output_directory(plan->command, plan->folders[i]);
    if (end != CLI_GO_ON) return end;
    ufp4_status_t status = ufp4_capture_check(plan->folders[i], o->trainer.shape.blocks, &message);
    if (status != UFP4_OK) end = cli_fail_status(plan->command, status, message.text);
    o->variants[i].capture = plan->folders[i];
  }
  return end;
}

// Removes tensors that an earlier run captured in the same folder, which would look like this
// run's. That run's losses.csv lists its recipes.
static void clean_captures(const plan_t *plan, const arguments_t *a) {
  const ufp4_experiment_options_t *o = &plan->options;
  char path[PATH_MAX], line[PATH_MAX], last[PATH_MAX] = "";
  snprintf(path, sizeof path, "%s/%s", a->folder, files[LOSSES]);
  FILE *losses = fopen(path, "r");
  if (losses != NULL && fgets(line, sizeof line, losses) == NULL)
    line[0] = '\0';  // the column names
  while (losses != NULL && fgets(line, sizeof line, losses) != NULL) {
    line[strcspn(line, ",\n")] = '\0';
    if (line[0] == '\0' || line[0] == '.' || strcmp(line, last) == 0) continue;
    memcpy(last, line, strlen(line) + 1);
    int again = 0;
    for (int v = 0; v < o->variant_count; v++) again |= strcmp(line, o->variants[v].name) == 0;
    if (again || !capture_folder(a, line, path)) continue;
    ufp4_capture_clean(path, 0);
    rmdir(path);  // only if it is empty
  }
  if (losses != NULL) fclose(losses);
  for (int v = 0; v < o->variant_count; v++) {
    if (!capture_folder(a, o->variants[v].name, path)) continue;
    ufp4_capture_clean(path, o->variants[v].capture != NULL ? o->trainer.shape.blocks : 0);
    if (o->variants[v].capture == NULL) rmdir(path);
  }
}

// Removes files of tables that an earlier run wrote and this one does not.
static void clean_tables(const plan_t *plan, const arguments_t *a) {
  char path[PATH_MAX];
  for (int i = 0; i < REPORT; i++) {
    snprintf(path, sizeof path, "%s/%s", a->folder, files[i]);
    if (!writes(plan, i)) (void)remove(path);
  }
}

static ufp4_status_t write_file(const evidence_t *e, int file, const char *path,
                                ufp4_message_t *message) {
  switch (file) {
    case LOSSES:
      return ufp4_experiment_write_csv(&e->experiment, UFP4_RUN_WHOLE, path, message);
    case BRANCHED:
      return ufp4_experiment_write_csv(&e->experiment, UFP4_RUN_BRANCHED, path, message);
    case FORWARD:
      return ufp4_forward_write_csv(&e->forward, path, message);
    default:
      return json_write(path, train_document(e, TRAIN_FORWARD | TRAIN_BRANCHED | TRAIN_WHOLE),
                        message);
  }
}

int train_write_files(const evidence_t *e) {
  char path[PATH_MAX];
  ufp4_message_t message = {0};
  ufp4_status_t status = UFP4_OK;
  clean_captures(e->plan, e->arguments);
  for (int i = 0; i < REPORT && !status; i++) {
    snprintf(path, sizeof path, "%s/%s", e->arguments->folder, files[i]);
    if (writes(e->plan, i)) status = write_file(e, i, path, &message);
  }
  if (status) return cli_fail_status(e->plan->command, status, message.text);
  clean_tables(e->plan, e->arguments);
  return CLI_GO_ON;
}

int train_draw(const evidence_t *e) {
  char document[PATH_MAX], page[PATH_MAX];
  snprintf(document, sizeof document, "%s/%s", e->arguments->folder, files[DOCUMENT]);
  snprintf(page, sizeof page, "%s/%s", e->arguments->folder, files[REPORT]);
  return maker_draw(e->plan->command, document, page);
}

// --- Tables -------------------------------------------------------------------------------------

void train_print(evidence_t *e, unsigned tables) {
  if (e->arguments->json || !maker_is_there()) return;
  const int end = maker_run(e->plan->command, train_document(e, tables),
                            (const char *const[]){"--tables", NULL});
  if (end != CLI_GO_ON) e->untold = end;
}

int train_print_json(const evidence_t *e) {
  json_t *document = train_document(e, TRAIN_FORWARD | TRAIN_BRANCHED | TRAIN_WHOLE);
  if (!maker_is_there()) return cli_json_print(e->plan->command, document, 9);
  return maker_run(e->plan->command, document, (const char *const[]){"--json", NULL});
}
