// SPDX-License-Identifier: Apache-2.0
// ufp4 quantize: on the host, by the golden model.
#include <stdio.h>
#include <string.h>

#include "frame/cli.h"

static int run(int argc, char **argv);
const cli_command_t cli_quantize = {
    .name = "quantize",
    .arguments = "IN -o Q.safetensors [options]",
    .summary = "Quantizes a tensor to 4 bits, as a recipe does for one GEMM or as told by parts.",
    .example = "ufp4 quantize X.npy -o X.safetensors --recipe ufp4 --role x --pass fprop",
    .run = run,
    .details = cli_recipe_details,
};

// Every choice as the user gave it: the index of its word, NOT_GIVEN where nothing was said.
enum { NOT_GIVEN = -1 };
typedef struct {
  const char *output, *recipe;
  // The words of the options stand in the order of the enumerations.
  int role, pass, elem, scale, layout, axis, rht, round, scale_round, packed, bf16;
  uint64_t block, rht_mask, seed, tensor_id;
  int64_t exponent;
  int mask_given, id_given, exponent_given;
} choices_t;

static choices_t choices_default(void) {
  return (choices_t){.role = NOT_GIVEN,
                     .pass = NOT_GIVEN,
                     .elem = NOT_GIVEN,
                     .scale = NOT_GIVEN,
                     .layout = NOT_GIVEN,
                     .axis = NOT_GIVEN,
                     .rht = NOT_GIVEN,
                     .round = NOT_GIVEN,
                     .scale_round = NOT_GIVEN,
                     .rht_mask = UFP4_RHT_DEFAULT_MASK};
}

static void add_options(cli_options_t *options, choices_t *c) {
  cli_option_add(options, "o", CLI_TEXT, &c->output, "Q.safetensors", "the quantized tensor");
  cli_option_add(options, "recipe", CLI_TEXT, &c->recipe, "R",
                 "as this recipe does, with --role and --pass");
  cli_option_add(options, "role", CLI_CHOICE, &c->role, "x|w|dy",
                 "which operand of the layer this is");
  cli_option_add(options, "pass", CLI_CHOICE, &c->pass, "fprop|dgrad|wgrad", "for which GEMM");
  cli_option_add(options, "elem", CLI_CHOICE, &c->elem, "e2m1|e1m2|int4", "element format");
  cli_option_add(options, "scale", CLI_CHOICE, &c->scale, "e4m3|nvfp4|e8m0|fp32",
                 "block scale (default e4m3)");
  cli_option_add(options, "block", CLI_UINT, &c->block, "16|32", "block size (that of the scale)");
  cli_option_add(options, "layout", CLI_CHOICE, &c->layout, "1d|2d",
                 "blocks of a row, or 16x16 (default 1d)");
  cli_option_add(options, "axis", CLI_CHOICE, &c->axis, "row|col",
                 "col: of the transposed tensor (default row)");
  cli_option_add(options, "rht", CLI_CHOICE, &c->rht, "off|on|bf16",
                 "Hadamard transform first (default off); recipes call them none, integer, bf16");
  cli_option_add(options, "rht-mask", CLI_UINT, &c->rht_mask, "MASK", "its signs (default 0xD7E8)");
  cli_option_add(options, "round", CLI_CHOICE, &c->round, "rne|sr",
                 "nearest even (default) or stochastic");
  cli_option_add(options, "scale-round", CLI_CHOICE, &c->scale_round, "rne|up|down|46",
                 "of the scales");
  cli_option_add(options, "seed", CLI_UINT, &c->seed, "N", "key of the random bytes (default 0)");
  cli_option_add(options, "tensor-id", CLI_UINT, &c->tensor_id, "N",
                 "their stream (default: by role and axis, or 0)");
  cli_option_add(options, "tensor-exponent", CLI_INT, &c->exponent, "T",
                 "t given from outside (default: from the data)");
  cli_option_add(options, "packed", CLI_FLAG, &c->packed, NULL, "write two codes per byte");
  cli_option_add(options, "bf16", CLI_FLAG, &c->bf16, NULL,
                 "uint16 elements of IN are BF16 patterns");
}

