// SPDX-License-Identifier: Apache-2.0
// Tests ufp4_dpi_pkg against the reference model: the text vectors of tests/golden
// (+golden=FOLDER), one file or one set of calls for each +property=NAME.
module dpi_tb;
  import ufp4_spec_pkg::*;
  import ufp4_dpi_pkg::*;

  reg [8*300-1:0] folder, subject, path, header;
  integer         file, got, compared, mismatches;

  task automatic same(input string what, input longint unsigned have, input longint unsigned want);
    compared++;
    if (have == want) return;
    mismatches++;
    if (mismatches <= 5) $display("%s, comparison %0d: got %h, want %h", what, compared, have, want);
  endtask

  // Opens the file after the three lines of its header.
  task automatic open(input string name);
    $sformat(path, "%0s/%s", folder, name);
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "%0s cannot be opened", path);
    repeat (3) got = $fgets(header, file);
  endtask

  function automatic bit [3:0] digit(input bit [7:0] character);
    return character >= "a" ? 4'(character - "a" + 8'd10) : 4'(character - "0");
  endfunction

  // --- Words of a file ---------------------------------------------------------------------------

  reg [8*10-1:0] elem_word, scale_word, layout_word, transform_word, round_word, scale_round_word, flags_word;

  function automatic int elem_of(input reg [8*10-1:0] name);
    return name == "e2m1" ? 32'(ELEM_E2M1) : name == "e1m2" ? 32'(ELEM_E1M2) : 32'(ELEM_INT4);
  endfunction

  function automatic int scale_of(input reg [8*10-1:0] name);
    return name == "e4m3" ? 32'(SCALE_E4M3) : name == "nvfp4" ? 32'(SCALE_NVFP4) :
           name == "e8m0" ? 32'(SCALE_E8M0) : 32'(SCALE_FP32);
  endfunction

  function automatic int rht_of(input reg [8*10-1:0] name);
    return name == "plain" ? 32'(RHT_NONE) : name == "rht" ? 32'(RHT_INTEGER) : 32'(RHT_BF16);
  endfunction

  function automatic int scale_round_of(input reg [8*10-1:0] name);
    return name == "rne" ? 32'(SCALE_ROUND_RNE) : name == "up" ? 32'(SCALE_ROUND_UP) :
           name == "46" ? 32'(SCALE_ROUND_46) : 32'(SCALE_ROUND_DOWN);
  endfunction

  function automatic int flags_of(input reg [8*10-1:0] name);
    return name == "nan" ? 1 : name == "saturated" ? 2 : name == "none" ? 0 : 3;
  endfunction

  // --- Scalars and blocks ------------------------------------------------------------------------

  task automatic casts();
    int unsigned f32, e2m1, e1m2, int4, e4m3, down, up, bf16;
    open("cast.txt");
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h %h %h %h %h %h\n", f32, e2m1, e1m2, int4, e4m3, down, up, bf16);
      if (got != 8) $fatal(1, "a line with %0d of 8 columns", got);
      same("e2m1", 64'(elem_cast(32'(ELEM_E2M1), f32)), 64'(e2m1));
      same("e1m2", 64'(elem_cast(32'(ELEM_E1M2), f32)), 64'(e1m2));
      same("int4", 64'(elem_cast(32'(ELEM_INT4), f32)), 64'(int4));
      same("e4m3", 64'(e4m3_cast(f32)), 64'(e4m3));
      same("e8m0 down", 64'(e8m0_cast(f32, 0)), 64'(down));
      same("e8m0 up", 64'(e8m0_cast(f32, 1)), 64'(up));
      same("bf16", 64'(bf16_cast(f32)), 64'(bf16));
    end
  endtask

  // A value cast to its own format does not change; and a few values computed by hand.
  task automatic values();
    for (int code = 0; code < 256; code++) begin
      if (code % 128 != 127) same("e4m3", 64'(e4m3_cast(e4m3_value(8'(code)))), 64'(code));
      if (code != 255) same("e8m0", 64'(e8m0_cast(e8m0_value(8'(code)), 0)), 64'(code));
      if (code < 16) same("e2m1", 64'(elem_cast(32'(ELEM_E2M1), elem_value(32'(ELEM_E2M1), 8'(code)))), 64'(code));
    end
    same("7 of E2M1 in quanta", 64'(elem_quanta(32'(ELEM_E2M1), 8'd7)), 64'd12);
    same("8 of INT4 in quanta", 64'(elem_quanta(32'(ELEM_INT4), 8'd8)), 64'(-8));
    same("13 of E1M2", 64'(elem_value(32'(ELEM_E1M2), 8'd13)), 64'hBFA00000);
    same("3 x 2^-1", 64'(f32_from_scaled(64'd3, -1)), 64'h3FC00000);
    same("-(2^25 + 3)", 64'(f32_from_scaled(-64'sd33554435, 0)), 64'hCC000001);
  endtask

  task automatic draws();
    longint unsigned seed, tensor_id, group;
    bit [127:0]      want, random, words;
    open("random.txt");
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h %h\n", seed, tensor_id, group, want);
      if (got != 4) $fatal(1, "a line with %0d of 4 columns", got);
      random_block(seed, tensor_id, group, random);
      for (int i = 0; i < 16; i++) same("byte", 64'(random[8*i +: 8]), 64'(want[8*(15-i) +: 8]));
      same("status", 64'(threefry4x32(12, {64'd0, seed}, {tensor_id, group}, words)), 64'd0);
      same("low words", words[63:0], random[63:0]);
      same("high words", words[127:64], random[127:64]);
    end
    same("rounds", 64'(threefry4x32(73, 128'd0, 128'd0, words)), 64'd1);
  endtask

  task automatic transforms();
    reg [8*40-1:0] name;
    int unsigned   mask, number;
    int            exponent;
    bit [511:0]    words, numbers;
    open("rht.txt");
    while (!$feof(file)) begin
      got = $fscanf(file, "%s %h", name, mask);
      for (int i = 0; i < 16; i++) begin
        got = $fscanf(file, "%h", number);
        words[32*i +: 32] = number;
      end
      got = $fscanf(file, "%d", exponent);
      same("exponent", 64'(rht_block(words, 16'(mask), numbers)), 64'(exponent));
      for (int i = 0; i < 16; i++) begin
        got = $fscanf(file, "%d", number);
        if (got != 1) $fatal(1, "a short line");
        same("number", 64'(numbers[32*i +: 32]), 64'(number));
      end
      got = $fscanf(file, "\n");
    end
    same("BF16 of zeros", 64'(rht_block_bf16(512'd0, 16'd0, numbers)), 64'd1);
    same("BF16 of NaN", 64'(rht_block_bf16(512'h7FC00000, 16'd0, numbers)), 64'd0);
    same("BF16 of 1", 64'(rht_block_bf16(512'h3F800000, 16'd0, numbers)), 64'd1);
    same("its numbers", numbers[511:448], 64'h3E800000_3E800000);
  endtask

  task automatic blocks();
    reg [8*40-1:0] name;
    int            mask, t, number, scale_want, flags;
    byte unsigned  scale;
    bit [511:0]    words;
    bit [127:0]    random_text, random;
    bit [63:0]     codes_text, codes;
    open("quantize.txt");
    while (!$feof(file)) begin
      got = $fscanf(file, "%s %s %s %h %s %s %d", name, elem_word, transform_word, mask, round_word,
                    scale_round_word, t);
      for (int i = 0; i < 16; i++) begin
        got = $fscanf(file, "%h", number);
        words[32*i +: 32] = number;
      end
      got = $fscanf(file, "%h %h %h %s\n", random_text, codes_text, scale_want, flags_word);
      if (got != 4) $fatal(1, "a short line");
      for (int i = 0; i < 16; i++) random[8*i +: 8] = random_text[8*(15-i) +: 8];
      flags = quantize_block(words, elem_of(elem_word), rht_of(transform_word), 16'(mask),
                             round_word == "sr" ? 32'(ROUND_SR) : 32'(ROUND_RNE), scale_round_of(scale_round_word), t,
                             random, codes, scale);
      same("scale", 64'(scale), 64'(scale_want));
      same("flags", 64'(flags), 64'(flags_of(flags_word)));
      for (int i = 0; i < 16; i++) same("code", 64'(codes[4*i +: 4]), 64'(codes_text[4*(15-i) +: 4]));
    end
    same("no such element", 64'(quantize_block(words, 3, 0, 16'd0, 0, 0, 0, random, codes, scale)), 64'(-1));
    same("a transform without a block", 64'(quantize_block(words, 0, 2, 16'd0, 0, 0, 0, random, codes, scale)),
         64'(-1));
  endtask

  // --- Matrices ----------------------------------------------------------------------------------

  localparam int Cols = 20;  // columns of scale.txt, which has 2 rows

  task automatic matrices();
    int unsigned     x [2*Cols], scales [4], want;
    byte unsigned    codes [64];
    int              mask, t_want, t, flags, width, count, digits;
    int unsigned     number, tensor_scale, tensor_want;
    longint unsigned seed, tensor_id;
    reg [255:0]      codes_text;  // two rows of 32, element 0 of the first row in the highest digit
    reg [8*40-1:0]   scales_text;
    quantize_t       how;
    open("scale.txt");
    while (!$feof(file)) begin
      got = $fscanf(file, "%s %s %s %s %h %s %s %h %h", elem_word, scale_word, layout_word, transform_word, mask,
                    round_word, scale_round_word, seed, tensor_id);
      for (int i = 0; i < 2 * Cols; i++) begin
        got = $fscanf(file, "%h", number);
        x[i] = number;
      end
      got = $fscanf(file, "%d %h %h %s %s\n", t_want, tensor_want, codes_text, scales_text, flags_word);
      if (got != 5) $fatal(1, "a short line");
      how = '{elem: elem_of(elem_word), scale: scale_of(scale_word), layout: 32'(layout_word == "2d"),
              rht: rht_of(transform_word), rht_mask: mask, round: 32'(round_word == "sr"),
              scale_round: scale_round_of(scale_round_word), seed: seed, tensor_id: tensor_id, default: '0};
      same("status", 64'(quantize(2, Cols, how, x, codes, scales, t, tensor_scale, flags)), 64'd0);
      same("tensor exponent", 64'(t), 64'(t_want));
      same("tensor scale", 64'(tensor_scale), 64'(tensor_want));
      same("flags", 64'(flags), 64'(flags_of(flags_word)));
      width = transform_word == "plain" ? Cols : 32;
      for (int i = 0; i < 2 * width; i++) begin
        same("code", 64'(codes[i]), 64'(codes_text[4*(63 - 32*(i/width) - i%width) +: 4]));
      end
      count  = scale_word == "e8m0" ? 2 : 4;
      digits = scale_word == "fp32" ? 8 : 2;
      for (int i = 0; i < count; i++) begin
        want = 0;
        for (int j = 0; j < digits; j++) want = want << 4 | 32'(digit(scales_text[8*(digits*(count-i)-1-j) +: 8]));
        same("scale", 64'(scales[i]), 64'(want));
      end
    end
  endtask

  localparam int K = 80;  // k of contract.txt, one row each

  reg [8*K-1:0]  codes_text;
  reg [8*40-1:0] scales_text;

  // One operand of a line, after the name of its elements.
  task automatic read_operand(input int scale, output operand_t operand, output byte unsigned codes[K],
                              output int unsigned scales[5]);
    int t, tensor_scale, digits, count;
    got = $fscanf(file, "%s %d %h %s %s", elem_word, t, tensor_scale, codes_text, scales_text);
    if (got != 5) $fatal(1, "a short line");
    operand = '{elem: elem_of(elem_word), exponent: t, tensor_scale: tensor_scale};
    for (int i = 0; i < K; i++) codes[i] = {4'd0, digit(codes_text[8*(K-1-i) +: 8])};
    count  = scale == 32'(SCALE_E8M0) ? 3 : 5;
    digits = scale == 32'(SCALE_FP32) ? 8 : 2;
    for (int i = 0; i < 5; i++) begin
      scales[i] = 0;
      for (int j = 0; i < count && j < digits; j++) begin
        scales[i] = scales[i] << 4 | 32'(digit(scales_text[8*(digits*(count-i)-1-j) +: 8]));
      end
    end
  endtask

  task automatic products();
    reg [8*10-1:0] contract;
    gemm_t         how;
    byte unsigned  a_codes [K], b_codes [K];
    int unsigned   a_scales [5], b_scales [5], c [1], d [1];
    int unsigned   f32, bf16;
    open("contract.txt");
    while (!$feof(file)) begin
      got = $fscanf(file, "%s %s", contract, scale_word);
      how = '{contract: contract == "exact" ? 32'(CONTRACT_EXACT) : contract == "fp32" ? 32'(CONTRACT_FP32) :
              32'(CONTRACT_NV), scale: scale_of(scale_word), alpha: 32'h3F800000, default: '0};
      read_operand(how.scale, how.a, a_codes, a_scales);
      read_operand(how.scale, how.b, b_codes, b_scales);
      got = $fscanf(file, "%h %h\n", f32, bf16);
      same("status", 64'(gemm(1, 1, K, how, a_codes, a_scales, b_codes, b_scales, c, d)), 64'd0);
      same("f32", 64'(d[0]), 64'(f32));
    end
  endtask

  // The worked example of docs/reference/numerics.md, 7: sums, earlier sums, alpha and C.
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
  endtask

  // Expects status 1 and a message that contains the words.
  task automatic refused(input string words, input int status);
    string text = message();
    bit    found = 0;
    for (int i = 0; i + words.len() <= text.len(); i++) found |= text.substr(i, i + words.len() - 1) == words;
    same(words, 64'(status), 64'd1);
    if (!found) $display("the message is '%s'; it should say '%s'", text, words);
    same("message", 64'(found), 64'd1);
  endtask

  // Arrays that do not fit and values that do not exist are refused.
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
    refused("rows is 0; here it is 1 to", quantize(0, 16, how, x, codes, scales, t, tensor_scale, flags));
    refused("x has 32 elements; 3 x 16 are needed",
            quantize(3, 16, how, x, codes, scales, t, tensor_scale, flags));
    refused("scales has 2 elements; 3 x 1 are needed", quantize(3, 8, how, x, codes, scales, t, tensor_scale, flags));
    how.rht = 32'(RHT_INTEGER);
    refused("codes has 32 elements; 3 x 16 are needed", quantize(3, 7, how, x, codes, scales, t, tensor_scale, flags));
    how.rht = 3;
    refused("how.rht is 3; here it is 0 to 2", quantize(1, 16, how, x, codes, scales, t, tensor_scale, flags));
    how.rht = 32'(RHT_INTEGER);
    how.scale = 32'(SCALE_NVFP4);
    refused("RHT integer does not go with scale nvfp4", quantize(1, 16, how, x, codes, scales, t, tensor_scale, flags));
    how = '{scale: 32'(SCALE_E8M0), scale_round: 32'(SCALE_ROUND_RNE), default: '0};
    refused("scale rounding rne does not go with scale e8m0",
            quantize(1, 32, how, x, codes, scales, t, tensor_scale, flags));
    how = '{exponent_given: 1, exponent: 40000, default: '0};
    refused("how.exponent is 40000", quantize(1, 16, how, x, codes, scales, t, tensor_scale, flags));
    refused("b_codes has 32 elements; 3 x 16 are needed", gemm(2, 3, 16, times, codes, scales, codes, scales, c, d));
    refused("d has 2 elements; 2 x 2 are needed", gemm(2, 2, 16, times, codes, scales, codes, scales, c, scales));
    times.contract = 3;
    refused("how.contract is 3", gemm(1, 1, 16, times, codes, scales, codes, scales, c, d));
    times.contract = 0;
    times.scale = 32'(SCALE_E8M0);
    refused("contract exact does not go with scale e8m0", gemm(1, 1, 32, times, codes, scales, codes, scales, c, d));
    times.scale = 32'(SCALE_NVFP4);
    refused("how.a.tensor_scale is 0", gemm(1, 1, 16, times, codes, scales, codes, scales, c, d));
    times = '{scale: 32'(SCALE_FP32), contract: 32'(CONTRACT_FP32), alpha: 32'h3F800000, default: '0};
    scales = '{32'hBF800000, 32'd0};
    refused("a_scales holds -1", gemm(1, 1, 16, times, codes, scales, codes, scales, c, d));
    times = '{scale: 32'(SCALE_NVFP4), contract: 32'(CONTRACT_NV), alpha: 32'h40000000, add: 1,
              a: '{tensor_scale: 32'h3F800000, default: '0}, b: '{tensor_scale: 32'h3F800000, default: '0},
              default: '0};
    refused("with contract nv the sums begin with C", gemm(1, 1, 16, times, codes, scales, codes, scales, c, d));
    refused("rounds is 73; here it is 0 to 72", threefry4x32(73, 128'd0, 128'd0, words));
    same("status", 64'(threefry4x32(10, 128'd0, 128'd0, words)), 64'd0);
    refused("rounds is 73", 1); // of the last refused call
    same("status", 64'(quantize_block(512'd0, 0, 0, 16'd0, 0, 2, 0, words, block_codes, scale)), 64'(-1));
    refused("scale_round is 2; here it is 0 to 1", 1);
    same("no such element", 64'(elem_quanta(5, 8'd1)), 64'd0);
    refused("elem is 5; here it is 0 to 2", 1);
  endtask

  initial begin
    compared = 0;
    mismatches = 0;
    if (!$value$plusargs("golden=%s", folder) || !$value$plusargs("property=%s", subject)) begin
      $fatal(1, "+golden=FOLDER and +property=NAME are needed");
    end
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
    $display("%0s: %0d compared, %0d mismatches", subject, compared, mismatches);
    if (compared == 0 || mismatches != 0) $fatal(1, "%0s failed", subject);
    $finish;
  end
endmodule
