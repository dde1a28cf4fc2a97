// SPDX-License-Identifier: Apache-2.0
// Checkpoints of other producers with 4-bit linear layers (docs/reference/files.md, "Checkpoints"):
// a folder or a file that contains layers by name.
#ifndef UFP4_CHECKPOINT_H
#define UFP4_CHECKPOINT_H

#include "safetensors.h"
#include "ufp4/quantize.h"

#define CHECKPOINT_TEXT 4096  // of a path or a name

/** Returns the length of DIR or FILE in DIR_OR_FILE:LAYER, or of DIR; 0 if @p path is neither. */
size_t checkpoint_length(const char *path);
/** Reads the layer that @p path names behind its first @p length characters, as ufp4_operand_read
 * does. */
ufp4_status_t checkpoint_operand_read(const char *path, size_t length, ufp4_operand_t *out,
                                      ufp4_quantize_t *how, ufp4_message_t *message);

// --- Its files ----------------------------------------------------------------------------------

/** An open file of a checkpoint. */
typedef struct checkpoint_file {
  struct checkpoint_file *next;
  char path[CHECKPOINT_TEXT];
  safetensors_t file;
} checkpoint_file_t;

typedef struct {
  char place[CHECKPOINT_TEXT];   // as the caller named it
  char folder[CHECKPOINT_TEXT];  // contains config.json
  struct json_t *index;          // of a folder with several files, otherwise NULL
  const struct json_t *names;    // its keys are the names of all tensors
  checkpoint_file_t *files;
} checkpoint_t;

ufp4_status_t checkpoint_open(const char *path, size_t length, checkpoint_t *out,
                              ufp4_message_t *message);
void checkpoint_close(checkpoint_t *checkpoint);
int checkpoint_has(const checkpoint_t *checkpoint, const char *name);
/** Finds a tensor in any of the files, as safetensors_entry does. */
ufp4_status_t checkpoint_entry(checkpoint_t *checkpoint, const char *name, safetensors_t **file,
                               safetensors_entry_t *out, ufp4_message_t *message);
/** Reads folder/@p name; *out is NULL if there is no such file. */
ufp4_status_t checkpoint_json(const checkpoint_t *checkpoint, const char *name, struct json_t **out,
                              ufp4_message_t *message);

// --- Its layers ---------------------------------------------------------------------------------

/** The effect of the tensor scale on the decoded values. */
typedef enum {
  CHECKPOINT_NO_TENSOR_SCALE,
  CHECKPOINT_DIVIDES,
  CHECKPOINT_MULTIPLIES,
  CHECKPOINT_MULTIPLIES_IF_THERE,
} checkpoint_rule_t;

/** The naming scheme of one producer: LAYER followed by these endings. */
typedef struct {
  const char *maker;  // value in config.json, or its beginning
  const char *codes, *scales;
  checkpoint_rule_t rule;  // rule for E4M3 scales; unused with E8M0 scales
  const char *tensor_scale;
  const char *ignored[2];  // tensors that describe the scaling of activations
  const char *refused[2];  // tensors that would change the values
} checkpoint_layout_t;

/** Finds the naming scheme of the tensors of @p layer. */
ufp4_status_t checkpoint_layout(checkpoint_t *checkpoint, const char *layer,
                                const checkpoint_layout_t **out, ufp4_message_t *message);

#endif
