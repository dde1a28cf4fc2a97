// SPDX-License-Identifier: Apache-2.0
// Manual pages in man(7), from the same tables as --help.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

// --- Text ------------------------------------------------------------------------------------------------

// Escaped so that troff takes no character for a command, and a hyphen stays the one that is typed.
static void print_text(const char *text, size_t length) {
  if (length > 0 && (text[0] == '.' || text[0] == '\'')) fputs("\\&", stdout);
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '\\') {
      fputs("\\e", stdout);
    } else if (text[i] == '-') {
      fputs("\\-", stdout);
    } else {
      putchar(text[i]);
    }
  }
}

static void print_line(const char *text) {
  print_text(text, strlen(text));
  putchar('\n');
}

// Flowing paragraphs; indented lines keep their breaks.
static void print_lines(const char *text) {
  int literal = 0, begun = 1;  // nothing printed yet in this paragraph
  while (*text != '\0') {
    size_t length = strcspn(text, "\n");
    int indented = text[0] == ' ';
    if (length == 0 && literal) {
      putchar('\n');
    } else if (length == 0) {
      if (!begun) puts(".PP");
      begun = 1;
    } else {
      if (indented && !literal) puts(begun ? ".nf" : ".PP\n.nf");
      if (!indented && literal) puts(".fi\n.PP");
      literal = indented;
      begun = 0;
      print_text(text, length);
      putchar('\n');
    }
    text += length + (text[length] == '\n');
  }
  if (literal) puts(".fi");
}

// The summary's first line as it stands in NAME: no capital at its start, no full stop at its end.
static void print_name(const char *summary) {
  size_t length = strcspn(summary, "\n");
  if (length > 0 && summary[length - 1] == '.') length--;
  if (length > 1 && islower((unsigned char)summary[1])) {
    putchar(tolower((unsigned char)summary[0]));
    summary++;
    length--;
  }
  print_text(summary, length);
  putchar('\n');
}

static void print_title(const char *page) {
  fputs(".TH ", stdout);
  for (; *page != '\0'; page++) putchar(toupper((unsigned char)*page));
  printf(" 1 \"" UFP4_RELEASE_DATE "\" \"ufp4 %d.%d.%d\" \"ufp4 manual\"\n", UFP4_VERSION_MAJOR, UFP4_VERSION_MINOR,
         UFP4_VERSION_PATCH);
}

static void print_exit_status(void) {
  puts(
      ".SH EXIT STATUS\n0 done and equal; 1 a mismatch, or a verdict failed; 2 usage or bad input;\n"
      "3 device or environment; 128 + n on signal n.");
}

// --- Pages -----------------------------------------------------------------------------------------------

static void print_option(const cli_option_t *option) {
  puts(".TP");
  if (option->name[1] == '\0') printf("\\fB\\-%c\\fR, ", option->name[0]);
  fputs("\\fB\\-\\-", stdout);
  print_text(option->name, strlen(option->name));
  fputs("\\fR", stdout);
  if (option->argument != NULL) {
    fputs(" \\fI", stdout);
    print_text(option->argument, strlen(option->argument));
    fputs("\\fR", stdout);
  }
  putchar('\n');
  print_line(option->help);
}

static void print_details(void (*details)(FILE *out)) {
  char *text = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&text, &size);
  if (memory == NULL) return;
  details(memory);
  if (fclose(memory) == 0) {
    puts(".SH DETAILS");
    print_lines(text);
  }
  free(text);
}

void cli_manual(const cli_command_t *command, const cli_options_t *options) {
  char page[64];
  snprintf(page, sizeof page, "ufp4-%s", command->name);
  print_title(page);
  printf(".SH NAME\nufp4\\-%s \\- ", command->name);
  print_name(command->summary);
  printf(".SH SYNOPSIS\n\\fBufp4 %s\\fR ", command->name);
  print_line(command->arguments);
  puts(".SH DESCRIPTION");
  print_lines(command->summary);
  puts(".SH OPTIONS");
  for (int i = 0; i < options->count; i++) print_option(&options->items[i]);
  puts(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nthe same in short");
  if (command->details != NULL) print_details(command->details);
  print_exit_status();
  puts(".SH EXAMPLES\n.nf");
  print_line(command->example);
  puts(".fi\n.SH SEE ALSO\n.BR ufp4 (1)");
}

void cli_manual_program(const cli_command_t *const *commands, size_t count) {
  print_title("ufp4");
  puts(
      ".SH NAME\nufp4 \\- an open 4\\-bit training tensor core\n"
      ".SH SYNOPSIS\n\\fBufp4\\fR \\fICOMMAND\\fR [inputs] [options]\n"
      ".SH DESCRIPTION\nA bit\\-accurate golden model of 4\\-bit training arithmetic, the core that computes it in\n"
      "RTL, and the driver that runs the same GEMMs on either and compares the bits.\n"
      ".PP\nAn option may be given once, by its whole name, anywhere behind the command:\n"
      "\\-\\-name value or \\-\\-name=value.\n"
      "Results go to standard output, all else to standard error.\n"
      "Outputs are written beside their target and renamed when whole.\n"
      ".SH COMMANDS");
  for (size_t i = 0; i < count; i++) {
    printf(".TP\n.BR ufp4\\-%s (1)\n", commands[i]->name);
    print_text(commands[i]->summary, strcspn(commands[i]->summary, "\n"));
    putchar('\n');
  }
  puts(
      ".SH FILES\nPlain tensors: FILE.npy, or FILE.safetensors:NAME. Quantized tensors: FILE.safetensors. "
      "Recipes: FILE.json.");
  print_exit_status();
}
