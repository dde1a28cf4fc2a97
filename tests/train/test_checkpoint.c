// SPDX-License-Identifier: Apache-2.0
// Tests checkpoints: a training that continues from one has the bits of an uninterrupted training,
// and a file that is damaged or belongs to another training is refused.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"
#include "train/study/checkpoint.h"

enum { STEPS = 8, CUT = 3 };

typedef struct {
  char folder[256], path[300];
  ufp4_text_t text;
  ufp4_device_t *device;
  ufp4_message_t message;
} place_t;

static place_t open_place(void) {
  place_t place = {.text = fixture_text(40000), .device = fixture_device(1)};
  fixture_folder(place.folder);
  snprintf(place.path, sizeof place.path, "%s/ufp4-3.safetensors", place.folder);
  return place;
}

static void close_place(place_t *place) {
  ufp4_device_close(place->device);
  ufp4_text_free(&place->text);
  fixture_remove(place->folder);
}

// @p recipe NULL: plain FP32.
static ufp4_trainer_t *make_with(const place_t *place, const char *recipe,
                                 const ufp4_trainer_options_t *options) {
  return fixture_trainer(options, &place->text, place->device, recipe);
}

static ufp4_trainer_t *make(const place_t *place, const char *recipe) {
  ufp4_trainer_options_t options = fixture_options(STEPS);
  return make_with(place, recipe, &options);
}

static void take_steps(ufp4_trainer_t *trainer, int64_t until, double *loss) {
  for (int64_t i = ufp4_trainer_steps(trainer); i < until; i++)
    check_bits(i, ufp4_trainer_step(trainer, &loss[i]), UFP4_OK, "step %d", (int)i);
}

// Saves a checkpoint after CUT steps of @p recipe.
static void save_one(place_t *place, const char *recipe) {
  double loss[STEPS];
  ufp4_trainer_t *trainer = make(place, recipe);
  take_steps(trainer, CUT, loss);
  check_bits(0, ufp4_trainer_save(trainer, loss, place->path, &place->message), UFP4_OK, "save: %s",
             place->message.text);
  ufp4_trainer_free(trainer);
}

static void check_same(const ufp4_trainer_t *a, const ufp4_trainer_t *b, const double *loss_a,
                       const double *loss_b) {
  const ufp4_weights_t *x = ufp4_trainer_weights(a), *y = ufp4_trainer_weights(b);
  check_bits(0, (uint64_t)ufp4_trainer_steps(a), (uint64_t)ufp4_trainer_steps(b), "steps");
  check_that(1, memcmp(loss_a, loss_b, STEPS * sizeof *loss_a) == 0, "losses");
  check_that(2, memcmp(x->all, y->all, (size_t)x->count * sizeof *x->all) == 0, "weights");
}

// Compares a whole training with one whose later steps are taken by a trainer that has loaded a
// checkpoint.
static void check_goes_on(const char *recipe) {
  place_t place = open_place();
  double whole[STEPS], parted[STEPS] = {0};
  ufp4_trainer_t *a = make(&place, recipe), *b = make(&place, recipe);
  take_steps(a, STEPS, whole);
  save_one(&place, recipe);
  check_bits(0, ufp4_trainer_load(b, parted, place.path, &place.message), UFP4_OK, "load: %s",
             place.message.text);
  check_bits(1, (uint64_t)ufp4_trainer_steps(b), CUT, "steps taken");
  take_steps(b, STEPS, parted);
  check_same(a, b, whole, parted);
  ufp4_trainer_free(a), ufp4_trainer_free(b);
  close_place(&place);
}

TEST(goes_on_with_the_same_bits_in_fp32) {
  check_goes_on(NULL);
}
TEST(goes_on_with_the_same_bits_in_bf16) {
  check_goes_on("bf16");
}
TEST(goes_on_with_the_same_bits_in_ufp4) {
  check_goes_on("ufp4");  // with stochastic rounding
}
TEST(goes_on_with_the_same_bits_in_nvfp4) {
  check_goes_on("nvfp4");
}

