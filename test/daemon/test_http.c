/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The HTTP server over plain sockets: what it answers, what it refuses, who it cuts off; and
 * whether metrics, status and events say what the engine says. Reports C6, F11.
 */
#include "daemon/http.h"
#include "daemon/http_client.h"
#include "daemon/prometheus_check.h"
#include "engine/engine_case.h"

#include "base/clock.h"
#include "support/data_limit.h"
#include "support/toy_circuits.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#define MIB (UINT64_C(1) << 20)

static struct circuits circuits;
static struct pm_daemon daemon_of_test;
static struct pm_http_server *server;
static uint16_t port;

static pm_engine *make_engine(void) {
    const pm_engine_options options = {.struct_bytes = sizeof options, .host_bytes = 256 * MIB};
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_create(&options, &engine, &error), PM_OK, &error);
    circuits_register(&circuits, engine);
    return engine;
}

static void start_server(pm_engine *engine) {
    pm_error error = PM_ERROR_INIT;
    daemon_of_test = (struct pm_daemon){.engine = engine, .started_ns = pm_clock_now_ns()};
    toy_expect(pm_http_start(&daemon_of_test, "127.0.0.1:0", false, &server, &error), PM_OK,
               &error);
    daemon_of_test.http = server;
    port = pm_http_port(server);
    assert_int_not_equal(port, 0);
}

static void stop_server(void) {
    pm_http_stop(server);
    pm_engine_destroy(daemon_of_test.engine);
    server = NULL;
}

static int open_all(void **state) {
    (void)state;
    circuits_borrow(&circuits);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    circuits_close(&circuits);
    return 0;
}

static int start_each(void **state) {
    (void)state;
    start_server(make_engine());
    return 0;
}

static int stop_each(void **state) {
    (void)state;
    stop_server();
    return 0;
}

/* The answer to a GET, which must be a 200. The caller frees it. */
static struct http_reply get_well(const char *path) {
    struct http_reply reply = http_get(port, path);
    if (reply.code != 200) {
        fail_msg("%s: %u\n%s", path, reply.code, reply.body != NULL ? reply.body : "");
    }
    return reply;
}

static json_t *get_json(const char *path) {
    struct http_reply reply = get_well(path);
    json_error_t error;
    json_t *json = json_loadb(reply.body, reply.n_body_bytes, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL) {
        fail_msg("%s: %s at byte %d", path, error.text, error.position);
    }
    free(reply.all);
    return json;
}

static json_int_t number_at(const json_t *json, const char *outer, const char *inner) {
    const json_t *object = outer != NULL ? json_object_get(json, outer) : json;
    const json_t *value = json_object_get(object, inner);
    if (!json_is_integer(value)) {
        fail_msg("no number %s.%s", outer != NULL ? outer : "", inner);
    }
    return json_integer_value(value);
}

static const char *text_at(const json_t *json, const char *name) {
    const char *text = json_string_value(json_object_get(json, name));
    if (text == NULL) {
        fail_msg("no text %s", name);
    }
    return text;
}

/* ---- Paths, methods, hosts ------------------------------------------------------------------ */

static void each_path_answers(void **state) {
    (void)state;
    static const char *const paths[][2] = {
        {"/", "text/html; charset=utf-8"},
        {"/metrics", "text/plain; version=0.0.4"},
        {"/status", "application/json"},
        {"/events", "application/json"},
        {"/events?after=0", "application/json"},
        {"/history?after=0", "application/json"},
        {"/healthz", "text/plain"},
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; ++i) {
        struct http_reply reply = get_well(paths[i][0]);
        assert_non_null(strstr(http_header(&reply, "Content-Type"), paths[i][1]));
        assert_string_equal(http_header(&reply, "X-Content-Type-Options"), "nosniff");
        assert_string_equal(http_header(&reply, "Cache-Control"), "no-store");
        assert_non_null(strstr(http_header(&reply, "Content-Security-Policy"), "'none'"));
        assert_string_equal(http_header(&reply, "Cross-Origin-Resource-Policy"), "same-origin");
        assert_string_equal(http_header(&reply, "Access-Control-Allow-Origin"), "");
        free(reply.all);
    }
    struct http_reply health = get_well("/healthz");
    assert_string_equal(health.body, "ok\n");
    free(health.all);
}

static void nothing_else_is_there(void **state) {
    (void)state;
    static const char *const paths[] = {
        "/nothing",   "/metrics/",    "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
        "//",         "/status%00",   "/%73tatus",         "/status/../status",
        "/page.html", "/.git/config", "/favicon.ico",      "http://localhost/status",
        "*",          "/metrics;a=b", "/healthz.",         "/Status"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; ++i) {
        struct http_reply reply = http_get(port, paths[i]);
        if (reply.code != 404 || strstr(reply.body, "there is nothing here") == NULL) {
            fail_msg("%s: %u", paths[i], reply.code);
        }
        free(reply.all);
    }
    static const char *const numbers[] = {"",   "-1",  "x",    "1x",
                                          "+1", "1.5", "0x10", "9999999999999999999"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        char path[64];
        (void)snprintf(path, sizeof path, "/events?after=%s", numbers[i]);
        struct http_reply reply = http_get(port, path);
        assert_int_equal(reply.code, 400);
        free(reply.all);
    }
}

