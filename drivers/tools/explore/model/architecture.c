// SPDX-License-Identifier: Apache-2.0
// Makes a model's layers from its architecture in a transformers configuration, and those of the
// built-in models.
//
// Sources: Radford et al. 2019 (GPT-2); Touvron et al. 2023, arXiv 2302.13971 and 2307.09288
// (Llama); Grattafiori et al. 2024, arXiv 2407.21783 (Llama 3); Jiang et al. 2024, arXiv 2401.04088
// (Mixtral 8x7B); DeepSeek-AI 2024, arXiv 2412.19437 (DeepSeek-V3); Dao and Gu 2024, arXiv
// 2405.21060 (Mamba-2).
#include "explore/model/architecture.h"

#include <string.h>

#include "explore/model/model.h"

#define SIZES(B, W, I, H, KV, D) \
  .blocks = B, .width = W, .inner = I, .heads = H, .kv_heads = KV, .head = D
static const architecture_t built_in[] = {
    {"gpt2", "GPT-2 124M: 12 blocks of width 768", SIZES(12, 768, 3072, 12, 12, 64), .plain = 1},
    {"llama-7b", "32 blocks of width 4096", SIZES(32, 4096, 11008, 32, 32, 128)},
    {"llama-70b", "Llama 2 70B: 80 blocks of width 8192, 8 heads of k and v",
     SIZES(80, 8192, 28672, 64, 8, 128)},
    {"llama-3-8b", "32 blocks of width 4096, 8 heads of k and v",
     SIZES(32, 4096, 14336, 32, 8, 128)},
    {"llama-3-70b", "80 blocks of width 8192, 8 heads of k and v",
     SIZES(80, 8192, 28672, 64, 8, 128)},
    {"moe", "Mixtral 8x7B, by an older name", SIZES(32, 4096, 14336, 32, 8, 128), .experts = 8,
     .chosen = 2},
    {"mixtral-8x7b", "32 blocks, 2 of 8 experts a token, tokens split evenly",
     SIZES(32, 4096, 14336, 32, 8, 128), .experts = 8, .chosen = 2},
    {"deepseek-v3-like", "61 blocks, all with 8 of 256 experts and a shared one",
     SIZES(61, 7168, 2048, 128, 128, 192), .experts = 256, .chosen = 8, .shared = 2048,
     .q_rank = 1536, .kv_rank = 512, .rope = 64, .v_head = 128},
    {"mamba-2", "Mamba-2 2.7B: 64 blocks of width 2560", SIZES(64, 2560, 5120, 80, 0, 64),
     .state = 128, .groups = 1},
};
enum { BUILT_IN = sizeof built_in / sizeof *built_in };

void explore_architecture_details(FILE *out) {
  for (int i = 0; i < BUILT_IN; i++)
    fprintf(out, "  %-17s %s\n", built_in[i].name, built_in[i].what);
}

// --- Layers -------------------------------------------------------------------------------------

static explore_layer_t *add(explore_model_t *model, const char *name, explore_kind_t kind,
                            int64_t cin, int64_t cout) {
  explore_layer_t *layer = &model->layers[model->layer_count++];
  *layer = (explore_layer_t){.kind = kind, .cin = cin, .cout = cout, .count = 1, .group = 1};
  layer->tokens_of = layer->tokens_by = 1;
  snprintf(layer->name, sizeof layer->name, "%s", name);
  return layer;
}

// Sets how chips share a layer.
static void share(explore_layer_t *layer, explore_share_t how, int64_t parts) {
  layer->share = how;
  layer->parts = parts;
}

// Adds attention's own products. Query heads that share a head of k and v have one product.
static void add_products(const architecture_t *a, int64_t v_head, explore_model_t *model) {
  const int64_t shared = a->heads / a->kv_heads;
  const struct {
    const char *name;
    explore_kind_t kind;
    int64_t cin, cout;
  } parts[] = {{"scores", EXPLORE_BF16, a->head, EXPLORE_SEQUENCE},
               {"softmax", EXPLORE_HOST, EXPLORE_SEQUENCE, EXPLORE_SEQUENCE},
               {"values", EXPLORE_BF16, EXPLORE_SEQUENCE, v_head}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    explore_layer_t *layer = add(model, parts[i].name, parts[i].kind, parts[i].cin, parts[i].cout);
    layer->count = a->kv_heads;
    layer->group = shared;
    share(layer, EXPLORE_HEADS, a->kv_heads);
  }
}

static void add_attention(const architecture_t *a, explore_model_t *model) {
  const int64_t v_head = a->v_head != 0 ? a->v_head : a->head;
  add(model, "norm1", EXPLORE_HOST, a->width, a->width);
  if (a->kv_rank != 0) {
    // The first layers of q and of k and v read the same tensor.
    const int64_t q_in = a->q_rank != 0 ? a->q_rank : a->width, q_out = a->heads * a->head;
    const int64_t first = a->kv_rank + a->rope + (a->q_rank != 0 ? a->q_rank : q_out);
    add(model, "qkv_a", EXPLORE_LINEAR, a->width, first);
    if (a->q_rank != 0)
      share(add(model, "q_b", EXPLORE_LINEAR, q_in, q_out), EXPLORE_COLUMNS, a->heads);
    share(add(model, "kv_b", EXPLORE_LINEAR, a->kv_rank, a->heads * (a->head - a->rope + v_head)),
          EXPLORE_COLUMNS, a->heads);
  } else {
    const int64_t heads = (a->gated ? 2 : 1) * a->heads + 2 * a->kv_heads;
    share(add(model, "qkv", EXPLORE_LINEAR, a->width, heads * a->head), EXPLORE_COLUMNS,
          a->kv_heads);
  }
  add_products(a, v_head, model);
  share(add(model, a->plain ? "proj" : "o", EXPLORE_LINEAR, a->heads * v_head, a->width),
        EXPLORE_ROWS, a->heads);
}

