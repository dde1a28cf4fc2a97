// SPDX-License-Identifier: Apache-2.0
#include "explore/options/arguments.h"

#include <string.h>

#include "explore/plan.h"
#include "ufp4_schedule.h"

static int check_chips(const explore_arguments_t *a, const cli_options_t *options) {
  static const char *const of_chips[] = {
      "zero", "recompute", "sequence-parallel", "interleave", "reduce", "hbm-gb", "link-pj"};
  for (size_t i = 0; i < sizeof of_chips / sizeof *of_chips; i++) {
    if (a->chips == NULL && cli_option_given(options, of_chips[i]))
      return cli_fail(&cli_explore, CLI_USAGE, "--%s goes with --chips", of_chips[i]);
  }
  if (a->zero > 3)
    return cli_fail(&cli_explore, CLI_USAGE, "--zero: %llu is no stage; there are 0, 1, 2 and 3",
                    (unsigned long long)a->zero);
  if (a->interleave < 1 || a->interleave > 1000)
    return cli_fail(&cli_explore, CLI_USAGE, "--interleave: a whole number from 1 to 1000");
  if (cli_option_given(options, "hbm-gb") && !(a->hbm_gb > 0 && a->hbm_gb <= 1e6f))
    return cli_fail(&cli_explore, CLI_USAGE, "--hbm-gb: over 0, at most 1000000");
  if (cli_option_given(options, "link-pj") &&
      (a->ppa == NULL || !(a->link_pj > 0 && a->link_pj <= 1e6f)))
    return cli_fail(&cli_explore, CLI_USAGE, "--link-pj: over 0, at most 1000000, with --ppa");
  return CLI_GO_ON;
}

int explore_check_options(const explore_arguments_t *a, const cli_options_t *options) {
  const int batches_given = cli_option_given(options, "batches");
  const int layers_given = cli_option_given(options, "layers");
  if (a->folder == NULL) return cli_fail(&cli_explore, CLI_USAGE, "-o DIR is missing");
  if (strcmp(a->cores, "1") != 0 && (!a->serial || a->timeline != NULL))
    return cli_fail(&cli_explore, CLI_USAGE, "--cores goes with --serial, without --timeline");
  if (cli_option_given(options, "channels") && strcmp(a->drams, "none") == 0)
    return cli_fail(&cli_explore, CLI_USAGE, "--channels goes with a --dram that is not none");
  if (cli_option_given(options, "split") && !cli_option_given(options, "cores"))
    return cli_fail(&cli_explore, CLI_USAGE, "--split goes with --cores");
  if (batches_given && a->serial)
    return cli_fail(&cli_explore, CLI_USAGE, "--batches goes side by side: leave --serial out");
  if (batches_given && (a->batches < 1 || a->batches > UFP4_SCHEDULE_BATCHES))
    return cli_fail(&cli_explore, CLI_USAGE, "--batches: 1 or %d", UFP4_SCHEDULE_BATCHES);
  if (layers_given && (a->layers < 1 || a->layers > 1000000))
    return cli_fail(&cli_explore, CLI_USAGE, "--layers: a whole number from 1 to 1000000");
  if (cli_option_given(options, "byte-pj") &&
      (a->ppa == NULL || !(a->byte_pj > 0 && a->byte_pj <= 1e6f)))
    return cli_fail(&cli_explore, CLI_USAGE, "--byte-pj: over 0, at most 1000000, with --ppa");
  if (cli_option_given(options, "bit-um2") &&
      (a->ppa == NULL || !(a->bit_um2 > 0 && a->bit_um2 <= 1e6f)))
    return cli_fail(&cli_explore, CLI_USAGE, "--bit-um2: over 0, at most 1000000, with --ppa");
  if (cli_option_given(options, "bit-fj") &&
      (a->ppa == NULL || !(a->bit_fj > 0 && a->bit_fj <= 1e6f)))
    return cli_fail(&cli_explore, CLI_USAGE, "--bit-fj: over 0, at most 1000000, with --ppa");
  const int end = check_chips(a, options);
  if (end != CLI_GO_ON) return end;
  if (cli_option_given(options, "clock-mhz") && !(a->clock_mhz >= 0.001f && a->clock_mhz <= 1e6f))
    return cli_fail(&cli_explore, CLI_USAGE, "--clock-mhz: from 0.001 to 1000000");
  return CLI_GO_ON;
}

static void add_chip_options(cli_options_t *options, explore_arguments_t *a) {
  cli_option_add(
      options, "chips", CLI_TEXT, &a->chips, "LIST",
      "chips DPxTPxPP, data, tensor and pipeline parallel, by formula from the cycles of "
      "one; or DPxTPxPPxEP, of whose replicas EP share the experts; with --link");
  cli_option_add(options, "link", CLI_TEXT, &a->link, "GBps,us",
                 "between chips: 10^9 bytes a second each way, and a message's latency; or of "
                 "chips that share layers, and behind a colon of all others");
  cli_option_add(options, "zero", CLI_UINT, &a->zero, "0|1|2|3",
                 "what replicas share: 1 the optimizer, 2 dW too, 3 W too (default 0)");
  cli_option_range(options, "0 to 3");
  cli_option_add(options, "sequence-parallel", CLI_FLAG, &a->sequence, NULL,
                 "chips that share layers have parts of the sequence between them");
  cli_option_add(options, "recompute", CLI_FLAG, &a->recompute, NULL,
                 "keep each block's input alone, and run its forward pass again");
  cli_option_add(options, "interleave", CLI_UINT, &a->interleave, "N",
                 "stages of a chip, of one forward, one backward (default 1)");
  cli_option_range(options, "a whole number from 1 to 1000");
  cli_option_add(options, "reduce", CLI_CHOICE, &a->reduce, "f32|bf16|quantized",
                 "dW on the links; quantized is 4 bits and a scale a block (default f32)");
  cli_option_add(options, "hbm-gb", CLI_REAL, &a->hbm_gb, "F",
                 "memory of a chip, 10^9 bytes: whether what it needs fits");
  cli_option_add(options, "link-pj", CLI_REAL, &a->link_pj, "F",
                 "energy of a byte on a link, in pJ, with --ppa (default: not in it)");
}

