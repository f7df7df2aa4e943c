/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Sockets that speak no gRPC, or half of it: whatever they send, others are served. */
#include "daemon/rpc_case.h"
#include "engine/engine_case.h"

#include "base/clock.h"
#include "support/data_limit.h"
#include "support/seeded_random.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define MS UINT64_C(1000000)

static struct rpc_case it;
static grpc_channel *other; /* a good client's */

static int open_all(void **state) {
    (void)state;
    grpc_init();
    struct pm_rpc_options options = rpc_case_options(&it);
    options.message_bytes_max = 256 * MIB;
    rpc_case_open_with(&it, &options);
    other = rpc_dial(it.address, NULL);
    rpc_case_expect_serving(other);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    grpc_channel_destroy(other);
    rpc_case_close(&it);
    grpc_shutdown_blocking();
    return 0;
}

/* ---- A socket and frames --------------------------------------------------------------------- */

static int connect_raw(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* False: the other side has hung up, or takes no more. */
static bool send_raw(int fd, const void *bytes, size_t n_bytes) {
    const char *at = bytes;
    while (n_bytes != 0) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        if (poll(&ready, 1, 500) <= 0) {
            return false;
        }
        const ssize_t n = send(fd, at, n_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0) {
            return false;
        }
        at += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

static bool send_frame(int fd, uint32_t length, uint8_t type, uint8_t flags, uint32_t stream,
                       const void *payload, size_t n_bytes) {
    const uint8_t head[9] = {(uint8_t)(length >> 16),
                             (uint8_t)(length >> 8),
                             (uint8_t)length,
                             type,
                             flags,
                             (uint8_t)(stream >> 24),
                             (uint8_t)(stream >> 16),
                             (uint8_t)(stream >> 8),
                             (uint8_t)stream};
    return send_raw(fd, head, sizeof head) && send_raw(fd, payload, n_bytes);
}

enum {
    DATA = 0,
    HEADERS = 1,
    RST_STREAM = 3,
    SETTINGS = 4,
    PING = 6,
    WINDOW_UPDATE = 8,
    CONTINUATION = 9
};
enum { END_STREAM = 1, END_HEADERS = 4 };

static void greet(int fd) {
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    (void)send_raw(fd, preface, sizeof preface - 1);
    (void)send_frame(fd, 0, SETTINGS, 0, 0, NULL, 0);
}

static int connect_http2(void) {
    const int fd = connect_raw(it.socket);
    greet(fd);
    return fd;
}

/* The header block of a call, without a dynamic table: static names, or literal ones. */
static size_t write_headers(const char *path, uint8_t *out) {
    size_t n = 0;
    out[n++] = 0x83; /* :method POST */
    out[n++] = 0x86; /* :scheme http */
    static const char *const names[] = {NULL, "te", "content-type"};
    const char *values[] = {path, "trailers", "application/grpc"};
    for (int i = 0; i < 3; ++i) {
        out[n++] = i == 0 ? 0x04 : 0x00;
        if (i != 0) {
            out[n++] = (uint8_t)strlen(names[i]);
            memcpy(out + n, names[i], strlen(names[i]));
            n += strlen(names[i]);
        }
        out[n++] = (uint8_t)strlen(values[i]);
        memcpy(out + n, values[i], strlen(values[i]));
        n += strlen(values[i]);
    }
    out[n++] = 0x01; /* :authority */
    out[n++] = 1;
    out[n++] = 'x';
    return n;
}

static bool begin_call(int fd, uint32_t stream, const char *path, uint8_t flags) {
    uint8_t block[256];
    const size_t n = write_headers(path, block);
    return send_frame(fd, (uint32_t)n, HEADERS, (uint8_t)(END_HEADERS | flags), stream, block, n);
}

/* The head of a message that has n_bytes. */
static void write_head(uint32_t n_bytes, uint8_t head[5]) {
    head[0] = 0;
    for (int i = 0; i < 4; ++i) {
        head[1 + i] = (uint8_t)(n_bytes >> (24 - 8 * i));
    }
}

/* Reads until the text is seen, or the other side hangs up, or the time is over. */
static bool hears(int fd, const char *text, int timeout_ms) {
    static char heard[1 << 20];
    size_t n_heard = 0;
    const uint64_t until_ns = pm_clock_now_ns() + (uint64_t)timeout_ms * MS;
    while (pm_clock_now_ns() < until_ns && n_heard < sizeof heard) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, 50) <= 0) {
            continue;
        }
        const ssize_t n = recv(fd, heard + n_heard, sizeof heard - n_heard, MSG_DONTWAIT);
        if (n <= 0) {
            return false;
        }
        n_heard += (size_t)n;
        if (memmem(heard, n_heard, text, strlen(text)) != NULL) {
            return true;
        }
    }
    return false;
}

