/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_plan_text.c - a plan for people to read. */
#include "cli/cli_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_CHARS 32
#define BAR_CHARS 40

/* 4168923808 as 4,168,923,808. */
static const char *with_commas(uint64_t value, char text[NUMBER_CHARS]) {
    char digits[NUMBER_CHARS];
    const int n = snprintf(digits, sizeof digits, "%" PRIu64, value);
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) {
            text[at++] = ',';
        }
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

static uint64_t number_of(const json_t *json, const char *key) {
    return (uint64_t)json_integer_value(json_object_get(json, key));
}

static const char *text_of(const json_t *json, const char *key) {
    const char *text = json_string_value(json_object_get(json, key));
    return text != NULL ? text : "";
}

/* ---------------------------------------------------------------------------------------------
 * What it is of
 * ------------------------------------------------------------------------------------------- */

static void print_circuit(const struct pm_cli *cli, const json_t *circuit) {
    char a[NUMBER_CHARS], b[NUMBER_CHARS], c[NUMBER_CHARS], d[NUMBER_CHARS];
    const char *title = text_of(circuit, "title");
    title = title[0] != '\0' ? title : text_of(circuit, "key");
    pm_cli_print(cli, "%s%s%s, %s's reduction, domain 2^%" PRIu64 "\n", title,
                 title[0] != '\0' ? ": " : "", text_of(circuit, "curve"),
                 text_of(circuit, "reduction"), number_of(circuit, "log_n"));
    pm_cli_print(cli, "  %-10s %s, %s of them inputs; %s rows\n", "variables",
                 with_commas(number_of(circuit, "n_vars"), a),
                 with_commas(number_of(circuit, "n_inputs"), b),
                 with_commas(number_of(circuit, "n_rows"), c));
    pm_cli_print(
        cli, "  %-10s a %s, b %s, l %s, h %s\n", "points",
        with_commas(number_of(circuit, "n_a"), a), with_commas(number_of(circuit, "n_b"), b),
        with_commas(number_of(circuit, "n_l"), c), with_commas(number_of(circuit, "n_h"), d));
    const json_t *nonzeros = json_object_get(circuit, "n_nonzeros");
    uint64_t n[3];
    for (size_t i = 0; i < 3; i++) {
        n[i] = (uint64_t)json_integer_value(json_array_get(nonzeros, i));
    }
    if (n[0] + n[1] + n[2] != 0) {
        pm_cli_print(cli, "  %-10s A %s, B %s, C %s\n", "non-zeros", with_commas(n[0], a),
                     with_commas(n[1], b), with_commas(n[2], c));
    } else {
        pm_cli_print(cli, "  %-10s not known: the matrices are not counted\n", "non-zeros");
    }
    pm_cli_print(cli, "  %-10s %s bytes (%s)\n", "key file",
                 with_commas(number_of(circuit, "key_file_bytes"), a),
                 pm_cli_size_text(number_of(circuit, "key_file_bytes"), b));
}

/* ---------------------------------------------------------------------------------------------
 * Buffers and steps
 * ------------------------------------------------------------------------------------------- */

static void print_buffers(const struct pm_cli *cli, const json_t *plan) {
    size_t i;
    const json_t *buffer;
    pm_cli_print(cli, "\n%-17s %17s %12s  %-7s %-16s %-9s %s\n", "buffer", "bytes", "", "pool",
                 "how", "lives", "steps");
    json_array_foreach(json_object_get(plan, "buffers"), i, buffer) {
        char bytes[NUMBER_CHARS], size[PM_CLI_SIZE_CHARS];
        pm_cli_print(cli, "%-17s %17s %12s  %-7s %-16s %-9s %2" PRIu64 "-%" PRIu64 "%s\n",
                     text_of(buffer, "buffer"), with_commas(number_of(buffer, "bytes"), bytes),
                     pm_cli_size_text(number_of(buffer, "bytes"), size), text_of(buffer, "pool"),
                     text_of(buffer, "mechanism"), text_of(buffer, "lifetime"),
                     number_of(buffer, "first_step"), number_of(buffer, "last_step"),
                     json_is_true(json_object_get(buffer, "in_device_lock")) ? ", locked" : "");
    }
}

static bool is_resident(const json_t *buffer) {
    return strcmp(text_of(buffer, "lifetime"), "resident") == 0;
}

/* The number of steps in start. */
static uint64_t start_steps(const json_t *plan) {
    size_t i;
    uint64_t n = 0;
    const json_t *step;
    json_array_foreach(json_object_get(plan, "steps"), i, step) {
        n += strcmp(text_of(step, "half"), "start") == 0;
    }
    return n;
}

