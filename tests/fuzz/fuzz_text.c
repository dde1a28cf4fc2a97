// SPDX-License-Identifier: Apache-2.0
// Reads text for the language model, plain or gzip. The input: length of a sequence, step, the
// file.
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "train/learn/text.h"

#define BATCH 3

static void check_use(const ufp4_text_t *text, int64_t context, int64_t step) {
  uint8_t *inputs = malloc((size_t)(BATCH * context)), *targets = malloc((size_t)(BATCH * context));
  fuzz_demand(inputs != NULL && targets != NULL, "there is memory");
  ufp4_text_batch(text, 1, step, BATCH, context, inputs, targets);
  fuzz_demand(memcmp(inputs + 1, targets, (size_t)context - 1) == 0,
              "the target is the next character");
  int64_t count = ufp4_text_held_sequences(text, context, 5);
  fuzz_demand(count >= 1, "there is a held-out sequence");
  for (int64_t i = 0; i < count; i++)
    ufp4_text_held_sequence(text, i, count, context, inputs, targets);
  free(inputs);
  free(targets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ufp4_message_t message = {0};
  ufp4_text_t text;
  fuzz_input_t input = {data, size};
  int64_t context = 1 + fuzz_u8(&input), step = fuzz_u8(&input);
  ufp4_status_t status =
      ufp4_text_read(fuzz_file("t.txt", input.at, input.left), context, &text, &message);
  fuzz_demand_message(status, &message);
  fuzz_demand(status == UFP4_OK || status == UFP4_ERROR_FORMAT, "OK or FORMAT");
  if (status != UFP4_OK) return 0;
  check_use(&text, context, step);
  ufp4_text_free(&text);
  return 0;
}