static void only_get_and_head(void **state) {
    (void)state;
    static const char *const methods[] = {"POST",    "PUT",   "DELETE",   "OPTIONS", "TRACE",
                                          "CONNECT", "PATCH", "PROPFIND", "get",     "GETT"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; ++i) {
        struct http_reply reply =
            http_send(port, "%s /status HTTP/1.1\r\nHost: localhost\r\n\r\n", methods[i]);
        assert_int_equal(reply.code, 405);
        assert_string_equal(http_header(&reply, "Allow"), "GET, HEAD");
        free(reply.all);
    }
    static const char *const paths[] = {"/", "/healthz", "/metrics", "/status", "/nothing"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; ++i) {
        struct http_reply head = http_send(
            port, "HEAD %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", paths[i]);
        assert_int_equal(head.code, i < 4 ? 200 : 404);
        assert_int_equal(head.n_body_bytes, 0);
        assert_true(strtoul(http_header(&head, "Content-Length"), NULL, 10) > 0);
        free(head.all);
    }
    struct http_reply with_body = http_send(
        port, "GET /status HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n");
    assert_int_equal(with_body.code, 413);
    free(with_body.all);
    with_body = http_send(
        port,
        "GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    assert_int_equal(with_body.code, 413);
    free(with_body.all);
}

static void strange_hosts_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *host;
        unsigned code;
    } hosts[] = {
        {"localhost", 200},
        {"LocalHost:9821", 200},
        {"127.0.0.1", 200},
        {"127.0.0.1:80", 200},
        {"127.1.2.3:1", 200},
        {"[::1]:9821", 200},
        {"[::ffff:127.0.0.1]", 200},
        {"evil.example", 421},
        {"evil.example:9821", 421},
        {"localhost.evil.example", 421},
        {"127.0.0.1.evil.example", 421},
        {"8.8.8.8", 421},
        {"[2001:db8::1]", 421},
        {"localhost:", 421},
        {"localhost:99999", 421},
        {"localhost:1x", 421},
        {"[::1", 421},
        {"0x7f.1", 421},
        {"2130706433", 421},
        {"", 421},
        {"localhost@evil.example", 421},
    };
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; ++i) {
        struct http_reply reply = http_send(
            port, "GET /status HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", hosts[i].host);
        if (reply.code != hosts[i].code) {
            fail_msg("Host \"%s\": %u", hosts[i].host, reply.code);
        }
        if (reply.code == 421) {
            assert_null(strstr(reply.body, "uptime_secs"));
        }
        free(reply.all);
    }
    struct http_reply two =
        http_send(port, "GET / HTTP/1.1\r\nHost: localhost\r\nhOST: evil.example\r\n\r\n");
    assert_int_equal(two.code, 400);
    free(two.all);
    struct http_reply none = http_send(port, "GET / HTTP/1.1\r\n\r\n");
    assert_int_equal(none.code, 400);
    free(none.all);
    none = http_send(port, "GET /healthz HTTP/1.0\r\n\r\n"); /* a load balancer's */
    assert_int_equal(none.code, 200);
    free(none.all);
}

static void hosts_beyond_the_loopback(void **state) {
    (void)state;
    struct pm_http_address address;
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_http_address_parse("10.1.2.3:80", &address, &error), PM_OK, &error);
    assert_false(address.is_loopback);
    (void)snprintf(address.own_name, sizeof address.own_name, "prover-7");
    assert_true(pm_http_host_is_ours(&address, "10.1.2.3:80"));
    assert_true(pm_http_host_is_ours(&address, "192.168.0.1"));
    assert_true(pm_http_host_is_ours(&address, "Prover-7:80"));
    assert_true(pm_http_host_is_ours(&address, "localhost"));
    assert_false(pm_http_host_is_ours(&address, "prover-7.evil.example"));
    assert_false(pm_http_host_is_ours(&address, "prover-77"));
    assert_false(pm_http_host_is_ours(&address, "[prover-7]"));
    address.own_name[0] = '\0';
    assert_false(pm_http_host_is_ours(&address, ""));
    assert_false(pm_http_host_is_ours(&address, ":80"));
    toy_expect(pm_http_address_parse("[::1]:80", &address, &error), PM_OK, &error);
    assert_true(address.is_loopback);
    assert_true(pm_http_host_is_ours(&address, "[::1]"));
    assert_false(pm_http_host_is_ours(&address, "[::2]"));
}

static void addresses(void **state) {
    (void)state;
    static const char *const bad[] = {
        "127.0.0.1",     "localhost",      ":80",           "127.0.0.1:",      "127.0.0.1:65536",
        "127.0.0.1:-1",  "[::1]",          "[::1:80",       "::1:80",          "[127.0.0.1]:80",
        "127.1:80",      "example:80",     "127.0.0.1:80 ", "127.0.0.1:0080x", "[::1]80",
        "unix:///tmp/x", "[fe80::1%lo]:80"};
    struct pm_http_server *none = server;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        pm_error error = PM_ERROR_INIT;
        assert_int_equal(pm_http_start(&daemon_of_test, bad[i], true, &none, &error),
                         PM_INVALID_ARGUMENT);
        assert_null(none);
        assert_non_null(strstr(error.message, bad[i]));
    }
    static const char *const open[] = {"0.0.0.0:0", "[::]:0", "192.0.2.1:0", "8.8.8.8:0"};
    for (size_t i = 0; i < sizeof open / sizeof open[0]; ++i) {
        pm_error error = PM_ERROR_INIT;
        assert_int_equal(pm_http_start(&daemon_of_test, open[i], false, &none, &error),
                         PM_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, "insecure_listen"));
    }
    pm_error error = PM_ERROR_INIT;
    char taken[64];
    (void)snprintf(taken, sizeof taken, "127.0.0.1:%u", port);
    assert_int_equal(pm_http_start(&daemon_of_test, taken, false, &none, &error), PM_IO);
    assert_non_null(strstr(error.message, taken));
    assert_non_null(strstr(error.message, "taken by another program"));
    assert_int_equal(pm_http_start(&daemon_of_test, "192.0.2.1:0", true, &none, &error), PM_IO);
    assert_int_equal(pm_http_start(&daemon_of_test, "", false, &none, &error), PM_OK);
    assert_null(none);
    pm_http_stop(NULL);
    toy_expect(pm_http_start(&daemon_of_test, "0.0.0.0:0", true, &none, &error), PM_OK, &error);
    struct http_reply reply = http_get(pm_http_port(none), "/healthz");
    assert_int_equal(reply.code, 200);
    free(reply.all);
    pm_http_stop(none);
}

/* ---- Hostile clients ------------------------------------------------------------------------ */

