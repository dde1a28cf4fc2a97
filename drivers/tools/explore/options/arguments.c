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
      return cli_fail(&cli_explore, CLI_USAGE, "--%s needs --chips", of_chips[i]);
  }
  if (a->zero > 3)
    return cli_fail(&cli_explore, CLI_USAGE, "--zero is %llu; it must be 0, 1, 2 or 3",
                    (unsigned long long)a->zero);
  if (a->interleave < 1 || a->interleave > 1000)
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--interleave: '%llu' is not a whole number from 1 to 1000",
                    (unsigned long long)a->interleave);
  if (cli_option_given(options, "hbm-gb") && !(a->hbm_gb > 0 && a->hbm_gb <= 1e6f))
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--hbm-gb is %g; it must be above 0, and at most 1000000", (double)a->hbm_gb);
  if (cli_option_given(options, "link-pj") &&
      (a->ppa == NULL || !(a->link_pj > 0 && a->link_pj <= 1e6f)))
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--link-pj must be above 0, at most 1000000, and needs --ppa");
  return CLI_GO_ON;
}

int explore_check_options(const explore_arguments_t *a, const cli_options_t *options) {
  const int batches_given = cli_option_given(options, "batches");
  const int layers_given = cli_option_given(options, "layers");
  if (a->folder == NULL) return cli_fail(&cli_explore, CLI_USAGE, "-o DIR is missing");
  if (strcmp(a->cores, "1") != 0 && (!a->serial || a->timeline != NULL))
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--cores needs --serial, and does not work with --timeline");
  if (cli_option_given(options, "channels") && strcmp(a->drams, "none") == 0)
    return cli_fail(&cli_explore, CLI_USAGE, "--channels needs a --dram other than none");
  if (cli_option_given(options, "split") && !cli_option_given(options, "cores"))
    return cli_fail(&cli_explore, CLI_USAGE, "--split needs --cores");
  if (batches_given && a->serial)
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--batches needs jobs side by side; leave out --serial");
  if (batches_given && (a->batches < 1 || a->batches > UFP4_SCHEDULE_BATCHES))
    return cli_fail(&cli_explore, CLI_USAGE, "--batches is %llu; it must be 1 or %d",
                    (unsigned long long)a->batches, UFP4_SCHEDULE_BATCHES);
  if (layers_given && (a->layers < 1 || a->layers > 1000000))
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--layers: '%llu' is not a whole number from 1 to 1000000",
                    (unsigned long long)a->layers);
  if (cli_option_given(options, "byte-pj") &&
      (a->ppa == NULL || !(a->byte_pj > 0 && a->byte_pj <= 1e6f)))
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--byte-pj must be above 0, at most 1000000, and needs --ppa");
  if (cli_option_given(options, "bit-um2") &&
      (a->ppa == NULL || !(a->bit_um2 > 0 && a->bit_um2 <= 1e6f)))
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--bit-um2 must be above 0, at most 1000000, and needs --ppa");
  if (cli_option_given(options, "bit-fj") &&
      (a->ppa == NULL || !(a->bit_fj > 0 && a->bit_fj <= 1e6f)))
    return cli_fail(&cli_explore, CLI_USAGE,
                    "--bit-fj must be above 0, at most 1000000, and needs --ppa");
  const int end = check_chips(a, options);
  if (end != CLI_GO_ON) return end;
  if (cli_option_given(options, "clock-mhz") && !(a->clock_mhz >= 0.001f && a->clock_mhz <= 1e6f))
    return cli_fail(&cli_explore, CLI_USAGE, "--clock-mhz is %g; it must be from 0.001 to 1000000",
                    (double)a->clock_mhz);
  return CLI_GO_ON;
}

static void add_chip_options(cli_options_t *options, explore_arguments_t *a) {
  cli_option_add(
      options, "chips", CLI_TEXT, &a->chips, "LIST",
      "numbers of chips DPxTPxPP for data, tensor and pipeline parallelism, computed from the "
      "cycles of one chip; or DPxTPxPPxEP, where EP replicas share the experts; requires --link");
  cli_option_add(
      options, "link", CLI_TEXT, &a->link, "GBps,us",
      "link between chips: 10^9 bytes per second in each direction, and latency per message; or "
      "the link of chips that share layers, a colon, and that of all others");
  cli_option_add(options, "zero", CLI_UINT, &a->zero, "0|1|2|3",
                 "state that replicas share: 1 the optimizer's, 2 also dW, 3 also W (default 0)");
  cli_option_range(options, "0 to 3");
  cli_option_add(options, "sequence-parallel", CLI_FLAG, &a->sequence, NULL,
                 "chips that share layers split the sequence between the layers");
  cli_option_add(options, "recompute", CLI_FLAG, &a->recompute, NULL,
                 "keep only each block's input, and repeat its forward pass");
  cli_option_add(options, "interleave", CLI_UINT, &a->interleave, "N",
                 "stages per chip in one-forward-one-backward order (default 1)");
  cli_option_range(options, "a whole number from 1 to 1000");
  cli_option_add(
      options, "reduce", CLI_CHOICE, &a->reduce, "f32|bf16|quantized",
      "format of dW on the links; quantized: 4 bits and a scale per block (default f32)");
  cli_option_add(options, "hbm-gb", CLI_REAL, &a->hbm_gb, "F",
                 "memory of a chip in 10^9 bytes, to check whether a step fits");
  cli_option_add(options, "link-pj", CLI_REAL, &a->link_pj, "F",
                 "with --ppa: energy of a byte on a link, in pJ (default: left out)");
}

