// The one ordered list of a board's synthesizable files, beside rtl/rtl.f; paths are relative to this file (read with -F).
// Link
link/ufp4_link_pkg.sv
link/ufp4_uart_rx.sv
link/ufp4_uart_tx.sv
link/ufp4_crc32.sv
link/ufp4_slip_decode.sv
link/ufp4_slip_encode.sv
link/ufp4_link_receive.sv
link/ufp4_link_send.sv
link/ufp4_link_memory.sv
link/ufp4_link_axil.sv
link/ufp4_link_registers.sv
link/ufp4_link_execute.sv
link/ufp4_link.sv
// Memory
memory/ufp4_axi_pkg.sv
memory/ufp4_block_memory.sv
memory/ufp4_sdram_pkg.sv
memory/ufp4_dram_pkg.sv
memory/ufp4_sdram_control.sv
memory/ufp4_sdram_beats.sv
memory/ufp4_sdram.sv
memory/ufp4_memory_march.sv
memory/ufp4_dram_port.sv
// Top
ufp4_board_reset.sv
ufp4_board_bus.sv
ufp4_board_memory.sv
ufp4_board.sv
ufp4_board_uart.sv
