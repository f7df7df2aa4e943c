/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/config_value.c - values of the configuration: sizes, durations, words, and their fields.
 */
#include "daemon/config_internal.h"

#include "base/checked.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Digits behind the point that can matter: a millionth of a unit. */
#define FRACTION_DIGITS 6
#define FRACTION_UNIT UINT64_C(1000000)

struct unit {
    const char *name;
    uint64_t factor;
};

/* From the largest on, so that the first one that divides is the shortest to write. */
static const struct unit size_units[] = {{"TiB", UINT64_C(1) << 40},
                                         {"GiB", UINT64_C(1) << 30},
                                         {"MiB", UINT64_C(1) << 20},
                                         {"KiB", UINT64_C(1) << 10},
                                         {"T", UINT64_C(1) << 40},
                                         {"G", UINT64_C(1) << 30},
                                         {"M", UINT64_C(1) << 20},
                                         {"K", UINT64_C(1) << 10},
                                         {"TB", UINT64_C(1000000000000)},
                                         {"GB", UINT64_C(1000000000)},
                                         {"MB", UINT64_C(1000000)},
                                         {"KB", UINT64_C(1000)},
                                         {"B", 1},
                                         {"", 1}};
#define N_SIZE_UNITS (sizeof size_units / sizeof size_units[0])
#define N_BINARY_UNITS 4

static const struct unit duration_units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
#define N_DURATION_UNITS (sizeof duration_units / sizeof duration_units[0])

static bool read_digits(const char **text, uint64_t *value) {
    const size_t n = strspn(*text, "0123456789");
    uint64_t read = 0;
    for (size_t i = 0; i < n; i++) {
        if (!pm_checked_mul_u64(read, 10, &read) ||
            !pm_checked_add_u64(read, (uint64_t)((*text)[i] - '0'), &read)) {
            return false;
        }
    }
    *text += n;
    *value = read;
    return n > 0;
}