// --- What a recipe says -------------------------------------------------------------------------

// The axis along which a role is blocked in a pass; NOT_GIVEN if it does not enter that pass.
static int axis_in_pass(int role, int pass) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
  for (int i = 0; i < 2; i++) {
    if ((int)roles[i] == role) return (int)axes[i];
  }
  return NOT_GIVEN;
}

static void fill_in(int *choice, int value) {
  if (*choice == NOT_GIVEN) *choice = value;
}

static int apply_recipe(choices_t *c) {
  ufp4_recipe_t recipe;
  if (c->role == NOT_GIVEN || c->pass == NOT_GIVEN) {
    return cli_fail(&cli_quantize, CLI_USAGE, "--recipe needs --role and --pass beside it");
  }
  int end = cli_recipe_of_one(&cli_quantize, c->recipe, &recipe);
  if (end != CLI_GO_ON) return end;
  if (!recipe.quantized)
    return cli_fail(&cli_quantize, CLI_USAGE, "--recipe %s does not quantize", recipe.name);
  int axis = axis_in_pass(c->role, c->pass);
  if (axis == NOT_GIVEN) {
    return cli_fail(&cli_quantize, CLI_USAGE,
                    "--role and --pass: fprop takes x and w, dgrad dy and w, wgrad dy and x");
  }
  if (!ufp4_recipe_quantizes(&recipe, (ufp4_pass_t)c->pass)) {
    return cli_fail(&cli_quantize, CLI_USAGE, "--recipe %s computes this pass in BF16",
                    recipe.name);
  }
  if (recipe.requantize && c->role != UFP4_ROLE_DY && c->pass != UFP4_PASS_FPROP) {
    return cli_fail(&cli_quantize, CLI_USAGE,
                    "--recipe %s makes this copy from FPROP's (requantize), as layer does",
                    recipe.name);
  }
  if (c->axis != NOT_GIVEN && c->axis != axis) {
    return cli_fail(&cli_quantize, CLI_USAGE,
                    "--axis: this role is blocked along the other axis in this pass");
  }
  ufp4_quantize_t how = ufp4_recipe_quantize(&recipe, (ufp4_role_t)c->role, (ufp4_axis_t)axis);
  c->axis = axis;
  fill_in(&c->elem, (int)how.elem);
  fill_in(&c->scale, (int)how.scale);
  fill_in(&c->layout, (int)how.layout);
  fill_in(&c->rht, (int)how.rht);
  fill_in(&c->round, (int)how.round);
  if (c->scale == (int)how.scale) fill_in(&c->scale_round, (int)how.scale_round);
  if (!c->mask_given) c->rht_mask = how.rht_mask;
  if (!c->id_given) c->tensor_id = ufp4_tensor_id(0, 0, (unsigned)c->role, (unsigned)axis);
  return CLI_GO_ON;
}

static int apply_defaults(choices_t *c) {
  if (c->recipe == NULL && (c->role != NOT_GIVEN || c->pass != NOT_GIVEN)) {
    return cli_fail(&cli_quantize, CLI_USAGE, "--role and --pass go with --recipe");
  }
  if (c->recipe == NULL && c->elem == NOT_GIVEN) {
    return cli_fail(&cli_quantize, CLI_USAGE, "give --recipe with --role and --pass, or --elem");
  }
  fill_in(&c->scale, UFP4_SCALE_E4M3);
  fill_in(&c->scale_round,
          c->scale == UFP4_SCALE_E8M0 ? UFP4_SCALE_ROUND_DOWN : UFP4_SCALE_ROUND_RNE);
  fill_in(&c->layout, UFP4_LAYOUT_1D);
  fill_in(&c->axis, UFP4_AXIS_ROW);
  fill_in(&c->rht, UFP4_RHT_NONE);
  fill_in(&c->round, UFP4_ROUND_RNE);
  return CLI_GO_ON;
}

