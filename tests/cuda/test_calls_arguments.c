// SPDX-License-Identifier: Apache-2.0
// Tests that the calls of ufp4_cuda.h refuse bad arguments before they queue work, and that their
// structures agree in C and C++.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

#define STREAM 0x1230

TEST(rejects_gpus_that_are_not_there) {
  ufp4_message_t message = {0};
  ufp4_cuda_t *cuda = (ufp4_cuda_t *)&message;
  check_bits(0, ufp4_cuda_open(2, &cuda, &message), UFP4_ERROR_DEVICE, "GPU 2 of two");
  check_that(0, cuda == NULL && strstr(message.text, "no GPU 2") != NULL, "%s", message.text);
  check_bits(0, ufp4_cuda_open(0, NULL, NULL), UFP4_ERROR_ARGUMENT, "nowhere to put it");
  for (int i = 0; i < 3; i++) {
    const int number = i == 0 ? -2 : i == 1 ? -7 : INT_MIN;
    check_bits(0, ufp4_cuda_open(number, &cuda, &message), UFP4_ERROR_ARGUMENT, "GPU %d", number);
    check_that(0, cuda == NULL && strstr(message.text, "it must be the number of a GPU") != NULL,
               "%s", message.text);
  }
}

// A valid call, in which each check makes one thing wrong.
typedef struct {
  engine_t engine;
  fixture_tensor_t tensor;
  placed_t copies[2];
  ufp4_matrix_t in;
  ufp4_quantize_t how[2];
  ufp4_cuda_operand_t out[2];
  ufp4_cuda_call_t call;
  int count;
  uint8_t workspace[4096];
} asked_t;

static void asked_reset(asked_t *asked) {
  emulated_counts_t counts;
  emulated_counts_taken(&counts);
  asked->in = asked->tensor.view;
  asked->count = 2;
  asked->engine.message.text[0] = '\0';
  asked->call = (ufp4_cuda_call_t){.stream = asked->engine.stream,
                                   .workspace = asked->workspace,
                                   .workspace_bytes = sizeof asked->workspace,
                                   .message = &asked->engine.message};
  for (int i = 0; i < 2; i++) {
    asked->how[i] = asked->copies[i].how;
    asked->out[i] = asked->copies[i].x;
  }
}

static asked_t *asked_create_on(int capability, ufp4_scale_t scale) {
  check_random_t random = check_random();
  asked_t *asked = calloc(1, sizeof *asked);
  if (asked == NULL) abort();
  asked->engine = engine_open(capability, STREAM);
  asked->tensor = fixture_tensor(&random, 20, 40, FIXTURE_GAUSSIAN, UFP4_DTYPE_F32, UFP4_AXIS_ROW);
  for (int i = 0; i < 2; i++) {
    const ufp4_quantize_t how = {.scale = scale, .axis = (ufp4_axis_t)i};
    placed_create(&asked->tensor.view, &how, &asked->copies[i]);
  }
  asked_reset(asked);
  return asked;
}

static asked_t *asked_create(ufp4_scale_t scale) {
  return asked_create_on(90, scale);
}

static void asked_free(asked_t *asked) {
  for (int i = 0; i < 2; i++) placed_free(&asked->copies[i]);
  fixture_tensor_free(&asked->tensor);
  engine_close(&asked->engine);
  free(asked);
}

// Checks that a call returned the status, that its message has the words, and that it queued
// nothing. Then makes the call valid again.
static void judge(asked_t *asked, ufp4_status_t got, ufp4_status_t want, const char *text) {
  emulated_counts_t counts;
  check_bits(0, got, want, "%s", text);
  check_that(0, strstr(asked->engine.message.text, text) != NULL, "'%s' is not in '%s'", text,
             asked->engine.message.text);
  emulated_counts_taken(&counts);
  check_bits(0, counts.works, 0, "%s: work was queued", text);
  asked_reset(asked);
}

static void refuses(asked_t *asked, ufp4_status_t want, const char *text) {
  const ufp4_status_t got = ufp4_cuda_quantize(asked->engine.cuda, &asked->in, asked->how,
                                               asked->out, asked->count, NULL, &asked->call);
  judge(asked, got, want, text);
}

