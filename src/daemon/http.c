/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/http.h"

#include "base/clock.h"
#include "base/status.h"

#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS UINT64_C(1000000)
#define THREADS 2u /* one may build a long answer */
/* Between two looks at who is late. */
#define LOOK_MS 250

/* ---- Connections ---------------------------------------------------------------------------- */

static struct pm_http_connection *find(struct pm_http_server *server, int socket) {
    for (uint32_t i = 0; i < PM_HTTP_CONNECTIONS_MAX; ++i) {
        if (server->connections[i].socket == socket) {
            return &server->connections[i];
        }
    }
    return NULL;
}

static int socket_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info != NULL ? info->connect_fd : -1;
}

/* Before the socket is closed, so that its number cannot be another's when it is cut off. */
static void connection_changed(void *user, struct MHD_Connection *connection, void **context,
                               enum MHD_ConnectionNotificationCode code) {
    struct pm_http_server *server = user;
    const int socket = socket_of(connection);
    (void)context;
    if (socket < 0) {
        return;
    }
    (void)pthread_mutex_lock(&server->lock);
    struct pm_http_connection *place =
        find(server, code == MHD_CONNECTION_NOTIFY_STARTED ? -1 : socket);
    if (place != NULL) {
        place->socket = code == MHD_CONNECTION_NOTIFY_STARTED ? socket : -1;
        place->since_ns = pm_clock_now_ns();
    }
    (void)pthread_mutex_unlock(&server->lock);
}

static void request_ended(void *user, struct MHD_Connection *connection, void **seen,
                          enum MHD_RequestTerminationCode code) {
    struct pm_http_server *server = user;
    const int socket = socket_of(connection);
    (void)code;
    *seen = NULL;
    (void)pthread_mutex_lock(&server->lock);
    struct pm_http_connection *place = socket >= 0 ? find(server, socket) : NULL;
    if (place != NULL) {
        place->since_ns = pm_clock_now_ns();
    }
    (void)pthread_mutex_unlock(&server->lock);
}

/* Under the lock. libmicrohttpd only knows how long a connection has been silent. */
static void cut_off_late(struct pm_http_server *server) {
    const uint64_t now_ns = pm_clock_now_ns();
    for (uint32_t i = 0; i < PM_HTTP_CONNECTIONS_MAX; ++i) {
        const struct pm_http_connection *connection = &server->connections[i];
        if (connection->socket >= 0 && now_ns - connection->since_ns > server->exchange_ms * MS) {
            (void)shutdown(connection->socket, SHUT_RDWR);
        }
    }
}

/* ---- The clock ------------------------------------------------------------------------------ */

static void *run_clock(void *user) {
    struct pm_http_server *server = user;
    uint64_t next_ns = pm_clock_now_ns();
    (void)pthread_mutex_lock(&server->lock);
    while (!server->is_stopping) {
        cut_off_late(server);
        if (pm_clock_now_ns() >= next_ns) {
            (void)pthread_mutex_unlock(&server->lock);
            pm_http_history_sample(&server->history, server->daemon);
            (void)pthread_mutex_lock(&server->lock);
            next_ns += PM_HTTP_SAMPLE_MS * MS;
            if (next_ns < pm_clock_now_ns()) { /* the machine slept: what was missed is missing */
                next_ns = pm_clock_now_ns() + PM_HTTP_SAMPLE_MS * MS;
            }
        }
        if (!server->is_stopping) {
            pm_clock_wait_until(&server->stopped, &server->lock, pm_clock_now_ns() + LOOK_MS * MS);
        }
    }
    (void)pthread_mutex_unlock(&server->lock);
    return NULL;
}

/* ---- Start and stop ------------------------------------------------------------------------- */

static enum MHD_Result answer(void *user, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *n_upload_bytes, void **seen) {
    (void)version;
    (void)upload;
    *n_upload_bytes = 0;
    return pm_http_answer(user, connection, path, method, seen) != 0 ? MHD_YES : MHD_NO;
}

/* Paths are compared as they come: none of ours has anything to unescape. */
static size_t leave_escaped(void *user, struct MHD_Connection *connection, char *text) {
    (void)user;
    (void)connection;
    return strlen(text);
}

