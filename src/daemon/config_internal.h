/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/config_internal.h - the table of keys, which reading, printing and comparing go by.
 */
#ifndef PM_DAEMON_CONFIG_INTERNAL_H
#define PM_DAEMON_CONFIG_INTERNAL_H

#include "daemon/config.h"

#include <stddef.h>

/* What a key's value is, and with it the type of its field. */
enum config_kind {
    CONFIG_TEXT,     /* char *, never NULL */
    CONFIG_FILE,     /* char *, NULL where the text is "" */
    CONFIG_LIST,     /* char *[list_max], and their number, a uint32_t, at count_offset */
    CONFIG_FLAG,     /* bool */
    CONFIG_COUNT,    /* uint32_t */
    CONFIG_SIZE,     /* uint64_t, bytes */
    CONFIG_DURATION, /* uint64_t, milliseconds */
    CONFIG_LEVEL,    /* pm_log_level */
    CONFIG_CHECK,    /* uint32_t, a pm_check */
    CONFIG_DIGEST    /* uint8_t[64], and whether it is there, a bool, at count_offset */
};

struct config_entry {
    const char *section, *key;
    enum config_kind kind;
    size_t offset, count_offset; /* in pm_config, or in pm_config_key for "key" */
    uint32_t list_max;
    uint64_t least, most, initial;
    const char *zero; /* the word that stands for 0; NULL: none does */
    const char *what; /* a comment, of one line or more */
};

/* In the order in which they are printed, sections together. */
extern const struct config_entry pm_config_entries[];
extern const size_t pm_config_n_entries;
/* Of a [[key]]; their section is "key". */
extern const struct config_entry pm_config_key_entries[];
extern const size_t pm_config_n_key_entries;
/* Keys of the cuzk daemon that mean nothing here, and why; NULL for any other. */
const char *pm_config_foreign(const char *section, const char *key);

/* config_value.c: text to values and back. False for anything else; nothing is written then. */
bool pm_config_read_size(const char *text, uint64_t *bytes);
bool pm_config_read_duration(const char *text, uint64_t *ms);
bool pm_config_read_digest(const char *text, uint8_t digest[64]);
/* The shortest text that reads back as the same. */
#define PM_CONFIG_VALUE_CHARS 24
void pm_config_size_text(uint64_t bytes, char text[PM_CONFIG_VALUE_CHARS]);
void pm_config_duration_text(uint64_t ms, char text[PM_CONFIG_VALUE_CHARS]);
/* The names of a LEVEL or CHECK; NULL for a number that has none. */
const char *pm_config_choice_name(enum config_kind kind, uint32_t value);
bool pm_config_read_choice(enum config_kind kind, const char *text, uint32_t *value);
/* What such a key takes: "a size such as \"5GiB\", ...". */
void pm_config_takes(const struct config_entry *entry, char *out, size_t n_bytes);

/* A value as it comes: from TOML, or as an option's text. */
struct config_value {
    const char *text; /* NULL: a number or a flag */
    bool is_flag;
    int64_t number;
};
/* Sets a field of base (a pm_config or a pm_config_key), adds to a list. INVALID_ARGUMENT without a
 * sentence: the value is not what the key takes. Errors: NO_MEMORY. */
pm_status pm_config_store(const struct config_entry *entry, void *base,
                          const struct config_value *value, pm_error *error);
/* Empties a list. */
void pm_config_clear_list(const struct config_entry *entry, void *base);

/* config.c: a deep copy; config_free() of what is half done on error. NO_MEMORY. */
pm_status pm_config_copy(const struct pm_config *from, struct pm_config *to, pm_error *error);
/* Takes a key over, in the place of one of the same name if there is one. Errors: COUNT,
 * NO_MEMORY. On error the key stays the caller's. */
pm_status pm_config_take_key(struct pm_config *config, struct pm_config_key *key, pm_error *error);
void pm_config_free_key(struct pm_config_key *key);
/* journal_path from state_dir, bounds of messages from the budget. NO_MEMORY. */
pm_status pm_config_settle(struct pm_config *config, pm_error *error);
/* What keys and proofs may take, with what comes in; 0: nobody knows. config_engine.c. */
uint64_t pm_config_budget_bytes(const struct pm_config *config);
/* The entry of "daemon.listen"; NULL: there is none. */
const struct config_entry *pm_config_entry_of(const char *key);
/* The name of a key of the engine's: letters, digits and -_.: */
bool pm_config_is_key_name(const char *name);

#endif