// Adds the layers of @p count MLPs. @p prefix begins their names; it is "shared_" for experts that
// all tokens use.
static void add_mlp(const architecture_t *a, const char *prefix, int64_t inner, int64_t count,
                    int64_t of, explore_model_t *model) {
  char name[EXPLORE_NAME];
  const struct {
    const char *gated, *plain;
    explore_kind_t kind;
    int64_t cin, cout;
  } parts[] = {{"gate_up", "fc1", EXPLORE_LINEAR, a->width, (a->plain ? 1 : 2) * inner},
               {"act", "act", EXPLORE_HOST, (a->plain ? 1 : 2) * inner, inner},
               {"down", "fc2", EXPLORE_LINEAR, inner, a->width}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    snprintf(name, sizeof name, "%s%s", prefix, a->plain ? parts[i].plain : parts[i].gated);
    explore_layer_t *layer = add(model, name, parts[i].kind, parts[i].cin, parts[i].cout);
    layer->count = count;
    layer->tokens_of = of;
    layer->tokens_by = count;
    layer->joined = *prefix == 's';
    share(layer, i == 0 ? EXPLORE_COLUMNS : EXPLORE_ROWS, inner);
  }
}

// Adds a kind of blocks to the model. Only blocks of this kind have the layers from @p from on.
static void belong(explore_model_t *model, int from, const char *name, int64_t blocks) {
  for (int i = from; i < model->layer_count; i++) model->layers[i].kinds = 1u << model->kind_count;
  model->kinds[model->kind_count++] = (explore_blocks_t){name, blocks};
}

static void add_experts(const architecture_t *a, explore_model_t *model) {
  add(model, "router", EXPLORE_BF16, a->width, a->experts);
  add_mlp(a, "", a->inner, a->experts, a->chosen, model);
  if (a->shared != 0) add_mlp(a, "shared_", a->shared, 1, 1, model);
}

// Dense blocks, if there are any, come first.
static void add_inner(const architecture_t *a, explore_model_t *model) {
  add(model, "norm2", EXPLORE_HOST, a->width, a->width);
  int from = model->layer_count;
  if (a->experts == 0) add_mlp(a, "", a->inner, 1, 1, model);
  if (a->dense != 0) {
    add_mlp(a, "dense_", a->dense_inner, 1, 1, model);
    belong(model, from, "block_dense", a->dense);
    from = model->layer_count;
  }
  if (a->experts != 0) add_experts(a, model);
  if (a->dense != 0) belong(model, from, "block_experts", a->blocks - a->dense);
}

// Adds projections in and out; the host computes convolution, scan and gate between them.
static void add_mamba(const architecture_t *a, explore_model_t *model) {
  const int64_t mixed = a->inner + 2 * a->groups * a->state;
  add(model, "norm", EXPLORE_HOST, a->width, a->width);
  share(add(model, "in_proj", EXPLORE_LINEAR, a->width, a->inner + mixed + a->heads),
        EXPLORE_COLUMNS, a->groups);
  add(model, "conv", EXPLORE_HOST, mixed, mixed);
  add(model, "scan", EXPLORE_HOST, mixed + a->heads, a->inner);
  add(model, "gate", EXPLORE_HOST, 2 * a->inner, a->inner);
  share(add(model, "out_proj", EXPLORE_LINEAR, a->inner, a->width), EXPLORE_ROWS, a->groups);
}

// Adds a gated delta net: projections of q, k, v and its gate, and two numbers per head of v, from
// one tensor, and one projection out; the host computes convolution, scan and gate between them.
static void add_delta(const architecture_t *a, explore_model_t *model) {
  const int64_t v = a->values * a->value_head, mixed = 2 * a->keys * a->key_head + v;
  add(model, "delta_norm", EXPLORE_HOST, a->width, a->width);
  share(add(model, "delta_in", EXPLORE_LINEAR, a->width, mixed + v + 2 * a->values),
        EXPLORE_COLUMNS, a->keys);
  add(model, "delta_conv", EXPLORE_HOST, mixed, mixed);
  add(model, "delta_scan", EXPLORE_HOST, mixed + 2 * a->values, v);
  add(model, "delta_gate", EXPLORE_HOST, 2 * v, v);
  share(add(model, "delta_out", EXPLORE_LINEAR, v, a->width), EXPLORE_ROWS, a->keys);
}

// Every n-th block has attention.
static void add_mixers(const architecture_t *a, explore_model_t *model) {
  const int64_t full = a->values != 0 ? a->blocks / a->every : a->blocks, rest = a->blocks - full;
  if (rest != 0) add_delta(a, model);
  if (rest != 0 && full != 0) belong(model, 0, "block_delta", rest);
  const int from = model->layer_count;
  if (full != 0) add_attention(a, model);
  if (rest != 0 && full != 0) belong(model, from, "block_full", full);
}

void explore_build(const architecture_t *a, explore_model_t *model) {
  memset(model, 0, sizeof *model);
  snprintf(model->name, sizeof model->name, "%s", a->name);
  model->blocks = a->blocks;
  if (a->state != 0) {
    add_mamba(a, model);
    return;
  }
  model->every = a->every;
  add_mixers(a, model);
  add_inner(a, model);
  if (model->kind_count == 0) model->every = 0;
}

int explore_architecture(const char *name, explore_model_t *model) {
  for (int i = 0; i < BUILT_IN; i++) {
    if (strcmp(name, built_in[i].name) != 0) continue;
    explore_build(&built_in[i], model);
    return 1;
  }
  return 0;
}