/* Whether the other side hangs up within the time. */
static bool is_hung_up(int fd, int timeout_ms) {
    char bytes[4096];
    const uint64_t until_ns = pm_clock_now_ns() + (uint64_t)timeout_ms * MS;
    while (pm_clock_now_ns() < until_ns) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, 50) > 0 && recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0) {
            return true;
        }
    }
    return false;
}

/* While gRPC is out of its quota it breaks off connections, of others as well; and connections that
 * have been closed take their places for a moment. */
static void expect_serving_soon(const char *address) {
    int code = -1;
    for (int tries = 0; code != 0 && tries < 100; ++tries) {
        grpc_channel *channel = rpc_dial(address, NULL);
        code = rpc_dial_unary(channel, "/test/Echo", 5000, "", 0, NULL, NULL, NULL);
        grpc_channel_destroy(channel);
        test_sleep_ms(code != 0 ? 50 : 0);
    }
    assert_int_equal(code, 0);
}

/* ---- What is sent ---------------------------------------------------------------------------- */

static void garbage_is_hung_up_on(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    for (int round = 0; round < 20; ++round) {
        uint8_t bytes[4096];
        const int fd = connect_raw(it.socket);
        seeded_random_bytes(&random, bytes, sizeof bytes);
        (void)send_raw(fd, bytes, 1 + seeded_random_below(&random, sizeof bytes));
        rpc_case_expect_serving(other);
        assert_true(round != 0 || is_hung_up(fd, 30000));
        (void)close(fd);
    }
    static const char http1[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    const int fd = connect_raw(it.socket);
    (void)send_raw(fd, http1, sizeof http1 - 1);
    assert_true(is_hung_up(fd, 30000));
    (void)close(fd);
    rpc_case_expect_serving(other);
}

/* Half a preface, or nothing at all: hung up on after ten seconds. */
static void who_stalls_before_the_first_frame_is_hung_up_on(void **state) {
    (void)state;
    int silent[40];
    for (int i = 0; i < 40; ++i) {
        silent[i] = connect_raw(it.socket);
        (void)send_raw(silent[i], "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (size_t)(i % 24));
    }
    rpc_case_expect_serving(other);
    for (int i = 0; i < 40; ++i) {
        assert_true(is_hung_up(silent[i], 60000));
        (void)close(silent[i]);
    }
    rpc_case_expect_serving(other);
}

static void frames_and_headers_have_limits(void **state) {
    (void)state;
    uint8_t *zeros = calloc(1, 1 << 16);
    int fd = connect_http2();
    (void)send_frame(fd, 0xffffff, HEADERS, END_HEADERS, 1, zeros, 1 << 16);
    assert_true(is_hung_up(fd, 30000));
    (void)close(fd);

    fd = connect_http2(); /* a literal whose name has two thousand million bytes */
    static const uint8_t long_name[] = {0x00, 0x7f, 0x80, 0xff, 0xff, 0xff, 0x07, 'a', 'b'};
    (void)send_frame(fd, sizeof long_name, HEADERS, END_HEADERS, 1, long_name, sizeof long_name);
    rpc_case_expect_serving(other);
    (void)close(fd);

    fd = connect_http2(); /* frames of no kind and in no order */
    for (uint8_t type = 0; type < 20; ++type) {
        (void)send_frame(fd, 16, type, 0xff, 7, zeros, 16);
    }
    rpc_case_expect_serving(other);
    (void)close(fd);
    free(zeros);
}

static void an_announced_message_takes_no_memory(void **state) {
    (void)state;
    int fds[8];
    uint8_t head[5];
    rpc_case_quiet(&it);
    const struct holdings before = holdings_now();
    write_head(200 << 20, head);
    for (int i = 0; i < 8; ++i) {
        fds[i] = connect_http2();
        (void)begin_call(fds[i], 1, "/test/Echo", 0);
        (void)send_frame(fds[i], 5, DATA, 0, 1, head, 5);
        (void)send_frame(fds[i], 100, DATA, 0, 1, memset((char[100]){0}, 1, 100), 100);
    }
    rpc_case_expect_serving(other);
    struct pm_rpc_counts counts;
    for (int tries = 0; tries < 3000; ++tries) {
        pm_rpc_counts_now(it.server, &counts);
        if (counts.n_under_way == 8) {
            break;
        }
        test_sleep_ms(10);
    }
    assert_int_equal(counts.n_under_way, 8);
    const struct holdings after = holdings_now();
    assert_true(PM_TEST_IS_SANITIZED || after.resident_bytes < before.resident_bytes + 32 * MIB);
    for (int i = 0; i < 8; ++i) {
        (void)close(fds[i]);
    }
    rpc_case_quiet(&it);

    rpc_case_expect_serving(other);
}

/* Headers that never end: gRPC keeps them for as long as its quota allows. */
static void headers_stay_within_the_quota(void **state) {
    (void)state;
    struct rpc_case small = {0};
    struct pm_rpc_options options = rpc_case_options(&small);
    options.upload_bytes_max = 32 * MIB;
    rpc_case_open_with(&small, &options);
    uint8_t *literals = malloc(16384);
    uint8_t block[256];
    const size_t n = write_headers("/test/Echo", block);
    for (size_t at = 0; at < 16384; at += 8) {
        memcpy(literals + at, "\x00\x02xy\x03zzz", 8);
    }
    const struct holdings before = holdings_now();
    const int fd = connect_raw(small.socket);
    greet(fd);
    (void)send_frame(fd, (uint32_t)n, HEADERS, 0, 1, block, n);
    int n_frames = 0;
    while (n_frames < 10000 && send_frame(fd, 16384, CONTINUATION, 0, 1, literals, 16384)) {
        ++n_frames;
    }
    const struct holdings after = holdings_now();
    assert_true(n_frames < 10000);
    assert_true(PM_TEST_IS_SANITIZED || after.resident_bytes < before.resident_bytes + 128 * MIB);
    (void)close(fd);
    free(literals);
    expect_serving_soon(small.address);
    rpc_case_close(&small);
}

/* gRPC looks at a message's size when it has come, so that memory is bounded by its quota: F11. */
static void an_upload_stays_within_the_quota(void **state) {
    (void)state;
    struct rpc_case small = {0};
    struct pm_rpc_options options = rpc_case_options(&small);
    options.message_bytes_max = 256 * MIB;
    options.upload_bytes_max = 32 * MIB;
    rpc_case_open_with(&small, &options);
    int fds[4];
    uint8_t head[5];
    uint8_t *bytes = calloc(1, 16384);
    const struct holdings before = holdings_now();
    write_head(200 << 20, head);
    for (int i = 0; i < 4; ++i) {
        fds[i] = connect_raw(small.socket);
        greet(fds[i]);
        (void)begin_call(fds[i], 1, "/test/Echo", 0);
        (void)send_frame(fds[i], 5, DATA, 0, 1, head, 5);
    }
    struct holdings after = before;
    for (int n = 0; n < 8000; ++n) { /* four times 125 MiB, whatever the flow control says */
        (void)send_frame(fds[n % 4], 16384, DATA, 0, 1, bytes, 16384);
        if (n % 100 == 0) {
            const struct holdings now = holdings_now();
            after = now.resident_bytes > after.resident_bytes ? now : after;
        }
    }
    assert_true(PM_TEST_IS_SANITIZED || after.resident_bytes < before.resident_bytes + 64 * MIB);
    for (int i = 0; i < 4; ++i) {
        (void)close(fds[i]);
    }
    free(bytes);
    rpc_case_quiet(&small);
    expect_serving_soon(small.address);
    grpc_channel *channel = rpc_dial(small.address, NULL);
    bytes = calloc(1, 100 * MIB); /* from a client that keeps to the flow control */
    assert_int_equal(rpc_dial_unary(channel, "/test/Echo", 0, bytes, 100 * MIB, NULL, NULL, NULL),
                     PM_RPC_RESOURCE_EXHAUSTED);
    free(bytes);
    grpc_channel_destroy(channel);
    expect_serving_soon(small.address);
    rpc_case_close(&small);
}

/* Whoever wants more than there is is told so. */
static void write_more_than_is_left(const char *address, const uint8_t *bytes) {
    char sentence[1024] = "";
    struct rpc_outgoing more;
    grpc_channel *channel = rpc_dial(address, NULL);
    rpc_case_expect_serving(channel);
    rpc_dial_begin(channel, "/test/Keep", 0, &more);
    for (int i = 0; i < 64 && rpc_dial_write(&more, bytes, MIB); ++i) {
    }
    assert_int_equal(rpc_dial_finish(&more, sentence), PM_RPC_RESOURCE_EXHAUSTED);
    print_message("  refused: %s\n", sentence);
    grpc_channel_destroy(channel);
}

/* What is in use: freed memory that malloc keeps is given back first. */
static uint64_t used_bytes(void) {
    (void)malloc_trim(0);
    return holdings_now().resident_bytes;
}

/* Messages of 60 MiB that never come to an end; how many bytes there are at most meanwhile. */
static uint64_t flood(const char *socket_path, const uint8_t *bytes) {
    int fds[4];
    uint8_t head[5];
    uint64_t most_bytes = 0;
    write_head(60 << 20, head);
    for (int i = 0; i < 4; ++i) {
        fds[i] = connect_raw(socket_path);
        greet(fds[i]);
        (void)begin_call(fds[i], 1, "/test/Echo", 0);
        (void)send_frame(fds[i], 5, DATA, 0, 1, head, 5);
    }
    uint32_t n_silent = 0;
    for (int n = 0; n < 8000 && n_silent < 20; ++n) { /* until it reads no more */
        n_silent += !send_frame(fds[n % 4], 16384, DATA, 0, 1, bytes, 16384);
        const uint64_t now_bytes = n % 50 == 0 ? used_bytes() : 0;
        most_bytes = now_bytes > most_bytes ? now_bytes : most_bytes;
    }
    for (int i = 0; i < 4; ++i) {
        (void)close(fds[i]);
    }
    return most_bytes;
}

/* A stream of which the server holds 44 MiB; gRPC may break it off on the way. */
static bool begin_kept(grpc_channel *channel, const uint8_t *bytes, uint64_t before_bytes,
                       struct rpc_outgoing *kept) {
    bool is_whole = true;
    rpc_dial_begin(channel, "/test/Keep", 0, kept);
    for (int i = 0; i < 44 && is_whole; ++i) {
        is_whole = rpc_dial_write(kept, bytes, MIB);
    }
    for (int tries = 0; is_whole && tries < 1000; ++tries) {
        if (holdings_now().resident_bytes >= before_bytes + 43 * MIB) {
            return true;
        }
        test_sleep_ms(5);
    }
    (void)grpc_call_cancel(kept->call, NULL);
    (void)rpc_dial_finish(kept, NULL);
    return false;
}

/* What handlers hold comes off what may be on its way, and the daemon still answers. */
static void uploads_and_messages_have_one_bound(void **state) {
    (void)state;
    struct rpc_case small = {0};
    struct pm_rpc_options options = rpc_case_options(&small);
    options.message_bytes_max = 64 * MIB;
    options.upload_bytes_max = 64 * MIB; /* of which 48 may be held */
    rpc_case_open_with(&small, &options);
    uint8_t *bytes = calloc(1, MIB);
    memset(bytes, 1, MIB);
    grpc_channel *channel = rpc_dial(small.address, NULL);
    struct rpc_outgoing kept;
    const uint64_t before_bytes = used_bytes();
    int tries = 0;
    while (!begin_kept(channel, bytes, before_bytes, &kept)) {
        assert_true(++tries < 10);
    }
    write_more_than_is_left(small.address, bytes);
    const uint64_t most_bytes = flood(small.socket, bytes);
    print_message("  of 64 MiB %.1f were there\n",
                  (double)(most_bytes - before_bytes) / (double)MIB);
    assert_true(PM_TEST_IS_SANITIZED || most_bytes < before_bytes + 88 * MIB);
    free(bytes);
    rpc_dial_writes_done(&kept);
    (void)rpc_dial_finish(&kept, NULL); /* it may have been broken off */
    grpc_channel_destroy(channel);
    rpc_case_quiet(&small);
    expect_serving_soon(small.address);
    rpc_case_close(&small);
}

static void half_closed_requests_end(void **state) {
    (void)state;
    uint8_t head[5];
    write_head(1000, head);
    int fd = connect_http2();
    (void)begin_call(fd, 1, "/test/Echo", END_STREAM); /* no message at all */
    assert_true(hears(fd, "ended before its request came", 30000));
    (void)close(fd);
    for (size_t n = 1; n <= 5; n += 2) { /* a part of the head, or of the message */
        fd = connect_http2();
        (void)begin_call(fd, 1, n == 5 ? "/test/Sum" : "/test/Echo", 0);
        (void)send_frame(fd, (uint32_t)n, DATA, END_STREAM, 1, head, n);
        rpc_case_quiet(&it);
        (void)close(fd);
    }
    fd = connect_http2(); /* a head with a compression that nobody has agreed on */
    head[0] = 1;
    (void)begin_call(fd, 1, "/test/Echo", 0);
    (void)send_frame(fd, 5, DATA, 0, 1, head, 5);
    (void)send_frame(fd, 1000, DATA, END_STREAM, 1, memset((char[1000]){0}, 1, 1000), 1000);
    rpc_case_quiet(&it);
    (void)close(fd);
    rpc_case_expect_serving(other);
}

static void floods_of_frames_are_borne(void **state) {
    (void)state;
    static const uint8_t eight[8] = {0};
    static const uint8_t four[4] = {0, 0, 0, 8};
    int fd = connect_http2();
    for (uint32_t i = 0; i < 3000; ++i) { /* calls that are given up at once */
        if (!begin_call(fd, 2 * i + 1, i % 2 == 0 ? "/test/Echo" : "/test/None", 0) ||
            !send_frame(fd, 4, RST_STREAM, 0, 2 * i + 1, four, 4)) {
            break;
        }
    }
    expect_serving_soon(it.address);
    (void)close(fd);
    rpc_case_quiet(&it);
    for (int kind = 0; kind < 2; ++kind) {
        fd = connect_http2();
        for (int i = 0; i < 20000; ++i) {
            if (!send_frame(fd, kind == 0 ? 8 : 0, kind == 0 ? PING : SETTINGS, 0, 0, eight,
                            kind == 0 ? 8 : 0)) {
                break;
            }
        }
        expect_serving_soon(it.address);
        (void)close(fd);
    }
    rpc_case_quiet(&it);
    for (int tries = 0; tries < 100 && rpc_case_call(other, "/test/Echo", 1000, 0, NULL) != 0;
         ++tries) {
        test_sleep_ms(50); /* its connection may have been broken off, and is made anew */
    }
}

static void connect_to(int fd) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", it.socket);
    (void)connect(fd, (const struct sockaddr *)&address, sizeof address);
}

static void open_sockets(int *fds, int n) {
    for (int i = 0; i < n; ++i) {
        fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fds[i] >= 0);
    }
}

