// SPDX-License-Identifier: Apache-2.0
// Elements as 64-bit words, for the form of the array for simulators, whose hosts multiply words as
// fast as they add them.
//
// Four elements, in quanta (ufp4_elem_quanta), are a polynomial in 2^16; a and b have opposite
// orders:
//
//   word(a) = sum over f of a(f) * 2^(16 f)                                       modulo 2^64
//   word(b) = sum over f of b(f) * 2^(16 (3 - f))
//
// The top field of word(a) * word(b) is the sum of the products of equal lanes; the three fields
// below have products of different lanes. In the sum of four such words these lower fields amount
// to less than half the unit of the top field (1728 2^32 + 1152 2^16 + 576 < 2^47), so rounding
// removes them. The dot product of sixteen lanes is at most 2304.
package ufp4_words_pkg;
  import ufp4_spec_pkg::ELEM_E2M1;
  import ufp4_spec_pkg::ELEM_INT4;

  // Half the unit of the top field, for rounding.
  localparam logic [63:0] Half = 64'h0000_8000_0000_0000;

  // Converts the bit planes of a block {c3[15:0], c2, c1, c0} to sixteen nibbles, with the nibble
  // of lane 4 k + f in place 4 f + k: the number of the plane and the lower two bits of the lane
  // change places.
  function automatic logic [63:0] nibbles(logic [63:0] planes);
    logic [63:0] half, quarter;
    half = ((planes >> 30) ^ planes) & 64'h0000_0000_CCCC_CCCC;
    half = planes ^ half ^ (half << 30);
    quarter = ((half >> 15) ^ half) & 64'h0000_AAAA_0000_AAAA;
    return half ^ quarter ^ (quarter << 15);
  endfunction

  // Word k of a block of such nibbles: elements 4 k to 4 k + 3, which are nibbles k, k + 4, k + 8
  // and k + 12.
  function automatic logic [63:0] word(logic [7:0] elem, logic [63:0] block, int unsigned k, bit reverse);
    localparam logic [63:0] Ones = 64'h0001_0001_0001_0001;
    logic [63:0] code, low, negative, magnitude;
    code = (block >> 4 * k) & (64'd15 * Ones);
    if (reverse) code = {code[15:0], code[31:16], code[47:32], code[63:48]};
    negative = (code >> 3) & Ones;
    low = code & (64'd7 * Ones);
    if (elem == ELEM_E2M1) begin
      // The magnitudes are 0 1 2 3 4 6 8 12: from 4 on (2 + bit 0) << (1 + bit 1).
      logic [63:0] from4, twice;
      from4 = (low >> 2) & Ones;
      twice = (low >> 1) & from4;
      magnitude = (low & ~(from4 * 64'd7)) + (((from4 << 1) + (low & from4)) << 1);
      magnitude = magnitude + (magnitude & (twice * 64'd15));
    end else begin
      magnitude = low;
    end
    // E2M1 and E1M2 are sign and magnitude, INT4 is two's complement.
    if (elem == ELEM_INT4) return magnitude - (negative << 3);
    return magnitude - ((magnitude & (negative * 64'd15)) << 1);
  endfunction
endpackage