static void still_serves(void) {
    struct http_reply reply = get_well("/healthz");
    free(reply.all);
}

static void bad_requests(void **state) {
    (void)state;
    static const char *const requests[] = {
        "\r\n\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET /\r\n\r\n",
        "\x16\x03\x01\x02\x01",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
        "GET / HTTP/1.1\r\n: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /status?after=%%%%%%%%",
        "\xff\xfe\xfd\r\n\r\n",
        "GET / HTTP/1.1\r\n\tfolded\r\n\r\n",
        "GET  /  HTTP/1.1\r\n\r\n",
        ""};
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; ++i) {
        const int socket = http_connect(port);
        http_write(socket, requests[i], strlen(requests[i]));
        http_finish_writing(socket);
        struct http_reply reply = http_read(socket, 5000);
        assert_true(reply.code == 0 || reply.code >= 400);
        free(reply.all);
        (void)close(socket);
        still_serves();
    }
}

static void oversized_requests(void **state) {
    (void)state;
    static const char *const begins[] = {"GET /", "GET / HTTP/1.1\r\nHost: localhost\r\nX: ",
                                         "GET / HTTP/1.1\r\nHost: ", "GET /events?after="};
    char *filler = malloc(MIB);
    assert_non_null(filler);
    memset(filler, 'a', MIB);
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; ++i) {
        const int socket = http_connect(port);
        http_write(socket, begins[i], strlen(begins[i]));
        http_write(socket, filler, MIB); /* the server may have closed long before its end */
        struct http_reply reply = http_read(socket, 5000);
        assert_true(reply.code == 0 || reply.code == 431 || reply.code == 414 ||
                    reply.code == 413 || reply.code == 400);
        free(reply.all);
        (void)close(socket);
        still_serves();
    }
    /* Many short headers. */
    const int socket = http_connect(port);
    http_write(socket, "GET / HTTP/1.1\r\nHost: localhost\r\n", 33);
    for (uint32_t i = 0; i < 20000; ++i) {
        if (!http_write(socket, "a:b\r\n", 5)) {
            break;
        }
    }
    struct http_reply reply = http_read(socket, 5000);
    assert_true(reply.code == 0 || reply.code >= 400);
    free(reply.all);
    (void)close(socket);
    free(filler);
    still_serves();
}

static void expect_closed(int socket) {
    bool is_closed = http_is_closed(socket);
    for (int tries = 0; tries < 2000 && !is_closed; ++tries) {
        test_sleep_ms(10);
        is_closed = http_is_closed(socket);
    }
    assert_true(is_closed);
}

/* F11: one byte at a time, each in time. */
static void F11_slow_clients_are_cut_off(void **state) {
    (void)state;
    (void)pthread_mutex_lock(&server->lock);
    server->exchange_ms = 700;
    (void)pthread_mutex_unlock(&server->lock);
    const int slow = http_connect(port), silent = http_connect(port);
    int steady = http_connect(port);
    const uint64_t began_ns = pm_clock_now_ns();
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    http_write(slow, request, sizeof request - 6);
    uint64_t slow_ms = 0, asked_ns = began_ns, until_ns = began_ns + UINT64_C(60000000000);
    uint32_t n_steady = 0; /* for much longer than one exchange may take */
    while ((slow_ms == 0 || n_steady < 20) && pm_clock_now_ns() < until_ns) {
        test_sleep_ms(100);
        if (slow_ms == 0 && (!http_write(slow, "a", 1) || http_is_closed(slow))) {
            slow_ms = (pm_clock_now_ns() - began_ns) / 1000000;
        }
        bool is_late = pm_clock_now_ns() - asked_ns > UINT64_C(300000000);
        asked_ns = pm_clock_now_ns();
        const bool is_sent = http_write(steady, request, sizeof request - 1);
        struct http_reply reply = http_read_one(steady);
        is_late |= pm_clock_now_ns() - asked_ns > UINT64_C(300000000);
        assert_true(is_late || (is_sent && reply.code == 200));
        free(reply.all);
        ++n_steady;
        if (is_late) { /* the machine is busy, and we may have been cut off as well */
            (void)close(steady);
            steady = http_connect(port);
            n_steady = 0;
        }
    }
    print_message("  cut off after %llu ms\n", (unsigned long long)slow_ms);
    assert_true(slow_ms != 0 && n_steady >= 20);
    expect_closed(silent);
    (void)close(slow);
    (void)close(silent);
    (void)close(steady);
    still_serves();
}

/* A joined thread may be listed for a moment. */
static void expect_no_more_threads(const struct holdings *before) {
    for (int tries = 0; tries < 2000 && holdings_now().n_threads > before->n_threads; ++tries) {
        test_sleep_ms(10);
    }
    assert_true(holdings_now().n_threads <= before->n_threads);
}

static void two_hundred_connections(void **state) {
    (void)state;
    int sockets[200];
    uint32_t n_open = 200;
    const struct holdings before = holdings_now();
    for (uint32_t i = 0; i < 200; ++i) {
        sockets[i] = http_connect(port);
        http_write(sockets[i], "GET /status HT", 14);
    }
    for (int tries = 0; tries < 200 && n_open > PM_HTTP_CONNECTIONS_PER_IP_MAX; ++tries) {
        test_sleep_ms(100);
        n_open = 0;
        for (uint32_t i = 0; i < 200; ++i) {
            n_open += !http_is_closed(sockets[i]);
        }
    }
    const struct holdings during = holdings_now();
    assert_true(during.n_fds <= before.n_fds + 200 + PM_HTTP_CONNECTIONS_PER_IP_MAX + 4);
    assert_true(n_open >= 1 && n_open <= PM_HTTP_CONNECTIONS_PER_IP_MAX);
    for (uint32_t i = 0; i < 200; ++i) {
        (void)close(sockets[i]);
    }
    struct holdings after = holdings_now();
    for (int tries = 0; tries < 2000 && after.n_fds > before.n_fds; ++tries) {
        test_sleep_ms(10);
        after = holdings_now();
    }
    assert_true(after.n_fds <= before.n_fds);
    still_serves();
    expect_no_more_threads(&before);
}