TEST(is_of_no_step_too) {
  place_t place = open_place();
  double whole[STEPS], parted[STEPS];
  ufp4_trainer_t *a = make(&place, "ufp4"), *b = make(&place, "ufp4");
  check_bits(0, ufp4_trainer_save(a, whole, place.path, &place.message), UFP4_OK, "save");
  check_bits(1, ufp4_trainer_load(b, parted, place.path, &place.message), UFP4_OK, "load: %s",
             place.message.text);
  take_steps(a, STEPS, whole);
  take_steps(b, STEPS, parted);
  check_same(a, b, whole, parted);
  ufp4_trainer_free(a), ufp4_trainer_free(b);
  close_place(&place);
}

// The branch equals a trainer of the other recipe that continues from a copy.
TEST(branches_into_another_recipe) {
  place_t place = open_place();
  double copied[STEPS], branched[STEPS];
  ufp4_trainer_t *from = make(&place, "bf16"), *a = make(&place, "ufp4"), *b = make(&place, "ufp4");
  save_one(&place, "bf16");
  take_steps(from, CUT, copied);
  check_bits(0, ufp4_trainer_copy(a, from), UFP4_OK, "copy");
  take_steps(a, STEPS, copied);
  check_bits(1, ufp4_trainer_branch(b, branched, place.path, &place.message), UFP4_OK, "branch: %s",
             place.message.text);
  take_steps(b, STEPS, branched);
  check_same(a, b, copied, branched);
  ufp4_trainer_free(from), ufp4_trainer_free(a), ufp4_trainer_free(b);
  close_place(&place);
}

TEST(branch_is_perturbed_where_its_trainer_says_so) {
  place_t place = open_place();
  double loss[STEPS];
  ufp4_trainer_options_t options = fixture_options(STEPS);
  ufp4_trainer_t *plain = make(&place, "ufp4");
  options.perturbation = 1e-3f;
  ufp4_trainer_t *control = make_with(&place, "ufp4", &options);
  save_one(&place, "ufp4");
  check_bits(0, ufp4_trainer_branch(plain, loss, place.path, &place.message), UFP4_OK, "branch");
  check_bits(1, ufp4_trainer_branch(control, loss, place.path, &place.message), UFP4_OK, "branch");
  const ufp4_weights_t *x = ufp4_trainer_weights(plain), *y = ufp4_trainer_weights(control);
  int64_t moved = 0;
  for (int64_t i = 0; i < x->matrices; i++) moved += x->all[i] != y->all[i];
  check_that(2, moved > x->matrices * 9 / 10, "%lld weights have moved", (long long)moved);
  ufp4_trainer_free(plain), ufp4_trainer_free(control);
  close_place(&place);
}

// A process that saves over and over is killed at ten different moments.
TEST(killed_writer_leaves_a_whole_checkpoint) {
  place_t place = open_place();
  double loss[STEPS];
  ufp4_trainer_t *trainer = make(&place, "ufp4");
  save_one(&place, "ufp4");
  for (int i = 0; i < 10; i++) {
    pid_t child = fork();
    if (child == 0) {
      while (ufp4_trainer_load(trainer, loss, place.path, NULL) == UFP4_OK)
        ufp4_trainer_save(trainer, loss, place.path, NULL);
      _exit(1);
    }
    usleep(3000 + 1000 * (unsigned)i);
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    check_that(i, WIFSIGNALED(status), "it could not load what it has saved");
    check_bits(i, ufp4_trainer_load(trainer, loss, place.path, &place.message), UFP4_OK, "load: %s",
               place.message.text);
  }
  ufp4_trainer_free(trainer);
  close_place(&place);
}

// --- Refusals -----------------------------------------------------------------------------------

typedef ufp4_status_t (*load_t)(ufp4_trainer_t *trainer, double *losses, const char *path,
                                ufp4_message_t *message);

