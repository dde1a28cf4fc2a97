// SPDX-License-Identifier: Apache-2.0
// The golden model for SystemVerilog testbenches: functions of libufp4_dpi by DPI-C, plain IEEE 1800.
//
// Numbers are bit patterns: FP32 in int unsigned, BF16 in shortint unsigned. A block is a packed vector of 16 elements,
// element 0 in the lowest bits: bit [511:0] of FP32 numbers, bit [63:0] of 4-bit codes, bit [127:0] of random bytes.
// Matrices are one-dimensional unpacked arrays, row-major, element (r, c) of [rows][cols] at the (r * cols + c)-th
// lowest index; they may be longer than what is used (Verilator 5.006 takes none of dynamic size). Codes lie one in a
// byte, low nibble; scales one in an int unsigned: an E4M3 or E8M0 byte, or an FP32 pattern.
// Formats and settings are the constants of ufp4_spec_pkg: ELEM_, SCALE_, RHT_, ROUND_, SCALE_ROUND_, LAYOUT_,
// CONTRACT_. Every rounding is in docs/reference/numerics.md, in the section named at each function; "C:" is the function of the
// golden model. Functions that return a status give 0, or the number of a ufp4_status_t (ufp4/status.h), and then no
// result; message() says why.
package ufp4_dpi_pkg;

  // Why the last call in this thread that was refused was, in one line; "" where none was. An argument that does not
  // exist counts where the function returns no status, too.
  import "DPI-C" ufp4_dpi_message = function string message();

  // --- Elements and scales (numerics.md 1 and 2) ------------------------------------------------------------

  // Quanta of a code: value = quanta * 2^-frac. C: ufp4_elem_quanta.
  import "DPI-C" ufp4_dpi_elem_quanta = function int elem_quanta(input int elem, input byte unsigned code);
  // Value of a code as FP32, exact. C: ufp4_elem_value.
  import "DPI-C" ufp4_dpi_elem_value = function int unsigned elem_value(input int elem, input byte unsigned code);
  // FP32 to a 4-bit code: nearest, ties to even, saturating; NaN gives 7. C: ufp4_elem_cast.
  import "DPI-C" ufp4_dpi_elem_cast = function byte unsigned elem_cast(input int elem, input int unsigned f32);
  // FP32 to E4M3: nearest, ties to even, saturating at 448; NaN gives 7F. C: ufp4_e4m3_cast.
  import "DPI-C" ufp4_dpi_e4m3_cast = function byte unsigned e4m3_cast(input int unsigned f32);
  // Value of an E4M3 byte as FP32, exact, sign included. C: ufp4_e4m3_value.
  import "DPI-C" ufp4_dpi_e4m3_value = function int unsigned e4m3_value(input byte unsigned code);
  // FP32 to E8M0, the sign ignored: rounded down, or up. C: ufp4_e8m0_cast.
  import "DPI-C" ufp4_dpi_e8m0_cast = function byte unsigned e8m0_cast(input int unsigned f32, input int up);
  // Value of an E8M0 byte as FP32, exact. C: ufp4_e8m0_value.
  import "DPI-C" ufp4_dpi_e8m0_value = function int unsigned e8m0_value(input byte unsigned code);
  // FP32 to BF16: nearest, ties to even; NaN gives 7FC0. C: ufp4_bf16_cast.
  import "DPI-C" ufp4_dpi_bf16_cast = function shortint unsigned bf16_cast(input int unsigned f32);

  // --- Random numbers (numerics.md 4) ------------------------------------------------------------------------

  // The 16 random bytes of a group of 16 elements. C: ufp4_random_block.
  import "DPI-C" ufp4_dpi_random_block = function void random_block(
    input longint unsigned seed, input longint unsigned tensor_id, input longint unsigned group,
    output bit [127:0] random);
  // One draw, word 0 lowest; rounds 0 to 72. C: ufp4_threefry4x32. Returns a status.
  import "DPI-C" ufp4_dpi_threefry4x32 = function int threefry4x32(
    input int rounds, input bit [127:0] key, input bit [127:0] counter, output bit [127:0] words);

  // --- Blocks (numerics.md 2 to 5) ---------------------------------------------------------------------------

  // Hadamard transform in integers: 16 signed 32-bit numbers of unit 2^(exponent - 152), exact after the alignment,
  // which truncates. Bit i of mask negates element i. Returns the block's largest biased exponent, 1 to 254; 0, and no
  // numbers, where the block holds NaN or Inf. C: ufp4_rht_block.
  import "DPI-C" ufp4_dpi_rht_block = function int rht_block(
    input bit [511:0] words, input shortint unsigned mask, output bit [511:0] numbers);
  // The variant in BF16: FP32 patterns of BF16 numbers. Returns 1; 0 where an input or a result is NaN or Inf.
  // C: ufp4_rht_block_bf16.
  import "DPI-C" ufp4_dpi_rht_block_bf16 = function int rht_block_bf16(
    input bit [511:0] words, input shortint unsigned mask, output bit [511:0] numbers);
  // A block to 16 codes and an E4M3 scale with the tensor exponent given; random is used by ROUND_SR only. rht is
  // RHT_NONE or RHT_INTEGER, scale_round SCALE_ROUND_RNE or SCALE_ROUND_UP. Returns the flags (bit 0 NaN or Inf, bit 1
  // saturated), or -1 for an argument that does not exist. C: ufp4_quantize_block.
  import "DPI-C" ufp4_dpi_quantize_block = function int quantize_block(
    input bit [511:0] words, input int elem, input int rht, input shortint unsigned mask, input int round,
    input int scale_round, input int exponent, input bit [127:0] random, output bit [63:0] codes,
    output byte unsigned scale);
  // Dot product of two blocks of codes in quanta, exact.
  import "DPI-C" ufp4_dpi_block_dot = function int block_dot(
    input int a_elem, input int b_elem, input bit [63:0] a_codes, input bit [63:0] b_codes);
  // The summand of a block in the exact contract: dot * sigA * sigB * 2^(expA + expB), exact, in units of 2^-(18 +
  // fracA + fracB); the smallest longint where a scale is NaN. C: ufp4_gemm.
  import "DPI-C" ufp4_dpi_block_product = function longint block_product(
    input int a_elem, input int b_elem, input bit [63:0] a_codes, input bit [63:0] b_codes,
    input byte unsigned a_scale, input byte unsigned b_scale);
  // sum * 2^exponent rounded once to FP32, nearest even. C: ufp4_f32_from_scaled.
  import "DPI-C" ufp4_dpi_f32_from_scaled = function int unsigned f32_from_scaled(
    input longint sum, input int exponent);

  // --- Matrices ----------------------------------------------------------------------------------------------

  // How to quantize; '{elem: .., default: '0} is E4M3 scales, blocks of one row, no transform, nearest even.
  typedef struct packed {
    bit [31:0] elem;
    bit [31:0] scale;
    bit [31:0] layout;
    bit [31:0] rht;
    bit [31:0] rht_mask;
    bit [31:0] round;
    bit [31:0] scale_round;
    bit [31:0] exponent_given;  // 1: the tensor exponent below is used; 0: that of the data (E4M3)
    bit [31:0] exponent;        // signed
    bit [63:0] seed;            // of ROUND_SR
    bit [63:0] tensor_id;
  } quantize_t;

  // x [rows][cols] to codes [rows][width] and scales [rows][blocks]. width is cols, with a transform rounded up to a
  // multiple of 16; blocks is cols / 16 (SCALE_E8M0: / 32) rounded up. Also the tensor exponent (SCALE_E4M3), the
  // tensor scale as FP32 (SCALE_NVFP4; else 1.0) and the flags. Returns a status. numerics.md 2 to 4.
  // C: ufp4_quantize.
  import "DPI-C" ufp4_dpi_quantize = function int quantize(
    input int rows, input int cols, input quantize_t how, input int unsigned x[], output byte unsigned codes[],
    output int unsigned scales[], output int exponent, output int unsigned tensor_scale, output int flags);

  // One operand's elements and tensor-wide scaling.
  typedef struct packed {
    bit [31:0] elem;
    bit [31:0] exponent;      // t, signed; 0 with all scales but E4M3
    bit [31:0] tensor_scale;  // FP32, SCALE_NVFP4 only
  } operand_t;

  // How to multiply; D = alpha A B^T + C.
  typedef struct packed {
    bit [31:0] contract;
    bit [31:0] scale;     // of both operands
    bit [31:0] alpha;     // FP32; 32'h3F800000 is 1
    bit [31:0] add;       // 1: c below is added
    operand_t  a;
    operand_t  b;
  } gemm_t;

  // d [m][n] = alpha * A [m][k] * B [n][k] transposed, plus c [m][n], as FP32. k is the width of the codes: with a
  // transform a multiple of 16. c is not read unless how.add is 1. Rounding: by the contract. Returns a status.
  // numerics.md 5. C: ufp4_gemm.
  import "DPI-C" ufp4_dpi_gemm = function int gemm(
    input int m, input int n, input int k, input gemm_t how, input byte unsigned a_codes[],
    input int unsigned a_scales[], input byte unsigned b_codes[], input int unsigned b_scales[],
    input int unsigned c[], output int unsigned d[]);
  // Multiplies by the exact contract and gives the sums before any rounding: signed, in units of 2^-(18 + fracA +
  // fracB), the smallest longint for NaN. With how.add the sums c are added. alpha and the tensors' scaling play no
  // part.
  import "DPI-C" ufp4_dpi_gemm_sums = function int gemm_sums(
    input int m, input int n, input int k, input gemm_t how, input byte unsigned a_codes[],
    input int unsigned a_scales[], input byte unsigned b_codes[], input int unsigned b_scales[], input longint c[],
    output longint d[]);

endpackage
