// SPDX-License-Identifier: Apache-2.0
// Runs ufp4_e8m0_scale against the records of `ufp4 vectors e8m0_scale`: simulate with +e8m0_scale=FILE.
// Plain SystemVerilog with $fscanf.
module read_e8m0_scale;
  reg         clk = 1'b0;
  reg  [2:1]  en = 2'b00;
  reg  [7:0]  read_elem, read_up, elem, up, want_scale;
  reg  [11:0] read_power, power, want_base;
  reg  [27:0] read_normal, normal;
  wire [7:0]  scale;
  wire [8:0]  base;

  ufp4_e8m0_scale u_dut (
    .clk_i(clk), .en_i(en), .elem_i(elem), .up_i(up[0]), .power_i(power[8:0]), .normal_i(normal), .scale_o(scale),
    .base_o(base)
  );

  integer file, got, records, mismatches;
  reg [8*200-1:0] path, header;

  task tick;
    begin
      #1 clk = 1'b1;
      #1 clk = 1'b0;
    end
  endtask

  initial if ($value$plusargs("e8m0_scale=%s", path)) begin
    file = $fopen(path, "r");
    if (file == 0) $fatal(1, "e8m0_scale: the file cannot be opened");
    repeat (3) got = $fgets(header, file);  // what it is, the names of the columns, their widths
    records = 0;
    mismatches = 0;
    while (!$feof(file)) begin
      got = $fscanf(file, "%h %h %h %h %h %h\n", read_elem, read_up, read_power, read_normal, want_scale, want_base);
      if (got != 6) $fatal(1, "e8m0_scale: record %0d has %0d of 6 columns", records + 1, got);
      // An assignment: that $fscanf changes a variable escapes Verilator 5.006.
      {elem, up, power, normal} = {read_elem, read_up, read_power, read_normal};
      en = 2'b01;
      tick;
      // Another block before the first stage, which does not move, before the second one does and with it; then none.
      {power, normal} = ~{power, normal};
      en = 2'b00;
      tick;
      en = 2'b10;
      tick;
      en = 2'b00;
      tick;
      records = records + 1;
      if (scale !== want_scale || base !== want_base[8:0]) begin
        mismatches = mismatches + 1;
        if (mismatches <= 5) begin
          $display("record %0d: elem %h up %b power %h normal %h: got %h %h, want %h %h", records, elem, up[0],
                   read_power[8:0], read_normal, scale, base, want_scale, want_base[8:0]);
        end
      end
    end
    $display("e8m0_scale: %0d records, %0d mismatches", records, mismatches);
    if (mismatches != 0 || records == 0) $fatal(1, "e8m0_scale failed");
    $finish;
  end
endmodule
