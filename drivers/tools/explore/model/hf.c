// SPDX-License-Identifier: Apache-2.0
// Reads a model from config.json, for the families whose sizes are known exactly.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "explore/model/architecture.h"
#include "explore/plan.h"

/** Properties of a family's configuration: its keys, and how they are read. */
enum {
  PLAIN = 1 << 0,        ///< its MLP has no gate
  KV = 1 << 1,           ///< num_key_value_heads
  KV_OR_ALL = 1 << 2,    ///< num_key_value_heads, which defaults to the heads of q
  HEAD = 1 << 3,         ///< head_dim
  HEAD_OR = 1 << 4,      ///< head_dim, which defaults to width / heads
  FOURFOLD = 1 << 5,     ///< the MLP's width defaults to 4 width
  MULTI_QUERY = 1 << 6,  ///< multi_query, which defaults to true: one head of k and v
  FALCON = 1 << 7,       ///< new_decoder_architecture: num_kv_heads
  EXPERTS = 1 << 8,
  LATENT = 1 << 9,
  MAMBA_2 = 1 << 10,
  FIRST_DENSE = 1 << 11,   ///< blocks without experts by first_k_dense_replace and moe_layer_freq
  SOME_DENSE = 1 << 12,    ///< blocks without experts by decoder_sparse_step and mlp_only_layers
  SHARED = 1 << 13,        ///< an expert that every token sees
  SHARED_COUNT = 1 << 14,  ///< n_shared_experts such experts
  DELTA = 1 << 15,         ///< blocks with a gated delta net by full_attention_interval
  STEP_DENSE = 1 << 16     ///< blocks without experts by interleave_moe_layer_step
};

/** A supported model_type, whose sizes are known exactly. */
typedef struct {
  const char *type, *inner;  ///< inner: key of the MLP's width
  unsigned has;
} family_t;

static const char usual[] = "intermediate_size", of_experts[] = "moe_intermediate_size";
static const family_t families[] = {
    {"llama", usual, KV_OR_ALL | HEAD_OR},
    {"mistral", usual, KV | HEAD_OR},
    {"qwen2", usual, KV | HEAD_OR},
    {"qwen3", usual, KV | HEAD},
    {"gemma", usual, KV | HEAD},
    {"gemma2", usual, KV | HEAD},
    {"gemma3_text", usual, KV | HEAD},
    {"gpt2", "n_inner", PLAIN | FOURFOLD},
    {"gptj", "n_inner", PLAIN | FOURFOLD},
    {"gpt_neox", usual, PLAIN},
    {"gpt_bigcode", "n_inner", PLAIN | FOURFOLD | MULTI_QUERY},
    {"opt", "ffn_dim", PLAIN},
    {"bert", usual, PLAIN},
    {"bloom", "", PLAIN | FOURFOLD},
    {"phi3", usual, KV_OR_ALL | HEAD_OR},
    {"phi", usual, PLAIN | KV_OR_ALL | HEAD_OR},
    {"starcoder2", usual, PLAIN | KV | HEAD_OR},
    {"falcon", "ffn_hidden_size", PLAIN | FOURFOLD | MULTI_QUERY | FALCON},
    {"mixtral", usual, KV | HEAD_OR | EXPERTS},
    {"gpt_oss", usual, KV | HEAD | EXPERTS},
    {"glm4_moe", of_experts, KV | HEAD | EXPERTS | FIRST_DENSE | SHARED_COUNT},
    {"qwen2_moe", of_experts, KV | HEAD_OR | EXPERTS | SOME_DENSE | SHARED},
    {"qwen3_moe", of_experts, KV | HEAD | EXPERTS | SOME_DENSE},
    {"qwen3_next", of_experts, KV | HEAD | EXPERTS | SOME_DENSE | SHARED | DELTA},
    {"llama4_text", usual, KV | HEAD | EXPERTS | STEP_DENSE},
    {"deepseek_v2", of_experts, EXPERTS | LATENT | FIRST_DENSE},
    {"deepseek_v3", of_experts, EXPERTS | LATENT | FIRST_DENSE},
    {"mamba2", "", MAMBA_2},
};
enum { FAMILIES = sizeof families / sizeof *families };