static pm_status start_mhd(struct pm_http_server *server, int listener, pm_error *error) {
    const unsigned flags =
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC |
        (server->address.socket.ss_family == AF_INET6 ? (unsigned)MHD_USE_IPv6 : 0u);
    server->mhd = MHD_start_daemon(
        flags, 0, NULL, NULL, answer, server, MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_THREAD_POOL_SIZE, THREADS, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)PM_HTTP_CONNECTIONS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned)PM_HTTP_CONNECTIONS_PER_IP_MAX, MHD_OPTION_CONNECTION_TIMEOUT, PM_HTTP_IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)PM_HTTP_CONNECTION_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL,
        MHD_OPTION_NOTIFY_CONNECTION, connection_changed, server, MHD_OPTION_NOTIFY_COMPLETED,
        request_ended, server, MHD_OPTION_END);
    if (server->mhd == NULL) {
        (void)close(listener);
        PM_FAIL(error, PM_NO_THREADS, "the HTTP server could not be started");
    }
    return PM_OK;
}

/* Signals are for the threads that wait for them, none of which begins here. */
static pm_status start_threads(struct pm_http_server *server, int listener, pm_error *error) {
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pm_status status = start_mhd(server, listener, error);
    if (status == PM_OK && pthread_create(&server->clock, NULL, run_clock, server) != 0) {
        MHD_stop_daemon(server->mhd);
        status = pm_error_set(error, PM_NO_THREADS, "no thread for the HTTP server's clock");
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

static void release(struct pm_http_server *server) {
    (void)pthread_cond_destroy(&server->stopped);
    (void)pthread_mutex_destroy(&server->lock);
    (void)pthread_mutex_destroy(&server->history.lock);
    free(server);
}

static struct pm_http_server *make_server(struct pm_daemon *daemon) {
    struct pm_http_server *server = calloc(1, sizeof *server);
    if (server == NULL) {
        return NULL;
    }
    server->daemon = daemon;
    server->exchange_ms = PM_HTTP_EXCHANGE_MS;
    for (uint32_t i = 0; i < PM_HTTP_CONNECTIONS_MAX; ++i) {
        server->connections[i].socket = -1;
    }
    (void)pthread_mutex_init(&server->lock, NULL);
    (void)pthread_mutex_init(&server->history.lock, NULL);
    (void)pm_clock_condition_init(&server->stopped);
    return server;
}

pm_status pm_http_start(struct pm_daemon *daemon, const char *address, bool beyond_loopback,
                        struct pm_http_server **server, pm_error *error) {
    struct pm_http_address parsed;
    int listener = -1;
    *server = NULL;
    if (address[0] == '\0') {
        return PM_OK;
    }
    PM_TRY(pm_http_address_parse(address, &parsed, error));
    PM_FAIL_IF(!parsed.is_loopback && !beyond_loopback, error, PM_INVALID_ARGUMENT,
               "status_listen \"%s\" is beyond the loopback, where anybody could read it: set "
               "insecure_listen = true if that is meant",
               address);
    struct pm_http_server *made = make_server(daemon);
    PM_FAIL_IF(made == NULL, error, PM_NO_MEMORY, "no memory for the HTTP server");
    made->address = parsed;
    pm_status status = pm_http_listen(&parsed, address, &listener, error);
    if (status == PM_OK) {
        status = start_threads(made, listener, error);
    }
    if (status != PM_OK) {
        release(made);
        return status;
    }
    *server = made;
    return PM_OK;
}

void pm_http_stop(struct pm_http_server *server) {
    if (server == NULL) {
        return;
    }
    MHD_stop_daemon(server->mhd);
    (void)pthread_mutex_lock(&server->lock);
    server->is_stopping = true;
    (void)pthread_cond_signal(&server->stopped);
    (void)pthread_mutex_unlock(&server->lock);
    (void)pthread_join(server->clock, NULL);
    release(server);
}

uint16_t pm_http_port(const struct pm_http_server *server) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->mhd, MHD_DAEMON_INFO_LISTEN_FD);
    struct sockaddr_storage socket = {0};
    socklen_t n_bytes = sizeof socket;
    if (info == NULL || getsockname(info->listen_fd, (struct sockaddr *)&socket, &n_bytes) != 0) {
        return 0;
    }
    return socket.ss_family == AF_INET ? ntohs(((const struct sockaddr_in *)&socket)->sin_port)
                                       : ntohs(((const struct sockaddr_in6 *)&socket)->sin6_port);
}