static void C6_starts_and_stops_leave_nothing(void **state) {
    (void)state;
    struct holdings before = {0};
    for (uint32_t i = 0; i < 12; ++i) {
        pm_http_stop(server);
        pm_error error = PM_ERROR_INIT;
        toy_expect(pm_http_start(&daemon_of_test, "127.0.0.1:0", false, &server, &error), PM_OK,
                   &error);
        port = pm_http_port(server);
        const int halfway = http_connect(port), idle = http_connect(port);
        http_write(halfway, "GET /metrics HTTP/1.1\r\nHo", 25);
        still_serves();
        if (i == 1) {
            before = holdings_now();
        }
        if (i == 11) {
            expect_no_more_threads(&before);
            assert_true(holdings_now().n_fds <= before.n_fds + 2);
        }
        (void)close(halfway);
        (void)close(idle);
    }
}

/* ---- Health --------------------------------------------------------------------------------- */

static void expect_ill(const char *why) {
    struct http_reply reply = http_get(port, "/healthz");
    assert_int_equal(reply.code, 503);
    assert_non_null(strstr(reply.body, why));
    free(reply.all);
    json_t *status = get_json("/status");
    assert_true(json_is_false(json_object_get(status, "healthy")));
    assert_non_null(strstr(text_at(status, "reason"), why));
    json_decref(status);
}

static void health(void **state) {
    (void)state;
    pm_engine *engine = daemon_of_test.engine;
    still_serves();
    pm_engine_lock(engine);
    engine->journal_fails = true;
    pm_engine_unlock(engine);
    expect_ill("journal");
    pm_engine_lock(engine);
    engine->journal_fails = false;
    pm_engine_unlock(engine);
    still_serves();
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_drain(engine, 5000, &error), PM_OK, &error);
    expect_ill("draining");
}

static void health_without_devices(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    const struct pm_engine_hooks hooks = cards_hooks(&cards);
    const pm_engine_device device = {.struct_bytes = sizeof device, .device = "cuda"};
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .host_bytes = 256 * MIB,
                                       .n_devices = 1,
                                       .devices = &device,
                                       .retry_ms = 1};
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_create_with(&options, &hooks, &engine, &error), PM_OK, &error);
    circuits_register(&circuits, engine);
    start_server(engine);
    still_serves();
    cards.card[0]->fails_to_lock = true;
    const uint64_t job = submit_one(engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL);
    const pm_engine_job info = await_job(engine, job);
    assert_int_equal(info.state, PM_ENGINE_FAILED);
    expect_ill("every device is quarantined");
    json_t *status = get_json("/status");
    const json_t *first = json_array_get(json_object_get(status, "devices"), 0);
    assert_true(json_is_true(json_object_get(first, "quarantined")));
    assert_true(number_at(first, NULL, "faults") >= 1);
    assert_int_equal(number_at(status, "counters", "total_failed"), 1);
    json_decref(status);
    stop_server();
    cards_close(&cards);
}

/* ---- What is said --------------------------------------------------------------------------- */

/* n jobs, one after the other. */
static void run_jobs(uint32_t n) {
    pm_engine *engine = daemon_of_test.engine;
    for (uint32_t i = 0; i < n; ++i) {
        char id[64];
        (void)snprintf(id, sizeof id, "request-%u", i);
        const uint64_t job =
            submit_one(engine, &circuits, (enum circuit)(i % N_SMALL), PM_ENGINE_NORMAL, id);
        (void)await_job(engine, job);
    }
}

static void check_status_against(const json_t *status, const pm_engine_metrics *metrics) {
    assert_int_equal(number_at(status, "counters", "total_completed"), metrics->n_done);
    assert_int_equal(number_at(status, "counters", "total_failed"), metrics->n_failed);
    assert_int_equal(number_at(status, "totals", "submitted"), metrics->n_submitted);
    assert_int_equal(number_at(status, "totals", "proofs"), metrics->n_proofs);
    assert_int_equal(number_at(status, "totals", "key_loads"), metrics->n_key_loads);
    assert_int_equal(number_at(status, "memory", "total_bytes"), metrics->pools[0].total_bytes);
    assert_int_equal(number_at(status, "memory", "used_bytes"), metrics->pools[0].reserved_bytes);
    assert_int_equal(number_at(status, "memory", "available_bytes"),
                     metrics->pools[0].total_bytes - metrics->pools[0].reserved_bytes);
    const json_t *pools = json_object_get(status, "pools");
    assert_int_equal(json_array_size(pools), metrics->n_pools);
    assert_string_equal(text_at(json_array_get(pools, 0), "name"), "host");
    assert_int_equal(number_at(json_array_get(pools, 0), NULL, "peak_bytes"),
                     metrics->pools[0].peak_bytes);
}

static void status_says_what_the_engine_says(void **state) {
    (void)state;
    pm_engine_metrics metrics;
    run_jobs(7);
    assert_int_equal(pm_engine_metrics_now(daemon_of_test.engine, &metrics), PM_OK);
    json_t *status = get_json("/status");
    check_status_against(status, &metrics);
    static const char *const cuzk[] = {"uptime_secs", "memory",   "pipelines", "gpu_workers",
                                       "allocations", "counters", "buffers"};
    for (size_t i = 0; i < sizeof cuzk / sizeof cuzk[0]; ++i) {
        assert_non_null(json_object_get(status, cuzk[i]));
    }
    const json_t *jobs = json_object_get(status, "jobs");
    assert_int_equal(json_array_size(jobs), 7);
    const json_t *job = json_array_get(jobs, 6),
                 *part = json_array_get(json_object_get(job, "parts"), 0);
    assert_string_equal(text_at(job, "request_id"), "request-6");
    assert_string_equal(text_at(job, "state"), "done");
    assert_string_equal(text_at(job, "key"), circuits.name[6 % N_SMALL]);
    assert_string_equal(text_at(part, "state"), "done");
    assert_string_equal(text_at(part, "device"), "cpu");
    assert_true(json_real_value(json_object_get(part, "prove_ms")) > 0);
    const json_t *pipeline = json_array_get(json_object_get(status, "pipelines"), 6);
    assert_string_equal(text_at(pipeline, "job_id"), "request-6");
    assert_int_equal(number_at(pipeline, NULL, "partitions_done"), 1);
    assert_int_equal(json_array_size(json_object_get(status, "keys")), N_SMALL);
    assert_int_equal(
        json_array_size(json_object_get(json_object_get(status, "allocations"), "srs")), N_SMALL);
    assert_int_equal(json_array_size(json_object_get(status, "gpu_workers")), 3);
    json_decref(status);
}