static const family_t *find_family(const char *type) {
  for (int i = 0; i < FAMILIES; i++) {
    if (strcmp(type, families[i].type) == 0) return &families[i];
  }
  return NULL;
}

/** A configuration that is being read. */
typedef struct {
  const char *path;
  json_t *json;
  char fault[200];  ///< the first error
} reading_t;

static const char of_blocks[] = "num_hidden_layers/n_layer",
                  of_heads[] = "num_attention_heads/n_head",
                  of_width[] = "hidden_size/n_embd/n_embed",
                  experts_in_all[] = "num_local_experts/num_experts/n_routed_experts";

__attribute__((format(printf, 2, 3))) static int64_t fault(reading_t *r, const char *format, ...) {
  va_list values;
  va_start(values, format);
  if (r->fault[0] == '\0') vsnprintf(r->fault, sizeof r->fault, format, values);
  va_end(values);
  return 1;
}

// Returns the first of the @p names, separated by slashes, that is present and not null; NULL:
// none.
static const char *find(const reading_t *r, const char *names) {
  char copy[128], *rest = copy;
  snprintf(copy, sizeof copy, "%s", names);
  for (const char *name; (name = strsep(&rest, "/")) != NULL;) {
    void *at = json_object_iter_at(r->json, name);
    if (at != NULL && !json_is_null(json_object_iter_value(at))) return json_object_iter_key(at);
  }
  return NULL;
}

// Reads the first of the @p names that is present, which must be at least @p least; @p preset if
// none is, or if that is -1, an error.
static int64_t field(reading_t *r, const char *names, int64_t least, int64_t preset) {
  const char *name = find(r, names);
  if (name == NULL) return preset < 0 ? fault(r, "%s is missing or null", names) : preset;
  const json_t *value = json_object_get(r->json, name);
  const json_int_t number = json_integer_value(value);
  if (json_is_integer(value) && number >= least && number <= UFP4_MAX_DIM) return number;
  return fault(r, "%s is not a whole number from %lld to %d", name, (long long)least, UFP4_MAX_DIM);
}

// Reads a number that must be present; null means 0.
static int64_t field_or_none(reading_t *r, const char *name) {
  return json_is_null(json_object_get(r->json, name)) ? 0 : field(r, name, 0, -1);
}

// Reads a switch, which is @p preset if it is absent or null.
static int flag(reading_t *r, const char *name, int preset) {
  const json_t *value = json_object_get(r->json, name);
  if (value == NULL || json_is_null(value)) return preset;
  if (!json_is_boolean(value)) fault(r, "%s is not true or false", name);
  return json_is_true(value);
}

static void read_experts(reading_t *r, const family_t *family, architecture_t *a) {
  const unsigned has = family->has;
  a->experts = field(r, experts_in_all, has & (FIRST_DENSE | SOME_DENSE) ? 0 : 1, -1);
  a->chosen = field(r, "num_experts_per_tok", 0, -1);
  if (has & (LATENT | SHARED_COUNT)) a->shared = field_or_none(r, "n_shared_experts") * a->inner;
  if (has & SHARED) a->shared = field(r, "shared_expert_intermediate_size", 0, -1);
  if (a->experts != 0 && (a->chosen < 1 || a->chosen > a->experts))
    fault(r, "num_experts_per_tok is not from 1 to %s", find(r, experts_in_all));
}

// Returns whether the list of this name contains the number; a missing list is empty.
static int is_in(reading_t *r, const char *name, int64_t number) {
  const json_t *list = json_object_get(r->json, name), *value;
  size_t at;
  int found = 0, wrong = list != NULL && !json_is_null(list) && !json_is_array(list);
  json_array_foreach((json_t *)list, at, value) {
    wrong |= !json_is_integer(value);
    found |= json_integer_value(value) == number;
  }
  if (wrong) fault(r, "%s is not a list of whole numbers", name);
  return found;
}