void explore_options(cli_options_t *options, explore_arguments_t *a) {
  cli_option_add(options, "o", CLI_TEXT, &a->folder, "DIR",
                 "folder for explore.csv and report.html");
  cli_option_need(options, CLI_NEEDS_PAGE);
  cli_option_add(options, "recipe", CLI_TEXT, &a->recipes, "LIST",
                 "recipes, separated by commas (default ufp4)");
  cli_option_add(
      options, "config", CLI_TEXT, &a->configurations, "LIST",
      "core configurations: names, FILE.toml, or parameters such as rows=8:cols=16:bus=32, also "
      "with ranges such as rows=4..32 (doubling) or rows=4..32+4, from 1 on (default default)");
  cli_option_add(options, "mem-bandwidth", CLI_TEXT, &a->bandwidths, "LIST",
                 "memory: bytes per cycle in each direction (default 0: the bus width)");
  cli_option_add(options, "mem-latency", CLI_TEXT, &a->latencies, "LIST",
                 "memory: cycles from address to first data (default 100)");
  cli_option_add(options, "dram", CLI_TEXT, &a->drams, "LIST",
                 "memory: none, or banks, rows and refresh of lpddr5 or hbm3, or with a number of "
                 "channels hbm3:8, behind --mem-latency; no cycle is skipped (default none)");
  cli_option_add(options, "channels", CLI_TEXT, &a->channels, "LIST",
                 "channels of --dram, interleaved every 256 bytes (default 0: those of a package)");
  cli_option_add(options, "source", CLI_CHOICE, &a->source, "bf16|f32",
                 "type of X, W, dY, Y and dX (default bf16); dW is FP32");
  cli_option_add(options, "tokens", CLI_TEXT, &a->tokens, "LIST", "tokens per step (default 4096)");
  cli_option_add(options, "hf", CLI_TEXT, &a->hf, "config.json",
                 "model from a transformers configuration, instead of SHAPES");
  cli_option_add(options, "attention", CLI_FLAG, &a->attention, NULL,
                 "also run attention's products (kind bf16, with a side of seq) on the core");
  cli_option_add(
      options, "host-bytes", CLI_FLAG, &a->host_bytes, NULL,
      "add rows of the host's work, with the bytes that it reads and writes, without cycles");
  cli_option_add(
      options, "cores", CLI_TEXT, &a->cores, "LIST",
      "numbers of cores that share the memory and each GEMM; requires --serial (default 1)");
  cli_option_add(
      options, "split", CLI_CHOICE, &a->split, "tokens|n|auto|gemms",
      "how cores share GEMMs: by rows or by columns of D, or by the better of both for each "
      "(default auto); gemms: layers with a count, such as experts, run one per core");
  cli_option_add(options, "micro-batches", CLI_TEXT, &a->micro, "LIST",
                 "parts of a step that run one after the other and accumulate dW (default 1)");
  add_chip_options(options, a);
  cli_option_add(options, "ppa", CLI_TEXT, &a->ppa, "asap7|FILE.json",
                 "joules and um2 of a step, from the built-in rows or from the ppa.json of ./ufp4 "
                 "ppa --energy");
  cli_option_add(options, "byte-pj", CLI_REAL, &a->byte_pj, "F",
                 "with --ppa: energy of a byte on the bus, in pJ (default: left out)");
  cli_option_add(options, "bit-um2", CLI_REAL, &a->bit_um2, "F",
                 "with --ppa: area of a bit of a memory (default: that of the library's process; "
                 "asap7: 0.027, a lower bound, the bare cell of a foundry's 7 nm)");
  cli_option_add(options, "bit-fj", CLI_REAL, &a->bit_fj, "F",
                 "with --ppa: energy of a bit read or written in a memory of the core, in fJ "
                 "(default: left out; asap7: 21, that of a generated macro)");
  cli_option_add(options, "layers", CLI_UINT, &a->layers, "N",
                 "blocks of the model (default: its own)");
  cli_option_range(options, "a whole number from 1 to 1000000");
  cli_option_add(options, "batches", CLI_UINT, &a->batches, "1|2",
                 "overlapping micro-batches (default 2 if each has two macro-tiles of rows in "
                 "every layer, otherwise 1)");
  cli_option_range(options, "1 or 2");
  cli_option_add(options, "clock-mhz", CLI_REAL, &a->clock_mhz, "F",
                 "clock (default: that of a core in ASAP7, without wires, by contract and QUANT)");
  cli_option_add(options, "serial", CLI_FLAG, &a->serial, NULL,
                 "run jobs one after the other, with all tokens in one micro-batch");
  cli_option_add(options, "resume", CLI_FLAG, &a->resume, NULL, "continue an interrupted run");
  cli_option_add(
      options, "timeline", CLI_TEXT, &a->timeline, "FILE.json",
      "for a single case: write a timeline of the units' activities, for ui.perfetto.dev");
  cli_option_add(options, "json", CLI_FLAG, &a->json, NULL,
                 "print all columns of explore.csv as JSON");
}
