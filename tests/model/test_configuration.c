// SPDX-License-Identifier: Apache-2.0
// Tests configurations by name and by parameters.
#include <stdio.h>
#include <string.h>

#include "base/configuration.h"
#include "base/shape.h"
#include "check.h"
#include "job/check.h"

static const ufp4_configuration_t named[UFP4_CONFIGURATION_COUNT] = UFP4_CONFIGURATIONS;

static int is_same(const ufp4_configuration_t *a, const ufp4_configuration_t *b) {
  return a->rows == b->rows && a->cols == b->cols && a->tile_rows == b->tile_rows &&
         a->tile_cols == b->tile_cols && a->chunk == b->chunk && a->bus_bytes == b->bus_bytes &&
         a->contract == b->contract && a->formats == b->formats && a->lanes == b->lanes &&
         a->quant == b->quant && a->mixed == b->mixed;
}

TEST(those_with_a_name_are_legal) {
  for (int i = 0; i < UFP4_CONFIGURATION_COUNT; i++) {
    ufp4_configuration_t found;
    const ufp4_status_t status = configuration_find(named[i].name, &found, NULL, NULL);
    check_bits(i, status, UFP4_OK, "%s", named[i].name);
    check_that(i, is_same(&found, &named[i]), "%s is another", named[i].name);
    check_that(i, shape_refusal(&found) == NULL, "%s is refused", named[i].name);
  }
}

/** yosys counts these numbers in the netlists of whole cores: docs/results/silicon.csv. */
TEST(memories_have_the_bits_of_the_netlists) {
  static const struct {
    const char *name;
    uint32_t quant;
    uint64_t bits;
  } cases[] = {{"small", 16, 263456},
               {"small", 0, 129312},
               {"small-fp32", 16, 245536},
               {"small-nv", 16, 245536}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ufp4_configuration_t core;
    const ufp4_status_t status = configuration_find(cases[i].name, &core, NULL, NULL);
    check_bits((int64_t)i, status, UFP4_OK, "%s", cases[i].name);
    core.quant = cases[i].quant;
    check_bits((int64_t)i, shape_memory_bits(&core), cases[i].bits, "%s, quant %u", cases[i].name,
               cases[i].quant);
  }
}

TEST(parameters_make_one_with_a_name) {
  static const struct {
    const char *text, *name;
    ufp4_configuration_t want;
    ufp4_target_t target;
  } cases[] = {
      {"rows=8:cols=16:tile=128x256:chunk=16:bus=128:quant=64:contract=exact",
       "8x16-128x256-c16-b128-q64",
       {"", 8, 16, 16, 16, 16, 128, 0, 0, 16, 64, 0},
       UFP4_TARGET_ASIC},
      {"rows=16", "16x16-128x128-c16-b64-q16", {"", 16, 16, 8, 8, 16, 64, 0, 0, 16, 16, 0}, 0},
      {"lanes=4:formats=uniform:contract=fp32:target=fpga:bus_bytes=32",
       "16x16-128x128-c16-b32-q16-fp32-uniform-l4-fpga",
       {"", 16, 16, 8, 8, 16, 32, 1, 2, 4, 16, 0},
       UFP4_TARGET_FPGA},
      {"rows=1:cols=3:tile_rows=16:tile_cols=16:quant=0:simulated=simulator:contract=nv",
       "1x3-16x48-c16-b64-q0-nv-simulator",
       {"", 1, 3, 16, 16, 16, 64, 2, 0, 16, 0, 0},
       UFP4_TARGET_SIMULATOR},
      {"mixed=1:lanes=8:target=fpga",
       "16x16-128x128-c16-b64-q16-l8-mixed-fpga",
       {"", 16, 16, 8, 8, 16, 64, 0, 0, 8, 16, 1},
       UFP4_TARGET_FPGA},
      {"bus=8:quant=2:mixed=1",
       "16x16-128x128-c16-b8-q2-mixed",
       {"", 16, 16, 8, 8, 16, 8, 0, 0, 16, 2, 1},
       UFP4_TARGET_ASIC}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ufp4_configuration_t got = {.name = ""}, again = {.name = ""};
    ufp4_target_t target = UFP4_TARGET_COUNT;
    ufp4_message_t why = {0};
    check_bits((int64_t)i, configuration_find(cases[i].text, &got, &target, &why), UFP4_OK,
               "%s: %s", cases[i].text, why.text);
    check_that((int64_t)i, strcmp(got.name, cases[i].name) == 0, "%s: %s", cases[i].text, got.name);
    check_that((int64_t)i, is_same(&got, &cases[i].want), "%s", cases[i].text);
    check_bits((int64_t)i, target, cases[i].target, "target of %s", cases[i].text);
    check_bits((int64_t)i, configuration_find(got.name, &again, &target, &why), UFP4_OK, "%s: %s",
               got.name, why.text);
    check_that((int64_t)i, is_same(&got, &again) && strcmp(again.name, got.name) == 0,
               "%s says another", got.name);
    check_bits((int64_t)i, target, cases[i].target, "target of %s", got.name);
  }
}

