/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* F9: a card whose proof does not come back is found out; one that was only slow is not for long.
 */
#include "engine/engine_case.h"

#include "base/clock.h"
#include "daemon/daemon_internal.h"
#include "support/toy_circuits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define STEP_NS UINT64_C(3000000000) /* far more than it takes a busy machine to find it out */
#define STALL_MS 200
#define GRACE_MS 150
#define LOOK_MS 10
#define LOOKS_MAX 6000

static void F9_a_card_hangs(void **state) {
    (void)state;
    struct circuits circuits;
    struct cards cards;
    struct pm_daemon_hang hang = {{0}};
    char name[64] = "";
    pm_engine *engine = NULL;
    pm_error error = PM_ERROR_INIT;
    circuits_borrow(&circuits);
    cards_open(1, &cards);
    const struct pm_engine_hooks hooks = cards_hooks(&cards);
    const pm_engine_device devices[] = {{.struct_bytes = sizeof devices[0], .device = "cuda:0"},
                                        {.struct_bytes = sizeof devices[0], .device = "cpu"}};
    const pm_engine_options options = {.struct_bytes = sizeof options,
                                       .n_devices = 2,
                                       .devices = devices,
                                       .host_bytes = 256 * MIB,
                                       .retry_ms = 1,
                                       .stall_ms = STALL_MS};
    cards.card[0]->latency_ns = STEP_NS;
    toy_expect(pm_engine_create_with(&options, &hooks, &engine, &error), PM_OK, &error);
    circuits_register(&circuits, engine);
    assert_false(pm_daemon_find_hang(engine, &hang, GRACE_MS, name));
    const uint64_t began_ns = pm_clock_now_ns();
    const uint64_t job = submit_one(engine, &circuits, MIMC, PM_ENGINE_NORMAL, NULL);
    uint32_t n_looks = 0;
    while (!pm_daemon_find_hang(engine, &hang, GRACE_MS, name)) {
        assert_true(++n_looks < LOOKS_MAX);
        test_sleep_ms(LOOK_MS);
    }
    /* It is given time to be busy, and to come back. */
    assert_true(pm_clock_now_ns() - began_ns >= (STALL_MS + GRACE_MS - 1) * UINT64_C(1000000));
    assert_string_equal(name, "cuda:0");
    assert_true(pm_daemon_has_stuck_thread(engine));
    expect_valid(engine, &circuits, MIMC, job); /* by the CPU */
    n_looks = 0;
    while (pm_daemon_has_stuck_thread(engine)) { /* it comes back after its step */
        assert_true(++n_looks < LOOKS_MAX);
        test_sleep_ms(LOOK_MS);
    }
    assert_false(pm_daemon_find_hang(engine, &hang, 0, name));
    pm_engine_destroy(engine);
    cards_close(&cards);
    circuits_close(&circuits);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(F9_a_card_hangs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