// Handles blocks without experts, which have another MLP.
static void read_dense(reading_t *r, const family_t *family, architecture_t *a) {
  const int by_first = (family->has & FIRST_DENSE) != 0;
  const int64_t first = by_first ? field(r, "first_k_dense_replace", 0, -1) : 0;
  const int64_t step = field(r, by_first ? "moe_layer_freq" : "decoder_sparse_step", 1, 1);
  for (int64_t i = 0; i < a->blocks && r->fault[0] == '\0'; i++)
    a->dense += (!by_first && is_in(r, "mlp_only_layers", i)) || a->experts == 0 || i < first ||
                (by_first ? i : i + 1) % step != 0;
  if (a->dense == 0) return;
  a->dense_inner = field(r, usual, 1, -1);
  if (a->dense != a->blocks) return;
  a->inner = a->dense_inner;
  a->experts = a->chosen = a->shared = a->dense = 0;
}

// Handles models whose every n-th block has experts and one more that all tokens see; the other
// blocks have another MLP.
static void read_steps(reading_t *r, architecture_t *a) {
  const int64_t step = field(r, "interleave_moe_layer_step", 1, 1);
  const json_t *list = json_object_get(r->json, "moe_layers");
  int same = list == NULL || json_is_null(list);
  if (!same) same = (int64_t)json_array_size(list) == field(r, of_blocks, 1, -1) / step;
  for (size_t i = 0; same && i < json_array_size(list); i++)
    same = json_integer_value(json_array_get(list, i)) == (int64_t)(i + 1) * step - 1;
  if (!same) fault(r, "moe_layers does not match interleave_moe_layer_step");
  a->shared = a->inner;
  if (step == 1) return;
  a->every = step;
  a->dense = a->blocks - a->blocks / step;
  a->dense_inner = field(r, "intermediate_size_mlp", 1, -1);
  if (a->dense != a->blocks) return;
  a->inner = a->dense_inner;
  a->experts = a->chosen = a->shared = a->dense = a->every = 0;
}

// Handles models whose every n-th block has attention, with a gate.
static void read_delta(reading_t *r, architecture_t *a) {
  const json_t *types = json_object_get(r->json, "layer_types");
  a->every = field(r, "full_attention_interval", 1, 4);
  a->keys = field(r, "linear_num_key_heads", 1, -1);
  a->values = field(r, "linear_num_value_heads", 1, -1);
  a->key_head = field(r, "linear_key_head_dim", 1, -1);
  a->value_head = field(r, "linear_value_head_dim", 1, -1);
  a->gated = 1;
  if (a->values % a->keys != 0)
    fault(r, "linear_num_value_heads is not a multiple of linear_num_key_heads");
  for (size_t i = 0; i < json_array_size(types); i++) {
    const char *type = json_string_value(json_array_get(types, i)),
               *want = (i + 1) % (size_t)a->every == 0 ? "full_attention" : "linear_attention";
    if (type == NULL || strcmp(type, want) != 0)
      fault(r, "layer_types: entry %zu does not match full_attention_interval", i);
  }
}

static void read_latent(reading_t *r, architecture_t *a) {
  a->kv_heads = a->heads;
  a->kv_rank = field(r, "kv_lora_rank", 1, -1);
  a->q_rank = field_or_none(r, "q_lora_rank");
  a->rope = field(r, "qk_rope_head_dim", 0, -1);
  a->head = a->rope + field(r, "qk_nope_head_dim", 1, -1);
  a->v_head = field(r, "v_head_dim", 1, -1);
}

// Reads the number of heads of k and v from the family's field.
static void read_kv_heads(reading_t *r, unsigned has, architecture_t *a) {
  const char *name = has & FALCON ? "num_kv_heads" : "num_key_value_heads";
  const int one = has & MULTI_QUERY && flag(r, "multi_query", 1);
  const int newer = has & FALCON && flag(r, "new_decoder_architecture", 0);
  a->kv_heads = a->heads;
  if (has & (KV | KV_OR_ALL | FALCON)) a->kv_heads = field(r, name, 1, has & KV ? -1 : a->heads);
  if (one && !newer) a->kv_heads = 1;
  if (a->heads % a->kv_heads != 0) fault(r, "%s is not a multiple of %s", find(r, of_heads), name);
}