// Checks that loading is refused with @p words and leaves the trainer at the beginning.
static void check_refused(place_t *place, ufp4_trainer_t *trainer, load_t load,
                          ufp4_status_t status, const char *words) {
  double loss[STEPS];
  size_t bytes = (size_t)ufp4_trainer_weights(trainer)->count * sizeof(float);
  float *before = malloc(bytes);
  memcpy(before, ufp4_trainer_weights(trainer)->all, bytes);
  place->message.text[0] = '\0';
  check_bits(0, load(trainer, loss, place->path, &place->message), status, "%s: %s", words,
             place->message.text);
  check_that(1, strstr(place->message.text, words) != NULL, "'%s' lacks '%s'", place->message.text,
             words);
  check_bits(2, (uint64_t)ufp4_trainer_steps(trainer), 0, "steps");
  check_that(3, memcmp(before, ufp4_trainer_weights(trainer)->all, bytes) == 0, "weights");
  free(before);
}

// The bytes of a file; free data.
typedef struct {
  char *data;
  size_t size;
} bytes_t;

static bytes_t read_bytes(const char *path) {
  FILE *file = fopen(path, "rb");
  fseek(file, 0, SEEK_END);
  bytes_t out = {.size = (size_t)ftell(file)};
  out.data = malloc(out.size);
  rewind(file);
  check_that(0, fread(out.data, 1, out.size, file) == out.size, "reading %s", path);
  fclose(file);
  return out;
}

static void write_bytes(const char *path, const char *data, size_t size) {
  FILE *file = fopen(path, "wb");
  check_that(0, fwrite(data, 1, size, file) == size, "writing %s", path);
  fclose(file);
}

TEST(rejects_cut_file) {
  place_t place = open_place();
  ufp4_trainer_t *trainer = make(&place, "ufp4");
  save_one(&place, "ufp4");
  bytes_t whole = read_bytes(place.path);
  const size_t sizes[] = {whole.size - 1, whole.size / 2, 100, 7, 0};
  for (int i = 0; i < 5; i++) {
    write_bytes(place.path, whole.data, sizes[i]);
    check_refused(&place, trainer, ufp4_trainer_load, UFP4_ERROR_FORMAT, "truncated");
  }
  unlink(place.path);
  check_refused(&place, trainer, ufp4_trainer_load, UFP4_ERROR_IO, "No such file");
  free(whole.data);
  ufp4_trainer_free(trainer);
  close_place(&place);
}

// The damage is one bit anywhere in the data, or a digit of a number in the header.
TEST(rejects_damaged_file) {
  place_t place = open_place();
  ufp4_trainer_t *trainer = make(&place, "ufp4");
  save_one(&place, "ufp4");
  bytes_t whole = read_bytes(place.path);
  size_t data_at = 8 + (uint8_t)whole.data[0] + 256u * (uint8_t)whole.data[1];
  for (int i = 0; i < 20; i++) {
    char *at = &whole.data[data_at + (whole.size - data_at - 1) * (size_t)i / 19];
    *at ^= (char)(1 << i % 8);
    write_bytes(place.path, whole.data, whole.size);
    check_refused(&place, trainer, ufp4_trainer_load, UFP4_ERROR_FORMAT, "checksum");
    *at ^= (char)(1 << i % 8);
  }
  static const char *const keys[] = {"\"step\":\"", "\"crc32\":\"", "\"seed\":\""};
  for (int i = 0; i < 3; i++) {
    char *at = whole.data + 8;
    while (memcmp(at, keys[i], strlen(keys[i])) != 0) at++;
    at += strlen(keys[i]);
    const char digit = *at;
    *at = digit == '2' ? '1' : '2';
    write_bytes(place.path, whole.data, whole.size);
    check_refused(&place, trainer, ufp4_trainer_load, UFP4_ERROR_FORMAT, "");
    *at = digit;
  }
  free(whole.data);
  ufp4_trainer_free(trainer);
  close_place(&place);
}

