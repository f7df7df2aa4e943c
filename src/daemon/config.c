/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/config.c - the configuration as an object: defaults, copies, keys, files. */
#include "daemon/config.h"
#include "daemon/config_internal.h"

#include "base/characters.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define ADDRESS_BYTES 512
#define MESSAGE_BYTES (UINT64_C(256) << 20)
#define UPLOAD_BYTES (UINT64_C(512) << 20)
#define UPLOAD_BYTES_MIN (UINT64_C(64) << 10)
#define UPLOAD_SHARE 8

/* ---- Defaults ------------------------------------------------------------------------------- */

static bool is_absolute(const char *folder) {
    return folder != NULL && folder[0] == '/';
}

pm_status pm_config_default_address(const char *runtime_dir, char *out, size_t n_bytes,
                                    pm_error *error) {
    int n;
    if (geteuid() == 0) {
        n = snprintf(out, n_bytes, "unix:///run/proofmill/proofmill.sock");
    } else if (is_absolute(runtime_dir)) {
        n = snprintf(out, n_bytes, "unix://%s/proofmill/proofmill.sock", runtime_dir);
    } else {
        n = snprintf(out, n_bytes, "unix:///tmp/proofmill-%u/proofmill.sock", (unsigned)geteuid());
    }
    PM_FAIL_IF(n < 0 || (size_t)n >= n_bytes, error, PM_LENGTH,
               "the folder for sockets has too long a name: %.100s...", runtime_dir);
    return PM_OK;
}

static void default_state_dir(const char *state_home, const char *home, char *out, size_t n_bytes) {
    int n;
    if (geteuid() == 0) {
        n = snprintf(out, n_bytes, "/var/lib/proofmill");
    } else if (is_absolute(state_home)) {
        n = snprintf(out, n_bytes, "%s/proofmill", state_home);
    } else if (is_absolute(home)) {
        n = snprintf(out, n_bytes, "%s/.local/state/proofmill", home);
    } else {
        n = -1;
    }
    if (n < 0 || (size_t)n >= n_bytes) {
        out[0] = '\0';
    }
}

static pm_status set_initial(struct pm_config *config, pm_error *error) {
    const struct config_value empty = {.text = ""};
    for (size_t i = 0; i < pm_config_n_entries; i++) {
        const struct config_entry *entry = &pm_config_entries[i];
        char *at = (char *)config + entry->offset;
        switch (entry->kind) {
        case CONFIG_TEXT:
            PM_TRY(pm_config_store(entry, config, &empty, error));
            break;
        case CONFIG_FLAG:
            *(bool *)at = entry->initial != 0;
            break;
        case CONFIG_COUNT:
            *(uint32_t *)at = (uint32_t)entry->initial;
            break;
        case CONFIG_SIZE:
        case CONFIG_DURATION:
            *(uint64_t *)at = entry->initial;
            break;
        case CONFIG_LEVEL:
            *(pm_log_level *)at = (pm_log_level)entry->initial;
            break;
        default: /* NULL and none */
            break;
        }
    }
    return PM_OK;
}

pm_status pm_config_init(struct pm_config *config, const char *runtime_dir, const char *state_home,
                         const char *home, pm_error *error) {
    char address[ADDRESS_BYTES], state_dir[4096];
    memset(config, 0, sizeof *config);
    PM_TRY(pm_config_default_address(runtime_dir, address, sizeof address, error));
    default_state_dir(state_home, home, state_dir, sizeof state_dir);
    const struct {
        const char *key, *value;
    } texts[] = {{"daemon.listen", address},
                 {"daemon.status_listen", "127.0.0.1:9821"},
                 {"daemon.state_dir", state_dir},
                 {"gpus.devices", "auto"}};
    pm_status status = set_initial(config, error);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == PM_OK; i++) {
        status = pm_config_set(config, texts[i].key, texts[i].value, false, texts[i].key, error);
    }
    if (status != PM_OK) {
        pm_config_free(config);
    }
    return status;
}

/* ---- Copies --------------------------------------------------------------------------------- */

static pm_status copy_text(char **to, const char *from, pm_error *error) {
    *to = from != NULL ? strdup(from) : NULL;
    PM_FAIL_IF(from != NULL && *to == NULL, error, PM_NO_MEMORY, "out of memory");
    return PM_OK;
}

