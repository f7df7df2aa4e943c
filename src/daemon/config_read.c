/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/config_read.c - from TOML, and from options, to the configuration's fields. */
#include "daemon/config.h"
#include "daemon/config_internal.h"
#include "daemon/toml_shim.h"

#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX 4096
#define LIKENESS_CHARS_MAX 32
#define SENTENCE_BYTES 320

struct config_reader {
    struct pm_config *config;
    const char *name; /* of the file */
    struct pm_config_key keys[PM_CONFIG_KEYS_MAX];
    uint32_t n_keys;
};

/* ---- Sentences ------------------------------------------------------------------------------ */

/* Names and texts of a file may hold any bytes. */
static void make_printable(char *text) {
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) {
            *c = '?';
        }
    }
}

__attribute__((format(printf, 4, 5))) static pm_status refuse(const struct config_reader *reader,
                                                              uint32_t line, pm_error *error,
                                                              const char *format, ...) {
    char sentence[SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    make_printable(sentence);
    return pm_error_set(error, PM_ENCODING, "%.180s:%u: %s", reader->name, line, sentence);
}

/* Levenshtein's distance, kept in one row; SIZE_MAX where nobody would take one for the other. */
static size_t likeness(const char *word, const char *candidate) {
    const size_t n = strlen(word), m = strlen(candidate);
    size_t row[LIKENESS_CHARS_MAX + 1];
    if (n > LIKENESS_CHARS_MAX || m > LIKENESS_CHARS_MAX) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t change = diagonal + (word[i - 1] != candidate[j - 1]);
            const size_t shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < shorter ? change : shorter;
        }
    }
    return row[m] * 2 <= m + 1 ? row[m] : SIZE_MAX;
}

static pm_status unknown_section(const struct config_reader *reader,
                                 const struct pm_toml_item *item, pm_error *error) {
    const char *nearest = likeness(item->key, "key") <= 1 ? "[key]" : NULL;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < pm_config_n_entries; i++) {
        const size_t distance = likeness(item->key, pm_config_entries[i].section);
        if (distance < best) {
            best = distance;
            nearest = pm_config_entries[i].section;
        }
    }
    return refuse(reader, item->line, error, "[%.60s]: no such section%s%s%s", item->key,
                  nearest != NULL ? "; did you mean [" : "", nearest != NULL ? nearest : "",
                  nearest != NULL ? "]?" : "");
}

/* A key that the cuzk daemon has is told why; any other is told which one is meant, perhaps in
 * another section. */
static pm_status unknown_key(const struct config_reader *reader, const struct pm_toml_item *item,
                             const struct config_entry *entries, size_t n, pm_error *error) {
    const char *why = pm_config_foreign(item->section, item->key);
    if (why != NULL) {
        return refuse(reader, item->line, error, "%s.%s: proofmill has no such thing: %s",
                      item->section, item->key, why);
    }
    const struct config_entry *nearest = NULL;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const bool is_elsewhere = strcmp(entries[i].section, item->section) != 0;
        const size_t distance = likeness(item->key, entries[i].key);
        if (distance < best && (!is_elsewhere || distance == 0)) {
            best = distance;
            nearest = &entries[i];
        }
    }
    if (nearest == NULL) {
        return refuse(reader, item->line, error, "%.60s.%.60s: no such key", item->section,
                      item->key);
    }
    return refuse(reader, item->line, error, "%.60s.%.60s: no such key; did you mean %s.%s?",
                  item->section, item->key, nearest->section, nearest->key);
}

/* ---- Items ---------------------------------------------------------------------------------- */

static const char *kind_name(enum pm_toml_kind kind) {
    static const char *const names[] = {
        [PM_TOML_STRING] = "a string",  [PM_TOML_INTEGER] = "an integer",
        [PM_TOML_FLOAT] = "a fraction", [PM_TOML_BOOLEAN] = "true or false",
        [PM_TOML_DATE] = "a date",      [PM_TOML_ARRAY] = "an array",
        [PM_TOML_TABLE] = "a table"};
    return names[kind];
}

static pm_status wrong_value(const struct config_reader *reader, const struct config_entry *entry,
                             const struct pm_toml_item *item, pm_error *error) {
    char takes[200], given[48] = "";
    pm_config_takes(entry, takes, sizeof takes);
    switch (item->kind) {
    case PM_TOML_STRING:
        (void)snprintf(given, sizeof given, "\"%.32s%s\"", item->text,
                       item->n_text > 32 ? "..." : "");
        break;
    case PM_TOML_INTEGER:
        (void)snprintf(given, sizeof given, "%lld", (long long)item->integer);
        break;
    case PM_TOML_BOOLEAN:
        (void)snprintf(given, sizeof given, "%s", item->integer != 0 ? "true" : "false");
        break;
    default:
        (void)snprintf(given, sizeof given, "%s", kind_name(item->kind));
        break;
    }
    return refuse(reader, item->line, error, "%s.%s takes %s, not %s", entry->section, entry->key,
                  takes, given);
}

