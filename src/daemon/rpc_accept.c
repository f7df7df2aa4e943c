/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Connections without TLS are accepted here and not by gRPC, whose listener cannot limit how many
 * there are and never listens again once the process was out of files. A connection is handed to
 * gRPC when its first 33 bytes are there: the preface of HTTP/2 and the head of a SETTINGS frame.
 * Whoever says something else, or nothing for ten seconds, is hung up on.
 *
 * gRPC closes what it was given without saying so. Its descriptor then belongs to another file, or
 * to none, which its inode shows: that is looked at when the places are used up.
 */
#include "daemon/rpc_internal.h"

#include "base/clock.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <grpc/grpc_posix.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GREETING_BYTES 33
#define GREETING_NS (10000 * RPC_MS)
#define TURN_MS 50   /* between two looks at those who have said a part */
#define RETRY_MS 100 /* when the machine has no file or memory for a connection */
#define WARN_NS (60000 * RPC_MS)

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/* ---- Places ---------------------------------------------------------------------------------- */

static void vacate(struct rpc_doorman *doorman, struct rpc_connection *connection) {
    connection->state = RPC_PLACE_FREE;
    --doorman->n_taken;
}

/* Finds out which connections gRPC has closed. */
static void sweep(struct rpc_doorman *doorman) {
    for (uint32_t c = 0; c < doorman->n_places; ++c) {
        struct rpc_connection *connection = &doorman->places[c];
        struct stat info;
        if (connection->state == RPC_PLACE_GIVEN &&
            (fstat(connection->fd, &info) != 0 || info.st_ino != connection->inode ||
             !S_ISSOCK(info.st_mode))) {
            vacate(doorman, connection);
        }
    }
}

static struct rpc_connection *find_place(struct rpc_doorman *doorman) {
    if (doorman->n_taken == doorman->n_places) {
        sweep(doorman);
    }
    for (uint32_t c = 0; c < doorman->n_places; ++c) {
        if (doorman->places[c].state == RPC_PLACE_FREE) {
            ++doorman->n_taken;
            return &doorman->places[c];
        }
    }
    return NULL;
}

static void warn(struct pm_rpc_server *server, const char *sentence) {
    struct rpc_doorman *doorman = &server->doorman;
    const uint64_t now_ns = pm_clock_now_ns();
    if (doorman->warned_ns == 0 || now_ns - doorman->warned_ns > WARN_NS) {
        doorman->warned_ns = now_ns;
        rpc_log(server, PM_LOG_WARNING, "%s", sentence);
    }
}

/* ---- From the first byte to gRPC ------------------------------------------------------------- */

static void hang_up(struct rpc_doorman *doorman, struct rpc_connection *connection) {
    (void)close(connection->fd);
    vacate(doorman, connection);
}

/* Whether what has come so far is what a client says first. */
static bool is_greeting(const uint8_t *bytes, size_t n) {
    const size_t n_preface = sizeof preface - 1;
    if (memcmp(bytes, preface, n < n_preface ? n : n_preface) != 0) {
        return false;
    }
    return n < n_preface + 4 || bytes[n_preface + 3] == 4; /* a SETTINGS frame */
}