static void rejects(int64_t index, const char *text, ufp4_status_t want, const char *says) {
  ufp4_configuration_t core;
  ufp4_message_t why = {0};
  check_bits(index, configuration_find(text, &core, NULL, &why), want, "%s: %s", text, why.text);
  check_that(index, strstr(why.text, says) != NULL, "%s: %s", text, why.text);
}

/** The cases are those of rtl.top.rejects_*, beyond each limit. */
TEST(rejects_what_the_rtl_does_in_its_words) {
  static const char *const texts[][2] = {
      {"bus=0", "BusBytes must be 8"},
      {"bus=4", "BusBytes must be 8"},
      {"bus=24", "BusBytes must be 8"},
      {"bus=256", "BusBytes must be 8"},
      {"rows=0", "Rows and Cols must be 1 to 32"},
      {"rows=33", "Rows and Cols must be 1 to 32"},
      {"cols=33", "Rows and Cols must be 1 to 32"},
      {"tile_rows=0", "TileRows from 2, TileCols even"},
      {"tile_rows=1", "TileRows from 2, TileCols even"},
      {"tile_cols=3", "TileRows from 2, TileCols even"},
      {"tile=0x0", "TileRows from 2, TileCols even"},
      {"tile=120x128", "TileRows from 2, TileCols even"},
      {"rows=2:tile_rows=12", "TileRows from 2, TileCols even"},
      {"rows=16:tile_rows=4096", "TileRows from 2, TileCols even"},
      {"cols=8:bus=8:tile_cols=64", "a row of a macro-tile in unrounded sums"},
      {"cols=5:tile_cols=32", "a row of a macro-tile in unrounded sums"},
      {"chunk=4", "Chunk must be a power of two"},
      {"chunk=24", "Chunk must be a power of two"},
      {"chunk=256:bus=128", "Chunk must be a power of two"},
      {"bus=8:cols=8:rows=8:chunk=32", "a chunk of one group at most 256 beats"},
      {"rows=3:cols=5:tile=48x80:chunk=32", "a chunk of one group at most 256 beats"},
      {"lanes=2", "Lanes must be 16, 8 or 4"},
      {"lanes=8:contract=nv", "with contract nv 16"},
      {"quant=2", "Quant must be 0 or 16"},
      {"mixed=2", "Mixed must be 0 or 1"},
      {"mixed=1:quant=0", "which needs Formats 0 (all) and a Quant that is not 0"},
      {"mixed=1:formats=e1m2", "quant=16 mixed=1 contract=exact formats=e1m2"},
      {"rows=5:cols=3", "multiples of 16; here rows=5 cols=3 tile_rows=8 tile_cols=8 chunk=16"},
      {"lanes=2:contract=nv", "bus=64 lanes=2 quant=16 mixed=0 contract=nv"},
      {"tile=120x128", "; here rows=16 cols=16 tile=120x128 chunk=16"},
      {"quant=64", "with BusBytes 128 also 64"},
      {"8x16-64x128-c16-b12-q16", "BusBytes must be 8"}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    rejects((int64_t)i, texts[i][0], UFP4_ERROR_UNSUPPORTED, texts[i][1]);
}

TEST(rejects_what_says_no_configuration) {
  static const char *const texts[][2] = {
      {"", "no configuration is called ''"},
      {"huge", "no configuration is called 'huge'"},
      {"8x16", "no configuration is called '8x16'"},
      {"8x16-64x128-c16-b64-q16-", "no configuration is called"},
      {"8x16-64x128-c16-b64-q16-fp32x", "no configuration is called"},
      {"8x16-64x128-c16-b64-q16-fpga-fp32", "no configuration is called"},
      {"rows=8:cols", "KEY=VALUE is needed, not 'cols'"},
      {"rows=8:", "KEY=VALUE is needed, not ''"},
      {"rows=8:rows=9", "there is a second value for 'rows'"},
      {"bus=64:bus_bytes=32", "there is a second value for 'bus_bytes'"},
      {"bus_bytes=64:rows=8:bus=64", "there is a second value for 'bus'"},
      {"tile=128x256:tile_rows=4", "there is a second value for 'tile_rows'"},
      {"tile=128x256:tile_cols=4", "there is a second value for 'tile_cols'"},
      {"tile_cols=4:tile=128x256", "there is a second value for 'tile'"},
      {"tile=128x128:tile=128x128", "there is a second value for 'tile'"},
      {"target=asic:simulated=fpga", "there is a second value for 'simulated'"},
      {"rows=8x8", "rows takes a whole number below 2^20, not '8x8'"},
      {"rows=", "below 2^20, not ''"},
      {"rows=-1", "below 2^20, not '-1'"},
      {"rows= 8", "below 2^20, not ' 8'"},
      {"rows=4..8", "rows takes a whole number (ranges only in ufp4 explore), not '4..8'"},
      {"tile=128", "tile takes a size in outputs such as 128x256, not '128'"},
      {"tile=128X256", "tile takes a size in outputs such as 128x256, not '128X256'"},
      {"rows=99999999999999999999", "below 2^20, not '999"},
      {"contract=i8", "contract takes exact|fp32|nv, not 'i8'"},
      {"rows=8:formats=int4", "formats takes all|e2m1|uniform|e1m2, not 'int4'"},
      {"simulated=asci", "simulated takes asic|fpga|simulator, not 'asci'"},
      {"row=8", "formats and target, not 'row'"}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    rejects((int64_t)i, texts[i][0], UFP4_ERROR_ARGUMENT, texts[i][1]);
  char text[600] = "rows=";
  memset(text + 5, '1', sizeof text - 6);
  rejects(100, text, UFP4_ERROR_ARGUMENT, "longer than 255 characters");
}

// An operand of mixed elements has blocks of both kinds, so a core of uniform formats alone must
// not accept it.
TEST(a_core_of_all_formats_alone_multiplies_mixed) {
  for (unsigned formats = 0; formats < UFP4_FORMATS_COUNT; formats++) {
    const ufp4_configuration_t core = {.formats = formats};
    check_bits(formats, (uint64_t)configuration_multiplies(&core, UFP4_ELEM_MIXED),
               formats == UFP4_FORMATS_ALL, "mixed");
    check_bits(formats, (uint64_t)configuration_multiplies(&core, UFP4_ELEM_KINDS), 0, "no elem");
    check_bits(formats, (uint64_t)configuration_multiplies(&core, UFP4_ELEM_E1M2),
               formats != UFP4_FORMATS_E2M1, "E1M2");
  }
}