/* The case's server takes 64. */
static void connections_have_a_limit(void **state) {
    (void)state;
    enum { N = 200 };
    static int fds[N];
    open_sockets(fds, N);
    for (int round = 0; round < 2; ++round) {
        int n_refused = 0;
        bool is_refused[N] = {false};
        for (int i = 0; i < N; ++i) {
            connect_to(fds[i]);
            greet(fds[i]);
        }
        rpc_case_expect_serving(other);
        for (int tries = 0; tries < 60 && n_refused < N - 64; ++tries) {
            test_sleep_ms(300);
            for (int i = 0; i < N; ++i) {
                if (!is_refused[i] && is_hung_up(fds[i], 1)) {
                    is_refused[i] = true;
                    ++n_refused;
                }
            }
        }
        for (int i = 0; i < N; ++i) {
            (void)close(fds[i]);
        }
        assert_in_range(n_refused, N - 64, N - 60);
        expect_serving_soon(it.address);
        open_sockets(fds, N);
    }
    for (int i = 0; i < N; ++i) {
        (void)close(fds[i]);
    }
}

/* A process that has no file left refuses, and listens still when it has some again. */
static void used_up_files_do_not_end_the_service(void **state) {
    (void)state;
    enum { N = 60 };
    static int fds[N];
    struct rlimit limit, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    open_sockets(fds, N);
    low = limit;
    low.rlim_cur = (rlim_t)fds[N - 1] + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    for (int i = 0; i < N; ++i) {
        connect_to(fds[i]);
        greet(fds[i]);
    }
    test_sleep_ms(300);
    rpc_case_expect_serving(other);
    for (int i = 0; i < N; ++i) {
        (void)close(fds[i]);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    expect_serving_soon(it.address);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(garbage_is_hung_up_on),
        cmocka_unit_test(frames_and_headers_have_limits),
        cmocka_unit_test(an_announced_message_takes_no_memory),
        cmocka_unit_test(headers_stay_within_the_quota),
        cmocka_unit_test(an_upload_stays_within_the_quota),
        cmocka_unit_test(uploads_and_messages_have_one_bound),
        cmocka_unit_test(half_closed_requests_end),
        cmocka_unit_test(floods_of_frames_are_borne),
        cmocka_unit_test(who_stalls_before_the_first_frame_is_hung_up_on),
        cmocka_unit_test(connections_have_a_limit),
        cmocka_unit_test(used_up_files_do_not_end_the_service),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
