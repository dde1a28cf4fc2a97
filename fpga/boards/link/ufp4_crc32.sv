// SPDX-License-Identifier: Apache-2.0
// CRC-32 of IEEE 802.3 (that of zlib), advanced by one byte. Combinational. The CRC begins with all
// ones; its complement is sent, lowest byte first. After a right CRC the value is 0xDEBB20E3.
// Formula: crc_o = the remainder of (crc_i + data_i) * x^8 by 0x104C11DB7, all bits reflected.
// Test: tests/fpga.
module ufp4_crc32 (
  input  logic [31:0] crc_i,
  input  logic [7:0]  data_i,
  output logic [31:0] crc_o
);
  always_comb begin
    crc_o = crc_i ^ 32'(data_i);
    for (int unsigned i = 0; i < 8; i++) crc_o = (crc_o >> 1) ^ (crc_o[0] ? 32'hEDB8_8320 : 32'd0);
  end
endmodule