TEST(rejects_bad_calls_of_the_quantizer) {
  asked_t *asked = asked_create(UFP4_SCALE_E4M3);
  asked->in.data = (const char *)asked->in.data + 2;
  refuses(asked, UFP4_ERROR_ARGUMENT, "must be a multiple of 4");
  asked->in.rows = 0;
  refuses(asked, UFP4_ERROR_ARGUMENT, "rows and columns must be from 1");
  asked->in.ld = 39;
  refuses(asked, UFP4_ERROR_ARGUMENT, "in->ld is 39");
  asked->in.dtype = UFP4_DTYPE_I64;
  refuses(asked, UFP4_ERROR_ARGUMENT, "FP32 or BF16");
  asked->in.data = NULL;
  refuses(asked, UFP4_ERROR_ARGUMENT, "tensor is NULL");
  asked->count = 3;
  refuses(asked, UFP4_ERROR_ARGUMENT, "copies is 3; it must be 1 or 2");
  asked->how[1].elem = asked->out[1].elem = (ufp4_elem_t)UFP4_ELEM_KINDS;
  refuses(asked, UFP4_ERROR_ARGUMENT, "element");
  asked->how[0].round = (ufp4_round_t)2;
  refuses(asked, UFP4_ERROR_ARGUMENT, "round is 2");
  asked->how[0].scale = asked->out[0].scale = UFP4_SCALE_NVFP4;
  asked->how[0].elem = asked->out[0].elem = UFP4_ELEM_INT4;
  refuses(asked, UFP4_ERROR_UNSUPPORTED, "int4");
  asked->how[0].block = 32;
  refuses(asked, UFP4_ERROR_UNSUPPORTED, "block 32");
  asked->how[0].rht = UFP4_RHT_INTEGER;
  asked->how[0].rht_size = 32;
  refuses(asked, UFP4_ERROR_UNSUPPORTED, "RHT size 32");
  asked->how[0].rht = UFP4_RHT_INTEGER;
  asked->how[0].rht_mask = 0x10000;
  refuses(asked, UFP4_ERROR_ARGUMENT, "more bits than the transform's 16 points");
  asked->how[0].exponent_given = -1;
  refuses(asked, UFP4_ERROR_ARGUMENT, "exponent_given is -1");
  asked->how[0].exponent_given = 1;
  asked->how[0].exponent = 40000;
  refuses(asked, UFP4_ERROR_ARGUMENT, "tensor exponent is 40000");
  asked->out[1].elem = UFP4_ELEM_INT4;
  refuses(asked, UFP4_ERROR_ARGUMENT, "another element");
  asked->out[1].rows = 41;
  refuses(asked, UFP4_ERROR_ARGUMENT, "out is 41 x 20; it must be 40 x 20");
  asked->out[0].codes += 8;
  refuses(asked, UFP4_ERROR_ARGUMENT, "codes");
  asked->out[0].scales = NULL;
  refuses(asked, UFP4_ERROR_ARGUMENT, "scales is NULL");
  asked->out[0].panel_stride = 2;
  refuses(asked, UFP4_ERROR_ARGUMENT, "panel_stride is 2 blocks");
  asked->out[0].exponent = NULL;
  refuses(asked, UFP4_ERROR_ARGUMENT, "exponent is NULL");
  asked->call.workspace_bytes = ufp4_cuda_quantize_workspace(asked->engine.cuda, &asked->in) - 1;
  refuses(asked, UFP4_ERROR_ARGUMENT, "are needed");
  asked->call.workspace = NULL;
  refuses(asked, UFP4_ERROR_ARGUMENT, "workspace is NULL");
  asked->call.signs = UFP4_SIGNS_STEP;
  refuses(asked, UFP4_ERROR_ARGUMENT, "signs of a step need random");
  asked->call.signs = (ufp4_signs_t)2;
  refuses(asked, UFP4_ERROR_ARGUMENT, "signs is 2");
  asked->call.random = (const ufp4_cuda_random_t *)(const void *)(asked->workspace + 1);
  refuses(asked, UFP4_ERROR_ARGUMENT, "random is at");
  check_bits(0, ufp4_cuda_quantize(NULL, &asked->in, asked->how, asked->out, 2, NULL, &asked->call),
             UFP4_ERROR_ARGUMENT, "no GPU");
  check_bits(0, ufp4_cuda_quantize(asked->engine.cuda, &asked->in, NULL, asked->out, 2, NULL, NULL),
             UFP4_ERROR_ARGUMENT, "no call");
  asked_free(asked);
  asked = asked_create(UFP4_SCALE_E8M0);
  check_bits(
      0,
      ufp4_cuda_amax(asked->engine.cuda, &asked->in, asked->how, asked->out, 2, NULL, &asked->call),
      UFP4_ERROR_ARGUMENT, "AMAX of E8M0");
  asked_free(asked);
}

