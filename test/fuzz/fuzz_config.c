/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any text as the daemon's configuration: what is accepted prints as a text that is accepted again
 * and prints as the same; what is refused changes nothing and is told with file and line.
 */
#include "fuzz/harness.h"

#include "daemon/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pm_config defaults(void) {
    struct pm_config config;
    FUZZ_REQUIRE(pm_config_init(&config, "/run/user/1", "/state", "/users/me", NULL) == PM_OK);
    return config;
}

static char *printed(const struct pm_config *config, size_t *n_bytes) {
    char *text = NULL;
    FILE *out = open_memstream(&text, n_bytes);
    FUZZ_REQUIRE(out != NULL);
    FUZZ_REQUIRE(pm_config_print(config, out, NULL) == PM_OK);
    FUZZ_REQUIRE(fclose(out) == 0);
    return text;
}

static void check_fields(const struct pm_config *config) {
    FUZZ_REQUIRE(config->n_listen >= 1 && config->n_listen <= PM_CONFIG_LISTEN_MAX);
    FUZZ_REQUIRE(config->n_devices >= 1 && config->n_devices <= PM_CONFIG_DEVICES_MAX);
    FUZZ_REQUIRE(config->n_keys <= PM_CONFIG_KEYS_MAX);
    FUZZ_REQUIRE(config->n_threads >= 1 && config->workers_per_device <= 4);
    FUZZ_REQUIRE(config->message_bytes_max <= INT32_MAX);
    FUZZ_REQUIRE(config->log_level >= PM_LOG_WARNING && config->log_level <= PM_LOG_DEBUG);
    FUZZ_REQUIRE(strncmp(config->journal_path, config->state_dir, strlen(config->state_dir)) == 0);
    char budget[PM_CONFIG_SHORT_CHARS];
    pm_config_short_size(config->total_budget_bytes, budget);
    FUZZ_REQUIRE(strchr(budget, ' ') != NULL && strlen(budget) + 1 < sizeof budget);
    for (uint32_t i = 0; i < config->n_keys; i++) {
        FUZZ_REQUIRE(config->keys[i].name[0] != '\0' && config->keys[i].path[0] != '\0');
        FUZZ_REQUIRE(config->keys[i].check <= PM_CHECK_FULL);
    }
}

static void check_accepted(const struct pm_config *config) {
    struct pm_config again = defaults();
    char names[256];
    size_t n_bytes = 0, n_bytes_again = 0;
    pm_error error = PM_ERROR_INIT;
    char *text = printed(config, &n_bytes);
    FUZZ_REQUIRE(fuzz_succeeded(pm_config_parse(&again, text, n_bytes, "b", &error), &error));
    char *text_again = printed(&again, &n_bytes_again);
    FUZZ_REQUIRE(n_bytes == n_bytes_again && memcmp(text, text_again, n_bytes) == 0);
    pm_config_restart_keys(config, &again, names, sizeof names);
    FUZZ_REQUIRE(names[0] == '\0');
    const pm_status status = pm_config_check(config, &error);
    FUZZ_REQUIRE(status == PM_OK || status == PM_INVALID_ARGUMENT);
    check_fields(config);
    free(text);
    free(text_again);
    pm_config_free(&again);
}

/* The same bytes as an option's: "KEY=VALUE". */
static void set_option(struct pm_config *config, const uint8_t *bytes, size_t n_bytes) {
    char *text = malloc(n_bytes + 1), *value;
    pm_error error = PM_ERROR_INIT;
    FUZZ_REQUIRE(text != NULL);
    if (n_bytes > 0) {
        memcpy(text, bytes, n_bytes);
    }
    text[n_bytes] = '\0';
    value = strchr(text, '=');
    if (value != NULL) {
        *value++ = '\0';
        const pm_status status =
            pm_config_set(config, text, value, n_bytes % 2 == 0, "--option", &error);
        FUZZ_REQUIRE(status == PM_OK || status == PM_INVALID_ARGUMENT);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct pm_config config = defaults();
    size_t n_before = 0, n_after = 0;
    pm_error error = PM_ERROR_INIT;
    char *before = printed(&config, &n_before);
    const pm_status status =
        pm_config_parse(&config, (const char *)bytes, n_bytes, "a.toml", &error);
    if (fuzz_succeeded(status, &error)) {
        check_accepted(&config);
    } else {
        char *after = printed(&config, &n_after);
        FUZZ_REQUIRE(status == PM_ENCODING);
        FUZZ_REQUIRE(strncmp(error.message, "a.toml:", 7) == 0);
        FUZZ_REQUIRE(n_before == n_after && memcmp(before, after, n_before) == 0);
        free(after);
    }
    free(before);
    set_option(&config, bytes, n_bytes);
    pm_config_free(&config);
    return 0;
}
