// SPDX-License-Identifier: Apache-2.0
#include "bounds.h"

#include <math.h>

#include "base/shape.h"
#include "ufp4/panel.h"

enum { BLOCK = UFP4_PANEL_ROWS };  // of k as of rows

static int64_t ceil_div(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}

static int64_t min_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t whole(int64_t bytes, int64_t beat) {
  return ceil_div(bytes, beat) * beat;
}

/** What is the same in all macro-tiles. */
typedef struct {
  const ufp4_configuration_t *core;
  const bounds_gemm_t *gemm;
  int64_t blocks;      ///< of k that the array is fed, with padding
  int64_t last;        ///< of these in the last chunk
  int64_t load_beats;  ///< of a row group's operands, all of k
  int64_t load_bytes;  ///< of the same on the bus
  int64_t cols;        ///< that leave in a read
  int64_t slots;       ///< cycles of a read
} engine_t;

// A burst has the codes of a chunk, and one its scales.
static int64_t beats_of(const engine_t *engine, int64_t width) {
  const int64_t all = ceil_div(engine->gemm->k, BLOCK), chunk = engine->core->chunk;
  int64_t beats = 0;
  for (int64_t left = all; left > 0; left -= chunk)
    beats += ceil_div(min_of(left, chunk) * UFP4_PANEL_CODE_BYTES, width) +
             ceil_div(min_of(left, chunk) * UFP4_PANEL_SCALE_BYTES, width);
  return beats;
}

// Lanes of the epilogue take a row of sums every cycle, every second, or every fourth.
static int64_t slots_of(const bounds_gemm_t *gemm) {
  if (gemm->d_bytes == 8) return 2;
  if (gemm->operations == 3) return 4;
  return gemm->has_sums || gemm->operations == 2 ? 2 : 1;
}

static engine_t engine_of(const ufp4_configuration_t *core, const bounds_gemm_t *gemm) {
  const int64_t blocks = ceil_div(gemm->k, BLOCK), chunk = core->chunk;
  const int64_t padded = core->contract == UFP4_CONTRACT_NV ? whole(blocks, 4) : blocks;
  const int64_t port = 8 * (int64_t)shape_load_rows(core->rows, core->cols, core->bus_bytes);
  engine_t engine = {.core = core,
                     .gemm = gemm,
                     .blocks = padded,
                     .last = padded - (blocks - 1) / chunk * chunk,
                     .cols = shape_power_of_two_in(core->cols),
                     .slots = slots_of(gemm)};
  engine.load_beats = beats_of(&engine, port);
  engine.load_bytes = beats_of(&engine, core->bus_bytes) * core->bus_bytes;
  return engine;
}

// Bytes on the bus of a row of a macro-tile, in whole beats of the drain and of the bus.
static int64_t row_bytes(const engine_t *engine, int64_t cols, int64_t element_bytes) {
  return whole(whole(cols * element_bytes, 4 * engine->cols), engine->core->bus_bytes);
}

/** A macro-tile. */
typedef struct {
  double compute, load, output, read, write, units;
  double first, last;  ///< of compute: before the last chunk, and this
  double row;          ///< of last: the first row of sub-tiles
  double behind;       ///< load behind the first two chunks, and compute of the first
} tile_t;

// What is loaded of the third chunk and of those behind it, when the first has been computed.
static double load_behind(const engine_t *engine, int64_t groups, double compute) {
  const int64_t chunk = engine->core->chunk, all = ceil_div(engine->gemm->k, BLOCK);
  if (all <= 2 * chunk) return 0;
  const double share = (double)(all - 2 * chunk) / (double)all;
  return compute * (double)chunk / (double)engine->blocks +
         floor(share * (double)(groups * engine->load_beats));
}

static tile_t tile_of(const engine_t *engine, int64_t rows, int64_t cols) {
  const ufp4_configuration_t *core = engine->core;
  const bounds_gemm_t *gemm = engine->gemm;
  const int64_t steps = BLOCK / core->lanes, across = ceil_div(cols, core->cols);
  const int64_t groups = ceil_div(rows, UFP4_PANEL_ROWS) + ceil_div(cols, UFP4_PANEL_ROWS);
  const int64_t sums = gemm->has_sums ? row_bytes(engine, cols, 8) : 0;
  const int64_t c = gemm->has_c ? row_bytes(engine, cols, 4) : 0;
  const double block = (double)(ceil_div(rows, core->rows) * across * steps);
  tile_t tile = {.compute = block * (double)engine->blocks,
                 .load = (double)(groups * engine->load_beats),
                 .output = (double)(rows * ceil_div(cols, engine->cols) * engine->slots),
                 .read = (double)(groups * engine->load_bytes + rows * (sums + c)),
                 .write = (double)(rows * row_bytes(engine, cols, gemm->d_bytes)),
                 .units = (double)(groups * ceil_div(gemm->k, BLOCK)),
                 .last = block * (double)engine->last,
                 .row = (double)(across * engine->last * steps)};
  tile.first = tile.compute - tile.last;
  tile.behind = load_behind(engine, groups, tile.compute);
  return tile;
}

