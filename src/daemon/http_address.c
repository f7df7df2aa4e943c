/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/http.h"

#include "base/status.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define BACKLOG 64

struct host {
    char name[256]; /* without brackets */
    bool is_bracketed;
    uint32_t port;
};

/* "name", "name:port", "[v6]", "[v6]:port". False: it is none of them. */
static bool split(const char *text, bool needs_port, struct host *host) {
    host->is_bracketed = text[0] == '[';
    text += host->is_bracketed;
    const size_t n = strcspn(text, host->is_bracketed ? "]" : ":");
    if (n == 0 || n >= sizeof host->name) {
        return false;
    }
    memcpy(host->name, text, n);
    host->name[n] = '\0';
    text += n;
    if (host->is_bracketed && *text++ != ']') {
        return false;
    }
    host->port = 0;
    if (*text == '\0') {
        return !needs_port;
    }
    if (*text++ != ':' || *text == '\0' || strspn(text, "0123456789") != strlen(text) ||
        strlen(text) > 5) {
        return false;
    }
    host->port = (uint32_t)strtoul(text, NULL, 10);
    return host->port <= UINT16_MAX;
}

/* Numbers alone: nothing here asks a name server. */
static bool to_socket(const struct host *host, struct sockaddr_storage *out, socklen_t *n_bytes) {
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)host->port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)host->port)};
    memset(out, 0, sizeof *out);
    if (host->is_bracketed) {
        memcpy(out, &v6, sizeof v6);
        *n_bytes = sizeof v6;
        return inet_pton(AF_INET6, host->name, &((struct sockaddr_in6 *)out)->sin6_addr) == 1;
    }
    const char *name = strcasecmp(host->name, "localhost") == 0 ? "127.0.0.1" : host->name;
    memcpy(out, &v4, sizeof v4);
    *n_bytes = sizeof v4;
    return inet_pton(AF_INET, name, &((struct sockaddr_in *)out)->sin_addr) == 1;
}

static bool is_loopback(const struct sockaddr_storage *socket) {
    if (socket->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)socket;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)socket;
    const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) || (is_mapped && v6->sin6_addr.s6_addr[12] == 127);
}

pm_status pm_http_address_parse(const char *text, struct pm_http_address *address,
                                pm_error *error) {
    struct host host = {0};
    *address = (struct pm_http_address){0};
    PM_FAIL_IF(!split(text, true, &host) ||
                   !to_socket(&host, &address->socket, &address->socket_bytes),
               error, PM_INVALID_ARGUMENT,
               "status_listen \"%s\" is no address and port, as in \"127.0.0.1:9821\" or "
               "\"[::1]:9821\"",
               text);
    address->is_loopback = is_loopback(&address->socket);
    if (gethostname(address->own_name, sizeof address->own_name - 1) != 0) {
        address->own_name[0] = '\0';
    }
    return PM_OK;
}

pm_status pm_http_listen(const struct pm_http_address *address, const char *text, int *listener,
                         pm_error *error) {
    const int yes = 1;
    const int made =
        socket(address->socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(made, (const struct sockaddr *)&address->socket, address->socket_bytes) != 0 ||
        listen(made, BACKLOG) != 0) {
        const int why = errno;
        char what[300];
        if (made >= 0) {
            (void)close(made);
        }
        (void)snprintf(what, sizeof what,
                       why == EADDRINUSE ? "status_listen \"%.200s\" is taken by another program"
                                         : "cannot listen on status_listen \"%.200s\"",
                       text);
        return pm_error_set_errno(error, PM_IO, why, NULL, what);
    }
    *listener = made;
    return PM_OK;
}

static bool is_same_machine_address(const struct sockaddr_storage *a,
                                    const struct sockaddr_storage *b) {
    if (a->ss_family != b->ss_family) {
        return false;
    }
    return a->ss_family == AF_INET
               ? memcmp(&((const struct sockaddr_in *)a)->sin_addr,
                        &((const struct sockaddr_in *)b)->sin_addr, sizeof(struct in_addr)) == 0
               : memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                        &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

bool pm_http_host_is_ours(const struct pm_http_address *address, const char *text) {
    struct host host = {0};
    struct sockaddr_storage socket;
    socklen_t n_bytes;
    if (!split(text, false, &host)) {
        return false;
    }
    if (!to_socket(&host, &socket, &n_bytes)) {
        return !address->is_loopback && !host.is_bracketed &&
               strcasecmp(host.name, address->own_name) == 0;
    }
    return is_loopback(&socket) || !address->is_loopback ||
           is_same_machine_address(&socket, &address->socket);
}