/* Strings of one table; to's are NULL. */
static pm_status copy_texts(const struct config_entry *entries, size_t n, const void *from,
                            void *to, pm_error *error) {
    for (size_t i = 0; i < n; i++) {
        const struct config_entry *entry = &entries[i];
        char *const *source = (char *const *)((const char *)from + entry->offset);
        char **copy = (char **)((char *)to + entry->offset);
        if (entry->kind == CONFIG_LIST) {
            for (uint32_t k = 0; k < entry->list_max; k++) {
                PM_TRY(copy_text(&copy[k], source[k], error));
            }
        } else if (entry->kind == CONFIG_TEXT || entry->kind == CONFIG_FILE) {
            PM_TRY(copy_text(copy, *source, error));
        }
    }
    return PM_OK;
}

/* Forgets strings without freeing them, or frees them. */
static void drop_texts(const struct config_entry *entries, size_t n, void *base, bool frees) {
    for (size_t i = 0; i < n; i++) {
        const struct config_entry *entry = &entries[i];
        char **text = (char **)((char *)base + entry->offset);
        const uint32_t n_texts = entry->kind == CONFIG_LIST ? entry->list_max
                                 : entry->kind == CONFIG_TEXT || entry->kind == CONFIG_FILE ? 1
                                                                                            : 0;
        for (uint32_t k = 0; k < n_texts; k++) {
            if (frees) {
                free(text[k]);
            }
            text[k] = NULL;
        }
    }
}

static pm_status copy_keys(const struct pm_config *from, struct pm_config *to, pm_error *error) {
    for (uint32_t i = 0; i < from->n_keys; i++) {
        struct pm_config_key key = from->keys[i];
        drop_texts(pm_config_key_entries, pm_config_n_key_entries, &key, false);
        pm_status status =
            copy_texts(pm_config_key_entries, pm_config_n_key_entries, &from->keys[i], &key, error);
        if (status == PM_OK) {
            status = pm_config_take_key(to, &key, error);
        }
        if (status != PM_OK) {
            pm_config_free_key(&key);
            return status;
        }
    }
    return PM_OK;
}

pm_status pm_config_copy(const struct pm_config *from, struct pm_config *to, pm_error *error) {
    *to = *from;
    to->path = to->journal_path = NULL;
    to->keys = NULL;
    to->n_keys = 0;
    drop_texts(pm_config_entries, pm_config_n_entries, to, false);
    pm_status status = copy_text(&to->path, from->path, error);
    if (status == PM_OK) {
        status = copy_texts(pm_config_entries, pm_config_n_entries, from, to, error);
    }
    if (status == PM_OK) {
        status = copy_keys(from, to, error);
    }
    if (status == PM_OK) {
        status = pm_config_settle(to, error);
    }
    if (status != PM_OK) {
        pm_config_free(to);
    }
    return status;
}

void pm_config_free(struct pm_config *config) {
    for (uint32_t i = 0; i < config->n_keys; i++) {
        pm_config_free_key(&config->keys[i]);
    }
    free(config->keys);
    free(config->path);
    free(config->journal_path);
    drop_texts(pm_config_entries, pm_config_n_entries, config, true);
    memset(config, 0, sizeof *config);
}

/* A small budget is not for messages alone; one that was asked for must come in. */
static void settle_messages(struct pm_config *config) {
    const uint64_t budget_bytes = pm_config_budget_bytes(config);
    const uint64_t share_bytes = budget_bytes / UPLOAD_SHARE;
    uint64_t upload_bytes = config->upload_limit_bytes;
    uint64_t message_bytes = config->message_limit_bytes;
    if (upload_bytes == 0) {
        upload_bytes = budget_bytes != 0 && share_bytes < UPLOAD_BYTES ? share_bytes : UPLOAD_BYTES;
        upload_bytes = upload_bytes > UPLOAD_BYTES_MIN ? upload_bytes : UPLOAD_BYTES_MIN;
        upload_bytes = upload_bytes > message_bytes ? upload_bytes : message_bytes;
    }
    if (message_bytes == 0) {
        message_bytes = upload_bytes / 2 < MESSAGE_BYTES ? upload_bytes / 2 : MESSAGE_BYTES;
    }
    config->upload_bytes_max = upload_bytes;
    config->message_bytes_max = message_bytes;
}

pm_status pm_config_settle(struct pm_config *config, pm_error *error) {
    static const char below[] = "/journal";
    const size_t n = strlen(config->state_dir);
    char *path = malloc(n + sizeof below);
    PM_FAIL_IF(path == NULL, error, PM_NO_MEMORY, "out of memory");
    memcpy(path, config->state_dir, n);
    memcpy(path + n, below, sizeof below);
    free(config->journal_path);
    config->journal_path = path;
    settle_messages(config);
    return PM_OK;
}

