// SPDX-License-Identifier: Apache-2.0
// Computes Y = X W^T of two quantized tensors as a CUDA graph, and compares it with the golden
// model.
//   cc graph.c $(pkg-config --cflags --libs ufp4_cuda ufp4_model) -I$CUDA_HOME/include
//   -L$CUDA_HOME/lib64 -lcudart
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ufp4_cuda.h>

enum { TOKENS = 96, CIN = 160, COUT = 64, SIDES = 2 };

static ufp4_message_t message;

static void must(int error, const char *what) {
  if (error == 0) return;
  fprintf(stderr, "%s: error %d %s\n", what, error, message.text);
  exit(1);
}

static void *device_memory(size_t bytes) {
  void *memory;
  must((int)cudaMalloc(&memory, bytes), "cudaMalloc");
  return memory;
}

int main(void) {
  static const int64_t rows[SIDES] = {TOKENS, COUT};
  static float data[SIDES][TOKENS * CIN], y[TOKENS * COUT], golden[TOKENS * COUT];
  ufp4_matrix_t x[SIDES];  // X and W, first in host memory and then in device memory
  ufp4_quantize_t how[SIDES][2];
  ufp4_cuda_operand_t out[SIDES][2];
  ufp4_operand_t want[SIDES];
  const ufp4_gemm_t gemm = {.alpha = 1};  // contract exact, FP32
  ufp4_cuda_t *cuda;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t run;
  void *d = device_memory(sizeof y);
  must((int)ufp4_cuda_open(-1, &cuda, &message), "open");
  must((int)cudaStreamCreate(&stream), "stream");
  for (int i = 0; i < SIDES; i++) {
    for (int n = 0; n < TOKENS * CIN; n++) data[i][n] = (float)(n * (i + 37) % 201 - 100) / 64;
    x[i] = (ufp4_matrix_t){UFP4_DTYPE_F32, rows[i], CIN, CIN, data[i]};
    for (int axis = 0; axis < 2; axis++) {  // the row copy is for Y, the column copy for a gradient
      const int64_t r = axis == 0 ? rows[i] : CIN, k = axis == 0 ? CIN : rows[i];
      how[i][axis] = (ufp4_quantize_t){.elem = UFP4_ELEM_E1M2, .axis = (ufp4_axis_t)axis};
      out[i][axis] = (ufp4_cuda_operand_t){.elem = UFP4_ELEM_E1M2, .rows = r, .cols = k};
      out[i][axis].codes = device_memory((size_t)(r * ((k + 15) / 16) * 8));
      out[i][axis].scales = device_memory((size_t)(r * ((k + 15) / 16)));
      out[i][axis].exponent = device_memory(sizeof(int32_t));
    }
    must((int)ufp4_quantize(&x[i], &how[i][0], &want[i]), "golden model");
    x[i].data = device_memory(sizeof data[i]);
  }
  size_t bytes = ufp4_cuda_gemm_workspace(cuda, &out[0][0], &out[1][0], &gemm);
  for (int i = 0; i < SIDES; i++) {
    const size_t own = ufp4_cuda_quantize_workspace(cuda, &x[i]);
    bytes = own > bytes ? own : bytes;
  }
  const ufp4_cuda_call_t call = {.stream = stream,
                                 .workspace = device_memory(bytes),
                                 .workspace_bytes = bytes,
                                 .message = &message};

  must((int)cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
  for (int i = 0; i < SIDES; i++)
    must((int)ufp4_cuda_quantize(cuda, &x[i], how[i], out[i], 2, NULL, &call), "quantize");
  must((int)ufp4_cuda_gemm(cuda, &out[0][0], &out[1][0], &gemm, d, COUT, &call), "gemm");
  must((int)cudaStreamEndCapture(stream, &graph), "capture");
  must((int)cudaGraphInstantiateWithFlags(&run, graph, 0), "graph");

  for (int i = 0; i < SIDES; i++) {
    must((int)cudaMemcpy((void *)(uintptr_t)x[i].data, data[i], sizeof data[i],
                         cudaMemcpyHostToDevice),
         "copy");
  }
  must((int)cudaGraphLaunch(run, stream), "graph");
  must((int)cudaStreamSynchronize(stream), "graph");
  must((int)cudaMemcpy(y, d, sizeof y, cudaMemcpyDeviceToHost), "copy");
  must((int)ufp4_gemm(&want[0], &want[1], &gemm, golden, COUT), "golden model");
  const int equal = memcmp(y, golden, sizeof y) == 0;
  printf("Y[0][0] = %g, %s\n", (double)y[0], equal ? "equal in every bit" : "DIFFERENT");
  return !equal;
}
