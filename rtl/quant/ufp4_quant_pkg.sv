// SPDX-License-Identifier: Apache-2.0
// All stages of QUANT follow these settings of a job for one copy of a tensor.
package ufp4_quant_pkg;
  typedef struct packed {
    logic        amax;       // only the largest number is wanted: no block comes out
    logic        rht;
    logic [15:0] rht_mask;   // bit i negates element i
    logic [7:0]  elem;
    logic        sr;
    logic        scale_up;
    logic        e8m0;
    logic [15:0] exponent;   // tensor exponent t, signed
    logic [63:0] seed;
    logic [63:0] tensor_id;
  } job_t;
endpackage
