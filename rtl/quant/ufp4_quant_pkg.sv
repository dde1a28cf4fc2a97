// SPDX-License-Identifier: Apache-2.0
// Types that the stages of QUANT share: the settings of a job for one copy of a tensor, and the
// steps of its walk.
package ufp4_quant_pkg;
  typedef struct packed {
    logic        amax;       // only the largest number is needed, and no block comes out
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

  localparam int unsigned GROUP_BITS = 40;  // enough to count the blocks of any tensor
  localparam int unsigned UNIT_BITS = ufp4_spec_pkg::ADDR_BITS - 7;  // enough to number units of 128 bytes
  typedef logic [GROUP_BITS-1:0] group_t;
  typedef logic [UNIT_BITS-1:0] unit_t;

  // The steps of two numbers along the walk over one copy of a tensor (ufp4_quant_index).
  typedef struct packed {
    // The counter of the random bytes: to the next row of a tile, lane, tile, strip.
    group_t row;
    group_t lane;
    group_t tile;
    group_t strip;
    // The number of the panel unit: to the next row group of a tile, tile, strip.
    unit_t  unit_group;
    unit_t  unit_tile;
    unit_t  unit_strip;
  } steps_t;
endpackage
