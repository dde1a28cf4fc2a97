// SPDX-License-Identifier: Apache-2.0
// Searches a table of legal combinations: each value in turn narrows the set of rows that fit. The
// value at which no row is left is reported as the error, and the rows left before it give the
// values that would be legal.
#include "ufp4/combination.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "ufp4/format.h"

static const ufp4_quantize_combination_t quantize_rows[] = UFP4_QUANTIZE_COMBINATIONS;
static const ufp4_gemm_combination_t gemm_rows[] = UFP4_GEMM_COMBINATIONS;
static const int blocks[UFP4_BLOCK_COUNT] = UFP4_BLOCKS;
// The words of recipes, and those of the options of the program and of Python.
static const char *const rht_words[UFP4_RHT_COUNT] = {"none (off)", "integer (on)", "bf16"};
static const int rht_sizes[UFP4_RHT_SIZE_COUNT] = UFP4_RHT_SIZES;
static const unsigned backend_classes[UFP4_BACKEND_COUNT] = UFP4_BACKEND_CLASSES;

static_assert(UFP4_QUANTIZE_COMBINATION_COUNT <= 32 && UFP4_GEMM_COMBINATION_COUNT <= 32,
              "a bit for each row");

// A table and the rows of it that are left. Cells are sets of values, one bit each, except that the
// scale is a number.
typedef struct {
  const void *rows;
  size_t row_bytes;
  unsigned count;
  uint32_t left;  // rows that fit all values so far, one bit each
  unsigned scale_value;
  const char *scale;
  ufp4_message_t *message;
} search_t;

// A value, and the offset of its set in a row.
typedef struct {
  const char *what;
  const char *const *names;
  unsigned count, value;
  size_t offset;
  int number;  // the given number, if only some numbers have names
} field_t;

static unsigned cell(const search_t *search, unsigned row, size_t offset) {
  unsigned value;
  memcpy(&value, (const char *)search->rows + row * search->row_bytes + offset, sizeof value);
  return value;
}

// Returns the set of values that the remaining rows allow.
static unsigned values_left(const search_t *search, size_t offset) {
  unsigned set = 0;
  for (unsigned r = 0; r < search->count; r++)
    set |= search->left >> r & 1 ? cell(search, r, offset) : 0;
  return set;
}

// Formats "a, b or c".
static void list_names(unsigned set, const char *const *names, unsigned count, char *text,
                       size_t size) {
  size_t used = 0;
  for (unsigned v = 0; v < count && used < size; v++) {
    if ((set >> v & 1) == 0) continue;
    const char *before = used == 0 ? "" : set >> v > 1 ? ", " : " or ";
    used += (size_t)snprintf(text + used, size - used, "%s%s", before, names[v]);
  }
}

static uint32_t rows_of_scale(const search_t *search) {
  uint32_t rows = 0;
  for (unsigned r = 0; r < search->count; r++)
    rows |= (uint32_t)(cell(search, r, 0) == search->scale_value) << r;
  return rows;
}

static ufp4_status_t start(search_t *search, unsigned scale) {
  if (scale >= UFP4_SCALE_COUNT) {
    ufp4_message_set(search->message, "scale is %u; it must be a value of ufp4_scale_t", scale);
    return UFP4_ERROR_ARGUMENT;
  }
  search->scale_value = scale;
  search->scale = scale_names[scale];
  search->left = rows_of_scale(search);
  return UFP4_OK;
}

// Returns whether a row allows the values of all fields before @p end, except that of @p except.
static int row_allows(const search_t *search, unsigned row, const field_t *fields,
                      const field_t *end, const field_t *except) {
  for (const field_t *field = fields; field < end; field++) {
    if (field != except && !(cell(search, row, field->offset) >> field->value & 1)) return 0;
  }
  return 1;
}

// Lists the fields before @p missing whose values exclude the remaining rows that allow its value:
// those that do so alone, or if there are none, all.
static void name_reasons(const search_t *own, const field_t *fields, const field_t *missing,
                         char *text, size_t size) {
  for (int alone = 1; alone >= 0; alone--) {
    size_t used = 0;
    text[0] = '\0';
    for (const field_t *field = fields; field < missing && used < size; field++) {
      unsigned matters = 0;
      for (unsigned r = 0; r < own->count; r++)
        matters |= own->left >> r & 1 & cell(own, r, missing->offset) >> missing->value &
                   ~(cell(own, r, field->offset) >> field->value) &
                   (unsigned)(!alone || row_allows(own, r, fields, missing, field));
      if (matters)
        used += (size_t)snprintf(text + used, size - used, ", %s %s", field->what,
                                 field->names[field->value]);
    }
    if (used != 0) return;
  }
}

