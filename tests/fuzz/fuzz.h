// SPDX-License-Identifier: Apache-2.0
// Functions that the fuzz targets share: taking an input apart, files, and demands. A target is one
// file fuzz_<unit>.c with the function that libFuzzer calls; a demand that fails ends the program,
// as a sanitizer's finding does.
#ifndef UFP4_FUZZ_H
#define UFP4_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** The rest of an input; zeros follow its end. */
typedef struct {
  const uint8_t *at;
  size_t left;
} fuzz_input_t;

uint8_t fuzz_u8(fuzz_input_t *input);
uint32_t fuzz_u32(fuzz_input_t *input);
uint64_t fuzz_u64(fuzz_input_t *input);
/** Returns 0 to bound - 1. */
uint32_t fuzz_below(fuzz_input_t *input, uint32_t bound);
void fuzz_bytes(fuzz_input_t *input, void *out, size_t count);

/** Ends the program with the text of the demand unless @p ok. */
void fuzz_demand(int ok, const char *what);
/** Demands that a status other than UFP4_OK comes with one line of text. */
void fuzz_demand_message(ufp4_status_t status, const ufp4_message_t *message);

/** Returns the path of a file with that name in a folder of this process; the text is valid until
 * the next call. */
const char *fuzz_path(const char *name);
/** Writes such a file and returns its path. */
const char *fuzz_file(const char *name, const uint8_t *data, size_t size);
/** Writes a .safetensors file. If the first byte is odd, the rest is the file as it is; if it is
 * even, the length of the JSON, which ends with the last brace, is put in front of the rest. */
const char *fuzz_safetensors(const char *name, const uint8_t *data, size_t size);

#endif