/* Jobs that have ended long ago are not told of, and not looked at either. */
static void status_tells_of_the_last_jobs(void **state) {
    (void)state;
    run_jobs(130);
    for (uint32_t turn = 0; turn < 3; ++turn) {
        json_t *status = get_json("/status");
        const json_t *jobs = json_object_get(status, "jobs");
        const uint32_t n = 130 + turn;
        assert_int_equal(json_array_size(jobs), 100);
        assert_int_equal(number_at(json_array_get(jobs, 0), NULL, "job"), n - 99);
        assert_int_equal(number_at(json_array_get(jobs, 99), NULL, "job"), n);
        assert_int_equal(number_at(status, NULL, "outcomes_kept"), n);
        assert_int_equal(atomic_load(&server->floor), n - 100);
        json_decref(status);
        (void)await_job(daemon_of_test.engine,
                        submit_one(daemon_of_test.engine, &circuits, ONE, PM_ENGINE_LOW, NULL));
    }
}

/* A job that has its number and is not listed yet, while a later one is, is told of once it is. */
static void status_waits_for_numbers_that_come_late(void **state) {
    (void)state;
    pm_engine *engine = daemon_of_test.engine;
    run_jobs(3);
    static struct engine_job late = {.above = 3};
    pm_engine_lock(engine);
    late.next = engine->arriving;
    engine->arriving = &late;
    engine->last_id = 4; /* the late one's */
    pm_engine_unlock(engine);
    _Atomic uint64_t floor = 3;
    for (int turn = 0; turn < 2; ++turn) {
        char *text = NULL;
        size_t n_bytes = 0;
        pm_error error = PM_ERROR_INIT;
        (void)await_job(engine, submit_one(engine, &circuits, ONE, PM_ENGINE_LOW, NULL));
        toy_expect(pm_status_json(&daemon_of_test, &floor, &text, &n_bytes, &error), PM_OK, &error);
        free(text);
        assert_int_equal(atomic_load(&floor), turn == 0 ? 3 : 4);
        pm_engine_lock(engine);
        engine->arriving = late.next;
        pm_engine_unlock(engine);
    }
}

/* ---- Metrics -------------------------------------------------------------------------------- */

static double metric(const char *text, const char *name) {
    const size_t n = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) == 0 && line[n] == ' ') {
            return strtod(line + n + 1, NULL);
        }
    }
    fail_msg("no metric %s", name);
    return 0;
}

static void metrics_say_what_the_engine_says(void **state) {
    (void)state;
    pm_engine_metrics metrics;
    run_jobs(6);
    const uint64_t job = submit_one(daemon_of_test.engine, &circuits, ONE, PM_ENGINE_LOW, NULL);
    (void)await_job(daemon_of_test.engine, job);
    assert_int_equal(pm_engine_metrics_now(daemon_of_test.engine, &metrics), PM_OK);
    struct http_reply reply = get_well("/metrics");
    const char *text = reply.body;
    prometheus_check(text, reply.n_body_bytes);
    assert_true(metric(text, "proofmill_jobs_done_total") == (double)metrics.n_done);
    /* A cause has a series before its first failure; what is no cause has none. */
    assert_true(metric(text, "proofmill_job_failures_total{cause=\"SELF_VERIFY\"}") ==
                (double)metrics.n_failed_by[PM_SELF_VERIFY]);
    assert_true(metric(text, "proofmill_job_failures_total{cause=\"OVER_BUDGET\"}") == 0);
    assert_null(strstr(text, "cause=\"OK\""));
    assert_null(strstr(text, "cause=\"UNKNOWN\""));
    assert_true(metric(text, "cuzk_proofs_completed_total") == (double)metrics.n_done);
    assert_true(metric(text, "proofmill_proofs_total") == (double)metrics.n_proofs);
    assert_true(metric(text, "proofmill_pool_budget_bytes{pool=\"host\"}") ==
                (double)metrics.pools[0].total_bytes);
    assert_true(metric(text, "proofmill_stage_duration_seconds_count{stage=\"prove\"}") == 7);
    assert_true(
        metric(text, "proofmill_stage_duration_seconds_bucket{stage=\"job\",le=\"+Inf\"}") == 7);
    assert_true(metric(text, "proofmill_key_loads_total{key=\"one\"}") == 1);
    assert_true(metric(text, "proofmill_keys{tier=\"warm\"}") == N_SMALL);
    assert_true(metric(text, "proofmill_device_proofs_total{device=\"cpu\"}") == 7);
    assert_true(metric(text, "process_threads") >= 4);
    assert_true(metric(text, "process_resident_memory_bytes") > 1e6);
    assert_true(metric(text, "process_open_fds") >= 3);
    free(reply.all);
}

