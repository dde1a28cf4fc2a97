// SPDX-License-Identifier: Apache-2.0
// Parses configurations given by parameters: an accepted one is legal, and its name describes it.
#include <string.h>

#include "base/configuration.h"
#include "base/shape.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char text[400];
  ufp4_configuration_t core, again;
  ufp4_message_t message = {0};
  if (size >= sizeof text) return 0;
  memcpy(text, data, size);
  text[size] = '\0';
  const ufp4_status_t status = configuration_find(text, &core, NULL, &message);
  fuzz_demand_message(status, &message);
  fuzz_demand(
      status == UFP4_OK || status == UFP4_ERROR_ARGUMENT || status == UFP4_ERROR_UNSUPPORTED,
      "OK, ARGUMENT or UNSUPPORTED");
  if (status != UFP4_OK) return 0;
  fuzz_demand(shape_refusal(&core) == NULL, "it is legal");
  fuzz_demand(configuration_find(core.name, &again, NULL, NULL) == UFP4_OK, "its name is one");
  fuzz_demand(memcmp(&core.rows, &again.rows, sizeof core - sizeof core.name) == 0,
              "which says the same");
  return 0;
}
