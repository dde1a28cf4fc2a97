// SPDX-License-Identifier: Apache-2.0
// The decoded dot product of two blocks in its combinational forms side by side: ufp4_dot for all
// formats and for only those of the two operands, and ufp4_dot_planes. Tests only.
module dot_forms (
  input  logic [7:0]  a_elem_i,
  input  logic [7:0]  b_elem_i,
  input  logic [63:0] a_planes_i,
  input  logic [63:0] b_planes_i,
  output logic [12:0] dot_o,
  output logic [25:0] others_o  // {planes, ufp4_dot for the fewest formats that hold both operands}
);
  import ufp4_spec_pkg::*;
  logic [15:0] a_sign, b_sign;
  logic [63:0] a_mag, b_mag;
  ufp4_elem_decode u_a (.elem_i(a_elem_i), .uniform_i(1'b0), .code_i(a_planes_i), .sign_o(a_sign), .mag_o(a_mag));
  ufp4_elem_decode u_b (.elem_i(b_elem_i), .uniform_i(1'b0), .code_i(b_planes_i), .sign_o(b_sign), .mag_o(b_mag));

  ufp4_dot u_dot (.a_sign_i(a_sign), .a_mag_i(a_mag), .b_sign_i(b_sign), .b_mag_i(b_mag), .dot_o(dot_o));
  ufp4_dot_planes u_planes (
    .a_sign_i(a_sign), .a_mag_i(a_mag), .b_sign_i(b_sign), .b_mag_i(b_mag), .dot_o(others_o[25:13])
  );
  logic [12:0] e2m1, uniform, e1m2;
  ufp4_dot #(.Formats(32'(FORMATS_E2M1))) u_e2m1 (
    .a_sign_i(a_sign), .a_mag_i(a_mag), .b_sign_i(b_sign), .b_mag_i(b_mag), .dot_o(e2m1)
  );
  ufp4_dot #(.Formats(32'(FORMATS_UNIFORM))) u_uniform (
    .a_sign_i(a_sign), .a_mag_i(a_mag), .b_sign_i(b_sign), .b_mag_i(b_mag), .dot_o(uniform)
  );
  ufp4_dot #(.Formats(32'(FORMATS_E1M2))) u_e1m2 (
    .a_sign_i(a_sign), .a_mag_i(a_mag), .b_sign_i(b_sign), .b_mag_i(b_mag), .dot_o(e1m2)
  );
  always_comb begin
    others_o[12:0] = dot_o;
    if (a_elem_i == ELEM_E2M1 && b_elem_i == ELEM_E2M1) others_o[12:0] = e2m1;
    if (a_elem_i != ELEM_E2M1 && b_elem_i != ELEM_E2M1) others_o[12:0] = uniform;
    if (a_elem_i == ELEM_E1M2 && b_elem_i == ELEM_E1M2) others_o[12:0] = e1m2;
  end
endmodule