/* The judge of the test above must be able to find something. */
static void the_check_of_metrics_finds_faults(void **state) {
    (void)state;
#define HEAD(type) "# HELP a_total Help.\n# TYPE a_total " type "\n"
#define HISTOGRAM "# HELP h H.\n# TYPE h histogram\n"
    static const char *const good[] = {
        HEAD("counter") "a_total 1\n", HEAD("counter") "a_total{x=\"1\",y=\"\\\"\"} 1e3\n",
        HISTOGRAM "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 3\nh_sum 4.5\nh_count 3\n"};
    static const char *const bad[] = {
        "",
        "a 1\n",
        HEAD("counter") "a_total 1",
        HEAD("counter") "a_total x\n",
        HEAD("counter") "a_total{x=1} 1\n",
        HEAD("counter") "a_total{x=\"1} 1\n",
        HEAD("counter") "a_total{x=\"\\t\"} 1\n",
        HEAD("counter") "a_total{x=\"1\" y=\"2\"} 1\n",
        HEAD("counter") "a_total{x=\"1\",x=\"2\"} 1\n",
        HEAD("counter") "a_total{1x=\"1\"} 1\n",
        HEAD("counter") "a_total 1\na_total 1\n",
        HEAD("counter") "a_total -1\n",
        HEAD("number") "a_total 1\n",
        HEAD("counter") HEAD("counter") "a_total 1\n",
        "# HELP a A.\n# TYPE a counter\na 1\n",
        "# TYPE a gauge\na 1\n",
        "# HELP a A.\n# TYPE a gauge\n# HELP b B.\n# TYPE b gauge\na{x=\"1\"} 1\nb 1\na 1\n",
        HISTOGRAM "h_bucket{le=\"1\"} 2\nh_sum 4.5\nh_count 2\n",
        HISTOGRAM "h_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 1\nh_sum 4\nh_count 1\n",
        HISTOGRAM "h_bucket{le=\"2\"} 1\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 1\n",
        HISTOGRAM "h_bucket{le=\"+Inf\"} 3\nh_sum 4.5\nh_count 4\n",
        HISTOGRAM "h 3\n"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; ++i) {
        prometheus_check(good[i], strlen(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        if (prometheus_fault(bad[i], strlen(bad[i])) == NULL) {
            fail_msg("nothing was found in:\n%s", bad[i]);
        }
    }
}

/* Whatever a file or a card is called, the text stays one. */
static void metrics_escape_their_labels(void **state) {
    (void)state;
    static const struct {
        const char *value, *expected;
    } labels[] = {
        {"plain", "a=\"plain\""},
        {"q\"b\\n\nend", "a=\"q\\\"b\\\\n\\nend\""},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "a=\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"\xff\xc3", "a=\"\?\?\""},
        {"\xed\xa0\x80|\xc0\xaf|\xf5\x80\x80\x80|\xe2\x82", "a=\"\?\?\?|\?\?|\?\?\?\?|\?\?\""},
        {"\xf0\x8f\xbf\xbf|\xf4\x90\x80\x80|\xe0\x9f\xbf", "a=\"\?\?\?\?|\?\?\?\?|\?\?\?\""},
        {"", "a=\"\""},
    };
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; ++i) {
        struct pm_text text = {0};
        char *bytes;
        size_t n_bytes;
        pm_metrics_label(&text, "a", labels[i].value);
        assert_int_equal(pm_text_take(&text, &bytes, &n_bytes, NULL), PM_OK);
        assert_string_equal(bytes, labels[i].expected);
        free(bytes);
    }
    char small[4];
    pm_text_clean("ab\xe2\x82\xac", small, sizeof small); /* a character is whole or not there */
    assert_string_equal(small, "ab");
}

/* A worker that reads a witness keeps no card at work: both times are told. */
static void metrics_of_a_card_tell_how_long_it_was_held(void **state) {
    (void)state;
    const pm_engine_device_info card = {.name = "cuda:0",
                                        .n_workers = 2,
                                        .busy_ns = UINT64_C(9000000000),
                                        .held_ns = UINT64_C(2250000000)};
    struct pm_text text = {0};
    char *bytes;
    size_t n_bytes;
    pm_metrics_devices(&text, &card, 1);
    assert_int_equal(pm_text_take(&text, &bytes, &n_bytes, NULL), PM_OK);
    assert_true(metric(bytes, "proofmill_device_busy_seconds_total{device=\"cuda:0\"}") == 9);
    assert_true(metric(bytes, "proofmill_device_held_seconds_total{device=\"cuda:0\"}") == 2.25);
    prometheus_check(bytes, n_bytes);
    free(bytes);
}

static void metrics_of_a_name_with_everything(void **state) {
    (void)state;
    pm_engine_device_info device = {.struct_bytes = sizeof device, .name = "cuda:0"};
    pm_engine_key_info key = {.struct_bytes = sizeof key, .device_mask = 1, .name = "a:b.c-d_e"};
    struct pm_rpc_counts counts = {.n_calls = UINT64_MAX, .n_by_code = {1, 2, 3}};
    struct pm_text text = {0};
    char *bytes;
    size_t n_bytes;
    (void)snprintf(device.model, sizeof device.model, "card \"x\" \\ \n \xff");
    device.total_bytes = 1;
    pm_metrics_keys(&text, &key, 1, &device, 1);
    pm_metrics_devices(&text, &device, 1);
    pm_metrics_rpc(&text, &counts);
    assert_int_equal(pm_text_take(&text, &bytes, &n_bytes, NULL), PM_OK);
    prometheus_check(bytes, n_bytes);
    assert_non_null(strstr(bytes, "proofmill_key_hot{key=\"a:b.c-d_e\",device=\"cuda:0\"} 1\n"));
    assert_non_null(strstr(bytes, "model=\"card \\\"x\\\" \\\\ \\n \?\""));
    assert_non_null(strstr(bytes, "proofmill_rpc_calls_total 18446744073709551615\n"));
    assert_non_null(strstr(bytes, "proofmill_rpc_ended_total{code=\"CANCELLED\"} 2\n"));
    free(bytes);
}

/* ---- Events, history, the page -------------------------------------------------------------- */

