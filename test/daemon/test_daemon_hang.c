/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* F9: a card whose proof does not come back is found out; one that was only slow is not for long.
 */
#include "engine/engine_case.h"

#include "base/clock.h"
#include "daemon/daemon_internal.h"
#include "support/file_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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
    circuits_borrow(&circuits);
    cards_open(1, &cards);
    cards.card[0]->latency_ns = STEP_NS;
    pm_engine *engine = cards_engine(&cards, true, (pm_engine_options){.stall_ms = STALL_MS});
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

static void await_its_threads(struct pm_engine *engine, uint32_t n_threads) {
    uint32_t n_ended = 0;
    for (int tries = 0; tries < 3000 && n_ended < n_threads; ++tries) {
        test_sleep_ms(20);
        pm_engine_lock(engine);
        n_ended = engine->n_thread_ends;
        pm_engine_unlock(engine);
    }
    assert_int_equal(n_ended, n_threads);
}

/* The card has done its part, and what finishes the proof never comes back: it is found out as
 * well, the engine is left, and the journal goes on with another one. */
static void F9_a_card_hangs_in_finish(void **state) {
    (void)state;
    static pm_engine *left; /* what is never freed is not lost */
    static struct cards cards;
    struct circuits circuits;
    struct pm_daemon_hang hang = {{0}};
    char name[64] = "";
    char *tree = file_make_tree();
    const char *folder = file_in_tree(tree, "journal");
    circuits_borrow(&circuits);
    cards_open(1, &cards);
    __atomic_store_n(&cards.holds_finish, 1, __ATOMIC_RELEASE);
    /* A busy machine takes long for the card's own part. */
    left =
        cards_engine(&cards, false, (pm_engine_options){.stall_ms = 3000, .journal_path = folder});
    circuits_register(&circuits, left);
    const uint64_t job = submit_one(left, &circuits, MIMC, PM_ENGINE_NORMAL, "held");
    for (uint32_t n = 0; !pm_daemon_find_hang(left, &hang, GRACE_MS, name); ++n) {
        assert_true(n < 60000 / LOOK_MS);
        test_sleep_ms(LOOK_MS);
    }
    assert_string_equal(name, "cuda:0");
    pm_engine_device_info device;
    uint32_t n_devices = 1;
    assert_int_equal(pm_engine_devices(left, &device, &n_devices), PM_OK);
    assert_true(device.is_quarantined && device.n_hung == 1 && device.n_busy == 1);
    const uint32_t n_threads = left->n_threads;
    pm_engine_destroy(left);
    assert_true(left->is_abandoned);

    pm_engine *engine = cards_engine(NULL, true, (pm_engine_options){.journal_path = folder});
    expect_valid(engine, &circuits, MIMC, job);
    pm_engine_destroy(engine);
    __atomic_store_n(&cards.holds_finish, 0, __ATOMIC_RELEASE);
    await_its_threads(left, n_threads);
    file_remove_tree(tree);
    circuits_close(&circuits);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(F9_a_card_hangs),
                                       cmocka_unit_test(F9_a_card_hangs_in_finish)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