static void refuses_gemm(asked_t *asked, const ufp4_gemm_t *how, void *d, int64_t d_ld,
                         ufp4_status_t want, const char *text) {
  const ufp4_status_t got = ufp4_cuda_gemm(asked->engine.cuda, &asked->out[0], &asked->out[1], how,
                                           d, d_ld, &asked->call);
  judge(asked, got, want, text);
  asked->out[1] = asked->out[0];
}

TEST(rejects_bad_calls_of_the_gemm) {
  asked_t *asked = asked_create(UFP4_SCALE_E4M3);
  const ufp4_gemm_t right = {.alpha = 1};
  ufp4_gemm_t how = right;
  float d[20 * 20];
  int64_t sums[20 * 20];
  refuses_gemm(asked, &right, d, 20, UFP4_ERROR_ARGUMENT, "K = 40, B has K = 20");
  refuses_gemm(asked, &right, d, 19, UFP4_ERROR_ARGUMENT, "D: the leading dimension is 19");
  refuses_gemm(asked, &right, NULL, 20, UFP4_ERROR_ARGUMENT, "D is NULL");
  refuses_gemm(asked, &right, (char *)d + 2, 20, UFP4_ERROR_ARGUMENT, "D is at");
  refuses_gemm(asked, NULL, d, 20, UFP4_ERROR_ARGUMENT, "how is NULL");
  asked->out[0].rows = 1 << 21;
  refuses_gemm(asked, &right, d, 20, UFP4_ERROR_ARGUMENT, "each must be from 1");
  asked->out[1].scale = UFP4_SCALE_FP32;
  refuses_gemm(asked, &right, d, 20, UFP4_ERROR_ARGUMENT, "different scale formats");
  asked->out[1].elem = (ufp4_elem_t)7;
  refuses_gemm(asked, &right, d, 20, UFP4_ERROR_ARGUMENT, "element");
  asked->out[1].scales = (char *)asked->out[1].scales + 1;
  refuses_gemm(asked, &right, d, 20, UFP4_ERROR_ARGUMENT, "scales is at");
  how.contract = UFP4_CONTRACT_NV;
  refuses_gemm(asked, &how, d, 20, UFP4_ERROR_UNSUPPORTED, "nv: it needs compute capability 12.0");
  how = right;
  how.d_dtype = UFP4_DTYPE_I64;
  how.alpha = 2;
  refuses_gemm(asked, &how, sums, 20, UFP4_ERROR_ARGUMENT, "leave out C, and set alpha to 1");
  how = right;
  how.contract = UFP4_CONTRACT_FP32;
  how.accumulate = sums;
  refuses_gemm(asked, &how, d, 20, UFP4_ERROR_ARGUMENT, "need contract exact");
  how = right;
  how.c = d;
  refuses_gemm(asked, &how, d, 20, UFP4_ERROR_ARGUMENT, "C: the leading dimension is 0");
  how.c = (const float *)(const void *)((const char *)d + 1);
  refuses_gemm(asked, &how, d, 20, UFP4_ERROR_ARGUMENT, "C is at");
  refuses_gemm(asked, &right, d, 20, UFP4_ERROR_ARGUMENT, "are needed");
  asked_free(asked);
  asked = asked_create(UFP4_SCALE_NVFP4);
  asked->out[1] = asked->out[0];
  asked->out[1].tensor_scale = NULL;
  refuses_gemm(asked, &right, d, 20, UFP4_ERROR_ARGUMENT, "tensor scale is NULL");
  how = right;
  how.contract = UFP4_CONTRACT_NV;
  refuses_gemm(asked, &how, d, 20, UFP4_ERROR_UNSUPPORTED, "nv: it needs compute capability 12.0");
  asked_free(asked);
}