static const struct config_entry *find_entry(const struct config_entry *entries, size_t n,
                                             const char *section, const char *key) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(entries[i].section, section) == 0 && strcmp(entries[i].key, key) == 0) {
            return &entries[i];
        }
    }
    return NULL;
}

static pm_status read_item(const struct config_reader *reader, const struct config_entry *entry,
                           void *base, const struct pm_toml_item *item, pm_error *error) {
    const bool is_element = item->element != PM_TOML_NONE;
    const bool is_list = entry->kind == CONFIG_LIST;
    if (item->kind == PM_TOML_ARRAY && is_list && !is_element && item->integer > 0) {
        pm_config_clear_list(entry, base);
        return PM_OK;
    }
    if (item->kind > PM_TOML_BOOLEAN || item->kind == PM_TOML_FLOAT || is_element > is_list) {
        return wrong_value(reader, entry, item, error);
    }
    const bool is_text = item->kind == PM_TOML_STRING;
    if (is_text && (strlen(item->text) != item->n_text || item->n_text > TEXT_BYTES_MAX)) {
        return refuse(reader, item->line, error,
                      "%s.%s: a string with a NUL in it, or of more than %d bytes", entry->section,
                      entry->key, TEXT_BYTES_MAX);
    }
    if (is_list && !is_element) {
        pm_config_clear_list(entry, base);
    }
    const struct config_value value = {.text = is_text ? item->text : NULL,
                                       .is_flag = item->kind == PM_TOML_BOOLEAN,
                                       .number = item->integer};
    const pm_status status = pm_config_store(entry, base, &value, error);
    return status == PM_INVALID_ARGUMENT ? wrong_value(reader, entry, item, error) : status;
}

/* A table, or something that should stand in one. */
static pm_status read_top(struct config_reader *reader, const struct pm_toml_item *item,
                          pm_error *error) {
    const bool is_table = item->kind == PM_TOML_TABLE;
    const bool is_numbered = item->element != PM_TOML_NONE;
    if (strcmp(item->key, "key") == 0 && is_table) {
        if (!is_numbered) {
            return refuse(reader, item->line, error, "a key is written [[key]], not [key]");
        }
        if (reader->n_keys == PM_CONFIG_KEYS_MAX) {
            return refuse(reader, item->line, error, "more than %u keys, which is the most",
                          PM_CONFIG_KEYS_MAX);
        }
        reader->keys[reader->n_keys++] = (struct pm_config_key){.line = item->line};
        return PM_OK;
    }
    bool is_known = pm_config_foreign(item->key, "") != NULL;
    for (size_t i = 0; i < pm_config_n_entries; i++) {
        is_known |= strcmp(pm_config_entries[i].section, item->key) == 0;
    }
    if (is_table && !is_known) {
        return unknown_section(reader, item, error);
    }
    if (is_table && !is_numbered) {
        return PM_OK;
    }
    if (is_table) {
        return refuse(reader, item->line, error, "this section is written [%s], not [[%s]]",
                      item->key, item->key);
    }
    for (size_t i = 0; i < pm_config_n_entries; i++) {
        if (strcmp(pm_config_entries[i].key, item->key) == 0) {
            return refuse(reader, item->line, error, "%s stands outside its section [%s]",
                          item->key, pm_config_entries[i].section);
        }
    }
    return refuse(reader, item->line, error, "%.60s stands outside any section, and none has it",
                  item->key);
}

static pm_status read_any(void *user, const struct pm_toml_item *item, pm_error *error) {
    struct config_reader *reader = user;
    if (item->section[0] == '\0') {
        return read_top(reader, item, error);
    }
    const bool is_key = item->table != PM_TOML_NONE && reader->n_keys > item->table &&
                        strcmp(item->section, "key") == 0;
    const struct config_entry *entries = is_key ? pm_config_key_entries : pm_config_entries;
    const size_t n = is_key ? pm_config_n_key_entries : pm_config_n_entries;
    const struct config_entry *entry = find_entry(entries, n, item->section, item->key);
    if (entry == NULL) {
        return unknown_key(reader, item, entries, n, error);
    }
    void *base = is_key ? (void *)&reader->keys[item->table] : (void *)reader->config;
    if (!is_key && item->element == PM_TOML_NONE) {
        reader->config->lines[entry - pm_config_entries] = item->line;
    }
    return read_item(reader, entry, base, item, error);
}

