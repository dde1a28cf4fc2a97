// SPDX-License-Identifier: Apache-2.0
// Options, based on getopt_long: typed values, one-line error messages, and --help from the same
// table.
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int cli_fail(const cli_command_t *command, int exit_status, const char *format, ...) {
  char text[8192];  // two paths of the greatest length
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  // Words of the command line may contain any characters; the message must stay one line of text.
  for (char *at = text; *at != '\0'; at++) {
    if (iscntrl((unsigned char)*at)) *at = '?';
  }
  fprintf(stderr, "ufp4 %s: %s\n", command->name, text);
  return exit_status;
}

int cli_fail_status(const cli_command_t *command, ufp4_status_t status, const char *message) {
  int device = status == UFP4_ERROR_UNSUPPORTED || status == UFP4_ERROR_MEMORY ||
               status == UFP4_ERROR_DEVICE || status == UFP4_ERROR_JOB ||
               status == UFP4_ERROR_TIMEOUT || status == UFP4_ERROR_STORAGE;
  int has_text = message != NULL && message[0] != '\0';
  return cli_fail(command, device ? CLI_DEVICE : CLI_USAGE, "%s",
                  has_text ? message : ufp4_status_string(status));
}

void cli_option_add(cli_options_t *options, const char *name, cli_kind_t kind, void *value,
                    const char *argument, const char *help) {
  if (options->count == CLI_MAX_OPTIONS) return;
  options->items[options->count++] =
      (cli_option_t){name, kind, value, argument, help, 0, NULL, CLI_NEEDS_NOTHING};
}

void cli_option_range(cli_options_t *options, const char *range) {
  options->items[options->count - 1].range = range;
}

void cli_option_need(cli_options_t *options, cli_need_t need) {
  options->items[options->count - 1].need = need;
}

int cli_option_given(const cli_options_t *options, const char *name) {
  for (int i = 0; i < options->count; i++) {
    if (strcmp(options->items[i].name, name) == 0) return options->items[i].given;
  }
  return 0;
}

// --- Values -------------------------------------------------------------------------------------

static int parse_choice(const char *words, const char *text, int *value) {
  size_t length = strlen(text);
  int index = 0;
  for (const char *word = words; length > 0; word++, index++) {
    size_t end = strcspn(word, "|");
    if (end == length && strncmp(word, text, length) == 0) {
      *value = index;
      return 1;
    }
    word += end;
    if (*word == '\0') break;
  }
  return 0;
}

static int parse_uint(const char *text, uint64_t *value) {
  char *end;
  errno = 0;
  unsigned long long parsed =
      strtoull(text, &end, text[0] == '0' && (text[1] | 32) == 'x' ? 16 : 10);
  if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0) return 0;
  *value = parsed;
  return 1;
}

static int parse_int(const char *text, int64_t *value) {
  char *end;
  errno = 0;
  long long parsed = strtoll(text, &end, 10);
  const char *digits = text[0] == '-' ? text + 1 : text;
  if (!isdigit((unsigned char)digits[0]) || *end != '\0' || errno != 0) return 0;
  *value = parsed;
  return 1;
}

// Refuses numbers without a nearby FP32 value (1e99, 1e-99); "inf" and "nan" are FP32 values.
static int parse_real(const char *text, float *value) {
  char *end;
  errno = 0;
  float parsed = strtof(text, &end);
  if (end == text || *end != '\0' || isspace((unsigned char)text[0])) return 0;
  if (errno == ERANGE && (isinf(parsed) || parsed == 0)) return 0;
  *value = parsed;
  return 1;
}

static int parse_value(const cli_option_t *option, const char *text) {
  switch (option->kind) {
    case CLI_FLAG:
      *(int *)option->value = 1;
      return 1;
    case CLI_TEXT:
      *(const char **)option->value = text;
      return 1;
    case CLI_CHOICE:
      return parse_choice(option->argument, text, option->value);
    case CLI_UINT:
      return parse_uint(text, option->value);
    case CLI_INT:
      return parse_int(text, option->value);
    default:
      return parse_real(text, option->value);
  }
}