// Returns the set of scales that allow the value of @p field and of all fields before it.
static unsigned other_scales(const search_t *search, const field_t *fields, const field_t *field) {
  unsigned scales = 0;
  for (unsigned r = 0; r < search->count; r++)
    scales |= (unsigned)row_allows(search, r, fields, field + 1, NULL) << cell(search, r, 0);
  return scales;
}

// Names @p field, the values before it that exclude its value, the values that are left, and if
// the scale alone excludes it, other scales.
static ufp4_status_t refuse(const search_t *search, const field_t *field, const field_t *before) {
  char right[64], rest[128] = "", given[16], scales[64] = "";
  const int named = field->value < field->count;
  search_t all = *search;
  all.left = rows_of_scale(search);
  list_names(values_left(search, field->offset), field->names, field->count, right, sizeof right);
  if (named) name_reasons(&all, before, field, rest, sizeof rest);
  if (named && rest[0] == '\0')
    list_names(other_scales(search, before, field), scale_names, UFP4_SCALE_COUNT, scales,
               sizeof scales);
  snprintf(given, sizeof given, "%d", field->number);
  ufp4_message_set(search->message, "%s %s does not work with scale %s%s; it must be %s%s%s%s",
                   field->what, named ? field->names[field->value] : given, search->scale, rest,
                   right, scales[0] != '\0' ? " (scale " : "", scales,
                   scales[0] != '\0' ? " allows it)" : "");
  return UFP4_ERROR_ARGUMENT;
}

// Keeps the rows that fit this value, too. If there is none, the message names the fields from @p
// before on that exclude it.
static ufp4_status_t narrow(search_t *search, const field_t *field, const field_t *before) {
  uint32_t fit = 0;
  for (unsigned r = 0; r < search->count && field->value < field->count; r++) {
    fit |= (search->left >> r & 1 & cell(search, r, field->offset) >> field->value) << r;
  }
  if (fit == 0) return refuse(search, field, before);
  search->left = fit;
  return UFP4_OK;
}

static ufp4_status_t narrow_all(search_t *search, unsigned scale, const field_t *fields,
                                unsigned count) {
  ufp4_status_t status = start(search, scale);
  for (unsigned i = 0; i < count && status == UFP4_OK; i++)
    status = narrow(search, &fields[i], fields);
  return status;
}

// Returns the class of a backend ("fpga:PORT" is the backend fpga), or the class with this name.
static unsigned find_class(const char *name) {
  const size_t length = strcspn(name, ":");
  const unsigned backend = names_find(name, length, backend_names, UFP4_BACKEND_COUNT);
  return backend < UFP4_BACKEND_COUNT
             ? backend_classes[backend]
             : names_find(name, length, backend_class_names, UFP4_BACKEND_CLASS_COUNT);
}

static unsigned backends_of(unsigned classes) {
  unsigned set = 0;
  for (unsigned i = 0; i < UFP4_BACKEND_COUNT; i++) set |= (classes >> backend_classes[i] & 1) << i;
  return set;
}

// Finds the first value that no row of the backend allows together with those before it, and in @p
// reasons those that exclude it. If no row has the scale, or the combination fails only as a whole,
// no single value is named.
static void name_missing(const search_t *search, const field_t *backend, const field_t *fields,
                         unsigned count, char *text, char *reasons, size_t size) {
  search_t own = *search;
  unsigned i = 0;
  own.left = 0;
  own.message = NULL;
  snprintf(text, size, "this combination");
  reasons[0] = '\0';
  if (start(&own, search->scale_value) != UFP4_OK || narrow(&own, backend, backend) != UFP4_OK)
    return;
  const search_t all = own;
  while (i < count && narrow(&own, &fields[i], &fields[i]) == UFP4_OK) i++;
  if (i == count) return;
  snprintf(text, size, "%s %s", fields[i].what, fields[i].names[fields[i].value]);
  name_reasons(&all, fields, &fields[i], reasons, size);
}

// The backend is checked last, because the combination may be legal elsewhere.
static ufp4_status_t check_backend(search_t *search, const char *backend, size_t offset,
                                   const field_t *fields, unsigned count) {
  if (backend == NULL) return UFP4_OK;
  const field_t field = {
      "backend", backend_class_names, UFP4_BACKEND_CLASS_COUNT, find_class(backend), offset, 0};
  if (field.value == UFP4_BACKEND_CLASS_COUNT) {
    ufp4_message_set(search->message,
                     "no backend is called '%s'; there are model, rtl, tlm, systemc, "
                     "systemc:timed, cuda, fpga:PORT and mmio:DEVICE",
                     backend);
    return UFP4_ERROR_ARGUMENT;
  }
  if (narrow(search, &field, &field) == UFP4_OK) return UFP4_OK;
  char right[64], missing[64], reasons[64];
  list_names(backends_of(values_left(search, offset)), backend_names, UFP4_BACKEND_COUNT, right,
             sizeof right);
  name_missing(search, &field, fields, count, missing, reasons, sizeof missing);
  ufp4_message_set(search->message, "backend %s does not support %s with scale %s%s; %s does",
                   backend, missing, search->scale, reasons, right);
  return UFP4_ERROR_UNSUPPORTED;
}

