// SPDX-License-Identifier: Apache-2.0
// The fuzz targets share this: taking an input apart, files, and demands. A target is one file
// fuzz_<unit>.c with the function that libFuzzer calls; a demand that fails ends the program, as a
// sanitizer's finding does.
#ifndef UFP4_FUZZ_H
#define UFP4_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** The rest of an input; behind its end there are zeros. */
typedef struct {
  const uint8_t *at;
  size_t left;
} fuzz_input_t;

uint8_t fuzz_u8(fuzz_input_t *input);
uint32_t fuzz_u32(fuzz_input_t *input);
uint64_t fuzz_u64(fuzz_input_t *input);
/** 0 to bound - 1. */
uint32_t fuzz_below(fuzz_input_t *input, uint32_t bound);
void fuzz_bytes(fuzz_input_t *input, void *out, size_t count);

/** Ends the program, saying what was demanded, unless @p ok. */
void fuzz_demand(int ok, const char *what);
/** A status other than UFP4_OK came with one line of text. */
void fuzz_demand_message(ufp4_status_t status, const ufp4_message_t *message);

/** A file of this process with that name, in a folder of its own; the text lives until the next
 * call. */
const char *fuzz_path(const char *name);
/** Writes it and returns its path. */
const char *fuzz_file(const char *name, const uint8_t *data, size_t size);
/** Writes a .safetensors: with an odd first byte all that follows as it is; with an even one the
 * length of its JSON, which ends with the last brace, comes first. */
const char *fuzz_safetensors(const char *name, const uint8_t *data, size_t size);

#endif