static void read_heads(reading_t *r, unsigned has, architecture_t *a) {
  read_kv_heads(r, has, a);
  if (has & HEAD || (has & HEAD_OR && find(r, "head_dim") != NULL)) {
    a->head = field(r, "head_dim", 1, -1);
    return;
  }
  a->head = a->width / a->heads;
  if (a->width % a->heads != 0)
    fault(r, "%s is not a multiple of %s", find(r, of_width), find(r, of_heads));
}

static void read_mamba(reading_t *r, architecture_t *a) {
  a->state = field(r, "state_size", 1, -1);
  a->inner = a->width * field(r, "expand", 1, 2);
  a->head = field(r, "head_dim", 1, 64);
  a->heads = a->inner / a->head;
  if (a->inner % a->head != 0)
    fault(r, "%s times expand is not a multiple of head_dim", find(r, of_width));
  a->groups = field(r, "n_groups", 1, -1);
}

/** Fields by which blocks could differ from each other, and the value with which they do not;
 * lists and texts must be empty. */
static const struct {
  const char *name;
  json_int_t alike;
  unsigned read;  ///< by families with this property
} patterns[] = {{"first_k_dense_replace", 0, FIRST_DENSE},
                {"moe_layer_freq", 1, FIRST_DENSE},
                {"decoder_sparse_step", 1, SOME_DENSE},
                {"mlp_only_layers", 0, SOME_DENSE},
                {"block_configs", 0, 0},
                {"cross_attention_layers", 0, 0},
                {"attn_layer_period", 1, 0},
                {"attn_layer_indices", 0, 0},
                {"hybrid_override_pattern", 0, 0},
                {"full_attention_interval", 1, DELTA}};

// Windows and chunks of attention do not change widths.
static int same_layers(const json_t *types) {
  size_t at;
  const json_t *type;
  json_array_foreach(types, at, type) {
    const char *name = json_string_value(type), *kind = name != NULL ? strchr(name, '_') : NULL;
    if (kind == NULL || strcmp(kind, "_attention") != 0 || strncmp(name, "linear", 6) == 0)
      return 0;
  }
  return 1;
}

// Returns a field by which the blocks differ in an unsupported way, or NULL.
static const char *unlike(const json_t *json, const family_t *family) {
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
    if (family->has & patterns[i].read) continue;
    const json_t *value = json_object_get(json, patterns[i].name);
    const char *text = json_string_value(value);
    const int alike = json_is_number(value) ? json_number_value(value) == (double)patterns[i].alike
                      : text != NULL        ? text[0] == '\0'
                                            : json_is_null(value) ||
                                           (json_is_array(value) && json_array_size(value) == 0);
    if (value != NULL && !alike) return patterns[i].name;
  }
  const int same = family->has & DELTA || same_layers(json_object_get(json, "layer_types"));
  return same ? NULL : "layer_types";
}

static void read_fields(reading_t *r, const family_t *family, int64_t blocks, architecture_t *a) {
  const unsigned has = family->has;
  const int64_t own = field(r, of_blocks, 1, -1);
  const json_t *types = json_object_get(r->json, "layer_types");
  if (types != NULL && !json_is_null(types) && !json_is_array(types))
    fault(r, "layer_types is not a list");
  a->blocks = blocks != 0 ? blocks : own;
  a->width = field(r, of_width, 1, -1);
  a->plain = has & PLAIN;
  if (has & MAMBA_2) {
    read_mamba(r, a);
    return;
  }
  a->inner = field(r, family->inner, 1, has & FOURFOLD ? 4 * a->width : -1);
  a->heads = field(r, of_heads, 1, -1);
  if (has & LATENT) {
    read_latent(r, a);
  } else {
    read_heads(r, has, a);
  }
  if (has & EXPERTS) read_experts(r, family, a);
  if (has & (FIRST_DENSE | SOME_DENSE)) read_dense(r, family, a);
  if (has & STEP_DENSE) read_steps(r, a);
  if (has & DELTA) read_delta(r, a);
  if (has & DELTA && a->dense != 0)
    fault(r, "its blocks are of more than two kinds, which explore does not support");
  if ((a->dense != 0 || a->every > 1) && blocks > own)
    fault(r, "--layers %lld: a model with two kinds of blocks can have at most its own %lld (%s)",
          (long long)blocks, (long long)own, find(r, of_blocks));
}