/* ---- Keys ----------------------------------------------------------------------------------- */

static pm_status check_key(const struct config_reader *reader, uint32_t index, pm_error *error) {
    const struct pm_config_key *key = &reader->keys[index];
    if (key->name == NULL || key->path == NULL || key->path[0] == '\0') {
        return refuse(reader, key->line, error, "key.%s is missing: a [[key]] needs name and path",
                      key->name == NULL ? "name" : "path");
    }
    if (!pm_config_is_key_name(key->name)) {
        return refuse(reader, key->line, error,
                      "key.name: \"%.40s\" is no name: letters, digits and -_.: alone, at most %u",
                      key->name, PM_ENGINE_NAME_BYTES - 1);
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(reader->keys[i].name, key->name) == 0) {
            return refuse(reader, key->line, error,
                          "key.name: \"%s\" is the name of the key in line %u too", key->name,
                          reader->keys[i].line);
        }
    }
    return PM_OK;
}

static pm_status take_keys(struct config_reader *reader, pm_error *error) {
    for (uint32_t i = 0; i < reader->n_keys; i++) {
        PM_TRY(check_key(reader, i, error));
    }
    for (uint32_t i = 0; i < reader->n_keys; i++) {
        PM_TRY(pm_config_take_key(reader->config, &reader->keys[i], error));
        reader->keys[i] = (struct pm_config_key){0};
    }
    return PM_OK;
}

pm_status pm_config_parse(struct pm_config *config, const char *text, size_t n_bytes,
                          const char *name, pm_error *error) {
    struct pm_config read;
    struct config_reader *reader = calloc(1, sizeof *reader);
    PM_FAIL_IF(reader == NULL, error, PM_NO_MEMORY, "out of memory");
    pm_status status = pm_config_copy(config, &read, error);
    if (status != PM_OK) {
        free(reader);
        return status;
    }
    reader->config = &read;
    reader->name = name;
    status = pm_toml_walk(text, n_bytes, name, read_any, reader, error);
    if (status == PM_OK) {
        status = take_keys(reader, error);
    }
    if (status == PM_OK) {
        status = pm_config_settle(&read, error);
    }
    for (uint32_t i = 0; i < reader->n_keys; i++) {
        pm_config_free_key(&reader->keys[i]);
    }
    free(reader);
    if (status != PM_OK) {
        pm_config_free(&read);
        return status;
    }
    pm_config_free(config);
    *config = read;
    return PM_OK;
}

/* ---- Options -------------------------------------------------------------------------------- */

const struct config_entry *pm_config_entry_of(const char *path) {
    for (size_t i = 0; i < pm_config_n_entries; i++) {
        const struct config_entry *entry = &pm_config_entries[i];
        const size_t n = strlen(entry->section);
        if (strncmp(path, entry->section, n) == 0 && path[n] == '.' &&
            strcmp(path + n + 1, entry->key) == 0) {
            return entry;
        }
    }
    return NULL;
}

pm_status pm_config_set(struct pm_config *config, const char *key, const char *value, bool clear,
                        const char *option, pm_error *error) {
    const struct config_entry *entry = pm_config_entry_of(key);
    PM_FAIL_IF(entry == NULL, error, PM_INVALID_ARGUMENT, "%s: there is no key %s", option, key);
    if (entry->kind == CONFIG_LIST && clear) {
        pm_config_clear_list(entry, config);
    }
    config->lines[entry - pm_config_entries] = 0;
    const bool is_true = strcmp(value, "true") == 0;
    const bool is_flag = entry->kind == CONFIG_FLAG && (is_true || strcmp(value, "false") == 0);
    const struct config_value given = {.text = value, .is_flag = is_flag, .number = is_true};
    pm_status status = pm_config_store(entry, config, &given, error);
    if (status == PM_INVALID_ARGUMENT) {
        char takes[200], shown[48];
        pm_config_takes(entry, takes, sizeof takes);
        (void)snprintf(shown, sizeof shown, "%.40s", value);
        make_printable(shown);
        return pm_error_set(error, PM_INVALID_ARGUMENT, "%s takes %s, not \"%s\"", option, takes,
                            shown);
    }
    return status == PM_OK ? pm_config_settle(config, error) : status;
}
