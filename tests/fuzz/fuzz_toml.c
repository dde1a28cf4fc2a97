// SPDX-License-Identifier: Apache-2.0
// Reads files of a configuration: an accepted one is legal, and a comment before it, which would
// mean something else if it were cut short, changes nothing.
#include <string.h>

#include "base/configuration.h"
#include "base/shape.h"
#include "frame/cli.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { COMMENT = 50 * 7, MOST = 4096 };
  uint8_t more[COMMENT + MOST];
  ufp4_configuration_t core, again;
  ufp4_message_t message = {0};
  if (size > MOST) return 0;
  const ufp4_status_t status =
      cli_configuration(fuzz_file("one.toml", data, size), &core, &message);
  fuzz_demand_message(status, &message);
  fuzz_demand(
      status == UFP4_OK || status == UFP4_ERROR_ARGUMENT || status == UFP4_ERROR_UNSUPPORTED,
      "OK, ARGUMENT or UNSUPPORTED");
  for (int i = 0; i < COMMENT; i += 7) memcpy(more + i, i == 0 ? "# word=" : " rows=1", 7);
  more[COMMENT - 1] = '\n';
  if (size != 0) memcpy(more + COMMENT, data, size);
  fuzz_demand(
      cli_configuration(fuzz_file("two.toml", more, COMMENT + size), &again, NULL) == status,
      "the same with a comment");
  if (status != UFP4_OK) return 0;
  fuzz_demand(memcmp(&core, &again, sizeof core) == 0, "the same core");
  fuzz_demand(shape_refusal(&core) == NULL, "it is legal");
  fuzz_demand(configuration_find(core.name, &again, NULL, NULL) == UFP4_OK, "its name is one");
  fuzz_demand(memcmp(&core.rows, &again.rows, sizeof core - sizeof core.name) == 0,
              "which says the same");
  return 0;
}