/* device*: while the device is held; beside: while another proof holds it. */
static const char *place_of(const json_t *step) {
    return json_is_true(json_object_get(step, "in_device_lock")) ? "device*"
           : json_is_true(json_object_get(step, "beside"))       ? "beside"
                                                                 : text_of(step, "on");
}

static void print_steps(const struct pm_cli *cli, const json_t *plan) {
    size_t i, k;
    const json_t *step, *buffer;
    pm_cli_print(cli, "\nstep                     on       + is taken when it begins, - given back "
                      "when it ends\n");
    json_array_foreach(json_object_get(plan, "steps"), i, step) {
        const uint64_t number = number_of(step, "step");
        const char *separator = "";
        pm_cli_print(cli, "%2" PRIu64 " %-21s %-8s ", number, text_of(step, "name"),
                     place_of(step));
        json_array_foreach(json_object_get(plan, "buffers"), k, buffer) {
            if (!is_resident(buffer) && number_of(buffer, "first_step") == number) {
                pm_cli_print(cli, "%s+%s", separator, text_of(buffer, "buffer"));
                separator = ", ";
            }
        }
        json_array_foreach(json_object_get(plan, "buffers"), k, buffer) {
            if (!is_resident(buffer) && number_of(buffer, "last_step") == number) {
                pm_cli_print(cli, "%s-%s", separator, text_of(buffer, "buffer"));
                separator = ", ";
            }
        }
        pm_cli_print(cli, "\n");
        if (number == start_steps(plan)) {
            pm_cli_print(cli, "   ---- end of start ----\n");
        }
    }
}

/* What outlives start, and what does not. */
static void print_between(const struct pm_cli *cli, const json_t *plan) {
    const uint64_t n_start = start_steps(plan);
    size_t i;
    const json_t *buffer;
    pm_cli_print(cli, "\nbetween start and finish\n");
    json_array_foreach(json_object_get(plan, "buffers"), i, buffer) {
        char bytes[NUMBER_CHARS];
        if (!is_resident(buffer) && number_of(buffer, "first_step") <= n_start &&
            number_of(buffer, "last_step") > n_start) {
            pm_cli_print(cli, "  held: %-17s %17s bytes of %s memory, until step %" PRIu64 "\n",
                         text_of(buffer, "buffer"), with_commas(number_of(buffer, "bytes"), bytes),
                         text_of(buffer, "pool"), number_of(buffer, "last_step"));
        }
    }
    json_array_foreach(json_object_get(plan, "buffers"), i, buffer) {
        char bytes[NUMBER_CHARS];
        if (strcmp(text_of(buffer, "lifetime"), "proof") == 0 &&
            number_of(buffer, "last_step") <= n_start) {
            pm_cli_print(cli, "  gone: %-17s %17s bytes of %s memory, since step %" PRIu64 "\n",
                         text_of(buffer, "buffer"), with_commas(number_of(buffer, "bytes"), bytes),
                         text_of(buffer, "pool"), number_of(buffer, "last_step"));
        }
    }
}

/* ---------------------------------------------------------------------------------------------
 * The curve
 * ------------------------------------------------------------------------------------------- */

/* BAR_CHARS for the peak: '.' for what is resident or lent, '#' for the proof's own. */
static void draw_bar(char bar[BAR_CHARS + 1], uint64_t live_bytes, uint64_t held_bytes,
                     uint64_t peak_bytes) {
    const double unit = (double)peak_bytes / BAR_CHARS;
    const size_t n = (size_t)((double)live_bytes / unit + 0.5);
    const size_t n_held = (size_t)((double)held_bytes / unit + 0.5);
    for (size_t i = 0; i < BAR_CHARS; i++) {
        bar[i] = i >= n ? ' ' : i + n_held >= n ? '#' : '.';
    }
    bar[BAR_CHARS] = '\0';
}

static uint64_t element(const json_t *pool, const char *key, size_t i) {
    return (uint64_t)json_integer_value(json_array_get(json_object_get(pool, key), i));
}

static void print_pool(const struct pm_cli *cli, const json_t *plan, const json_t *pool) {
    char exact[NUMBER_CHARS], size[PM_CLI_SIZE_CHARS];
    const uint64_t peak_bytes = number_of(pool, "peak_bytes");
    size_t i;
    const json_t *step;
    pm_cli_print(cli, "\n%s: %s bytes at most (%s)\n", text_of(pool, "pool"),
                 with_commas(peak_bytes, exact), pm_cli_size_text(peak_bytes, size));
    json_array_foreach(json_object_get(plan, "steps"), i, step) {
        char bar[BAR_CHARS + 1];
        const uint64_t live_bytes = element(pool, "live_bytes", i);
        draw_bar(bar, live_bytes, element(pool, "held_bytes", i), peak_bytes);
        pm_cli_print(cli, "%2" PRIu64 " %-18s %11s |%s|%s\n", number_of(step, "step"),
                     text_of(step, "name"), pm_cli_size_text(live_bytes, size), bar,
                     i + 1 == number_of(pool, "peak_step") ? " peak" : "");
    }
}

