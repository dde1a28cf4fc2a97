// SPDX-License-Identifier: Apache-2.0
// Which parameters of ufp4_top go together (docs/ip/architecture.md, Shapes of the array), and how wide the array's
// own beats are. ufp4_top checks with it; what it elaborates below itself is always a legal set.
// Test: rtl.top.rejects_*. Timed model: sim/src/timing/shape.
package ufp4_shape_pkg;
  import ufp4_spec_pkg::*;

  // The largest power of two that divides x; 0 for 0.
  function automatic int unsigned power_of_two_in(int unsigned x);
    return x & (~x + 1);
  endfunction

  // Rows that are loaded in a cycle: a power of two that divides both sides of the array, as the bus allows.
  function automatic int unsigned load_rows(int unsigned rows, int unsigned cols, int unsigned bus);
    automatic int unsigned fit = power_of_two_in(rows | cols);
    automatic int unsigned most = (bus < 128) ? bus / 8 : 16;
    return (fit < most) ? fit : most;
  endfunction

  // Reads of the array that a row of a macro-tile takes.
  function automatic int unsigned drain_reads(int unsigned cols, int unsigned tile_cols);
    return (cols == 0) ? 0 : cols * tile_cols / power_of_two_in(cols);
  endfunction

  function automatic bit bus_legal(int unsigned bus);
    return bus >= 8 && bus <= DESCRIPTOR_BYTES && bus == power_of_two_in(bus);
  endfunction

  function automatic bit array_legal(int unsigned rows, int unsigned cols);
    return rows >= 1 && rows <= 32 && cols >= 1 && cols <= 32;
  endfunction

  // Of legal rows and columns.
  function automatic bit tile_legal(int unsigned rows, int unsigned cols, int unsigned tile_rows,
                                    int unsigned tile_cols);
    return tile_rows >= 2 && tile_rows <= 32768 && rows * tile_rows <= 32768 && rows * tile_rows % 16 == 0 &&
           tile_cols >= 2 && tile_cols <= 32768 && cols * tile_cols % 16 == 0 && drain_reads(cols, tile_cols) % 2 == 0;
  endfunction

  // Of a legal bus and legal columns: sums of eight bytes.
  function automatic bit row_legal(int unsigned cols, int unsigned tile_cols, int unsigned bus);
    return 8 * cols * tile_cols <= 256 * bus && 2 * drain_reads(cols, tile_cols) <= 256;
  endfunction

  // Of a legal bus and array: a chunk of one group has 128 bytes a block.
  function automatic bit chunk_legal(int unsigned chunk, int unsigned rows, int unsigned cols, int unsigned bus);
    return chunk >= 8 && chunk <= 128 && chunk == power_of_two_in(chunk) && 128 * chunk <= 256 * bus &&
           128 * chunk <= 256 * 8 * load_rows(rows, cols, bus);
  endfunction

  function automatic bit lanes_legal(int unsigned lanes, int unsigned contract);
    return lanes == 16 || ((lanes == 8 || lanes == 4) && contract != 32'(CONTRACT_NV));
  endfunction

  function automatic bit quant_legal(int unsigned quant, int unsigned bus);
    return quant == 0 || quant == 16 || (quant == 2 && bus == 8) || (quant == 64 && bus == 128);
  endfunction
endpackage
