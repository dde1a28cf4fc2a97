// SPDX-License-Identifier: Apache-2.0
// Binds the rules of the ports to each ufp4_top, wherever it is instantiated.
bind ufp4_top ufp4_axi_sva #(
  .Rows    (Rows),
  .Cols    (Cols),
  .TileRows(TileRows),
  .TileCols(TileCols),
  .Chunk   (Chunk),
  .BusBytes(BusBytes),
  .Quant   (Quant)
) u_axi_sva (.*);
