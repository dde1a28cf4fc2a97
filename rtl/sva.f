// The rules of the ports as assertions, for simulation, after rtl.f: docs/howto/integrate-rtl.md.
// SPDX-License-Identifier: Apache-2.0
sva/ufp4_axi_sva.sv
sva/ufp4_axi_bind.sv