// A GPU with contract nv checks the rules of that contract.
TEST(rejects_bad_calls_of_the_contract_nv) {
  asked_t *asked = asked_create_on(120, UFP4_SCALE_E4M3);
  const ufp4_gemm_t right = {.contract = UFP4_CONTRACT_NV, .alpha = 1};
  ufp4_gemm_t how = right;
  float d[20 * 20];
  int64_t sums[20 * 20];
  asked->out[1] = asked->out[0];
  refuses_gemm(asked, &right, d, 20, UFP4_ERROR_ARGUMENT, "are needed");
  how.alpha = 2;
  how.c = d;
  how.c_ld = 20;
  refuses_gemm(asked, &how, d, 20, UFP4_ERROR_ARGUMENT,
               "starts the sums with C: then alpha must be 1");
  how = right;
  how.d_dtype = UFP4_DTYPE_I64;
  refuses_gemm(asked, &how, sums, 20, UFP4_ERROR_ARGUMENT, "need contract exact");
  asked->out[1].elem = UFP4_ELEM_E1M2;
  refuses_gemm(asked, &right, d, 20, UFP4_ERROR_UNSUPPORTED, "element of B e1m2");
  asked->out[0].elem = UFP4_ELEM_MIXED;
  refuses_gemm(asked, &right, d, 20, UFP4_ERROR_UNSUPPORTED, "element of A mixed");
  asked_free(asked);
  asked = asked_create_on(120, UFP4_SCALE_E8M0);
  asked->out[1] = asked->out[0];
  refuses_gemm(asked, &right, d, 20, UFP4_ERROR_UNSUPPORTED, "does not support contract nv");
  asked_free(asked);
}

// The thread cannot switch to the handle's GPU, so no work may go to its current one.
TEST(rejects_work_for_a_gpu_that_cannot_be_reached) {
  static const emulated_weather_t stuck = {.capability = 90, .stuck = 1};
  asked_t *asked = asked_create(UFP4_SCALE_E4M3);
  const ufp4_gemm_t how = {.alpha = 1};
  ufp4_cuda_t *none = NULL;
  float d[20 * 20];
  ufp4_cuda_close(asked->engine.cuda);
  check_bits(0, ufp4_cuda_open(1, &asked->engine.cuda, NULL), UFP4_OK, "the second GPU");
  asked_reset(asked);
  emulated_set_weather(&stuck);
  refuses(asked, UFP4_ERROR_DEVICE, "cuda: device");
  asked->out[1] = asked->out[0];
  const size_t bytes =
      ufp4_cuda_gemm_workspace(asked->engine.cuda, &asked->out[0], &asked->out[1], &how);
  asked->call.workspace = malloc(bytes);
  asked->call.workspace_bytes = bytes;
  void *memory = asked->call.workspace;
  refuses_gemm(asked, &how, d, 20, UFP4_ERROR_DEVICE, "cuda: device");
  free(memory);
  check_bits(0, ufp4_cuda_open(1, &none, NULL), UFP4_ERROR_DEVICE, "opened");
  emulated_set_weather(&(emulated_weather_t){.capability = 90});
  asked_free(asked);
}

// --- The interface ------------------------------------------------------------------------------

/** header.cpp defines it. */
size_t operand_bytes_in_cpp(void);

TEST(structures_are_the_same_on_both_sides) {
  check_bits(0, ufp4_cuda_struct_bytes("ufp4_cuda_operand_t"), sizeof(ufp4_cuda_operand_t), "C");
  check_bits(0, operand_bytes_in_cpp(), sizeof(ufp4_cuda_operand_t), "C++");
  check_bits(0, ufp4_cuda_struct_bytes("ufp4_cuda_call_t"), sizeof(ufp4_cuda_call_t), "call");
  check_bits(0, ufp4_cuda_struct_bytes("ufp4_cuda_random_t"), sizeof(ufp4_cuda_random_t), "random");
  check_bits(0, ufp4_cuda_struct_bytes("ufp4_gemm_t"), sizeof(ufp4_gemm_t), "gemm");
  check_bits(0, ufp4_cuda_struct_bytes("another"), 0, "no such structure");
  check_bits(0, ufp4_cuda_version() >> 16, UFP4_VERSION_MAJOR, "version");
}