/* ---------------------------------------------------------------------------------------------
 * The other choices
 * ------------------------------------------------------------------------------------------- */

/* A column of the table; it is left out where no plan has anything in it. */
static const struct {
    const char *key, *heading[2];
    bool always;
} columns[] = {{"host_bytes", {"own memory,", "host"}, true},
               {"device_bytes", {"own memory,", "device"}, false},
               {"key_file_pages_bytes", {"pages of the", "key's file"}, false},
               {"lent_bytes", {"", "lent to it"}, true},
               {"between_host_bytes", {"after start:", "own memory"}, true},
               {"between_lent_bytes", {"after start:", "lent to it"}, true}};
#define N_COLUMNS (sizeof columns / sizeof columns[0])

static void print_row(const struct pm_cli *cli, const json_t *row, const bool wanted[N_COLUMNS]) {
    if (json_object_get(row, "impossible") != NULL) {
        pm_cli_print(cli, "%-28s (%s)\n", text_of(row, "choice"), text_of(row, "impossible"));
        return;
    }
    pm_cli_print(cli, "%-28s", text_of(row, "choice"));
    for (size_t k = 0; k < N_COLUMNS; k++) {
        char number[NUMBER_CHARS];
        if (wanted[k]) {
            pm_cli_print(cli, " %15s", with_commas(number_of(row, columns[k].key), number));
        }
    }
    pm_cli_print(cli, "\n");
}

static void print_alternatives(const struct pm_cli *cli, const json_t *plan) {
    const json_t *rows = json_object_get(plan, "alternatives"), *row;
    bool wanted[N_COLUMNS];
    size_t i;
    for (size_t k = 0; k < N_COLUMNS; k++) {
        wanted[k] = columns[k].always;
        json_array_foreach(rows, i, row) {
            wanted[k] |= number_of(row, columns[k].key) != 0;
        }
    }
    pm_cli_print(cli, "\nwhat each choice changes: bytes at most\n");
    for (size_t line = 0; line < 2; line++) {
        pm_cli_print(cli, "%-28s", "");
        for (size_t k = 0; k < N_COLUMNS; k++) {
            if (wanted[k]) {
                pm_cli_print(cli, " %15s", columns[k].heading[line]);
            }
        }
        pm_cli_print(cli, "\n");
    }
    json_array_foreach(rows, i, row) {
        print_row(cli, row, wanted);
    }
}

/* What one device does, and when. */
static void print_device(const struct pm_cli *cli, const json_t *plan) {
    size_t i;
    const json_t *pool;
    print_buffers(cli, plan);
    print_steps(cli, plan);
    print_between(cli, plan);
    json_array_foreach(json_object_get(plan, "pools"), i, pool) {
        print_pool(cli, plan, pool);
    }
}

void pm_cli_plan_text(const struct pm_cli *cli, const json_t *plan) {
    char limit[PM_CLI_SIZE_CHARS], beside[PM_CLI_SIZE_CHARS];
    size_t i;
    const json_t *part;
    print_circuit(cli, json_object_get(plan, "circuit"));
    pm_cli_print(cli, "\nplan for %s, %" PRIu64 " thread%s", text_of(plan, "device"),
                 number_of(plan, "threads"), number_of(plan, "threads") == 1 ? "" : "s");
    if (number_of(plan, "limit_bytes") != 0) {
        pm_cli_print(cli, ", limited to %s, of which program, key and witness take %s",
                     pm_cli_size_text(number_of(plan, "limit_bytes"), limit),
                     pm_cli_size_text(number_of(plan, "beside_bytes"), beside));
    }
    pm_cli_print(cli, "\n  %s\n", text_of(plan, "why"));
    if (json_object_get(plan, "device_why") != NULL) {
        pm_cli_print(cli, "  %s: %s.\n", text_of(plan, "device"), text_of(plan, "device_why"));
    }
    print_device(cli, plan);
    json_array_foreach(json_object_get(plan, "parts"), i, part) {
        pm_cli_print(cli, "\nbeside it, on %s\n  %s\n", text_of(part, "device"),
                     text_of(part, "why"));
        print_device(cli, part);
    }
    pm_cli_print(cli, "\n   '.' is resident with the key or lent, '#' is the proof's own\n");
    print_alternatives(cli, plan);
}