static void listen_to(struct pm_rpc_server *server, struct rpc_connection *connection,
                      uint64_t now_ns) {
    struct rpc_doorman *doorman = &server->doorman;
    uint8_t bytes[GREETING_BYTES];
    const ssize_t n = recv(connection->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    const bool is_silent = n < 0 && (errno == EAGAIN || errno == EINTR);
    const bool is_wrong =
        n == 0 || (n < 0 && !is_silent) || (n > 0 && !is_greeting(bytes, (size_t)n));
    if (is_wrong || (n < GREETING_BYTES && now_ns >= connection->until_ns)) {
        hang_up(doorman, connection);
    } else if (n == GREETING_BYTES) {
        connection->state = RPC_PLACE_GIVEN;
        rpc_hand_over(server);
        grpc_server_add_channel_from_fd(connection->front->grpc, connection->fd, doorman->plain);
    } else {
        connection->has_said_a_part = n > 0;
    }
}

/* ---- New ones -------------------------------------------------------------------------------- */

/* The process has no file left: with the one that is kept for this, the caller is told by being
 * hung up on, and not left to wait. */
static void turn_away(struct rpc_doorman *doorman, int listening) {
    if (doorman->spare < 0) {
        (void)poll(NULL, 0, RETRY_MS);
    } else {
        (void)close(doorman->spare);
        const int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            (void)close(fd);
        } else {
            (void)poll(NULL, 0, RETRY_MS);
        }
    }
    doorman->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void welcome(struct pm_rpc_server *server, const struct rpc_listener *listener) {
    struct rpc_doorman *doorman = &server->doorman;
    const int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            warn(server, "the process has no file or memory left for a connection: raise its limit "
                         "of open files, or lower rpc.max_connections");
            turn_away(doorman, listener->fd);
        }
        return;
    }
    struct stat info;
    struct rpc_connection *connection = find_place(doorman);
    if (connection == NULL || fstat(fd, &info) != 0) {
        if (connection != NULL) {
            vacate(doorman, connection);
        } else {
            warn(server, "rpc.max_connections connections are there: new ones are refused");
        }
        (void)close(fd);
        return;
    }
    if (listener->path == NULL) {
        const int yes = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
    *connection = (struct rpc_connection){.state = RPC_PLACE_WAITING,
                                          .fd = fd,
                                          .inode = info.st_ino,
                                          .front = listener->front,
                                          .until_ns = pm_clock_now_ns() + GREETING_NS};
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* Fills what is to be polled: the bell, the listeners, those who wait. Returns how many;
 * *timeout_ms is when to look again without an event. Who has said a part is not polled, as what is
 * there already would be an event each time. */
static uint32_t gather(struct pm_rpc_server *server, int *timeout_ms) {
    struct rpc_doorman *doorman = &server->doorman;
    uint32_t n = 0;
    *timeout_ms = -1;
    doorman->polled[n++] = (struct pollfd){.fd = doorman->bell[0], .events = POLLIN};
    for (uint32_t l = 0; l < server->n_listeners; ++l) {
        doorman->polled[n++] = (struct pollfd){.fd = server->listeners[l].fd, .events = POLLIN};
    }
    for (uint32_t c = 0; c < doorman->n_places; ++c) {
        const struct rpc_connection *connection = &doorman->places[c];
        if (connection->state != RPC_PLACE_WAITING) {
            continue;
        }
        if (connection->has_said_a_part) {
            *timeout_ms = TURN_MS;
        } else {
            doorman->polled[n++] = (struct pollfd){.fd = connection->fd, .events = POLLIN};
            *timeout_ms = *timeout_ms < 0 ? 1000 : *timeout_ms;
        }
    }
    return n;
}

static void *attend(void *argument) {
    struct pm_rpc_server *server = argument;
    struct rpc_doorman *doorman = &server->doorman;
    for (;;) {
        int timeout_ms = 0;
        const uint32_t n = gather(server, &timeout_ms);
        (void)poll(doorman->polled, n, timeout_ms);
        if (doorman->polled[0].revents != 0) {
            return NULL; /* the other end of the bell is closed */
        }
        const uint64_t now_ns = pm_clock_now_ns();
        for (uint32_t c = 0; c < doorman->n_places; ++c) {
            if (doorman->places[c].state == RPC_PLACE_WAITING) {
                listen_to(server, &doorman->places[c], now_ns);
            }
        }
        for (uint32_t l = 0; l < server->n_listeners; ++l) {
            if (doorman->polled[1 + l].revents != 0) {
                welcome(server, &server->listeners[l]);
            }
        }
    }
}

pm_status rpc_doorman_start(struct pm_rpc_server *server, uint32_t n_connections_max,
                            pm_error *error) {
    struct rpc_doorman *doorman = &server->doorman;
    doorman->plain = grpc_insecure_server_credentials_create();
    doorman->n_places = n_connections_max;
    doorman->places = calloc(n_connections_max, sizeof *doorman->places);
    doorman->polled =
        calloc((size_t)n_connections_max + RPC_SOCKETS_MAX + 1, sizeof *doorman->polled);
    PM_FAIL_IF(doorman->places == NULL || doorman->polled == NULL, error, PM_NO_MEMORY,
               "no memory for %u connections", n_connections_max);
    doorman->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (pipe2(doorman->bell, O_CLOEXEC) != 0) {
        return pm_error_set_errno(error, PM_IO, errno, "a pipe", "cannot be made");
    }
    doorman->has_bell = true;
    doorman->has_thread = pthread_create(&doorman->thread, NULL, attend, server) == 0;
    PM_FAIL_IF(!doorman->has_thread, error, PM_NO_MEMORY, "no thread for connections to come in");
    return PM_OK;
}

void rpc_doorman_stop(struct pm_rpc_server *server) {
    struct rpc_doorman *doorman = &server->doorman;
    if (doorman->has_bell) {
        (void)close(doorman->bell[1]);
        if (doorman->has_thread) {
            (void)pthread_join(doorman->thread, NULL);
        }
        (void)close(doorman->bell[0]);
        if (doorman->spare >= 0) {
            (void)close(doorman->spare);
        }
    }
    for (uint32_t c = 0; doorman->places != NULL && c < doorman->n_places; ++c) {
        if (doorman->places[c].state == RPC_PLACE_WAITING) {
            (void)close(doorman->places[c].fd);
        }
    }
    free(doorman->places);
    free(doorman->polled);
    if (doorman->plain != NULL) {
        grpc_server_credentials_release(doorman->plain);
    }
    *doorman = (struct rpc_doorman){0};
}
