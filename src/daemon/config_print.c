/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/config_print.c - the configuration as a file that reads back as it. */
#include "daemon/config.h"
#include "daemon/config_internal.h"

#include "base/characters.h"
#include "base/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A basic string of TOML. False: it is not UTF-8, which TOML's text is. */
static bool print_text(const char *text, FILE *out) {
    const unsigned char *at = (const unsigned char *)text;
    (void)fputc('"', out);
    while (*at != '\0') {
        const size_t n = pm_utf8_bytes(at, SIZE_MAX);
        if (n == 0) {
            return false;
        }
        if (*at == '"' || *at == '\\') {
            (void)fprintf(out, "\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7f) {
            (void)fprintf(out, "\\u%04X", *at);
        } else {
            (void)fwrite(at, 1, n, out);
        }
        at += n;
    }
    (void)fputc('"', out);
    return true;
}

static bool print_list(const struct config_entry *entry, const void *base, FILE *out) {
    char *const *list = (char *const *)((const char *)base + entry->offset);
    const uint32_t n = *(const uint32_t *)((const char *)base + entry->count_offset);
    bool is_text = true;
    (void)fputc('[', out);
    for (uint32_t i = 0; i < n && is_text; i++) {
        (void)fputs(i > 0 ? ", " : "", out);
        is_text = print_text(list[i], out);
    }
    (void)fputc(']', out);
    return is_text;
}

static void print_digest(const struct config_entry *entry, const void *base, FILE *out) {
    const uint8_t *digest = (const uint8_t *)base + entry->offset;
    const bool has_digest = *(const bool *)((const char *)base + entry->count_offset);
    (void)fputc('"', out);
    for (size_t i = 0; i < 64 && has_digest; i++) {
        (void)fprintf(out, "%02x", digest[i]);
    }
    (void)fputc('"', out);
}

static void print_measure(const struct config_entry *entry, uint64_t value, FILE *out) {
    char text[PM_CONFIG_VALUE_CHARS];
    if (value == 0 && entry->zero != NULL) {
        (void)fprintf(out, "\"%s\"", entry->zero);
        return;
    }
    (entry->kind == CONFIG_SIZE ? pm_config_size_text : pm_config_duration_text)(value, text);
    (void)fprintf(out, "\"%s\"", text);
}

static bool print_value(const struct config_entry *entry, const void *base, FILE *out) {
    const void *at = (const char *)base + entry->offset;
    const char *text;
    switch (entry->kind) {
    case CONFIG_TEXT:
    case CONFIG_FILE:
        text = *(char *const *)at;
        return print_text(text != NULL ? text : "", out);
    case CONFIG_LIST:
        return print_list(entry, base, out);
    case CONFIG_FLAG:
        (void)fputs(*(const bool *)at ? "true" : "false", out);
        return true;
    case CONFIG_COUNT:
        (void)fprintf(out, "%" PRIu32, *(const uint32_t *)at);
        return true;
    case CONFIG_SIZE:
    case CONFIG_DURATION:
        print_measure(entry, *(const uint64_t *)at, out);
        return true;
    case CONFIG_LEVEL:
    case CONFIG_CHECK:
        text = pm_config_choice_name(entry->kind, *(const uint32_t *)at);
        (void)fprintf(out, "\"%s\"", text != NULL ? text : "");
        return true;
    case CONFIG_DIGEST:
        print_digest(entry, base, out);
        return true;
    }
    return false;
}

static void print_comment(const char *what, FILE *out) {
    (void)fputs("# ", out);
    for (const char *c = what; *c != '\0'; c++) {
        (void)fputc(*c, out);
        (void)fputs(*c == '\n' ? "# " : "", out);
    }
    (void)fputc('\n', out);
}

static pm_status print_entry(const struct config_entry *entry, const void *base, bool comments,
                             FILE *out, pm_error *error) {
    if (comments) {
        print_comment(entry->what, out);
    }
    (void)fprintf(out, "%s = ", entry->key);
    PM_FAIL_IF(!print_value(entry, base, out), error, PM_ENCODING,
               "%s.%s is not UTF-8, which a configuration's text must be", entry->section,
               entry->key);
    (void)fputc('\n', out);
    return PM_OK;
}

static pm_status print_keys(const struct pm_config *config, FILE *out, pm_error *error) {
    (void)fputs("\n# Keys that are registered at the start, each a table of its own:\n"
                "#\n# [[key]]\n",
                out);
    for (size_t i = 0; i < pm_config_n_key_entries; i++) {
        const struct config_entry *entry = &pm_config_key_entries[i];
        print_comment(entry->what, out);
        (void)fprintf(out, "# %s\n",
                      strcmp(entry->key, "name") == 0      ? "name = \"circuit\""
                      : strcmp(entry->key, "path") == 0    ? "path = \"/srv/keys/circuit.zkey\""
                      : strcmp(entry->key, "check") == 0   ? "check = \"none\""
                      : strcmp(entry->key, "preload") == 0 ? "preload = false"
                      : strcmp(entry->key, "r1cs") == 0    ? "r1cs = \"\""
                                                           : "digest = \"\"");
    }
    for (uint32_t k = 0; k < config->n_keys; k++) {
        (void)fputs("\n[[key]]\n", out);
        for (size_t i = 0; i < pm_config_n_key_entries; i++) {
            PM_TRY(print_entry(&pm_config_key_entries[i], &config->keys[k], false, out, error));
        }
    }
    return PM_OK;
}

pm_status pm_config_print(const struct pm_config *config, FILE *out, pm_error *error) {
    const char *section = "";
    (void)fputs(
        "# proofmilld's configuration. Every key may be left out. Sizes are bytes, or \"5GiB\",\n"
        "# \"512MiB\", \"10GB\"; durations are milliseconds, or \"250ms\", \"30s\", \"5m\", "
        "\"2h\", \"7d\".\n",
        out);
    for (size_t i = 0; i < pm_config_n_entries; i++) {
        const struct config_entry *entry = &pm_config_entries[i];
        if (strcmp(section, entry->section) != 0) {
            section = entry->section;
            (void)fprintf(out, "\n[%s]\n", section);
        }
        PM_TRY(print_entry(entry, config, true, out, error));
    }
    PM_TRY(print_keys(config, out, error));
    if (fflush(out) != 0 || ferror(out) != 0) {
        return pm_error_set_errno(error, PM_IO, errno, NULL, "the configuration cannot be written");
    }
    return PM_OK;
}
