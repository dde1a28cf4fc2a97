// SPDX-License-Identifier: Apache-2.0
// ufp4_dpi_pkg against the reference model, in one process; one set of calls for each +property=NAME.
module dpi_tb;
  import ufp4_spec_pkg::*;
  import ufp4_dpi_pkg::*;

  string  subject;
  integer compared, mismatches;

  // --- Functions of the reference model, and of expected.c --------------------------------------------------------

  import "DPI-C" function int reference_elem_quanta(input int elem, input int unsigned code);
  import "DPI-C" function int unsigned reference_elem_value(input int elem, input int unsigned code);
  import "DPI-C" function byte unsigned reference_elem_cast(input int elem, input int unsigned f32);
  import "DPI-C" function byte unsigned reference_e4m3_cast(input int unsigned f32);
  import "DPI-C" function int unsigned reference_e4m3_value(input byte unsigned code);
  import "DPI-C" function byte unsigned reference_e8m0_cast(input int unsigned f32, input int up);
  import "DPI-C" function int unsigned reference_e8m0_value(input byte unsigned code);
  import "DPI-C" function shortint unsigned reference_bf16_cast(input int unsigned f32);
  import "DPI-C" function int unsigned reference_f32_round(
    input int negative, input longint unsigned magnitude, input int exponent);
  import "DPI-C" function void reference_threefry4x32(
    input int rounds, input bit [127:0] key, input bit [127:0] counter, output bit [127:0] words);
  import "DPI-C" function int reference_rht_block(
    input bit [511:0] words, input shortint unsigned mask, output bit [511:0] numbers);

  localparam int Distributions = 10;
  import "DPI-C" function longint unsigned seed_of_run();
  import "DPI-C" function longint unsigned drawn_bits();
  import "DPI-C" function int unsigned drawn_number(input int distribution);
  import "DPI-C" function int expected_block(
    input bit [511:0] words, input int elem, input int rht, input shortint unsigned mask, input int round,
    input int scale_round, input bit [127:0] random, output int t, output bit [63:0] codes, output byte unsigned scale);

  localparam int Rows = 2, Cols = 20, Width = 32, Combinations = 576;
  import "DPI-C" function int drawn_how(
    input int n, output int elem, output int scale, output int layout, output int rht, output int mask,
    output int round, output int scale_round, output longint unsigned seed, output longint unsigned tensor_id);
  import "DPI-C" function int expected_matrix(
    input int n, input int rows, input int cols, input int given, input int exponent, input bit [32*Rows*Cols-1:0] x,
    output bit [4*Rows*Width-1:0] codes, output bit [32*Rows*2-1:0] scales, output int t,
    output int unsigned tensor_scale);

  localparam int M = 2, N = 3, K = 80, Blocks = K / 16, Products = 108;
  import "DPI-C" function int drawn_pair(
    input int n, input int kind, input int rows_a, input int rows_b, input int k, output int contract,
    output int scale, output int a_elem, output int b_elem);
  import "DPI-C" function byte unsigned drawn_code(input int b, input int i);
  import "DPI-C" function int unsigned drawn_scale(input int b, input int i);
  import "DPI-C" function int drawn_exponent(input int b);
  import "DPI-C" function int unsigned drawn_tensor_scale(input int b);
  import "DPI-C" function int unsigned expected_product(
    input int i, input int j, input int unsigned alpha, input int add, input bit [32*M*N-1:0] c);
  import "DPI-C" function longint expected_sum(
    input int i, input int j, input int add, input bit [64*M*N-1:0] c);

  task automatic same(input string what, input longint unsigned have, input longint unsigned want);
    compared++;
    if (have == want) return;
    mismatches++;
    if (mismatches <= 5) $display("%s, comparison %0d: got %h, want %h", what, compared, have, want);
  endtask

  // --- Scalars and blocks ---------------------------------------------------------------------------------------

  task automatic casts();
    int unsigned x;
    for (int i = 0; i < 2000; i++) begin
      x = drawn_number(i % Distributions);
      for (int elem = 0; elem < 3; elem++) same("elem", 64'(elem_cast(elem, x)), 64'(reference_elem_cast(elem, x)));
      same("e4m3", 64'(e4m3_cast(x)), 64'(reference_e4m3_cast(x)));
      same("e8m0 down", 64'(e8m0_cast(x, 0)), 64'(reference_e8m0_cast(x, 0)));
      same("e8m0 up", 64'(e8m0_cast(x, 1)), 64'(reference_e8m0_cast(x, 1)));
      same("bf16", 64'(bf16_cast(x)), 64'(reference_bf16_cast(x)));
    end
  endtask

  task automatic values();
    longint sum;
    int     exponent;
    for (int code = 0; code < 256; code++) begin
      same("e4m3", 64'(e4m3_value(8'(code))), 64'(reference_e4m3_value(8'(code))));
      same("e8m0", 64'(e8m0_value(8'(code))), 64'(reference_e8m0_value(8'(code))));
    end
    for (int i = 0; i < 48; i++) begin
      same("elem", 64'(elem_value(i / 16, 8'(i % 16))), 64'(reference_elem_value(i / 16, i % 16)));
      same("quanta", 64'(elem_quanta(i / 16, 8'(i % 16))), 64'(reference_elem_quanta(i / 16, i % 16)));
    end
    for (int i = 0; i < 500; i++) begin
      sum = longint'(drawn_bits()) >>> (i % 63);
      exponent = int'(drawn_bits() % 300) - 200;
      same("scaled", 64'(f32_from_scaled(sum, exponent)),
           sum == 0 ? 64'd0 : 64'(reference_f32_round(32'(sum < 0), sum < 0 ? -sum : sum, exponent)));
    end
  endtask

  task automatic draws();
    longint unsigned seed, tensor_id, group;
    bit [127:0]      key, counter, want, words;
    for (int i = 0; i < 100; i++) begin
      seed = drawn_bits();
      tensor_id = drawn_bits();
      group = drawn_bits();
      key = {64'd0, seed};
      counter = {tensor_id, group};
      reference_threefry4x32(12, key, counter, want); // random_block's words, as numerics.md, 4 has them
      random_block(seed, tensor_id, group, words);
      same("low bytes", words[63:0], want[63:0]);
      same("high bytes", words[127:64], want[127:64]);
      reference_threefry4x32(i % 73, key, counter, want);
      same("status", 64'(threefry4x32(i % 73, key, counter, words)), 64'd0);
      same("low words", words[63:0], want[63:0]);
      same("high words", words[127:64], want[127:64]);
    end
    same("rounds", 64'(threefry4x32(73, 128'd0, 128'd0, words)), 64'd1);
  endtask

  function automatic bit [511:0] drawn_block(input int distribution);
    bit [511:0] words;
    for (int i = 0; i < 16; i++) words[32*i +: 32] = drawn_number(distribution);
    return words;
  endfunction

  task automatic transforms();
    bit [511:0] words, numbers, want;
    bit [15:0]  mask;
    int         exponent;
    for (int i = 0; i < 200; i++) begin
      words = drawn_block(i % Distributions);
      mask = 16'(drawn_bits());
      exponent = reference_rht_block(words, mask, want);
      same("exponent", 64'(rht_block(words, mask, numbers)), 64'(exponent));
      for (int j = 0; j < 16 && exponent != 0; j++)
        same("number", 64'(numbers[32*j +: 32]), 64'(want[32*j +: 32]));
    end
    same("BF16 of zeros", 64'(rht_block_bf16(512'd0, 16'd0, numbers)), 64'd1);
    same("BF16 of NaN", 64'(rht_block_bf16(512'h7FC00000, 16'd0, numbers)), 64'd0);
    same("BF16 of 1", 64'(rht_block_bf16(512'h3F800000, 16'd0, numbers)), 64'd1);
    same("its numbers", numbers[511:448], 64'h3E800000_3E800000);
  endtask

  task automatic blocks();
    int           elem, rht, round, scale_round, t, flags;
    bit [15:0]    mask;
    byte unsigned scale, scale_want;
    bit [511:0]   words;
    bit [127:0]   random;
    bit [63:0]    codes, codes_want;
    for (int i = 0; i < 2400; i++) begin
      words = drawn_block(i % Distributions);
      random = {drawn_bits(), drawn_bits()};
      mask = 16'(drawn_bits());
      elem = i / 10 % 3;
      rht = i / 30 % 2 != 0 ? 32'(RHT_INTEGER) : 32'(RHT_NONE);
      round = i / 60 % 2 != 0 ? 32'(ROUND_SR) : 32'(ROUND_RNE);
      scale_round = i / 120 % 2 != 0 ? 32'(SCALE_ROUND_UP) : 32'(SCALE_ROUND_RNE);
      flags = expected_block(words, elem, rht, mask, round, scale_round, random, t, codes_want, scale_want);
      same("flags", 64'(quantize_block(words, elem, rht, mask, round, scale_round, t, random, codes, scale)),
           64'(flags));
      same("scale", 64'(scale), 64'(scale_want));
      same("codes", codes, codes_want);
    end
    same("no such element", 64'(quantize_block(words, 3, 0, 16'd0, 0, 0, 0, random, codes, scale)), 64'(-1));
    same("a transform without a block", 64'(quantize_block(words, 0, 2, 16'd0, 0, 0, 0, random, codes, scale)),
         64'(-1));
  endtask

  // --- Matrices ---------------------------------------------------------------------------------------------------

  // Every combination of settings; with E4M3 scales, every other one with a tensor exponent given.
  task automatic matrices();
    int unsigned           x [Rows*Cols], scales [4], tensor_scale, tensor_want;
    byte unsigned          codes [Rows*Width];
    int                    elem, scale, layout, rht, mask, round, scale_round, t, t_want, flags, width, given, legal;
    longint unsigned       seed, tensor_id;
    bit [32*Rows*Cols-1:0] words;
    bit [4*Rows*Width-1:0] codes_want;
    bit [32*Rows*2-1:0]    scales_want;
    quantize_t             how;
    for (int n = 0; n < Combinations; n++) begin
      for (int i = 0; i < Rows * Cols; i++) begin
        x[i] = drawn_number(n / 7 % Distributions);
        words[32*i +: 32] = x[i];
      end
      legal = drawn_how(n, elem, scale, layout, rht, mask, round, scale_round, seed, tensor_id);
      given = 32'(scale == 32'(SCALE_E4M3) && n % 2 == 1);
      how = '{elem: elem, scale: scale, layout: layout, rht: rht, rht_mask: mask, round: round,
              scale_round: scale_round, exponent_given: given, exponent: n % 19 - 9, seed: seed,
              tensor_id: tensor_id};
      same("status", 64'(quantize(Rows, Cols, how, x, codes, scales, t, tensor_scale, flags)), 64'(legal == 0));
      if (legal == 0) continue;
      same("flags", 64'(flags), 64'(expected_matrix(n, Rows, Cols, given, n % 19 - 9, words, codes_want,
                                                    scales_want, t_want, tensor_want)));
      same("tensor exponent", 64'(t), 64'(t_want));
      same("tensor scale", 64'(tensor_scale), 64'(tensor_want));
      width = rht == 32'(RHT_NONE) ? Cols : Width;
      for (int i = 0; i < Rows * width; i++)
        same("code", 64'(codes[i]), 64'(codes_want[4*(Width*(i/width) + i%width) +: 4]));
      for (int i = 0; i < (scale == 32'(SCALE_E8M0) ? Rows : 2 * Rows); i++)
        same("scale", 64'(scales[i]), 64'(scales_want[32*i +: 32]));
    end
  endtask

  // Every combination of contract, scale and elements, with scales of each kind, with and without an addend.
  task automatic products();
    gemm_t           how;
    byte unsigned    a_codes [M*K], b_codes [N*K];
    int unsigned     a_scales [M*Blocks], b_scales [N*Blocks], c [M*N], d [M*N];
    longint          sums_c [M*N], sums_d [M*N];
    int              contract, scale, a_elem, b_elem, legal, blocks;
    bit [32*M*N-1:0] c_words;
    bit [64*M*N-1:0] sums_words;
    for (int n = 0; n < 8 * Products; n++) begin
      legal = drawn_pair(n % Products, n / Products % 4, M, N, K, contract, scale, a_elem, b_elem);
      for (int i = 0; i < M * K; i++) a_codes[i] = drawn_code(0, i);
      for (int i = 0; i < N * K; i++) b_codes[i] = drawn_code(1, i);
      blocks = scale == 32'(SCALE_E8M0) ? (K + 31) / 32 : K / 16;
      for (int i = 0; i < M * blocks; i++) a_scales[i] = drawn_scale(0, i);
      for (int i = 0; i < N * blocks; i++) b_scales[i] = drawn_scale(1, i);
      for (int i = 0; i < M * N; i++) begin
        c[i] = drawn_number(0);
        sums_c[i] = longint'(drawn_bits()) >>> 4;
        c_words[32*i +: 32] = c[i];
        sums_words[64*i +: 64] = sums_c[i];
      end
      how = '{contract: contract, scale: scale, alpha: 32'h3F800000, add: n / (4 * Products),
              a: '{elem: a_elem, exponent: drawn_exponent(0), tensor_scale: drawn_tensor_scale(0)},
              b: '{elem: b_elem, exponent: drawn_exponent(1), tensor_scale: drawn_tensor_scale(1)}};
      // With nv the sums begin with C: alpha is 1, and the tensors have no scaling of their own.
      if (contract == 32'(CONTRACT_NV) && scale != 32'(SCALE_E8M0)) how.add = 0;
      if (contract != 32'(CONTRACT_NV) || how.add == 0) how.alpha = drawn_number(0);
      same("status", 64'(gemm(M, N, K, how, a_codes, a_scales, b_codes, b_scales, c, d)), 64'(legal == 0));
      for (int i = 0; i < M * N && legal != 0; i++)
        same("d", 64'(d[i]), 64'(expected_product(i / N, i % N, how.alpha, how.add, c_words)));
      if (legal == 0 || contract != 32'(CONTRACT_EXACT)) continue;
      same("status", 64'(gemm_sums(M, N, K, how, a_codes, a_scales, b_codes, b_scales, sums_c, sums_d)), 64'd0);
      for (int i = 0; i < M * N; i++)
        same("sum", sums_d[i], expected_sum(i / N, i % N, how.add, sums_words));
    end
  endtask

  // Blocks of each pair of elements, whose product is the sum of a GEMM of one block.
  task automatic block_products();
    int           contract, scale, a_elem, b_elem;
    bit [63:0]    a_codes, b_codes;
    for (int n = 0; n < 90; n++) begin // the first nine combinations are E4M3 and exact
      if (drawn_pair(n % 9, n / 9 % 4, 1, 1, 16, contract, scale, a_elem, b_elem) == 0) $fatal(1, "not legal");
      for (int i = 0; i < 16; i++) begin
        a_codes[4*i +: 4] = 4'(drawn_code(0, i));
        b_codes[4*i +: 4] = 4'(drawn_code(1, i));
      end
      same("block", block_product(a_elem, b_elem, a_codes, b_codes, 8'(drawn_scale(0, 0)), 8'(drawn_scale(1, 0))),
           expected_sum(0, 0, 0, '0));
      same("dot", 64'(block_dot(a_elem, b_elem, a_codes, b_codes)) << 18,
           block_product(a_elem, b_elem, a_codes, b_codes, 8'h38, 8'h38)); // both scales 1
    end
  endtask

  // Blocks, and the worked example of docs/reference/numerics.md, 7: sums, sums added, alpha and C.
  task automatic sums();
    int unsigned  x [16] = '{32'h3F000000, 32'hBFA00000, 32'h40400000, 32'h3F400000, 32'hBE000000, 32'h40200000,
                             32'hC0C00000, 32'h3F800000, 32'h00000000, 32'h40900000, 32'hC0000000, 32'h3E800000,
                             32'h3FC00000, 32'hC0600000, 32'h40A00000, 32'hBD800000};
    byte unsigned codes [16];
    int unsigned  scales [1], tensor_scale, c [4], d [4];
    longint       added [1], sum [1];
    int           t, flags;
    bit [63:0]    packed_codes;
    quantize_t    how = '{elem: 32'(ELEM_E1M2), default: '0};
    gemm_t        times = '{alpha: 32'h3F800000, default: '0};
    same("status", 64'(quantize(1, 16, how, x, codes, scales, t, tensor_scale, flags)), 64'd0);
    same("t", 64'(t), 64'd7);
    same("scale", 64'(scales[0]), 64'h7E);
    for (int i = 0; i < 16; i++) packed_codes[4*i +: 4] = codes[i][3:0];
    same("codes", packed_codes, 64'h86c20a50_1f381391);
    same("dot", 64'(block_dot(32'(ELEM_E1M2), 32'(ELEM_E1M2), packed_codes, packed_codes)), 64'd156);
    same("product", block_product(32'(ELEM_E1M2), 32'(ELEM_E1M2), packed_codes, packed_codes, 8'h7E, 8'h7E),
         64'd30576 << 28);
    same("NaN", block_product(32'(ELEM_E1M2), 32'(ELEM_E1M2), packed_codes, packed_codes, 8'h7F, 8'h7E), 64'd1 << 63);
    times.a = '{elem: 32'(ELEM_E1M2), exponent: t, default: '0};
    times.b = times.a;
    same("status", 64'(gemm_sums(1, 1, 16, times, codes, scales, codes, scales, added, sum)), 64'd0);
    same("sum", sum[0], 64'd30576 << 28);
    added[0]  = -sum[0] + 5;
    times.add = 1;
    same("status", 64'(gemm_sums(1, 1, 16, times, codes, scales, codes, scales, added, sum)), 64'd0);
    same("sum of sums", sum[0], 64'd5);
    times.alpha = 32'h40000000;
    c[0] = 32'h3F000000;
    same("status", 64'(gemm(1, 1, 16, times, codes, scales, codes, scales, c, d)), 64'd0);
    same("2 x 119.4375 + 0.5", 64'(d[0]), 64'h436F6000);
    block_products();
  endtask

  // Status 1, and a message that says the words.
  task automatic refused(input string words, input int status);
    string text = message();
    bit    found = 0;
    for (int i = 0; i + words.len() <= text.len(); i++) found |= text.substr(i, i + words.len() - 1) == words;
    same(words, 64'(status), 64'd1);
    if (!found) $display("the message is '%s'; it should say '%s'", text, words);
    same("message", 64'(found), 64'd1);
  endtask

  // Refuses arrays that do not fit, and values that do not exist.
  task automatic refuses();
    int unsigned  x [32], scales [2], c [4], d [4], tensor_scale;
    byte unsigned codes [32], scale;
    bit [127:0]   words;
    bit [63:0]    block_codes;
    int           t, flags;
    quantize_t    how = '0;
    gemm_t        times = '{alpha: 32'h3F800000, default: '0};
    string        none = message();
    same("no message yet", 64'(none.len()), 64'd0);
    refused("rows is 0; it must be from 1 to", quantize(0, 16, how, x, codes, scales, t, tensor_scale, flags));
    refused("x has 32 elements; 3 x 16 are needed",
            quantize(3, 16, how, x, codes, scales, t, tensor_scale, flags));
    refused("scales has 2 elements; 3 x 1 are needed", quantize(3, 8, how, x, codes, scales, t, tensor_scale, flags));
    how.rht = 32'(RHT_INTEGER);
    refused("codes has 32 elements; 3 x 16 are needed", quantize(3, 7, how, x, codes, scales, t, tensor_scale, flags));
    how.rht = 3;
    refused("how.rht is 3; it must be from 0 to 2", quantize(1, 16, how, x, codes, scales, t, tensor_scale, flags));
    how.rht = 32'(RHT_INTEGER);
    how.scale = 32'(SCALE_NVFP4);
    refused("RHT integer (on) does not work with scale nvfp4", quantize(1, 16, how, x, codes, scales, t, tensor_scale, flags));
    how = '{scale: 32'(SCALE_E8M0), scale_round: 32'(SCALE_ROUND_RNE), default: '0};
    refused("scale rounding rne does not work with scale e8m0",
            quantize(1, 32, how, x, codes, scales, t, tensor_scale, flags));
    how = '{exponent_given: 1, exponent: 40000, default: '0};
    refused("how.exponent is 40000", quantize(1, 16, how, x, codes, scales, t, tensor_scale, flags));
    refused("b_codes has 32 elements; 3 x 16 are needed", gemm(2, 3, 16, times, codes, scales, codes, scales, c, d));
    refused("d has 2 elements; 2 x 2 are needed", gemm(2, 2, 16, times, codes, scales, codes, scales, c, scales));
    times.contract = 3;
    refused("how.contract is 3", gemm(1, 1, 16, times, codes, scales, codes, scales, c, d));
    times.contract = 0;
    times.scale = 32'(SCALE_E8M0);
    refused("contract exact does not work with scale e8m0", gemm(1, 1, 32, times, codes, scales, codes, scales, c, d));
    times.scale = 32'(SCALE_NVFP4);
    refused("how.a.tensor_scale is 0", gemm(1, 1, 16, times, codes, scales, codes, scales, c, d));
    times = '{scale: 32'(SCALE_FP32), contract: 32'(CONTRACT_FP32), alpha: 32'h3F800000, default: '0};
    scales = '{32'hBF800000, 32'd0};
    refused("a_scales holds -1", gemm(1, 1, 16, times, codes, scales, codes, scales, c, d));
    times = '{scale: 32'(SCALE_NVFP4), contract: 32'(CONTRACT_NV), alpha: 32'h40000000, add: 1,
              a: '{tensor_scale: 32'h3F800000, default: '0}, b: '{tensor_scale: 32'h3F800000, default: '0},
              default: '0};
    refused("contract nv starts the sums with C", gemm(1, 1, 16, times, codes, scales, codes, scales, c, d));
    refused("rounds is 73; it must be from 0 to 72", threefry4x32(73, 128'd0, 128'd0, words));
    same("status", 64'(threefry4x32(10, 128'd0, 128'd0, words)), 64'd0);
    refused("rounds is 73", 1); // that of the last one that was refused
    same("status", 64'(quantize_block(512'd0, 0, 0, 16'd0, 0, 2, 0, words, block_codes, scale)), 64'(-1));
    refused("scale_round is 2; it must be from 0 to 1", 1);
    same("no such element", 64'(elem_quanta(5, 8'd1)), 64'd0);
    refused("elem is 5; it must be from 0 to 2", 1);
  endtask

  initial begin
    compared = 0;
    mismatches = 0;
    if (!$value$plusargs("property=%s", subject)) $fatal(1, "+property=NAME is needed");
    case (subject)
      "casts": casts();
      "values": values();
      "draws": draws();
      "transforms": transforms();
      "blocks": blocks();
      "matrices": matrices();
      "products": products();
      "sums": sums();
      "refuses": refuses();
      default: $fatal(1, "no such property");
    endcase
    $display("%0s: %0d compared, %0d mismatches; UFP4_TEST_SEED=%0d", subject, compared, mismatches, seed_of_run());
    if (compared == 0 || mismatches != 0) $fatal(1, "%0s failed", subject);
    $finish;
  end
endmodule
