// SPDX-License-Identifier: Apache-2.0
// All readers of vector files in one model; each runs if its plusarg is given.
module vector_readers;
  read_scale_decode u_scale_decode ();
  read_i64_to_f32 u_i64_to_f32 ();
  read_f32_alu u_f32_alu ();
  read_dot u_dot ();
  read_pe u_pe ();
  read_pe_fp32 u_pe_fp32 ();
  read_pe_nv u_pe_nv ();
  read_scale_number u_scale_number ();
  read_scale_split u_scale_split ();
  read_f32_scale u_f32_scale ();
  read_e8m0_scale u_e8m0_scale ();
  read_threefry u_threefry ();
  read_rht u_rht ();
  read_e4m3_scale u_e4m3_scale ();
  read_divide_round u_divide_round ();
  read_quant_block u_quant_block ();
endmodule