static const char *wanted(cli_kind_t kind) {
  switch (kind) {
    case CLI_UINT:
      return "a whole number from 0 to 2^64 - 1, hexadecimal with 0x";
    case CLI_INT:
      return "a whole number from -2^63 to 2^63 - 1";
    case CLI_REAL:
      return "a number in FP32's range";
    default:
      return "one of";
  }
}

static int fail_value(const cli_command_t *command, const cli_option_t *option, const char *text) {
  int choice = option->kind == CLI_CHOICE;
  return cli_fail(command, CLI_USAGE, "--%s: '%s' is not %s%s%s", option->name, text,
                  option->range != NULL ? option->range : wanted(option->kind), choice ? " " : "",
                  choice ? option->argument : "");
}

// --- Help ---------------------------------------------------------------------------------------

static void print_option(const cli_option_t *option) {
  char left[96];
  char brief[8] = "";
  if (option->name[1] == '\0') snprintf(brief, sizeof brief, "-%c, ", option->name[0]);
  snprintf(left, sizeof left, "%s--%s%s%s", brief, option->name,
           option->argument != NULL ? " " : "", option->argument != NULL ? option->argument : "");
  if (strlen(left) > 30) {
    printf("  %s\n  %-30s  %s\n", left, "", option->help);
  } else {
    printf("  %-30s  %s\n", left, option->help);
  }
}

static void print_help(const cli_command_t *command, const cli_options_t *options) {
  printf("Usage: ufp4 %s %s\n\n%s\n\nOptions:\n", command->name, command->arguments,
         command->summary);
  for (int i = 0; i < options->count; i++) print_option(&options->items[i]);
  printf("  %-30s  %s\n", "-h, --help", "this text");
  if (command->details != NULL) {
    putchar('\n');
    command->details(stdout);
  }
  printf("\nExample:\n  %s\n", command->example);
}

// --- Parsing ------------------------------------------------------------------------------------

enum { HELP = 1, FIRST_OPTION = 256 };

static void (*options_taker)(const cli_options_t *options);

void cli_parse_for(void (*taker)(const cli_options_t *options)) {
  options_taker = taker;
}

static void build_tables(const cli_options_t *options, struct option *longs, char *shorts) {
  char *short_end = shorts;
  *short_end++ = ':';  // distinguishes a missing argument from an unknown option
  *short_end++ = 'h';
  for (int i = 0; i < options->count; i++) {
    const cli_option_t *option = &options->items[i];
    int has_argument = option->kind == CLI_FLAG ? no_argument : required_argument;
    longs[i] = (struct option){option->name, has_argument, NULL, FIRST_OPTION + i};
    if (option->name[1] != '\0') continue;
    *short_end++ = option->name[0];
    if (option->kind != CLI_FLAG) *short_end++ = ':';
  }
  *short_end = '\0';
  longs[options->count] = (struct option){"help", no_argument, NULL, HELP};
  longs[options->count + 1] = (struct option){0};
}

static cli_option_t *find_option(cli_options_t *options, int code) {
  if (code >= FIRST_OPTION) return &options->items[code - FIRST_OPTION];
  for (int i = 0; i < options->count; i++) {
    if (options->items[i].name[0] == code && options->items[i].name[1] == '\0')
      return &options->items[i];
  }
  return NULL;
}