static void events_come_in_order(void **state) {
    (void)state;
    run_jobs(4);
    json_t *all = get_json("/events?after=0");
    const json_t *events = json_object_get(all, "events");
    const size_t n = json_array_size(events);
    uint32_t n_begun = 0, n_ended = 0, n_done = 0;
    assert_true(n >= 4 * 10);
    assert_true(json_is_false(json_object_get(all, "more")));
    for (size_t i = 0; i < n; ++i) {
        const json_t *event = json_array_get(events, i);
        const char *kind = text_at(event, "kind");
        assert_int_equal(number_at(event, NULL, "sequence"), i + 1);
        n_begun += strcmp(kind, "begin") == 0;
        n_ended += strcmp(kind, "end") == 0;
        n_done += strcmp(kind, "job") == 0 && strcmp(text_at(event, "state"), "done") == 0;
        assert_true(number_at(event, NULL, "at_us") <= number_at(all, NULL, "now_us"));
    }
    assert_int_equal(n_begun, 16); /* four stages of four proofs */
    assert_int_equal(n_ended, 16);
    assert_int_equal(n_done, 4);
    json_decref(all);
    char path[64];
    (void)snprintf(path, sizeof path, "/events?after=%zu", n - 1);
    json_t *last = get_json(path);
    assert_int_equal(json_array_size(json_object_get(last, "events")), 1);
    json_decref(last);
    json_t *none = get_json("/events?after=999999");
    assert_int_equal(json_array_size(json_object_get(none, "events")), 0);
    json_decref(none);
}

/* More than an answer holds, and in the end more than is remembered. */
static void events_go_on_where_they_were(void **state) {
    (void)state;
    const uint32_t n_jobs = 360;
    uint64_t after = 0, n_seen = 0;
    run_jobs(n_jobs);
    for (bool more = true; more;) {
        char path[64];
        (void)snprintf(path, sizeof path, "/events?after=%llu", (unsigned long long)after);
        json_t *all = get_json(path);
        const json_t *events = json_object_get(all, "events");
        const size_t n = json_array_size(events);
        assert_true(n <= 1000);
        for (size_t i = 0; i < n; ++i) {
            const uint64_t at = (uint64_t)number_at(json_array_get(events, i), NULL, "sequence");
            assert_true(after == 0 || at == after + 1);
            after = at;
        }
        n_seen += n;
        more = json_is_true(json_object_get(all, "more"));
        json_decref(all);
    }
    assert_true(after > 4096);
    assert_int_equal(n_seen, 4096);
}

static void history_is_sampled(void **state) {
    (void)state;
    const uint64_t began_ns = pm_clock_now_ns();
    run_jobs(3);
    json_t *all = NULL;
    const json_t *samples = NULL, *last = NULL;
    size_t n = 0;
    for (int tries = 0; tries < 300; ++tries) {
        test_sleep_ms(100);
        json_decref(all);
        all = get_json("/history?after=0");
        samples = json_object_get(all, "samples");
        n = json_array_size(samples);
        last = json_array_get(samples, n - 1);
        if (n >= 3 && number_at(last, NULL, "done") == 3) {
            break;
        }
    }
    assert_true(n >= 3 && n <= 3 + (pm_clock_now_ns() - began_ns) / UINT64_C(1000000000));
    assert_int_equal(number_at(last, NULL, "done"), 3);
    assert_int_equal(number_at(last, NULL, "proofs"), 3);
    assert_true(number_at(last, NULL, "resident_bytes") > 1000000);
    assert_int_equal(json_array_size(json_object_get(last, "busy_us")), 1);
    assert_int_equal(json_array_size(json_object_get(last, "reserved_bytes")), 2);
    char path[64];
    (void)snprintf(path, sizeof path, "/history?after=%zu", n - 1);
    json_t *rest = get_json(path);
    assert_true(json_array_size(json_object_get(rest, "samples")) >= 1);
    json_decref(rest);
    json_decref(all);
    /* The ring turns over. */
    for (uint32_t i = 0; i < PM_HTTP_SAMPLES + 7; ++i) {
        pm_http_history_sample(&server->history, &daemon_of_test);
    }
    all = get_json("/history");
    samples = json_object_get(all, "samples");
    assert_int_equal(json_array_size(samples), PM_HTTP_SAMPLES);
    for (size_t i = 1; i < PM_HTTP_SAMPLES; ++i) {
        assert_int_equal(number_at(json_array_get(samples, i), NULL, "sequence"),
                         number_at(json_array_get(samples, i - 1), NULL, "sequence") + 1);
    }
    json_decref(all);
}

static void the_page_needs_nobody_else(void **state) {
    (void)state;
    struct http_reply first = get_well("/"), second = get_well("/");
    const char *policy = http_header(&first, "Content-Security-Policy");
    char nonce[40] = "";
    const char *script = strstr(first.body, "<script type=\"module\" nonce=\"");
    assert_non_null(script);
    (void)snprintf(nonce, 33, "%s", script + strlen("<script type=\"module\" nonce=\""));
    assert_int_equal(strspn(nonce, "0123456789abcdef"), 32);
    assert_non_null(strstr(policy, nonce));
    assert_null(strstr(policy, "unsafe"));
    assert_null(strstr(first.body, "0123456789abcdef0123456789abcdef"));
    assert_null(strstr(second.body, nonce)); /* each answer has its own */
    assert_null(strstr(first.body, "https://"));
    /* The one name of a namespace is no address that is asked for. */
    const char *url = strstr(first.body, "http://");
    assert_non_null(url);
    assert_memory_equal(url, "http://www.w3.org/2000/svg", 26);
    assert_null(strstr(url + 1, "http://"));
    assert_null(strstr(first.body, " onclick="));
    assert_null(strstr(first.body, "innerHTML"));
    assert_int_equal(first.n_body_bytes, (size_t)(pm_page_end - pm_page));
    free(first.all);
    free(second.all);
}

/* ---- Many at once --------------------------------------------------------------------------- */

static _Atomic uint32_t n_well;