void explore_options(cli_options_t *options, explore_arguments_t *a) {
  cli_option_add(options, "o", CLI_TEXT, &a->folder, "DIR", "for explore.csv and report.html");
  cli_option_need(options, CLI_NEEDS_PAGE);
  cli_option_add(options, "recipe", CLI_TEXT, &a->recipes, "LIST",
                 "recipes, with commas between them (default ufp4)");
  cli_option_add(
      options, "config", CLI_TEXT, &a->configurations, "LIST",
      "configurations of the core: names, FILE.toml, or parameters as "
      "rows=8:cols=16:bus=32, with ranges from 1 on, as rows=4..32 (doubling) or rows=4..32+4 "
      "(default default)");
  cli_option_add(options, "mem-bandwidth", CLI_TEXT, &a->bandwidths, "LIST",
                 "memory: bytes a cycle, each way (default 0: as wide as the bus)");
  cli_option_add(options, "mem-latency", CLI_TEXT, &a->latencies, "LIST",
                 "memory: cycles from address to first data (default 100)");
  cli_option_add(options, "dram", CLI_TEXT, &a->drams, "LIST",
                 "memory: none, or with the banks, rows and refresh of lpddr5 or hbm3, or with so "
                 "many channels hbm3:8, behind --mem-latency, every cycle stepped (default none)");
  cli_option_add(options, "channels", CLI_TEXT, &a->channels, "LIST",
                 "of --dram, among which addresses go round, 256 bytes each (default 0: as many as "
                 "a package has)");
  cli_option_add(options, "source", CLI_CHOICE, &a->source, "bf16|f32",
                 "X, W, dY, Y and dX (default bf16); dW is FP32");
  cli_option_add(options, "tokens", CLI_TEXT, &a->tokens, "LIST",
                 "tokens of a step (default 4096)");
  cli_option_add(options, "hf", CLI_TEXT, &a->hf, "config.json",
                 "the model of a transformers configuration, in the place of SHAPES");
  cli_option_add(options, "attention", CLI_FLAG, &a->attention, NULL,
                 "attention's products (kind bf16, with a side of seq) on the core, too");
  cli_option_add(options, "host-bytes", CLI_FLAG, &a->host_bytes, NULL,
                 "rows of what the host does, without cycles: bytes that it reads and writes");
  cli_option_add(
      options, "cores", CLI_TEXT, &a->cores, "LIST",
      "cores that share the memory, each GEMM split among them; with --serial (default 1)");
  cli_option_add(options, "split", CLI_CHOICE, &a->split, "tokens|n|auto|gemms",
                 "how: by rows or by columns of D, or the better of both for each GEMM (default "
                 "auto); or of layers with a count, as experts, one on each core");
  cli_option_add(options, "micro-batches", CLI_TEXT, &a->micro, "LIST",
                 "parts of a step's tokens, one after the other, whose dW is added up (default 1)");
  add_chip_options(options, a);
  cli_option_add(options, "ppa", CLI_TEXT, &a->ppa, "asap7|FILE.json",
                 "joules and um2 of a step, by rows of ./ufp4 ppa: those that are built in, or its "
                 "ppa.json with --energy");
  cli_option_add(options, "byte-pj", CLI_REAL, &a->byte_pj, "F",
                 "likewise energy of a byte on the bus, in pJ (default: not in it)");
  cli_option_add(options, "bit-um2", CLI_REAL, &a->bit_um2, "F",
                 "likewise area of a bit of a memory (default: that of the library's process; "
                 "asap7: 0.027, the bare cell of a foundry's 7 nm, a floor)");
  cli_option_add(options, "bit-fj", CLI_REAL, &a->bit_fj, "F",
                 "likewise energy of a bit that a memory of the core reads or writes, in fJ "
                 "(default: not in it; asap7: 21, of a generated macro)");
  cli_option_add(options, "layers", CLI_UINT, &a->layers, "N",
                 "blocks of the model (default: its own)");
  cli_option_range(options, "a whole number from 1 to 1000000");
  cli_option_add(
      options, "batches", CLI_UINT, &a->batches, "1|2",
      "micro-batches of a step (default 2 where each has two macro-tiles of rows in every "
      "layer, else 1)");
  cli_option_range(options, "1 or 2");
  cli_option_add(options, "clock-mhz", CLI_REAL, &a->clock_mhz, "F",
                 "clock (default: that of the whole core in ASAP7, without wires, by contract and "
                 "QUANT)");
  cli_option_add(options, "serial", CLI_FLAG, &a->serial, NULL,
                 "one job after the other, all tokens at once: one micro-batch");
  cli_option_add(options, "resume", CLI_FLAG, &a->resume, NULL,
                 "go on with a run that was stopped");
  cli_option_add(options, "timeline", CLI_TEXT, &a->timeline, "FILE.json",
                 "of one case: write what each unit is at, for ui.perfetto.dev");
  cli_option_add(options, "json", CLI_FLAG, &a->json, NULL,
                 "print all columns of explore.csv as JSON");
}
