/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/http_client.h - HTTP over a plain socket to 127.0.0.1, byte by byte if need be. */
#ifndef PM_TEST_DAEMON_HTTP_CLIENT_H
#define PM_TEST_DAEMON_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_reply {
    unsigned code; /* 0: none came */
    char *all;     /* everything that came, a NUL behind; freed with free() */
    char *body;    /* within it; at its end if there is none */
    size_t n_body_bytes;
};

/* Fails the test if there is no connection. */
int http_connect(uint16_t port);
/* False: the peer has closed, or takes nothing for five seconds. */
bool http_write(int socket, const void *bytes, size_t n_bytes);
void http_finish_writing(int socket);
/* Until the peer closes, or for timeout_ms. */
struct http_reply http_read(int socket, uint64_t timeout_ms);
/* One answer with a Content-Length; the connection stays open. */
struct http_reply http_read_one(int socket);
/* What has come meanwhile is thrown away. */
bool http_is_closed(int socket);

/* On a connection of its own that the server is asked to close. */
struct http_reply http_get(uint16_t port, const char *path);
/* Formats a request that closes by itself or asks for it. */
__attribute__((format(printf, 2, 3))) struct http_reply http_send(uint16_t port, const char *format,
                                                                  ...);
/* "": there is none. Valid for the next 7 calls in this thread. */
const char *http_header(const struct http_reply *reply, const char *name);

#endif
