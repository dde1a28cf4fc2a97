// SPDX-License-Identifier: Apache-2.0
#include "bounds.h"

#include <math.h>

#include "base/shape.h"
#include "ufp4/panel.h"

enum {
  BLOCK = UFP4_PANEL_ROWS,  // of k as of rows
  GROUPS_ASKED = 16,        // row groups whose operands the loader has requested
  ROWS_ASKED = 16,          // rows of addends requested at once, of one stream or of both
  TURN_CYCLES = 4,          // cycles until a PE of contract fp32 can add to a sum again
  TURN_CYCLES_NV = 8,       // cycles until a PE of contract nv can add a group to a sum again
  GROUP = 4,                // blocks per group of contract nv
  PATH = 4,                 // cycles of a read to the memory and back, without the latency
};

static int64_t ceil_div(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}

static int64_t whole(int64_t bytes, int64_t beat) {
  return ceil_div(bytes, beat) * beat;
}

/** Values that are the same in all macro-tiles. */
typedef struct {
  const ufp4_configuration_t *core;
  const bounds_gemm_t *gemm;
  int64_t blocks;       ///< blocks of k fed to the array, including padding
  int64_t chunks;       ///< chunks of k
  int64_t first, last;  ///< blocks in the first and in the last chunk
  int64_t ahead;        ///< blocks in the first two chunks
  int64_t load_beats;   ///< beats of a row group's operands, for all of k
  int64_t load_bytes;   ///< their bytes on the bus
  int64_t cols;         ///< columns that leave in a read
  int64_t slots;        ///< cycles of a read
  int64_t addends;      ///< beats that the buffer of an addend stream holds
  bounds_memory_t memory;
} engine_t;

// Returns the blocks of the chunk that begins with so many blocks left: the last two share the
// remainder of the whole ones, as in ufp4_chunk_walk.
static int64_t chunk_of(const ufp4_configuration_t *core, int64_t left) {
  const int64_t chunk = core->chunk, least = core->contract == UFP4_CONTRACT_NV ? GROUP : 2;
  const int64_t step = core->bus_bytes / 16 > least ? core->bus_bytes / 16 : least;
  if (left <= chunk || left >= 2 * chunk) return left < chunk ? left : chunk;
  const int64_t half = left / (2 * step) * step;
  return left - half <= chunk ? half : half + step;
}

// A burst carries the codes of a chunk, and another one its scales.
static void walk_chunks(engine_t *engine, int64_t port) {
  const int64_t bus = engine->core->bus_bytes, all = ceil_div(engine->gemm->k, BLOCK);
  for (int64_t left = all, blocks; left > 0; left -= blocks) {
    blocks = chunk_of(engine->core, left);
    engine->load_beats += ceil_div(blocks * UFP4_PANEL_CODE_BYTES, port) +
                          ceil_div(blocks * UFP4_PANEL_SCALE_BYTES, port);
    engine->load_bytes +=
        whole(blocks * UFP4_PANEL_CODE_BYTES, bus) + whole(blocks * UFP4_PANEL_SCALE_BYTES, bus);
    if (engine->chunks == 0) engine->first = blocks;
    if (engine->chunks < 2) engine->ahead += blocks;
    engine->chunks++;
    engine->last = blocks + engine->blocks - all;
  }
}

// Lanes of the epilogue take a row of sums every cycle, every second, or every fourth.
static int64_t slots_of(const bounds_gemm_t *gemm) {
  if (gemm->d_bytes == 8) return 2;
  if (gemm->operations == 3) return 4;
  return gemm->has_sums || gemm->operations == 2 ? 2 : 1;
}

static engine_t engine_of(const ufp4_configuration_t *core, bounds_memory_t memory,
                          const bounds_gemm_t *gemm) {
  const int64_t blocks = ceil_div(gemm->k, BLOCK);
  const int64_t padded = core->contract == UFP4_CONTRACT_NV ? whole(blocks, GROUP) : blocks;
  shape_memory_t memories[UFP4_SRAM_COUNT];
  shape_memories(core, memories);
  const int64_t port = 8 * (int64_t)shape_load_rows(core->rows, core->cols, core->bus_bytes);
  engine_t engine = {.core = core,
                     .gemm = gemm,
                     .blocks = padded,
                     .cols = shape_power_of_two_in(core->cols),
                     .slots = slots_of(gemm),
                     .addends = memories[UFP4_SRAM_ADDENDS].words,
                     .memory = memory};
  walk_chunks(&engine, port);
  return engine;
}

// Returns the bytes on the bus of a row of a macro-tile, in whole beats of the drain and of the
// bus.
static int64_t row_bytes(const engine_t *engine, int64_t cols, int64_t element_bytes) {
  return whole(whole(cols * element_bytes, 4 * engine->cols), engine->core->bus_bytes);
}

// --- What is added ------------------------------------------------------------------------------