static int read_family(reading_t *r, int64_t blocks, architecture_t *a) {
  const char *type = json_string_value(json_object_get(r->json, "model_type"));
  if (type == NULL) return cli_fail(&cli_explore, CLI_USAGE, "%s: model_type is missing", r->path);
  const family_t *family = find_family(type);
  if (family == NULL)
    return cli_fail(&cli_explore, CLI_USAGE, "%s: model_type %.60s is not supported", r->path,
                    type);
  const char *pattern = unlike(r->json, family);
  if (pattern != NULL)
    return cli_fail(&cli_explore, CLI_USAGE,
                    "%s: %s: this model's blocks differ from each other; remove this line to treat "
                    "all as alike",
                    r->path, pattern);
  a->name = family->type;
  read_fields(r, family, blocks, a);
  return r->fault[0] == '\0' ? CLI_GO_ON
                             : cli_fail(&cli_explore, CLI_USAGE, "%s: %s", r->path, r->fault);
}

// The file may be a pipe, which cannot be read twice.
static json_t *parse(FILE *in, json_error_t *error) {
  static const char mark[] = "\xEF\xBB\xBF";
  const size_t most = 1 << 24, flags = JSON_REJECT_DUPLICATES;
  char *text = malloc(most);
  const size_t size = text != NULL ? fread(text, 1, most, in) : 0;
  json_t *json = NULL;
  snprintf(error->text, sizeof error->text, "%s",
           text == NULL   ? "there is not enough memory to read it"
           : size == most ? "it has 16 MiB or more, too much for a configuration"
                          : "it cannot be read");
  if (text != NULL && size < most && !ferror(in)) {
    const size_t begin = size >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    json = json_loadb(text + begin, size - begin, flags, error);
  }
  free(text);
  return json;
}

// A byte order mark at the beginning is skipped, and duplicate names are refused.
static json_t *load(const char *path, json_error_t *error) {
  FILE *in = fopen(path, "rb");
  if (in == NULL) return json_load_file(path, 0, error);
  json_t *json = parse(in, error);
  fclose(in);
  return json;
}

// Reports layers of the model besides its blocks, because they are not counted.
static void say_left_out(const reading_t *r) {
  const json_int_t next = json_integer_value(json_object_get(r->json, "num_nextn_predict_layers"));
  const json_int_t words = json_integer_value(json_object_get(r->json, "word_embed_proj_dim"));
  const json_int_t width = json_integer_value(json_object_get(r->json, "hidden_size"));
  if (next > 0)
    fprintf(stderr, "ufp4 explore: %s: num_nextn_predict_layers: %lld blocks are not counted\n",
            r->path, (long long)next);
  if (words > 0 && words != width)
    fprintf(stderr,
            "ufp4 explore: %s: word_embed_proj_dim: projections between %lld and %lld are not "
            "counted\n",
            r->path, (long long)words, (long long)width);
}

int explore_hf(const char *path, int64_t blocks, explore_model_t *model) {
  json_error_t error;
  architecture_t a = {.name = NULL};
  json_t *json = load(path, &error);
  if (json == NULL || !json_is_object(json)) {
    json_decref(json);
    return cli_fail(&cli_explore, CLI_USAGE, "%s: %s", path,
                    json == NULL ? error.text : "it is not the configuration of a model");
  }
  // A multimodal model has its language model's configuration in text_config.
  json_t *text = json_object_get(json, "text_config");
  reading_t reading = {.path = path, .json = json_is_object(text) ? text : json};
  const int end = read_family(&reading, blocks, &a);
  if (end == CLI_GO_ON) say_left_out(&reading);
  if (end == CLI_GO_ON) explore_build(&a, model);
  json_decref(json);
  return end;
}