static ufp4_quantize_t how_from(const choices_t *c) {
  return (ufp4_quantize_t){.elem = (ufp4_elem_t)c->elem,
                           .scale = (ufp4_scale_t)c->scale,
                           .axis = (ufp4_axis_t)c->axis,
                           .layout = (ufp4_layout_t)c->layout,
                           .rht = (ufp4_rht_t)c->rht,
                           .rht_mask = (uint16_t)c->rht_mask,
                           .round = (ufp4_round_t)c->round,
                           .scale_round = (ufp4_scale_round_t)c->scale_round,
                           .seed = c->seed,
                           .tensor_id = c->tensor_id,
                           .exponent_given = c->exponent_given,
                           .exponent = (int)c->exponent,
                           .kernel = cli_kernel()};
}

// Ranges, and the combination of all choices.
static int check(const choices_t *c) {
  ufp4_message_t message = {0};
  if (c->exponent_given && (c->exponent < INT16_MIN || c->exponent > INT16_MAX)) {
    return cli_fail(&cli_quantize, CLI_USAGE, "--tensor-exponent goes from -32768 to 32767");
  }
  if (c->rht_mask > 0xFFFF) return cli_fail(&cli_quantize, CLI_USAGE, "--rht-mask has 16 bits");
  if (c->mask_given && c->recipe == NULL && c->rht == UFP4_RHT_NONE) {
    return cli_fail(&cli_quantize, CLI_USAGE,
                    "--rht-mask gives the signs of a transform; there is none without --rht");
  }
  if (c->block > INT16_MAX)
    return cli_fail(&cli_quantize, CLI_USAGE, "--block is 16 or 32, that of the scale");
  const ufp4_quantize_t how = how_from(c);
  ufp4_status_t status = ufp4_combination_quantize(&how, (int)c->block, "model", &message);
  return status == UFP4_OK ? CLI_GO_ON : cli_fail_status(&cli_quantize, status, message.text);
}

static int quantize_file(const char *input, const choices_t *c) {
  ufp4_tensor_t tensor;
  ufp4_operand_t operand = {0};
  ufp4_message_t message = {0};
  int end = cli_tensor_read(&cli_quantize, input, c->bf16, &tensor);
  if (end != CLI_GO_ON) return end;
  end = cli_tensor_sides(&cli_quantize, input, &tensor);
  ufp4_quantize_t how = how_from(c);
  ufp4_status_t status = end == CLI_GO_ON ? ufp4_quantize(&tensor.view, &how, &operand) : UFP4_OK;
  ufp4_tensor_free(&tensor);
  if (end != CLI_GO_ON) return end;
  if (status != UFP4_OK) ufp4_message_set(&message, "%s: %s", input, ufp4_status_string(status));
  if (status == UFP4_OK)
    status = ufp4_operand_write(c->output, &operand, &how, c->packed, &message);
  if (status == UFP4_OK && (operand.flags & UFP4_FLAG_NAN)) {
    fprintf(stderr,
            "ufp4 quantize: %s holds NaN, Inf or numbers beyond FP32; the scales of those blocks "
            "are NaN\n",
            input);
  }
  ufp4_operand_free(&operand);
  return status == UFP4_OK ? CLI_OK : cli_fail_status(&cli_quantize, status, message.text);
}

static int run(int argc, char **argv) {
  choices_t choices = choices_default();
  cli_options_t options = {0};
  char **inputs;
  add_options(&options, &choices);
  int end = cli_parse(&cli_quantize, &options, argc, argv, 1, 1, &inputs, NULL);
  choices.mask_given = cli_option_given(&options, "rht-mask");
  choices.id_given = cli_option_given(&options, "tensor-id");
  choices.exponent_given = cli_option_given(&options, "tensor-exponent");
  if (end == CLI_GO_ON && choices.output == NULL)
    end = cli_fail(&cli_quantize, CLI_USAGE, "-o Q.safetensors is missing");
  if (end == CLI_GO_ON && choices.recipe != NULL) end = apply_recipe(&choices);
  if (end == CLI_GO_ON) end = apply_defaults(&choices);
  if (end == CLI_GO_ON) end = check(&choices);
  if (end == CLI_GO_ON) {
    const char *const read[] = {inputs[0], choices.recipe};
    end = cli_output_file(&cli_quantize, choices.output, CLI_SAFETENSORS, read, 2);
  }
  return end == CLI_GO_ON ? quantize_file(inputs[0], &choices) : end;
}