static const struct unit *find_unit(const struct unit *units, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(units[i].name, name) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* Millionths, from ".5"; 0 where there is no point. */
static bool read_fraction(const char **text, uint64_t *millionths) {
    *millionths = 0;
    if (**text != '.') {
        return true;
    }
    const char *digits = *text + 1;
    const size_t n = strspn(digits, "0123456789");
    for (size_t i = 0; i < FRACTION_DIGITS; i++) {
        *millionths = *millionths * 10 + (i < n ? (uint64_t)(digits[i] - '0') : 0);
    }
    *text = digits + n;
    return n > 0 && n <= FRACTION_DIGITS;
}

bool pm_config_read_size(const char *text, uint64_t *bytes) {
    uint64_t whole, millionths, size;
    if (!read_digits(&text, &whole) || !read_fraction(&text, &millionths)) {
        return false;
    }
    const struct unit *unit = find_unit(size_units, N_SIZE_UNITS, text + (*text == ' '));
    if (unit == NULL || (unit->factor == 1 && millionths != 0) ||
        !pm_checked_mul_u64(whole, unit->factor, &size)) {
        return false;
    }
    const uint64_t part = unit->factor / FRACTION_UNIT * millionths +
                          unit->factor % FRACTION_UNIT * millionths / FRACTION_UNIT;
    if (!pm_checked_add_u64(size, part, &size)) {
        return false;
    }
    *bytes = size;
    return true;
}

bool pm_config_read_duration(const char *text, uint64_t *ms) {
    uint64_t whole, duration;
    if (!read_digits(&text, &whole)) {
        return false;
    }
    const struct unit *unit = find_unit(duration_units, N_DURATION_UNITS, text);
    if (unit == NULL || !pm_checked_mul_u64(whole, unit->factor, &duration)) {
        return false;
    }
    *ms = duration;
    return true;
}

bool pm_config_read_digest(const char *text, uint8_t digest[64]) {
    static const char hex[] = "0123456789abcdef";
    uint8_t read[64] = {0};
    if (strlen(text) != 128) {
        return false;
    }
    for (size_t i = 0; i < 128; i++) {
        const char *at = strchr(hex, text[i] >= 'A' && text[i] <= 'F' ? text[i] | 0x20 : text[i]);
        if (at == NULL) {
            return false;
        }
        read[i / 2] = (uint8_t)(read[i / 2] << 4 | (at - hex));
    }
    memcpy(digest, read, sizeof read);
    return true;
}

void pm_config_size_text(uint64_t bytes, char text[PM_CONFIG_VALUE_CHARS]) {
    for (size_t i = 0; i < N_BINARY_UNITS && bytes != 0; i++) {
        if (bytes % size_units[i].factor == 0) {
            (void)snprintf(text, PM_CONFIG_VALUE_CHARS, "%" PRIu64 "%s",
                           bytes / size_units[i].factor, size_units[i].name);
            return;
        }
    }
    (void)snprintf(text, PM_CONFIG_VALUE_CHARS, "%" PRIu64 "B", bytes);
}

void pm_config_duration_text(uint64_t ms, char text[PM_CONFIG_VALUE_CHARS]) {
    size_t i = 0;
    while (ms == 0 ? i < 3 : ms % duration_units[i].factor != 0) {
        i++;
    }
    (void)snprintf(text, PM_CONFIG_VALUE_CHARS, "%" PRIu64 "%s", ms / duration_units[i].factor,
                   duration_units[i].name);
}

/* ---- Words ---------------------------------------------------------------------------------- */

static const struct {
    enum config_kind kind;
    uint32_t value;
    const char *name;
} choices[] = {
    {CONFIG_LEVEL, PM_LOG_WARNING, "warning"}, {CONFIG_LEVEL, PM_LOG_WARNING, "warn"},
    {CONFIG_LEVEL, PM_LOG_INFO, "info"},       {CONFIG_LEVEL, PM_LOG_DEBUG, "debug"},
    {CONFIG_CHECK, PM_CHECK_NONE, "none"},     {CONFIG_CHECK, PM_CHECK_FAST, "fast"},
    {CONFIG_CHECK, PM_CHECK_FULL, "full"},
};
#define N_CHOICES (sizeof choices / sizeof choices[0])

const char *pm_config_choice_name(enum config_kind kind, uint32_t value) {
    for (size_t i = 0; i < N_CHOICES; i++) {
        if (choices[i].kind == kind && choices[i].value == value) {
            return choices[i].name;
        }
    }
    return NULL;
}

bool pm_config_read_choice(enum config_kind kind, const char *text, uint32_t *value) {
    for (size_t i = 0; i < N_CHOICES; i++) {
        if (choices[i].kind == kind && strcmp(choices[i].name, text) == 0) {
            *value = choices[i].value;
            return true;
        }
    }
    return false;
}

/* "a size from 64KiB to 2GiB, such as ...". */
static void takes_range(const struct config_entry *entry, char *out, size_t n_bytes) {
    char least[PM_CONFIG_VALUE_CHARS], most[PM_CONFIG_VALUE_CHARS];
    if (entry->kind == CONFIG_COUNT) {
        (void)snprintf(out, n_bytes, "a whole number from %" PRIu64 " to %" PRIu64, entry->least,
                       entry->most);
        return;
    }
    const bool is_size = entry->kind == CONFIG_SIZE;
    (is_size ? pm_config_size_text : pm_config_duration_text)(entry->least, least);
    (is_size ? pm_config_size_text : pm_config_duration_text)(entry->most, most);
    (void)snprintf(out, n_bytes, "%s from %s to %s%s%s%s",
                   is_size ? "bytes, or a size such as \"5GiB\","
                           : "milliseconds, or a duration such as \"5m\" (ms, s, m, h, d),",
                   least, most, entry->zero != NULL ? ", or \"" : "",
                   entry->zero != NULL ? entry->zero : "", entry->zero != NULL ? "\"" : "");
}

void pm_config_takes(const struct config_entry *entry, char *out, size_t n_bytes) {
    static const char *const sentences[] = {[CONFIG_TEXT] = "a string",
                                            [CONFIG_FILE] = "the name of a file, as a string",
                                            [CONFIG_FLAG] = "true or false",
                                            [CONFIG_LEVEL] = "\"warning\", \"info\" or \"debug\"",
                                            [CONFIG_CHECK] = "\"none\", \"fast\" or \"full\"",
                                            [CONFIG_DIGEST] = "128 hexadecimal digits, or \"\""};
    if (entry->kind == CONFIG_LIST) {
        (void)snprintf(out, n_bytes, "a string or an array of 1 to %u strings, each once",
                       entry->list_max);
    } else if (entry->kind == CONFIG_COUNT || entry->kind == CONFIG_SIZE ||
               entry->kind == CONFIG_DURATION) {
        takes_range(entry, out, n_bytes);
    } else {
        (void)snprintf(out, n_bytes, "%s", sentences[entry->kind]);
    }
}

/* ---- Fields --------------------------------------------------------------------------------- */

static void *field(void *base, size_t offset) {
    return (char *)base + offset;
}

static pm_status replace(char **at, const char *text, pm_error *error) {
    char *copy = NULL;
    if (text != NULL) {
        copy = strdup(text);
        PM_FAIL_IF(copy == NULL, error, PM_NO_MEMORY, "out of memory");
    }
    free(*at);
    *at = copy;
    return PM_OK;
}

static pm_status store_element(const struct config_entry *entry, void *base, const char *text,
                               pm_error *error) {
    char **list = field(base, entry->offset);
    uint32_t *n = field(base, entry->count_offset);
    for (uint32_t i = 0; i < *n; i++) {
        if (strcmp(list[i], text) == 0) {
            return PM_INVALID_ARGUMENT;
        }
    }
    if (*n >= entry->list_max || text[0] == '\0') {
        return PM_INVALID_ARGUMENT;
    }
    PM_TRY(replace(&list[*n], text, error));
    ++*n;
    return PM_OK;
}

static pm_status store_text(const struct config_entry *entry, void *base, const char *text,
                            pm_error *error) {
    bool *has_digest = field(base, entry->count_offset);
    uint32_t value;
    switch (entry->kind) {
    case CONFIG_TEXT:
        return replace(field(base, entry->offset), text, error);
    case CONFIG_FILE:
        return replace(field(base, entry->offset), text[0] != '\0' ? text : NULL, error);
    case CONFIG_LIST:
        return store_element(entry, base, text, error);
    case CONFIG_DIGEST:
        if (text[0] != '\0' && !pm_config_read_digest(text, field(base, entry->offset))) {
            return PM_INVALID_ARGUMENT;
        }
        *has_digest = text[0] != '\0';
        return PM_OK;
    default:
        if (!pm_config_read_choice(entry->kind, text, &value)) {
            return PM_INVALID_ARGUMENT;
        }
        memcpy(field(base, entry->offset), &value, sizeof value);
        return PM_OK;
    }
}
_Static_assert(sizeof(pm_log_level) == sizeof(uint32_t), "store_text() copies a number to it");

/* Sizes and durations come as numbers and as texts. */
static bool read_number(const struct config_entry *entry, const struct config_value *value,
                        uint64_t *number) {
    if (value->text == NULL) {
        *number = (uint64_t)value->number;
        return value->number >= 0 && *number >= entry->least && *number <= entry->most;
    }
    if (entry->zero != NULL && strcmp(value->text, entry->zero) == 0) {
        *number = 0;
        return true;
    }
    const bool is_read =
        entry->kind == CONFIG_DURATION
            ? pm_config_read_duration(value->text, number)
            : entry->kind == CONFIG_SIZE && pm_config_read_size(value->text, number);
    return is_read && *number >= entry->least && *number <= entry->most;
}

pm_status pm_config_store(const struct config_entry *entry, void *base,
                          const struct config_value *value, pm_error *error) {
    const bool is_number =
        entry->kind == CONFIG_COUNT || entry->kind == CONFIG_SIZE || entry->kind == CONFIG_DURATION;
    uint64_t number = 0;
    if (value->is_flag != (entry->kind == CONFIG_FLAG)) {
        return PM_INVALID_ARGUMENT;
    }
    if (value->is_flag) {
        *(bool *)field(base, entry->offset) = value->number != 0;
        return PM_OK;
    }
    if (!is_number) {
        return value->text != NULL ? store_text(entry, base, value->text, error)
                                   : PM_INVALID_ARGUMENT;
    }
    if (!read_number(entry, value, &number)) {
        return PM_INVALID_ARGUMENT;
    }
    if (entry->kind == CONFIG_COUNT) {
        *(uint32_t *)field(base, entry->offset) = (uint32_t)number;
    } else {
        *(uint64_t *)field(base, entry->offset) = number;
    }
    return PM_OK;
}

void pm_config_clear_list(const struct config_entry *entry, void *base) {
    char **list = field(base, entry->offset);
    uint32_t *n = field(base, entry->count_offset);
    for (uint32_t i = 0; i < *n; i++) {
        free(list[i]);
        list[i] = NULL;
    }
    *n = 0;
}

void pm_config_short_size(uint64_t bytes, char text[PM_CONFIG_SHORT_CHARS]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    const bool is_whole = value >= 100 || value == (double)(uint64_t)value;
    (void)snprintf(text, PM_CONFIG_SHORT_CHARS, is_whole ? "%.0f %s" : "%.1f %s", value,
                   units[unit]);
}
