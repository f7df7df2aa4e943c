/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The HTTP server with each of its allocations and threads failing in turn: what it says is whole
 * or is not said, it goes on afterwards, and nothing is left.
 */
#include "daemon/http.h"
#include "daemon/http_client.h"
#include "engine/engine_case.h"
#include "fault/fault_interposer.h"

#include "base/clock.h"
#include "support/toy_circuits.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct circuits circuits;
static pm_engine *engine;
static struct pm_daemon daemon_of_test;
static struct pm_http_server *server;

static int open_all(void **state) {
    (void)state;
    const pm_engine_options options = {.struct_bytes = sizeof options, .host_bytes = 256 << 20};
    pm_error error = PM_ERROR_INIT;
    circuits_borrow(&circuits);
    toy_expect(pm_engine_create(&options, &engine, &error), PM_OK, &error);
    circuits_register(&circuits, engine);
    (void)await_job(engine, submit_one(engine, &circuits, ONE, PM_ENGINE_NORMAL, "one"));
    daemon_of_test = (struct pm_daemon){.engine = engine, .started_ns = pm_clock_now_ns()};
    return 0;
}

static int close_all(void **state) {
    (void)state;
    pm_engine_destroy(engine);
    circuits_close(&circuits);
    return 0;
}

/* ---- What is said --------------------------------------------------------------------------- */

static struct pm_http_history history = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pm_status say(uint32_t which, char **text, size_t *n_bytes, pm_error *error) {
    _Atomic uint64_t floor = 0;
    switch (which) {
    case 0:
        return pm_metrics_text(&daemon_of_test, text, n_bytes, error);
    case 1:
        return pm_status_json(&daemon_of_test, &floor, text, n_bytes, error);
    case 2:
        return pm_events_json(&daemon_of_test, 0, text, n_bytes, error);
    default:
        return pm_http_history_json(&history, &daemon_of_test, 0, text, n_bytes, error);
    }
}

static void C10_what_is_said_is_whole(void **state) {
    (void)state;
    pm_http_history_sample(&history, &daemon_of_test);
    for (uint32_t which = 0; which < 4; ++which) {
        uint64_t n_faults = 0;
        for (uint64_t at = 1;; ++at) {
            char *text = NULL;
            size_t n_bytes = 0;
            pm_error error = PM_ERROR_INIT;
            const struct fault_plan plan = {
                .function = FAULT_any, .at = at, .reason = ENOMEM, .persists = at % 2 == 0};
            fault_arm(&plan);
            const pm_status status = say(which, &text, &n_bytes, &error);
            const struct fault_count count = fault_disarm();
            n_faults += count.n_faults;
            assert_int_equal(status, count.n_faults != 0 ? PM_NO_MEMORY : PM_OK);
            assert_true(status == PM_OK ? text != NULL && strlen(text) == n_bytes : text == NULL);
            assert_true(status == PM_OK || error.message[0] != '\0');
            free(text);
            if (count.n_faults == 0) {
                break;
            }
        }
        assert_true(n_faults >= 1);
    }
}

/* ---- Start, and answers --------------------------------------------------------------------- */

static void C10_start_fails_as_a_whole(void **state) {
    (void)state;
    const struct holdings before = holdings_now();
    uint64_t n_faults = 0;
    for (uint64_t at = 1;; ++at) {
        pm_error error = PM_ERROR_INIT;
        struct pm_http_server *made = NULL;
        struct fault_plan plan = {.function = FAULT_calloc, .at = at, .reason = ENOMEM};
        if (at % 2 == 0) {
            plan = (struct fault_plan){
                .function = FAULT_pthread_create, .at = at / 2, .reason = EAGAIN};
        }
        fault_arm(&plan);
        const pm_status status =
            pm_http_start(&daemon_of_test, "127.0.0.1:0", false, &made, &error);
        const struct fault_count count = fault_disarm();
        n_faults += count.n_faults;
        assert_int_equal(status, count.n_faults == 0 ? PM_OK
                                 : at % 2 == 0       ? PM_NO_THREADS
                                                     : PM_NO_MEMORY);
        assert_true((made != NULL) == (status == PM_OK));
        pm_http_stop(made);
        const struct holdings after = holdings_now();
        assert_int_equal(after.n_fds, before.n_fds);
        if (at >= 4 && count.n_faults == 0) {
            break;
        }
    }
    assert_true(n_faults >= 2);
    for (int tries = 0; tries < 1000 && holdings_now().n_threads != before.n_threads; ++tries) {
        test_sleep_ms(10); /* a joined thread may be listed for a moment */
    }
    assert_int_equal(holdings_now().n_threads, before.n_threads);
}

/* malloc and getrandom are the server's alone here: the client uses neither. */
static void C10_answers_that_cannot_be_made(void **state) {
    (void)state;
    static const char *const paths[] = {"/", "/healthz", "/nothing", "/events?after=x"};
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_http_start(&daemon_of_test, "127.0.0.1:0", false, &server, &error), PM_OK,
               &error);
    const uint16_t port = pm_http_port(server);
    for (uint32_t i = 0; i < 4; ++i) {
        const struct fault_plan plan = {
            .function = FAULT_malloc, .at = 1, .reason = ENOMEM, .persists = true};
        fault_arm(&plan);
        struct http_reply reply = http_get(port, paths[i]);
        assert_true(fault_disarm().n_faults >= 1);
        assert_int_equal(reply.code, 0); /* not even a sentence: the connection is closed */
        free(reply.all);
        reply = http_get(port, "/healthz");
        assert_int_equal(reply.code, 200);
        free(reply.all);
    }
    const struct fault_plan plan = {.function = FAULT_getrandom, .at = 1, .reason = EIO};
    fault_arm(&plan);
    struct http_reply reply = http_get(port, "/");
    assert_int_equal(fault_disarm().n_faults, 1);
    assert_int_equal(reply.code, 500);
    assert_true(reply.n_body_bytes > 1 && strstr(reply.body, "<script") == NULL);
    free(reply.all);
    pm_http_stop(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C10_what_is_said_is_whole),
        cmocka_unit_test(C10_start_fails_as_a_whole),
        cmocka_unit_test(C10_answers_that_cannot_be_made),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