static unsigned find_size(int size, const int *sizes, unsigned count) {
  unsigned i = 0;
  while (i < count && sizes[i] != size) i++;
  return i;
}

int ufp4_how_block(const ufp4_quantize_t *how) {
  return how->block != 0 ? how->block : ufp4_scale_block(how->scale);
}

int ufp4_how_points(const ufp4_quantize_t *how) {
  return how->rht != UFP4_RHT_NONE && how->rht_size != 0 ? how->rht_size : 16;
}

static ufp4_status_t check_mask(const ufp4_quantize_t *how, ufp4_message_t *message) {
  const int points = ufp4_how_points(how);
  if (how->rht != UFP4_RHT_NONE && points < 64 && how->rht_mask >> points != 0) {
    ufp4_message_set(message, "the RHT mask 0x%llX has more bits than the transform's %d points",
                     (unsigned long long)how->rht_mask, points);
    return UFP4_ERROR_ARGUMENT;
  }
  return UFP4_OK;
}

static ufp4_status_t check_exponent(const ufp4_quantize_t *how, ufp4_message_t *message) {
  const char *scale = scale_names[how->scale];
  if (how->exponent_given && how->scale != UFP4_SCALE_E4M3) {
    ufp4_message_set(message, "scale %s has no tensor exponent; only scale e4m3 does", scale);
    return UFP4_ERROR_ARGUMENT;
  }
  return UFP4_OK;
}

#define OFFSET(type, member) offsetof(ufp4_##type##_combination_t, member)

ufp4_status_t ufp4_combination_quantize(const ufp4_quantize_t *how, int block, const char *backend,
                                        ufp4_message_t *message) {
  search_t search = {
      .rows = quantize_rows, .row_bytes = sizeof quantize_rows[0], .message = message};
  search.count = UFP4_QUANTIZE_COMBINATION_COUNT;
  if (how == NULL) return UFP4_ERROR_ARGUMENT;
  int own = block;
  if (own == 0 && (unsigned)how->scale < UFP4_SCALE_COUNT) own = ufp4_how_block(how);
  const field_t fields[] = {
      {"element", elem_names, UFP4_ELEM_KINDS, how->elem, OFFSET(quantize, elems), (int)how->elem},
      {"layout", layout_names, UFP4_LAYOUT_COUNT, how->layout, OFFSET(quantize, layouts),
       (int)how->layout},
      {"RHT", rht_words, UFP4_RHT_COUNT, how->rht, OFFSET(quantize, rhts), (int)how->rht},
      {"block", block_names, UFP4_BLOCK_COUNT, find_size(own, blocks, UFP4_BLOCK_COUNT),
       OFFSET(quantize, blocks), own},
      {"RHT size", rht_size_names, UFP4_RHT_SIZE_COUNT,
       find_size(ufp4_how_points(how), rht_sizes, UFP4_RHT_SIZE_COUNT), OFFSET(quantize, rht_sizes),
       ufp4_how_points(how)},
      {"scale rounding", scale_round_names, UFP4_SCALE_ROUND_COUNT, how->scale_round,
       OFFSET(quantize, scale_rounds), (int)how->scale_round},
  };
  const unsigned count = sizeof fields / sizeof fields[0];
  ufp4_status_t status = narrow_all(&search, how->scale, fields, count);
  if (status == UFP4_OK) status = check_exponent(how, message);
  if (status == UFP4_OK) status = check_mask(how, message);
  return status == UFP4_OK
             ? check_backend(&search, backend, OFFSET(quantize, backends), fields, count)
             : status;
}

ufp4_status_t ufp4_combination_gemm(ufp4_elem_t a, ufp4_elem_t b, ufp4_scale_t scale,
                                    ufp4_contract_t contract, const char *backend,
                                    ufp4_message_t *message) {
  search_t search = {.rows = gemm_rows, .row_bytes = sizeof gemm_rows[0], .message = message};
  search.count = UFP4_GEMM_COMBINATION_COUNT;
  const field_t fields[] = {
      {"contract", contract_names, UFP4_CONTRACT_COUNT, contract, OFFSET(gemm, contracts),
       (int)contract},
      {"element of A", elem_names, UFP4_ELEM_KINDS, a, OFFSET(gemm, elems), (int)a},
      {"element of B", elem_names, UFP4_ELEM_KINDS, b, OFFSET(gemm, elems), (int)b},
  };
  const unsigned count = sizeof fields / sizeof fields[0];
  ufp4_status_t status = narrow_all(&search, scale, fields, count);
  return status == UFP4_OK ? check_backend(&search, backend, OFFSET(gemm, backends), fields, count)
                           : status;
}
