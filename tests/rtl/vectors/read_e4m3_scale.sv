// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_e4m3_scale against the records of `ufp4 vectors e4m3_scale`:
// simulate with +e4m3_scale=FILE. Plain SystemVerilog with $fscanf; one block at a time through the pipeline.
module read_e4m3_scale;
  reg         clk = 1'b0;
  reg  [3:0]  rht, up;
  reg  [7:0]  elem, exponent, want_scale;
  reg  [15:0] tensor_exponent;
  reg  [27:0] amax, want_normal;
  reg  [11:0] want_power, want_base;
  reg  [3:0]  want_saturated, want_sig;
  wire        zero, saturated;
  wire [8:0]  power, base;
  wire [27:0] normal;
  wire [7:0]  scale;
  wire [3:0]  sig;
  reg  [36:0] got_normal;  // after the first stage, which runs on
  reg  [3:0]  read_rht, read_up;
  reg  [7:0]  read_elem, read_exponent;
  reg  [15:0] read_tensor_exponent;
  reg  [27:0] read_amax;

  ufp4_e4m3_scale u_dut (
    .clk_i(clk), .en_i(3'h7), .rht_i(rht[0]), .elem_i(elem), .up_i(up[0]), .tensor_exponent_i(tensor_exponent),
    .exponent_i(exponent), .amax_i(amax), .exponent_base_i(exponent), .zero_o(zero), .power_o(power),
    .normal_o(normal), .scale_o(scale), .saturated_o(saturated), .sig_o(sig), .base_o(base)
  );

  integer file, got, records, mismatches;
  reg [8*200-1:0] path, header;

  task tick;
    begin
      #1 clk = 1'b1;
      #1 clk = 1'b0;
    end
  endtask

  initial if ($value$plusargs("e4m3_scale=%s", path)) begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "e4m3_scale: the file cannot be opened");
    repeat (3) got = $fgets(header, file);  // what it is, the names of the columns, their widths
    records = 0;
    mismatches = 0;
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h %h %h %h %h %h %h %h %h %h\n", read_rht, read_elem, read_up,
                    read_tensor_exponent, read_exponent, read_amax, want_power, want_normal,
                    want_scale, want_saturated, want_sig, want_base);
      if (got != 12) $fatal(1, "e4m3_scale: record %0d has %0d of 12 columns", records + 1, got);
      // An assignment: that $fscanf changes a variable escapes Verilator 5.006.
      {rht, elem, up, tensor_exponent, exponent, amax} =
          {read_rht, read_elem, read_up, read_tensor_exponent, read_exponent, read_amax};
      tick;
      got_normal = {power, normal};
      repeat (2) tick;
      records = records + 1;
      if (zero !== 1'b0 || got_normal !== {want_power[8:0], want_normal} ||
          {scale, saturated, sig, base} !== {want_scale, want_saturated[0], want_sig, want_base[8:0]}) begin
        mismatches = mismatches + 1;
        if (mismatches <= 5) begin
          $display("%0d: rht %b elem %h up %b t %h exponent %h amax %h: got %h %h %b %h %h, want %h %h %b %h %h",
                    records, rht[0], elem, up[0], tensor_exponent, exponent, amax, got_normal, scale,
                    saturated, sig, base, {want_power[8:0], want_normal}, want_scale, want_saturated[0],
                    want_sig, want_base[8:0]);
        end
      end
    end
    // A block of zeros has no scale; no record says so, only the unit's contract.
    amax = '0;
    tick;
    if (zero !== 1'b1) begin
      mismatches = mismatches + 1;
      $display("amax 0: zero_o is 0");
    end
    $display("e4m3_scale: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "e4m3_scale failed");
    $finish;
  end
endmodule