/** Macro-tiles of D, row by row: of four sizes at most. */
typedef struct {
  tile_t at[2][2];             ///< whole and at the lower edge, by whole and at the right edge
  int64_t down[2], across[2];  ///< how many
} tiles_t;

// From the beginning of a last chunk to that of the next tile's, if all sums are in one bank: it
// waits for the drain, which begins with a row of sub-tiles, and for what is computed between.
static double step_of(const tile_t *tile, const tile_t *next) {
  return fmax(tile->row + tile->output, tile->last + next->first);
}

// From the beginning of the first tile to the end of the last one's compute, if all sums are in one
// bank; the drain of the last tile, which nothing hides, is left out.
static double one_bank(const tiles_t *tiles) {
  const int64_t *across = tiles->across, *down = tiles->down;
  const int left = across[0] == 0, right = across[1] != 0;
  double cycles = tiles->at[down[0] == 0][left].first + tiles->at[down[1] != 0][right].last;
  for (int i = 0; i < 2; i++) {
    const tile_t *row = tiles->at[i];
    if (down[i] == 0) continue;
    if (!left) cycles += (double)(down[i] * (across[0] - 1)) * step_of(&row[0], &row[0]);
    if (!left && right) cycles += (double)down[i] * step_of(&row[0], &row[1]);
    cycles += (double)(down[i] - 1) * step_of(&row[right], &row[left]);
  }
  if (down[0] != 0 && down[1] != 0) cycles += step_of(&tiles->at[0][right], &tiles->at[1][left]);
  return cycles;
}

static tiles_t tiles_of(const engine_t *engine) {
  const ufp4_configuration_t *core = engine->core;
  const bounds_gemm_t *gemm = engine->gemm;
  const int64_t m = (int64_t)core->rows * core->tile_rows,
                n = (int64_t)core->cols * core->tile_cols;
  tiles_t tiles = {.down = {gemm->m / m, gemm->m % m != 0},
                   .across = {gemm->n / n, gemm->n % n != 0}};
  for (int i = 0; i < 4; i++)
    tiles.at[i / 2][i % 2] = tile_of(engine, i / 2 ? gemm->m % m : m, i % 2 ? gemm->n % n : n);
  return tiles;
}

bounds_t bounds_of(const ufp4_configuration_t *core, unsigned bytes, const bounds_gemm_t *gemm) {
  const engine_t engine = engine_of(core, gemm);
  const tiles_t tiles = tiles_of(&engine);
  bounds_t all = {.compute = 0};
  for (int i = 0; i < 4; i++) {
    const tile_t *tile = &tiles.at[i / 2][i % 2];
    const double times = (double)(tiles.down[i / 2] * tiles.across[i % 2]);
    all.compute += times * tile->compute;
    all.load += times * tile->load;
    all.output += times * tile->output;
    all.array += times * fmax(tile->compute, tile->behind);
    all.read += times * tile->read / bytes;
    all.write += times * tile->write / bytes;
    all.operand_bytes += times * tile->units * (UFP4_PANEL_CODE_BYTES + UFP4_PANEL_SCALE_BYTES);
  }
  if (engine.blocks > core->chunk) all.array = fmax(all.array, one_bank(&tiles));
  return all;
}

double bounds_most(const bounds_t *bounds) {
  const double port = fmax(bounds->load, bounds->output);
  return fmax(fmax(bounds->array, port), fmax(bounds->read, bounds->write));
}

double bounds_percent(const ufp4_configuration_t *core, unsigned bytes, const bounds_gemm_t *gemm) {
  const bounds_t bounds = bounds_of(core, bytes, gemm);
  const double peak = (double)core->lanes * core->rows * core->cols;
  return 100.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k /
         (peak * bounds_most(&bounds));
}
