// SPDX-License-Identifier: Apache-2.0
// Decides which recipes a core runs entirely by descriptors, both copies and products.
#include <stdarg.h>
#include <stdio.h>

#include "base/names.h"
#include "job/check.h"
#include "port/backend.h"

static ufp4_status_t refuse(ufp4_message_t *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static ufp4_status_t refuse(ufp4_message_t *why, const char *format, ...) {
  va_list arguments;
  if (why == NULL) return UFP4_ERROR_UNSUPPORTED;
  va_start(arguments, format);
  vsnprintf(why->text, sizeof why->text, format, arguments);
  va_end(arguments);
  return UFP4_ERROR_UNSUPPORTED;
}

/** How the passes use a tensor: copies by axis, whether a copy is transformed, whether a backward
 * pass reads it. */
typedef struct {
  int copies[2], transformed, backward;
} use_t;

static use_t use_of(const ufp4_recipe_t *recipe, unsigned passes, int role) {
  use_t use = {{0, 0}, 0, 0};
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    for (int i = 0; i < 2 && (passes >> pass & 1); i++) {
      if ((int)roles[i] != role) continue;
      use.backward |= pass != UFP4_PASS_FPROP;
      if (!ufp4_recipe_quantizes(recipe, (ufp4_pass_t)pass)) continue;
      use.copies[axes[i]] = 1;
      use.transformed |= recipe->rht[pass] != UFP4_RHT_NONE;
    }
  }
  return use;
}

static ufp4_status_t check_tensor(const ufp4_recipe_t *recipe, unsigned passes, int role,
                                  ufp4_message_t *why) {
  static const char *const names[UFP4_ROLE_COUNT] = {"X", "W", "dY"};
  const use_t use = use_of(recipe, passes, role);
  if (recipe->requantize && role != UFP4_ROLE_DY && use.backward)
    return refuse(
        why, "with requantize the host quantizes %s for the backward passes, from FPROP's copy",
        names[role]);
  if (!use.copies[0] && !use.copies[1]) return UFP4_OK;
  if (recipe->layout[role] != UFP4_LAYOUT_1D)
    return refuse(why, "QUANT does not make the 2D scales (16 x 16 blocks) of %s", names[role]);
  if (use.transformed && recipe->scale == UFP4_SCALE_E8M0)
    return refuse(why, "QUANT does not transform blocks of 32 with E8M0 scales");
  if (use.copies[0] && use.copies[1] &&
      (recipe->round[role][0] != recipe->round[role][1] ||
       recipe->scale_round[role][0] != recipe->scale_round[role][1]))
    return refuse(why, "the two copies of %s are rounded differently, and QUANT rounds both alike",
                  names[role]);
  return UFP4_OK;
}

ufp4_status_t ufp4_recipe_on_core(const ufp4_recipe_t *recipe, unsigned passes,
                                  const ufp4_configuration_t *core, ufp4_message_t *why) {
  if (recipe == NULL || core == NULL || passes > UFP4_PASSES_ALL) return UFP4_ERROR_ARGUMENT;
  if (!recipe->quantized)
    return refuse(why, "the recipe does not quantize, so the host multiplies");
  if (recipe->block > 16 && recipe->scale == UFP4_SCALE_E4M3)
    return refuse(why, "no core supports blocks of %d", recipe->block);
  if (recipe->rht_size > 16)
    return refuse(why, "no core supports a transform of %d points", recipe->rht_size);
  if (!core->quant) return refuse(why, "%s has no QUANT engine", core->name);
  if (recipe->scale != UFP4_SCALE_E4M3 && recipe->scale != UFP4_SCALE_E8M0)
    return refuse(why, "QUANT does not make %s scales, only the host does",
                  scale_names[recipe->scale]);
  if (recipe->contract != core->contract)
    return refuse(why, "the recipe needs contract %s, but %s has contract %s",
                  contract_names[recipe->contract], core->name, contract_names[core->contract]);
  if (!configuration_multiplies(core, recipe->elem))
    return refuse(why, "%s does not multiply %s", core->name, elem_names[recipe->elem]);
  if (recipe->elem == UFP4_ELEM_MIXED && !core->mixed)
    return refuse(
        why,
        "QUANT of %s does not make mixed elements; a core with mixed=1, such as small-mixed, does",
        core->name);
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if ((passes >> pass & 1) && recipe->rht[pass] == UFP4_RHT_BF16)
      return refuse(why, "the recipe's transform rounds to BF16, which QUANT does not do");
  }
  for (int role = 0; role < UFP4_ROLE_COUNT; role++) {
    ufp4_status_t status = check_tensor(recipe, passes, role, why);
    if (status != UFP4_OK) return status;
  }
  return UFP4_OK;
}