// Returns the cycles of the port for beats of the drain's width: a wider bus keeps a beat until it
// is used up, a narrower one needs several beats.
static int64_t port_cycles(const engine_t *engine, int64_t beats) {
  const int64_t width = 4 * engine->cols, bus = engine->core->bus_bytes;
  return width > bus ? beats * (width / bus) : beats;
}

/** The addends of a row of a macro-tile, and how fast the drain can read them. */
typedef struct {
  int64_t beats;  ///< beats of both streams, of the drain's width; 0: no addends
  int64_t held;   ///< rows that the buffers hold
  int64_t asked;  ///< rows that are requested at once, at most
  double pace;    ///< least cycles per row
  double turn;    ///< from the first read of a row to that of the row that reuses its buffer
  double way;     ///< from the last beat of a row to that of the row requested in its place
} addend_t;

// Reads make room for a later row, @p rows behind, which is requested at once and arrives
// completely before it is read. @p each: beats of a read.
static double turn_of(const engine_t *engine, int64_t row, int64_t each, int64_t all) {
  const int64_t room = (engine->addends / row + 1) * row - engine->addends;
  const int64_t reads = room > 0 ? ceil_div(room, each) - 1 : 0;
  const double bytes = (double)(all * 4 * engine->cols) / engine->memory.bytes;
  return (double)(reads * engine->slots + PATH + engine->memory.latency) +
         fmax((double)port_cycles(engine, all), floor(bytes));
}

static addend_t addend_of(const engine_t *engine, int64_t cols) {
  const bounds_gemm_t *gemm = engine->gemm;
  const int64_t reads = ceil_div(cols, engine->cols);
  const int64_t sums = gemm->has_sums ? ceil_div(2 * cols, engine->cols) : 0;
  const int64_t c = gemm->has_c ? reads : 0, most = sums != 0 ? sums : c;
  addend_t addend = {.beats = sums + c, .pace = (double)(reads * engine->slots)};
  if (most == 0) return addend;
  addend.held = engine->addends / most;
  addend.asked = ROWS_ASKED / (sums != 0 && c != 0 ? 2 : 1);
  addend.turn = turn_of(engine, most, sums != 0 ? 2 : 1, sums + c);
  addend.way = (double)(PATH + engine->memory.latency + most);
  addend.pace = fmax(addend.pace, (double)port_cycles(engine, sums + c));
  return addend;
}

// Returns the cycles of the drain for some rows, the first of which have been read ahead unless @p
// cold.
static double drain_of(const addend_t *addend, double rows, int cold) {
  const double held = (double)addend->held, asked = (double)addend->asked;
  const double most = rows * addend->pace, last = addend->pace;
  if (addend->beats == 0) return most;
  return fmax(most, last + fmax((rows - (cold ? 0 : held)) * addend->turn / held,
                                (rows - (cold ? 0 : asked)) * addend->way / asked));
}

// --- Macro-tiles --------------------------------------------------------------------------------

/** A macro-tile. */
typedef struct {
  double compute, load, output, read, write, units;
  double first, last;  ///< compute before the last chunk, and in it
  double row;          ///< part of last: the first row of sub-tiles
  double turns;        ///< load, and the part of the drain that was not read ahead
  double behind;       ///< load behind the first two chunks, and compute of the first
} tile_t;

// Returns the cycles until the third and later chunks have been loaded; their load begins when the
// first chunk has been computed.
static double load_behind(const engine_t *engine, int64_t groups, double compute) {
  const int64_t all = ceil_div(engine->gemm->k, BLOCK);
  if (engine->chunks <= 2) return 0;
  const double share = (double)(all - engine->ahead) / (double)all;
  return compute * (double)engine->first / (double)engine->blocks +
         floor(share * (double)(groups * engine->load_beats));
}

// Operands and addends arrive in the order of their requests. The loader requests so much at once
// that hardly any rows arrive while it is loading, so the other rows are drained when it is not.
static double turns_of(const engine_t *engine, const addend_t *addend, int64_t rows,
                       int64_t groups) {
  const double come = (double)(addend->held < addend->asked ? addend->held : addend->asked);
  const double turns = 1 + (double)groups / GROUPS_ASKED;
  const double free = (double)engine->chunks * ((double)addend->held + come * turns);
  const double load = (double)(groups * engine->load_beats);
  if (addend->beats == 0 || free >= (double)rows) return load;
  return load + drain_of(addend, (double)rows - free, 1);
}

// Returns the cycles of a block in all these sub-tiles. With contracts fp32 and nv these are whole
// turns (ufp4_sequencer), with nv per group.
static int64_t block_of(const ufp4_configuration_t *core, int64_t sub_tiles) {
  const int64_t cycles = sub_tiles * (BLOCK / core->lanes);
  if (core->contract == UFP4_CONTRACT_NV) return whole(cycles, TURN_CYCLES_NV / GROUP);
  return core->contract == UFP4_CONTRACT_FP32 ? whole(cycles, TURN_CYCLES) : cycles;
}

