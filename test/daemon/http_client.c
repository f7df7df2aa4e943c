/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "http_client.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define REPLY_BYTES_MAX (8u << 20)
#define WAIT_MS 20000

int http_connect(uint16_t port) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(made >= 0);
    assert_int_equal(connect(made, (const struct sockaddr *)&address, sizeof address), 0);
    return made;
}

bool http_write(int socket, const void *bytes, size_t n_bytes) {
    const char *at = bytes;
    while (n_bytes != 0) {
        struct pollfd wait = {.fd = socket, .events = POLLOUT};
        if (poll(&wait, 1, 5000) != 1) {
            return false;
        }
        const ssize_t n = send(socket, at, n_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN) {
            return false;
        }
        at += n > 0 ? n : 0;
        n_bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

void http_finish_writing(int socket) {
    (void)shutdown(socket, SHUT_WR);
}

static void parse(struct http_reply *reply) {
    char *end = strstr(reply->all, "\r\n\r\n");
    const size_t n_bytes = strlen(reply->all);
    if (sscanf(reply->all, "HTTP/1.%*1[01] %3u", &reply->code) != 1) {
        reply->code = 0;
    }
    reply->body = end != NULL ? end + 4 : reply->all + n_bytes;
    reply->n_body_bytes = n_bytes - (size_t)(reply->body - reply->all);
}

/* The whole answer is there, by its own word. */
static bool is_complete(struct http_reply *reply) {
    parse(reply);
    const char *length = http_header(reply, "Content-Length");
    return strstr(reply->all, "\r\n\r\n") != NULL && length[0] != '\0' &&
           reply->n_body_bytes >= strtoul(length, NULL, 10);
}

static struct http_reply read_reply(int socket, uint64_t timeout_ms, bool until_complete) {
    struct http_reply reply = {.all = calloc(1, 4097)};
    size_t n_bytes = 0, capacity = 4096;
    const uint64_t until_ns = pm_clock_now_ns() + timeout_ms * 1000000;
    assert_non_null(reply.all);
    while (n_bytes < REPLY_BYTES_MAX && !(until_complete && is_complete(&reply))) {
        const uint64_t now_ns = pm_clock_now_ns();
        struct pollfd wait = {.fd = socket, .events = POLLIN};
        if (now_ns >= until_ns || poll(&wait, 1, (int)((until_ns - now_ns) / 1000000) + 1) != 1) {
            break;
        }
        if (n_bytes == capacity) {
            capacity *= 2;
            reply.all = realloc(reply.all, capacity + 1);
            assert_non_null(reply.all);
        }
        const ssize_t n = recv(socket, reply.all + n_bytes, capacity - n_bytes, 0);
        if (n <= 0) {
            break;
        }
        n_bytes += (size_t)n;
        reply.all[n_bytes] = '\0';
    }
    parse(&reply);
    return reply;
}

struct http_reply http_read(int socket, uint64_t timeout_ms) {
    return read_reply(socket, timeout_ms, false);
}

struct http_reply http_read_one(int socket) {
    return read_reply(socket, WAIT_MS, true);
}

bool http_is_closed(int socket) {
    char bytes[4096];
    for (;;) {
        const ssize_t n = recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            return true;
        }
        if (n < 0) {
            return false;
        }
    }
}

static struct http_reply exchange(uint16_t port, const char *request) {
    const int socket = http_connect(port);
    (void)http_write(socket, request, strlen(request));
    struct http_reply reply = http_read(socket, WAIT_MS);
    (void)close(socket);
    return reply;
}

struct http_reply http_get(uint16_t port, const char *path) {
    return http_send(port, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n",
                     path, port);
}

struct http_reply http_send(uint16_t port, const char *format, ...) {
    char request[2048];
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(request, sizeof request, format, arguments);
    va_end(arguments);
    assert_true(n > 0 && (size_t)n < sizeof request);
    return exchange(port, request);
}

const char *http_header(const struct http_reply *reply, const char *name) {
    static _Thread_local char values[8][1024];
    static _Thread_local unsigned turn;
    char *value = values[turn++ % 8];
    const size_t n_name = strlen(name);
    value[0] = '\0';
    for (const char *line = strchr(reply->all, '\n'); line != NULL && line < reply->body;
         line = strchr(line, '\n')) {
        ++line;
        if (strncasecmp(line, name, n_name) == 0 && line[n_name] == ':') {
            const char *from = line + n_name + 1 + strspn(line + n_name + 1, " ");
            (void)snprintf(value, sizeof values[0], "%.*s", (int)strcspn(from, "\r\n"), from);
            break;
        }
    }
    return value;
}
