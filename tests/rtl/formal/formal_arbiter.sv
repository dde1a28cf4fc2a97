// SPDX-License-Identifier: Apache-2.0
// ufp4_arbiter: grants only a requesting client; a client that keeps requesting is served after at
// most Clients - 1 others.
module formal_arbiter #(
  parameter int unsigned Clients = 3
) (
  input logic               clk_i,
  input logic [Clients-1:0] request_i,
  input logic               advance_i
);
  localparam int unsigned ID_W = $clog2(Clients);
  logic rst_n = 1'b0;
  always_ff @(posedge clk_i) rst_n <= 1'b1;

  logic [ID_W-1:0] grant;
  ufp4_arbiter #(.Clients(Clients)) u_dut (.clk_i, .rst_ni(rst_n), .request_i, .advance_i, .grant_o(grant));

  // The number of other clients served while client c has been requesting.
  logic advance;
  assign advance = advance_i & (|request_i);
  for (genvar c = 0; c < Clients; c++) begin : gen_client
    logic [ID_W:0] others;
    // The number of clients before c in the order of turns.
    logic [ID_W:0] turn;
    assign turn = (ID_W + 1)'((c + Clients - 1 - 32'(u_dut.last_q)) % Clients);
    always_ff @(posedge clk_i) begin
      if (!rst_n || !request_i[c] || (advance && grant == ID_W'(c))) others <= '0;
      else if (advance) others <= others + 1'b1;
      if (rst_n) begin
        assert (others < (ID_W + 1)'(Clients));
        // Invariant needed for the induction.
        assert (others + turn < (ID_W + 1)'(Clients));
        cover (others == (ID_W + 1)'(Clients - 1) && advance && grant == ID_W'(c));
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_n) begin
      assume (!advance_i || (|request_i));
      if (|request_i) assert (request_i[grant]);
      assert (32'(u_dut.last_q) < Clients);
    end
  end
endmodule