// Reports an option that getopt has refused. @p word: the word before getopt's position. @p next:
// the word at it. @p unmoved: the last call has not moved the position.
static int fail_option(const cli_command_t *command, int code, const char *word, const char *next,
                       int unmoved) {
  const char *what = code == ':'              ? "needs a value"
                     : optopt >= FIRST_OPTION ? "takes no value"
                                              : "is not an option of this command";
  const size_t length = strlen(word);
  const int is_letter = code == '?' && optopt < FIRST_OPTION && isgraph(optopt);
  if (!is_letter || length == 2)
    return cli_fail(command, CLI_USAGE, "%s %s; see ufp4 %s --help", word, what, command->name);
  // A word of several letters behind one dash is finished only if the letter was its last.
  if (unmoved || word[0] != '-' || word[1] == '-' || word[length - 1] != optopt) word = next;
  return cli_fail(command, CLI_USAGE, "%s: -%c %s; see ufp4 %s --help", word, optopt, what,
                  command->name);
}

// Two values for one option are probably a mistake, so neither is used.
static int take_option(const cli_command_t *command, cli_option_t *option, const char *text) {
  const char *dashes = option->name[1] == '\0' ? "-" : "--";
  if (option->given)
    return cli_fail(command, CLI_USAGE, "%s%s is given twice", dashes, option->name);
  option->given = 1;
  return parse_value(option, text) ? CLI_GO_ON : fail_value(command, option, text);
}

// getopt_long accepts abbreviated names, which become ambiguous when another option is added;
// scripts would then fail.
static int check_whole_name(const cli_command_t *command, const char *name, const char *word) {
  const size_t length = strcspn(word, "=");
  if (length == strlen(name) + 2) return CLI_GO_ON;
  return cli_fail(command, CLI_USAGE, "%.*s is not an option of this command; --%s is", (int)length,
                  word, name);
}

static int parse_options(const cli_command_t *command, cli_options_t *options, int argc,
                         char **argv) {
  struct option longs[CLI_MAX_OPTIONS + 2];
  char shorts[2 * CLI_MAX_OPTIONS + 3];
  build_tables(options, longs, shorts);
  opterr = 0;
  optind = 0;  // glibc: restart, regardless of earlier parsing
  for (;;) {
    const int before = optind;
    int index = -1, code = getopt_long(argc, argv, shorts, longs, &index), end = CLI_GO_ON;
    if (code == -1) return CLI_GO_ON;
    if (code == '?' || code == ':') {
      return fail_option(command, code, argv[optind - 1], argv[optind], optind == before);
    }
    const char *word = argv[optarg != NULL && optarg == argv[optind - 1] ? optind - 2 : optind - 1];
    if (index >= 0) end = check_whole_name(command, longs[index].name, word);
    if (end != CLI_GO_ON) return end;
    // An option's name in place of a value is probably a mistake; a file of such a name is
    // ./--name.
    if (optarg != NULL && optarg == argv[optind - 1] && optarg[0] == '-' &&
        (optarg[1] == '-' || find_option(options, optarg[1]) != NULL))
      return cli_fail(command, CLI_USAGE, "%s needs a value; see ufp4 %s --help", word,
                      command->name);
    if (code == HELP || code == 'h') {
      if (options_taker == NULL) print_help(command, options);
      return CLI_OK;
    }
    end = take_option(command, find_option(options, code), optarg);
    if (end != CLI_GO_ON) return end;
  }
}

int cli_parse(const cli_command_t *command, cli_options_t *options, int argc, char **argv,
              int min_inputs, int max_inputs, char ***inputs, int *count) {
  int end = parse_options(command, options, argc, argv);
  if (end != CLI_GO_ON) return end;
  int given = argc - optind;
  if (given < min_inputs || given > max_inputs) {
    const char *many = given < min_inputs ? "too few inputs" : "too many inputs";
    return cli_fail(command, CLI_USAGE, "%s (%d); usage: ufp4 %s %s", many, given, command->name,
                    command->arguments);
  }
  for (int i = optind; i < argc; i++) {
    if (argv[i][0] == '\0') return cli_fail(command, CLI_USAGE, "the name of an input is empty");
  }
  if (options_taker != NULL) {
    options_taker(options);
    return CLI_OK;
  }
  if (inputs != NULL) *inputs = argv + optind;
  if (count != NULL) *count = given;
  return CLI_GO_ON;
}
