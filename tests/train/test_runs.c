// SPDX-License-Identifier: Apache-2.0
// Tests the folder of an unfinished experiment: rows are read back with the same bits, those of
// another experiment are refused, and only files of runs are removed.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "train/study/checkpoint.h"
#include "train/study/kept.h"
#include "train/study/runs.h"

enum { STEPS = 5 };
#define SETTINGS "{\"recipe\": \"bf16,ufp4\", \"steps\": 5, \"lr\": 0.003}\n"

typedef struct {
  char folder[256], runs[300];
  ufp4_message_t message;
} place_t;

static place_t make_place(void) {
  place_t place = {0};
  fixture_folder(place.folder);
  snprintf(place.runs, sizeof place.runs, "%s/runs", place.folder);
  return place;
}

static place_t open_place(void) {
  place_t place = make_place();
  check_bits(0, ufp4_kept_open(place.runs, SETTINGS, 0, &place.message), UFP4_OK, "open: %s",
             place.message.text);
  return place;
}

static const char *path_of(const place_t *place, const char *name) {
  static char path[600];
  snprintf(path, sizeof path, "%s/%s", place->runs, name);
  return path;
}

static int is_there(const place_t *place, const char *name) {
  return access(path_of(place, name), F_OK) == 0;
}

static void put(const place_t *place, const char *name, const char *text, size_t size) {
  FILE *file = fopen(path_of(place, name), "wb");
  check_that(0, file != NULL && fwrite(text, 1, size, file) == size, "writing %s", name);
  if (file) fclose(file);
}

static size_t get(const place_t *place, const char *name, char *text, size_t room) {
  FILE *file = fopen(path_of(place, name), "rb");
  size_t size = file ? fread(text, 1, room - 1, file) : 0;
  if (file) fclose(file);
  text[size] = '\0';
  return size;
}

// --- The folder ---------------------------------------------------------------------------------

TEST(settings_are_kept_and_met_again) {
  place_t place = open_place();
  char text[200];
  get(&place, "settings.json", text, sizeof text);
  check_that(0, strcmp(text, SETTINGS) == 0, "settings.json: %s", text);
  check_bits(1, ufp4_kept_open(place.runs, SETTINGS, 1, &place.message), UFP4_OK, "resumed: %s",
             place.message.text);
  check_bits(2,
             ufp4_kept_open(place.runs, "{\"lr\":3e-3,\"steps\":5,\"recipe\":\"bf16,ufp4\"}", 1,
                            &place.message),
             UFP4_OK, "in another order: %s", place.message.text);
  fixture_remove(place.folder);
}

TEST(another_build_goes_on_with_a_word) {
  place_t place = make_place();
  check_bits(0, ufp4_kept_open(place.runs, "{\"steps\": 5, \"program\": \"a\"}", 0, &place.message),
             UFP4_OK, "open: %s", place.message.text);
  check_bits(1, ufp4_kept_open(place.runs, "{\"program\": \"a\", \"steps\": 5}", 1, &place.message),
             UFP4_OK, "resumed: %s", place.message.text);
  check_that(2, place.message.text[0] == '\0', "'%s'", place.message.text);
  check_bits(3, ufp4_kept_open(place.runs, "{\"program\": \"b\", \"steps\": 5}", 1, &place.message),
             UFP4_OK, "rebuilt: %s", place.message.text);
  check_that(4, strstr(place.message.text, "another build") != NULL, "'%s'", place.message.text);
  fixture_remove(place.folder);
}

// A process that was killed after it had made the folder, but before its settings, leaves it empty.
TEST(folder_without_settings_is_a_new_one) {
  place_t place = make_place();
  mkdir(place.runs, 0777);
  check_bits(0, ufp4_kept_open(place.runs, SETTINGS, 0, &place.message), UFP4_OK, "open: %s",
             place.message.text);
  check_that(1, is_there(&place, "settings.json"), "settings.json");
  fixture_remove(place.folder);
}

static void check_refused(place_t *place, const char *settings, int resume, ufp4_status_t status,
                          const char *words) {
  check_bits(0, ufp4_kept_open(place->runs, settings, resume, &place->message), status, "%s",
             words);
  check_that(1, strstr(place->message.text, words) != NULL, "'%s' lacks '%s'", place->message.text,
             words);
}

TEST(rejects_unfinished_experiment_without_resume) {
  place_t place = open_place();
  check_refused(&place, SETTINGS, 0, UFP4_ERROR_ARGUMENT, "--resume continues it");
  fixture_remove(place.folder);
}

TEST(rejects_experiment_of_other_settings) {
  static const char *const table[][2] = {
      {"{\"recipe\": \"bf16,ufp4\", \"steps\": 6, \"lr\": 0.003}", "steps is 5, not 6"},
      {"{\"recipe\": \"bf16\", \"steps\": 6, \"lr\": 0.003}", "recipe is \"bf16,ufp4\", not"},
      {"{\"recipe\": \"bf16,ufp4\", \"steps\": 5}", "lr is 0.003"},
      {"{\"recipe\": \"bf16,ufp4\", \"steps\": 5, \"lr\": 0.003, \"seeds\": 8}",
       "seeds is absent, not 8"}};
  place_t place = open_place();
  for (int i = 0; i < 4; i++) {
    check_refused(&place, table[i][0], 1, UFP4_ERROR_ARGUMENT, table[i][1]);
    check_refused(&place, table[i][0], 0, UFP4_ERROR_ARGUMENT, table[i][1]);
  }
  fixture_remove(place.folder);
}