static tile_t tile_of(const engine_t *engine, int64_t rows, int64_t cols) {
  const ufp4_configuration_t *core = engine->core;
  const bounds_gemm_t *gemm = engine->gemm;
  const int64_t steps = BLOCK / core->lanes, across = ceil_div(cols, core->cols);
  const int64_t groups = ceil_div(rows, UFP4_PANEL_ROWS) + ceil_div(cols, UFP4_PANEL_ROWS);
  const int64_t sums = gemm->has_sums ? row_bytes(engine, cols, 8) : 0;
  const int64_t c = gemm->has_c ? row_bytes(engine, cols, 4) : 0;
  const addend_t addend = addend_of(engine, cols);
  const double block = (double)block_of(core, ceil_div(rows, core->rows) * across);
  tile_t tile = {
      .compute = block * (double)engine->blocks,
      .load = (double)(groups * engine->load_beats + rows * port_cycles(engine, addend.beats)),
      .output = drain_of(&addend, (double)rows, 0),
      .read = (double)(groups * engine->load_bytes + rows * (sums + c)),
      .write = (double)(rows * row_bytes(engine, cols, gemm->d_bytes)),
      .units = (double)(groups * ceil_div(gemm->k, BLOCK)),
      .last = block * (double)engine->last,
      .row = (double)(across * engine->last * steps)};
  tile.turns = turns_of(engine, &addend, rows, groups);
  tile.first = tile.compute - tile.last;
  tile.behind = load_behind(engine, groups, tile.compute);
  return tile;
}

/** Macro-tiles of D, row by row, of at most four sizes. */
typedef struct {
  tile_t at[2][2];             ///< whole and at the lower edge, by whole and at the right edge
  int64_t down[2], across[2];  ///< how many of each
} tiles_t;

// Returns the cycles from the beginning of a tile's last chunk to that of the next tile, if all
// sums are in one bank: the next tile waits for the drain, which begins with a row of sub-tiles,
// and for the computation in between.
static double step_of(const tile_t *tile, const tile_t *next) {
  return fmax(tile->row + tile->output, tile->last + next->first);
}

// Returns the cycles from the beginning of the first tile to the end of the last one's computation,
// if all sums are in one bank, without the drain of the last tile, which nothing hides.
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

// Returns the bytes of the codes of a chunk, or of a row of a macro-tile.
static double burst_of(const engine_t *engine) {
  const ufp4_configuration_t *core = engine->core;
  const int64_t cols = (int64_t)core->cols * core->tile_cols, n = engine->gemm->n;
  const int64_t row = row_bytes(engine, n < cols ? n : cols, engine->gemm->d_bytes);
  return (double)(row > core->chunk * UFP4_PANEL_CODE_BYTES ? row
                                                            : core->chunk * UFP4_PANEL_CODE_BYTES);
}

bounds_t bounds_of(const ufp4_configuration_t *core, bounds_memory_t memory,
                   const bounds_gemm_t *gemm) {
  const engine_t engine = engine_of(core, memory, gemm);
  const tiles_t tiles = tiles_of(&engine);
  bounds_t all = {.compute = 0};
  double turns = 0;
  for (int i = 0; i < 4; i++) {
    const tile_t *tile = &tiles.at[i / 2][i % 2];
    const double times = (double)(tiles.down[i / 2] * tiles.across[i % 2]);
    all.compute += times * tile->compute;
    all.load += times * tile->load;
    all.output += times * tile->output;
    all.array += times * fmax(tile->compute, tile->behind);
    turns += times * tile->turns;
    all.read += times * tile->read / memory.bytes;
    all.write += times * tile->write / memory.bytes;
    all.operand_bytes += times * tile->units * (UFP4_PANEL_CODE_BYTES + UFP4_PANEL_SCALE_BYTES);
  }
  all.array = fmax(all.array, turns);
  all.burst = burst_of(&engine) / memory.bytes;
  all.ahead = fmin(all.read, 2 * GROUPS_ASKED * all.burst);  // codes, and fewer scales
  if (engine.chunks > 1) all.array = fmax(all.array, one_bank(&tiles));
  return all;
}

double bounds_most(const bounds_t *bounds) {
  const double port = fmax(bounds->load, bounds->output);
  return fmax(fmax(bounds->array, port), fmax(bounds->read, bounds->write));
}

const char *bounds_by(const bounds_t *bounds) {
  const double port = fmax(bounds->load, bounds->output);
  if (fmax(bounds->read, bounds->write) > fmax(bounds->array, port)) return "memory";
  if (bounds->compute >= port) return "compute";
  return bounds->load >= bounds->output ? "load" : "output";
}

double bounds_percent(const ufp4_configuration_t *core, const bounds_t *bounds,
                      const bounds_gemm_t *gemm) {
  const double peak = (double)core->lanes * core->rows * core->cols;
  return 100.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k / (peak * bounds_most(bounds));
}
