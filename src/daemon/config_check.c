/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/config_check.c - what no single key shows: addresses, and what goes with what. */
#include "daemon/config.h"
#include "daemon/config_internal.h"

#include "base/status.h"

#include <proofmill/experimental.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SENTENCE_BYTES 320

enum address_kind { ADDRESS_BAD, ADDRESS_UNIX, ADDRESS_LOOPBACK, ADDRESS_OPEN };

#define PATH_BYTES 4096

/* With file and line, if the key's value stands in one. */
__attribute__((format(printf, 4, 5))) static pm_status
refuse(const struct pm_config *config, const char *key, pm_error *error, const char *format, ...) {
    const struct config_entry *entry = pm_config_entry_of(key);
    const uint32_t line = entry != NULL ? config->lines[entry - pm_config_entries] : 0;
    char sentence[SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return line != 0 && config->path != NULL
               ? pm_error_set(error, PM_ENCODING, "%.180s:%u: %s", config->path, line, sentence)
               : pm_error_set(error, PM_INVALID_ARGUMENT, "%s", sentence);
}

#define REFUSE_IF(condition, key, ...)                                                             \
    do {                                                                                           \
        if (condition) {                                                                           \
            return refuse(config, key, error, __VA_ARGS__);                                        \
        }                                                                                          \
    } while (0)

/* "127.0.0.1:9820" or "[::1]:9820": a number, as a name may mean anything tomorrow. */
static enum address_kind read_tcp(const char *text) {
    char host[INET6_ADDRSTRLEN + 1];
    struct in_addr v4;
    struct in6_addr v6;
    const bool is_v6 = text[0] == '[';
    const char *end = is_v6 ? strstr(text, "]:") : strchr(text, ':');
    if (end == NULL || (size_t)(end - text) > INET6_ADDRSTRLEN) {
        return ADDRESS_BAD;
    }
    (void)snprintf(host, sizeof host, "%.*s", (int)(end - text - is_v6), text + is_v6);
    const char *port = end + (is_v6 ? 2 : 1);
    const size_t n_port = strlen(port);
    if (n_port == 0 || n_port > 5 || strspn(port, "0123456789") != n_port ||
        strtoul(port, NULL, 10) > 65535 || strtoul(port, NULL, 10) == 0) {
        return ADDRESS_BAD;
    }
    if (is_v6) {
        return inet_pton(AF_INET6, host, &v6) != 1 ? ADDRESS_BAD
               : IN6_IS_ADDR_LOOPBACK(&v6)         ? ADDRESS_LOOPBACK
                                                   : ADDRESS_OPEN;
    }
    return inet_pton(AF_INET, host, &v4) != 1 ? ADDRESS_BAD
           : ntohl(v4.s_addr) >> 24 == 127    ? ADDRESS_LOOPBACK
                                              : ADDRESS_OPEN;
}

static enum address_kind read_address(const char *text) {
    static const char scheme[] = "unix://";
    if (strncmp(text, scheme, sizeof scheme - 1) == 0) {
        const char *path = text + sizeof scheme - 1;
        const bool fits = strlen(path) < sizeof((struct sockaddr_un *)NULL)->sun_path;
        return path[0] == '/' && path[1] != '\0' && fits ? ADDRESS_UNIX : ADDRESS_BAD;
    }
    return read_tcp(text);
}

static pm_status check_listen(const struct pm_config *config, pm_error *error) {
    REFUSE_IF(config->n_listen == 0, "daemon.listen", "daemon.listen: there must be an address");
    for (uint32_t i = 0; i < config->n_listen; i++) {
        const enum address_kind kind = read_address(config->listen[i]);
        REFUSE_IF(kind == ADDRESS_BAD, "daemon.listen",
                  "daemon.listen: \"%.200s\" is no address; it is one such as "
                  "\"unix:///run/proofmill/proofmill.sock\" (at most %zu bytes of path), "
                  "\"127.0.0.1:9820\" or \"[::1]:9820\"",
                  config->listen[i], sizeof((struct sockaddr_un *)NULL)->sun_path - 1);
        REFUSE_IF(kind == ADDRESS_OPEN && !config->insecure_listen && config->tls_client_ca == NULL,
                  "daemon.listen",
                  "daemon.listen: other machines reach %s: give certificate, key and client_ca in "
                  "[tls], or say insecure_listen = true, which lets everybody in",
                  config->listen[i]);
    }
    return PM_OK;
}

static pm_status check_status_listen(const struct pm_config *config, pm_error *error) {
    const char *address = config->status_listen;
    if (address[0] == '\0') {
        return PM_OK;
    }
    const enum address_kind kind = read_address(address);
    REFUSE_IF(kind == ADDRESS_BAD || kind == ADDRESS_UNIX, "daemon.status_listen",
              "daemon.status_listen: \"%.200s\" is no address for HTTP; it is one such as "
              "\"127.0.0.1:9821\", or \"\" for none",
              address);
    REFUSE_IF(kind == ADDRESS_OPEN && !config->insecure_listen, "daemon.status_listen",
              "daemon.status_listen: other machines reach %s, and HTTP asks for no certificates: "
              "use 127.0.0.1, or say insecure_listen = true",
              address);
    return PM_OK;
}

static pm_status check_tls(const struct pm_config *config, pm_error *error) {
    REFUSE_IF((config->tls_certificate == NULL) != (config->tls_key == NULL),
              config->tls_key == NULL ? "tls.certificate" : "tls.key",
              "tls.%s is missing: certificate and key go together",
              config->tls_key == NULL ? "key" : "certificate");
    REFUSE_IF(config->tls_client_ca != NULL && config->tls_certificate == NULL, "tls.client_ca",
              "tls.client_ca needs tls.certificate and tls.key beside it");
    return PM_OK;
}

static bool is_device(const char *text) {
    static const char cuda[] = "cuda:";
    if (strcmp(text, "cpu") == 0 || strcmp(text, "auto") == 0) {
        return true;
    }
    if (strncmp(text, cuda, sizeof cuda - 1) != 0) {
        return false;
    }
    const char *ordinal = text + sizeof cuda - 1;
    const size_t n = strlen(ordinal);
    return n >= 1 && n <= 3 && strspn(ordinal, "0123456789") == n && (n == 1 || ordinal[0] != '0');
}

static pm_status check_devices(const struct pm_config *config, pm_error *error) {
    for (uint32_t i = 0; i < config->n_devices; i++) {
        REFUSE_IF(!is_device(config->devices[i]), "gpus.devices",
                  "gpus.devices: \"%.60s\" is no device; there are \"auto\", \"cpu\", \"cuda:0\" "
                  "and so on",
                  config->devices[i]);
        REFUSE_IF(strcmp(config->devices[i], "auto") == 0 && config->n_devices > 1, "gpus.devices",
                  "gpus.devices: \"auto\" stands alone");
    }
    return PM_OK;
}

pm_status pm_config_check(const struct pm_config *config, pm_error *error) {
    PM_TRY(check_tls(config, error));
    PM_TRY(check_listen(config, error));
    PM_TRY(check_status_listen(config, error));
    PM_TRY(check_devices(config, error));
    REFUSE_IF(config->journal && config->state_dir[0] == '\0', "daemon.state_dir",
              "daemon.state_dir: there is no home folder to keep the journal in: say where, or "
              "journal.enabled = false");
    REFUSE_IF(config->message_bytes_max > config->upload_bytes_max, "rpc.max_upload",
              "rpc.max_upload is smaller than rpc.max_message: no such message could come in");
    REFUSE_IF(config->total_budget_bytes != 0 &&
                  config->total_budget_bytes <= config->upload_bytes_max,
              "memory.total_budget",
              "memory.total_budget leaves nothing beside rpc.max_upload, which comes off it");
    return PM_OK;
}

/* ---- Files ---------------------------------------------------------------------------------- */

/* line 0: it stands in none. */
static pm_status check_file(const struct pm_config *config, const char *what, uint32_t line,
                            const char *path, pm_error *error) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    char where[PATH_BYTES] = "";
    if (fd >= 0) {
        (void)close(fd);
        return PM_OK;
    }
    const int number = errno;
    if (line != 0 && config->path != NULL) {
        (void)snprintf(where, sizeof where, "%.180s:%u: ", config->path, line);
    }
    return pm_error_set(error, PM_IO, "%s%s: %.200s cannot be opened: %s", where, what, path,
                        strerror(number));
}