static void check_other(place_t *place, const char *recipe, ufp4_trainer_options_t options,
                        const char *words) {
  ufp4_trainer_t *trainer = make_with(place, recipe, &options);
  check_refused(place, trainer, ufp4_trainer_load, UFP4_ERROR_FORMAT, words);
  ufp4_trainer_free(trainer);
}

TEST(rejects_checkpoint_of_another_training) {
  place_t place = open_place();
  const ufp4_trainer_options_t same = fixture_options(STEPS);
  ufp4_trainer_options_t o = same;
  save_one(&place, "ufp4");
  o.shape.ff = 64;
  check_other(&place, "ufp4", o, "ff '64', not '48'");
  o = same;
  o.batch = 5;
  check_other(&place, "ufp4", o, "batch '5', not '4'");
  o = same;
  o.steps = CUT - 1;
  check_other(&place, "ufp4", o, "steps '2', not '8'");
  o = same;
  o.rate = 9e-3f;
  check_other(&place, "ufp4", o, "lr '0.00899999961', not '0.00999999978'");
  o = same;
  o.seed++;
  check_other(&place, "ufp4", o, "seed '4', not '3'");
  o = same;
  o.perturbation = 1e-3f;
  check_other(&place, "ufp4", o, "perturbation");
  check_other(&place, "e2m1", same, "recipe 'e2m1', not 'ufp4'");
  check_other(&place, NULL, same, "recipe 'none', not 'ufp4'");
  place.text.train[17] ^= 1;
  check_other(&place, "ufp4", same, "the text");
  close_place(&place);
}

// The recipe has the same name but other settings, as if its file had been edited.
TEST(rejects_checkpoint_of_a_recipe_that_has_changed) {
  place_t place = open_place();
  ufp4_trainer_options_t options = fixture_options(STEPS);
  ufp4_recipe_t recipe;
  ufp4_trainer_t *trainer;
  save_one(&place, "ufp4");
  ufp4_recipe_named("ufp4", &recipe);
  recipe.round[UFP4_ROLE_DY][0] = UFP4_ROUND_RNE;
  ufp4_trainer_create(&options, &place.text, place.device, &recipe, &trainer);
  check_refused(&place, trainer, ufp4_trainer_load, UFP4_ERROR_FORMAT, "settings");
  ufp4_trainer_free(trainer);
  close_place(&place);
}

TEST(rejects_branch_of_another_seed) {
  place_t place = open_place();
  ufp4_trainer_options_t options = fixture_options(STEPS);
  save_one(&place, "bf16");
  options.seed++;
  ufp4_trainer_t *trainer = make_with(&place, "ufp4", &options);
  check_refused(&place, trainer, ufp4_trainer_branch, UFP4_ERROR_FORMAT, "seed '4', not '3'");
  ufp4_trainer_free(trainer);
  close_place(&place);
}

TEST(rejects_what_is_no_checkpoint) {
  static const char other[] = "\x10\0\0\0\0\0\0\0{}              ";
  place_t place = open_place();
  ufp4_trainer_t *trainer = make(&place, "ufp4");
  write_bytes(place.path, other, sizeof other - 1);
  check_refused(&place, trainer, ufp4_trainer_load, UFP4_ERROR_FORMAT, "format 'ufp4-train-1'");
  check_that(9, !ufp4_checkpoint_is(place.path), "it is none");
  save_one(&place, "ufp4");
  check_that(10, ufp4_checkpoint_is(place.path), "it is one");
  ufp4_trainer_free(trainer);
  close_place(&place);
}

TEST(rejects_place_that_cannot_be_written) {
  place_t place = open_place();
  double loss[STEPS];
  ufp4_trainer_t *trainer = make(&place, "ufp4");
  fixture_remove(place.folder);
  check_bits(0, ufp4_trainer_save(trainer, loss, place.path, &place.message), UFP4_ERROR_IO,
             "save");
  check_that(1, strstr(place.message.text, place.path) != NULL, "%s", place.message.text);
  ufp4_trainer_free(trainer);
  close_place(&place);
}