static void *ask(void *user) {
    static const char *const paths[] = {"/status",  "/metrics", "/events",
                                        "/history", "/healthz", "/"};
    const uint32_t first = *(const uint32_t *)user;
    for (uint32_t i = 0; i < (PM_TEST_IS_SANITIZED ? 12 : 40); ++i) {
        struct http_reply reply = http_get(port, paths[(first + i) % 6]);
        n_well += reply.code == 200;
        free(reply.all);
    }
    return NULL;
}

static void many_ask_while_proofs_are_made(void **state) {
    (void)state;
    pthread_t threads[8];
    uint32_t first[8];
    uint64_t jobs[60];
    atomic_store(&n_well, 0);
    for (uint32_t i = 0; i < 60; ++i) {
        jobs[i] = submit_one(daemon_of_test.engine, &circuits, (enum circuit)(i % N_SMALL),
                             (pm_engine_priority)(1 + i % 4), NULL);
    }
    for (uint32_t t = 0; t < 8; ++t) {
        first[t] = t;
        assert_int_equal(pthread_create(&threads[t], NULL, ask, &first[t]), 0);
    }
    for (uint32_t i = 0; i < 60; ++i) {
        expect_valid(daemon_of_test.engine, &circuits, (enum circuit)(i % N_SMALL), jobs[i]);
    }
    for (uint32_t t = 0; t < 8; ++t) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    }
    assert_int_equal(atomic_load(&n_well), 8 * (PM_TEST_IS_SANITIZED ? 12 : 40));
}

/* A thousand jobs are told of, and that there are more. */
static void status_is_bounded(void **state) {
    (void)state;
    struct cards cards;
    cards_open(1, &cards);
    cards.card[0]->latency_ns = UINT64_C(300000000);
    const struct pm_engine_hooks hooks = cards_hooks(&cards);
    const pm_engine_device device = {.struct_bytes = sizeof device, .device = "cuda"};
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .host_bytes = 256 * MIB,
                                       .n_devices = 1,
                                       .devices = &device};
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_engine_create_with(&options, &hooks, &engine, &error), PM_OK, &error);
    circuits_register(&circuits, engine);
    start_server(engine);
    for (uint32_t i = 0; i < 1100; ++i) {
        (void)submit_one(engine, &circuits, ONE, PM_ENGINE_NORMAL, NULL);
    }
    const uint64_t began_ns = pm_clock_now_ns();
    json_t *status = get_json("/status");
    print_message("  %llu ms for 1100 jobs\n",
                  (unsigned long long)((pm_clock_now_ns() - began_ns) / 1000000));
    const json_t *jobs = json_object_get(status, "jobs");
    assert_true(json_array_size(jobs) <= 1000 && json_array_size(jobs) >= 900);
    assert_true(json_is_true(json_object_get(status, "jobs_are_cut")));
    assert_true(number_at(status, "counters", "queue_depth") >= 1080);
    const json_t *waits = json_array_get(jobs, 500);
    assert_string_equal(text_at(waits, "state"), "queued");
    assert_true(strlen(text_at(waits, "waits_for")) > 0);
    json_decref(status);
    pm_engine_stop(engine); /* what is told then is of no engine that works, and is told */
    json_decref(get_json("/status"));
    json_decref(get_json("/events"));
    stop_server();
    cards_close(&cards);
}

/* ---- Out of memory -------------------------------------------------------------------------- */

static _Thread_local uint64_t fail_at, n_asked;

static void *ask_for_memory(size_t n_bytes) {
    return fail_at != 0 && ++n_asked >= fail_at ? NULL : malloc(n_bytes);
}

/* Each allocation of jansson may fail, and all after it: no half of a status is given out. */
static void C10_status_without_memory(void **state) {
    (void)state;
    uint32_t n_failed = 0;
    run_jobs(3);
    for (uint64_t at = 1;; at += at < 200 ? 1 : 37) {
        _Atomic uint64_t floor = 0;
        pm_error error = PM_ERROR_INIT;
        char *text = NULL;
        size_t n_bytes = 0;
        n_asked = 0;
        fail_at = at;
        const pm_status status = pm_status_json(&daemon_of_test, &floor, &text, &n_bytes, &error);
        fail_at = 0;
        if (status == PM_OK) {
            assert_true(n_asked < at);
            free(text);
            break;
        }
        assert_int_equal(status, PM_NO_MEMORY);
        assert_null(text);
        ++n_failed;
    }
    assert_true(n_failed > 200);
}

int main(void) {
    json_set_alloc_funcs(ask_for_memory, free);
#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, start_each, stop_each)
    const struct CMUnitTest tests[] = {
        WITH_SERVER(each_path_answers),
        WITH_SERVER(nothing_else_is_there),
        WITH_SERVER(only_get_and_head),
        WITH_SERVER(strange_hosts_are_refused),
        cmocka_unit_test(hosts_beyond_the_loopback),
        WITH_SERVER(addresses),
        WITH_SERVER(bad_requests),
        WITH_SERVER(oversized_requests),
        WITH_SERVER(F11_slow_clients_are_cut_off),
        WITH_SERVER(two_hundred_connections),
        WITH_SERVER(C6_starts_and_stops_leave_nothing),
        WITH_SERVER(health),
        cmocka_unit_test(health_without_devices),
        WITH_SERVER(status_says_what_the_engine_says),
        WITH_SERVER(status_tells_of_the_last_jobs),
        WITH_SERVER(status_waits_for_numbers_that_come_late),
        WITH_SERVER(metrics_say_what_the_engine_says),
        cmocka_unit_test(the_check_of_metrics_finds_faults),
        cmocka_unit_test(metrics_escape_their_labels),
        cmocka_unit_test(metrics_of_a_card_tell_how_long_it_was_held),
        cmocka_unit_test(metrics_of_a_name_with_everything),
        WITH_SERVER(events_come_in_order),
        WITH_SERVER(events_go_on_where_they_were),
        WITH_SERVER(history_is_sampled),
        WITH_SERVER(the_page_needs_nobody_else),
        WITH_SERVER(many_ask_while_proofs_are_made),
        cmocka_unit_test(status_is_bounded),
        WITH_SERVER(C10_status_without_memory),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