pm_status pm_config_check_files(const struct pm_config *config, bool with_keys, pm_error *error) {
    const struct {
        const char *key, *path;
    } files[] = {{"tls.certificate", config->tls_certificate},
                 {"tls.key", config->tls_key},
                 {"tls.client_ca", config->tls_client_ca}};
    char path[PATH_BYTES], what[PM_ENGINE_NAME_BYTES + 16];
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const size_t index = (size_t)(pm_config_entry_of(files[i].key) - pm_config_entries);
        if (files[i].path != NULL) {
            PM_TRY(check_file(config, files[i].key, config->lines[index], files[i].path, error));
        }
    }
    for (uint32_t i = 0; i < config->n_keys && with_keys; i++) {
        const struct pm_config_key *key = &config->keys[i];
        PM_FAIL_IF(!pm_config_key_path(config, key->path, path, sizeof path), error, PM_LENGTH,
                   "key %s: its path is too long", key->name);
        (void)snprintf(what, sizeof what, "key %s", key->name);
        PM_TRY(check_file(config, what, key->line, path, error));
        if (key->r1cs_path != NULL &&
            pm_config_key_path(config, key->r1cs_path, path, sizeof path)) {
            PM_TRY(check_file(config, what, key->line, path, error));
        }
    }
    return PM_OK;
}

void pm_config_doubt(const struct pm_config *config, char *out, size_t n_bytes) {
    char budget[PM_CONFIG_SHORT_CHARS], total[PM_CONFIG_SHORT_CHARS];
    pm_host_memory memory;
    out[0] = '\0';
    if (pm_host_memory_now(NULL, &memory) == PM_OK && memory.total_bytes != 0 &&
        config->total_budget_bytes > memory.total_bytes) {
        pm_config_short_size(config->total_budget_bytes, budget);
        pm_config_short_size(memory.total_bytes, total);
        (void)snprintf(out, n_bytes,
                       "memory.total_budget is %s, and this machine or its cgroup has %s in all: "
                       "proofs may be killed",
                       budget, total);
    }
}