TEST(rejects_resuming_what_is_not_there) {
  place_t place = make_place();
  check_refused(&place, SETTINGS, 1, UFP4_ERROR_ARGUMENT, "leave out --resume");
  check_that(2, access(place.runs, F_OK) != 0, "a folder was made");
  fixture_remove(place.folder);
}

TEST(rejects_settings_that_are_damaged_or_none) {
  place_t place = open_place();
  check_refused(&place, "[1]", 1, UFP4_ERROR_ARGUMENT, "JSON object");
  put(&place, "settings.json", "{\"steps\": 5", 11);
  check_refused(&place, SETTINGS, 1, UFP4_ERROR_FORMAT, "settings.json: not a JSON object");
  fixture_remove(place.folder);
}

TEST(rejects_folder_that_is_a_file) {
  place_t place = make_place();
  FILE *file = fopen(place.runs, "w");
  if (file) fclose(file);
  check_refused(&place, SETTINGS, 0, UFP4_ERROR_IO, "is not a directory");
  fixture_remove(place.folder);
}

// --- Rows ---------------------------------------------------------------------------------------

static const double losses[STEPS] = {5.5451774444795623, 1.0 / 3, DBL_TRUE_MIN, HUGE_VAL, -0.0};

static void write_rows(place_t *place, const char *id) {
  double loss[STEPS];
  memcpy(loss, losses, sizeof loss);
  const ufp4_run_t run = {.loss = loss,
                          .held_loss = 2.0 / 7,
                          .held_tokens = 131072,
                          .stretches = {3, {0.1, -0x1p-1022, INFINITY}},
                          .seconds = 37.1,
                          .cycles = 1e9 / 3};
  check_bits(0, ufp4_runs_write(place->runs, id, &run, STEPS, &place->message), UFP4_OK,
             "write: %s", place->message.text);
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

TEST(rows_come_back_with_the_same_bits) {
  place_t place = open_place();
  double loss[STEPS];
  ufp4_run_t run = {.loss = loss};
  int found = 1;
  check_bits(0, ufp4_runs_read(place.runs, "ufp4-3", &run, STEPS, &found, &place.message), UFP4_OK,
             "none yet");
  check_bits(1, (uint64_t)found, 0, "none yet");
  write_rows(&place, "ufp4-3");
  check_bits(2, ufp4_runs_read(place.runs, "ufp4-3", &run, STEPS, &found, &place.message), UFP4_OK,
             "read: %s", place.message.text);
  check_bits(3, (uint64_t)found, 1, "found");
  for (int i = 0; i < STEPS; i++) check_bits(i, bits_of(loss[i]), bits_of(losses[i]), "loss");
  check_bits(4, bits_of(run.held_loss), bits_of(2.0 / 7), "held-out loss");
  check_bits(5, (uint64_t)run.held_tokens, 131072, "held-out tokens");
  check_that(8,
             run.stretches.count == 3 && run.stretches.loss[0] == 0.1 &&
                 run.stretches.loss[1] == -0x1p-1022 && isinf(run.stretches.loss[2]),
             "stretches");
  check_bits(6, bits_of(run.seconds), bits_of(37.1), "seconds");
  check_bits(7, bits_of(run.cycles), bits_of(1e9 / 3), "cycles");
  fixture_remove(place.folder);
}

// A diverged training is a valid result.
TEST(rows_may_be_no_numbers) {
  place_t place = open_place();
  double loss[1] = {NAN};
  ufp4_run_t run = {.loss = loss, .held_loss = NAN}, back = {.loss = loss};
  int found;
  check_bits(0, ufp4_runs_write(place.runs, "a", &run, 1, &place.message), UFP4_OK, "write");
  loss[0] = 0;
  check_bits(1, ufp4_runs_read(place.runs, "a", &back, 1, &found, &place.message), UFP4_OK, "read");
  check_that(2, found && isnan(loss[0]) && isnan(back.held_loss), "%g %g", loss[0], back.held_loss);
  fixture_remove(place.folder);
}

static void check_rows_refused(place_t *place, int64_t steps, const char *words) {
  double loss[STEPS + 1] = {7};
  ufp4_run_t run = {.loss = loss};
  int found;
  place->message.text[0] = '\0';
  check_bits(0, ufp4_runs_read(place->runs, "ufp4-3", &run, steps, &found, &place->message),
             UFP4_ERROR_FORMAT, "%s", words);
  check_that(1, strstr(place->message.text, words) != NULL, "'%s' lacks '%s'", place->message.text,
             words);
  check_that(2, !found && loss[0] == 7, "the run was changed");
}

TEST(rejects_rows_that_are_cut_or_damaged) {
  place_t place = open_place();
  char text[1000];
  write_rows(&place, "ufp4-3");
  const size_t size = get(&place, "ufp4-3.csv", text, sizeof text);
  for (size_t cut = 0; cut < size; cut++) {
    put(&place, "ufp4-3.csv", text, cut);
    check_rows_refused(&place, STEPS, "damaged");
  }
  for (size_t at = 0; at < size; at++) {
    text[at] ^= 1;
    put(&place, "ufp4-3.csv", text, size);
    check_rows_refused(&place, STEPS, "damaged");
    text[at] ^= 1;
  }
  fixture_remove(place.folder);
}

TEST(rejects_rows_of_another_number_of_steps) {
  place_t place = open_place();
  write_rows(&place, "ufp4-3");
  check_rows_refused(&place, STEPS + 1, "5 steps, not 6");
  check_rows_refused(&place, STEPS - 1, "5 steps, not 4");
  fixture_remove(place.folder);
}

TEST(rejects_ids_that_are_no_names) {
  static const char *const ids[] = {"", ".", "../up", "a/b", ".hidden", "a b", "a\n"};
  place_t place = open_place();
  ufp4_run_t run = {0};
  char path[UFP4_KEPT_PATH];
  int found;
  for (int i = 0; i < 7; i++) {
    check_bits(i, ufp4_runs_write(place.runs, ids[i], &run, 0, NULL), UFP4_ERROR_ARGUMENT, "write");
    check_bits(i, ufp4_runs_read(place.runs, ids[i], &run, 0, &found, NULL), UFP4_ERROR_ARGUMENT,
               "read");
    check_bits(i, ufp4_kept_path(place.runs, ids[i], UFP4_KEPT_CHECKPOINT, path, NULL),
               UFP4_ERROR_ARGUMENT, "checkpoint");
    check_bits(i, ufp4_kept_remove_checkpoint(place.runs, ids[i], NULL), UFP4_ERROR_ARGUMENT,
               "remove");
  }
  fixture_remove(place.folder);
}

// --- Removal ------------------------------------------------------------------------------------

static void write_checkpoint(place_t *place, const char *id) {
  const ufp4_trainer_options_t options = fixture_options(2);
  const ufp4_text_t text = {0};
  ufp4_trainer_t *trainer = fixture_trainer(&options, &text, NULL, NULL);
  char path[UFP4_KEPT_PATH];
  check_bits(0, ufp4_kept_path(place->runs, id, UFP4_KEPT_CHECKPOINT, path, &place->message),
             UFP4_OK, "its path");
  check_bits(1, ufp4_trainer_save(trainer, NULL, path, &place->message), UFP4_OK, "save: %s",
             place->message.text);
  ufp4_trainer_free(trainer);
}

TEST(checkpoint_of_a_run_is_removed) {
  place_t place = open_place();
  write_checkpoint(&place, "ufp4-3");
  write_checkpoint(&place, "ufp4-4");
  for (int i = 0; i < 2; i++) {  // the second time it is already gone
    check_bits(i, ufp4_kept_remove_checkpoint(place.runs, "ufp4-3", &place.message), UFP4_OK, "%s",
               place.message.text);
  }
  check_that(2, !is_there(&place, "ufp4-3.safetensors"), "is there");
  check_that(3, is_there(&place, "ufp4-4.safetensors"), "the other");
  fixture_remove(place.folder);
}

TEST(all_that_runs_leave_is_removed) {
  place_t place = open_place();
  write_rows(&place, "ufp4-3");
  write_checkpoint(&place, "bf16-control-12");
  put(&place, ".ufp4-4711-0.tmp", "half", 4);
  for (int i = 0; i < 2; i++) {  // the second time it is already gone
    check_bits(i, ufp4_kept_remove(place.runs, &place.message), UFP4_OK, "%s", place.message.text);
    check_that(i, access(place.runs, F_OK) != 0, "the folder is there");
  }
  fixture_remove(place.folder);
}

TEST(what_is_not_of_runs_stays) {
  static const char *const kept[] = {"notes.csv", "model.safetensors", ".ufp4-1-0.tmp.gz",
                                     "notes.txt"};
  static const char other[] = "\x10\0\0\0\0\0\0\0{}              ";
  place_t place = open_place();
  write_rows(&place, "ufp4-3");
  put(&place, kept[0], "step,mine\n", 10);
  put(&place, kept[1], other, sizeof other - 1);
  put(&place, kept[2], "?", 1);
  put(&place, kept[3], "?", 1);
  check_bits(0, ufp4_kept_remove(place.runs, &place.message), UFP4_OK, "%s", place.message.text);
  for (int i = 0; i < 4; i++) check_that(i, is_there(&place, kept[i]), "%s is gone", kept[i]);
  check_that(4, !is_there(&place, "ufp4-3.csv"), "the rows");
  check_that(5, !is_there(&place, "settings.json"), "the settings");
  check_bits(6, ufp4_kept_open(place.runs, SETTINGS, 0, &place.message), UFP4_OK, "the next: %s",
             place.message.text);
  fixture_remove(place.folder);
}