/* ---- Keys ----------------------------------------------------------------------------------- */

bool pm_config_is_key_name(const char *name) {
    return pm_is_name(name, PM_ENGINE_NAME_BYTES - 1);
}

void pm_config_free_key(struct pm_config_key *key) {
    drop_texts(pm_config_key_entries, pm_config_n_key_entries, key, true);
}

pm_status pm_config_take_key(struct pm_config *config, struct pm_config_key *key, pm_error *error) {
    for (uint32_t i = 0; i < config->n_keys; i++) {
        if (strcmp(config->keys[i].name, key->name) == 0) {
            pm_config_free_key(&config->keys[i]);
            config->keys[i] = *key;
            return PM_OK;
        }
    }
    PM_FAIL_IF(config->n_keys == PM_CONFIG_KEYS_MAX, error, PM_COUNT,
               "more than %u keys, which is the most", PM_CONFIG_KEYS_MAX);
    struct pm_config_key *keys = realloc(config->keys, ((size_t)config->n_keys + 1) * sizeof *keys);
    PM_FAIL_IF(keys == NULL, error, PM_NO_MEMORY, "out of memory");
    config->keys = keys;
    keys[config->n_keys++] = *key;
    return PM_OK;
}

pm_status pm_config_set_key(struct pm_config *config, const char *name, const char *path,
                            const char *option, pm_error *error) {
    PM_FAIL_IF(!pm_config_is_key_name(name), error, PM_INVALID_ARGUMENT,
               "%s: the name of a key has letters, digits and -_.: alone, at most %u of them",
               option, PM_ENGINE_NAME_BYTES - 1);
    PM_FAIL_IF(path[0] == '\0', error, PM_INVALID_ARGUMENT, "%s: key %s has no file", option, name);
    struct pm_config_key key = {0};
    pm_status status = copy_text(&key.name, name, error);
    if (status == PM_OK) {
        status = copy_text(&key.path, path, error);
    }
    if (status == PM_OK) {
        status = pm_config_take_key(config, &key, error);
    }
    if (status != PM_OK) {
        pm_config_free_key(&key);
    }
    return status;
}

bool pm_config_key_path(const struct pm_config *config, const char *path, char *out,
                        size_t n_bytes) {
    const bool is_whole = path[0] == '/' || config->param_cache[0] == '\0';
    const int n = snprintf(out, n_bytes, "%s%s%s", is_whole ? "" : config->param_cache,
                           is_whole ? "" : "/", path);
    return n >= 0 && (size_t)n < n_bytes;
}

/* ---- Files ---------------------------------------------------------------------------------- */

/* At most capacity bytes; OK with *n_bytes == capacity says that there may be more. */
static pm_status read_bytes(int fd, char *bytes, size_t capacity, size_t *n_bytes, const char *path,
                            pm_error *error) {
    size_t n = 0;
    while (n < capacity) {
        const ssize_t got = read(fd, bytes + n, capacity - n);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return pm_error_set_errno(error, PM_IO, errno, path,
                                      "the configuration cannot be read");
        }
        if (got == 0) {
            break;
        }
        n += (size_t)got;
    }
    *n_bytes = n;
    return PM_OK;
}

pm_status pm_config_read(struct pm_config *config, const char *path, pm_error *error) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return pm_error_set_errno(error, PM_IO, errno, path, "the configuration cannot be opened");
    }
    size_t n_bytes = 0;
    char *text = malloc(FILE_BYTES_MAX + 1), *name = strdup(path);
    pm_status status = text != NULL && name != NULL
                           ? read_bytes(fd, text, FILE_BYTES_MAX + 1, &n_bytes, path, error)
                           : pm_error_set(error, PM_NO_MEMORY, "out of memory");
    (void)close(fd);
    if (status == PM_OK && n_bytes > FILE_BYTES_MAX) {
        status =
            pm_error_set(error, PM_LENGTH, "%s: more than a mebibyte is no configuration", path);
    }
    if (status == PM_OK) {
        status = pm_config_parse(config, text, n_bytes, path, error);
    }
    free(text);
    if (status != PM_OK) {
        free(name);
        return status;
    }
    free(config->path);
    config->path = name;
    return PM_OK;
}
