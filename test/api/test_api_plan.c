/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The public face of plans: arguments, accessors, and that a key's plan is that of its sizes. */
#include "support/fixture.h"

#include <proofmill/experimental.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const pm_plan_options four_threads = {.struct_bytes = sizeof(pm_plan_options), .threads = 4};

static pm_proof_plan *plan_of(const pm_circuit_sizes *sizes, const pm_plan_options *options) {
    pm_proof_plan *plan = NULL;
    pm_error error = PM_ERROR_INIT;
    if (pm_proof_plan_create(sizes, options, &plan, &error) != PM_OK) {
        fail_msg("%s", error.message);
    }
    return plan;
}

/* The index of a buffer of this name, which must be there. */
static uint32_t buffer_named(const pm_proof_plan *plan, const char *name,
                             pm_planned_buffer *buffer) {
    for (uint32_t i = 0; pm_proof_plan_buffer(plan, i, buffer) == PM_OK; i++) {
        if (strcmp(buffer->name, name) == 0) {
            return i;
        }
    }
    fail_msg("no buffer %s", name);
    return 0;
}

static void known_circuits_can_be_planned(void **state) {
    (void)state;
    uint32_t n = 0;
    for (; pm_circuit_preset_name(n) != NULL; n++) {
        pm_circuit_sizes sizes = {.struct_bytes = sizeof sizes};
        assert_non_null(pm_circuit_preset_title(n));
        assert_int_equal(pm_circuit_preset(pm_circuit_preset_name(n), &sizes, NULL), PM_OK);
        assert_int_equal(sizes.struct_bytes, sizeof sizes);
        assert_int_equal(sizes.curve, PM_CURVE_BLS12_381);
        pm_proof_plan *plan = plan_of(&sizes, &four_threads);
        pm_circuit_sizes again = {.struct_bytes = sizeof again};
        assert_int_equal(pm_proof_plan_sizes(plan, &again), PM_OK);
        assert_memory_equal(&sizes, &again, sizeof sizes);
        assert_true(pm_proof_plan_file_bytes(plan) > 11000000);
        pm_proof_plan_destroy(plan);
    }
    assert_int_equal(n, 12);
    assert_null(pm_circuit_preset_title(n));
    assert_null(pm_circuit_preset_name(UINT32_MAX));
}

static void the_accessors_agree(void **state) {
    (void)state;
    pm_circuit_sizes sizes = {.struct_bytes = sizeof sizes};
    pm_plan_options options = four_threads;
    options.device = "device:149250113536"; /* 139 GiB */
    assert_int_equal(pm_circuit_preset("porep-32g", &sizes, NULL), PM_OK);
    pm_proof_plan *plan = plan_of(&sizes, &options);
    static const char *const pools[] = {"host", "pinned", "caller", "vram:0"};
    for (uint32_t pool = 0; pool < 4; pool++) {
        assert_string_equal(pm_proof_plan_pool(plan, pool), pools[pool]);
        uint64_t peak = 0;
        for (uint32_t step = 0; step < pm_proof_plan_n_steps(plan); step++) {
            uint64_t live = 0;
            pm_planned_buffer buffer;
            for (uint32_t i = 0; i < pm_proof_plan_n_buffers(plan); i++) {
                assert_int_equal(pm_proof_plan_buffer(plan, i, &buffer), PM_OK);
                live += strcmp(buffer.pool, pools[pool]) == 0 && buffer.first_step <= step &&
                                step <= buffer.last_step
                            ? buffer.bytes
                            : 0;
            }
            assert_true(live == pm_proof_plan_live_bytes(plan, pool, step));
            assert_true(pm_proof_plan_held_bytes(plan, pool, step) <= live);
            peak = live > peak ? live : peak;
        }
        assert_true(peak == pm_proof_plan_peak_bytes(plan, pool));
    }
    assert_null(pm_proof_plan_pool(plan, 4));
    pm_planned_step step;
    for (uint32_t i = 0; i < pm_proof_plan_n_steps(plan); i++) {
        assert_int_equal(pm_proof_plan_step(plan, i, &step), PM_OK);
        assert_int_equal(step.on_cpu, !step.in_start); /* this card makes B2 itself */
        assert_int_equal(step.in_device_lock, step.in_start);
    }
    pm_plan_options chosen = {.struct_bytes = sizeof chosen};
    assert_int_equal(pm_proof_plan_choices(plan, &chosen), PM_OK);
    assert_int_equal(chosen.form, PM_VECTORS_TWO);
    assert_int_equal(chosen.residency, PM_RESIDENCY_KEEP);
    assert_int_equal(chosen.b2, PM_B2_SCHEDULE_START);
    assert_int_equal(chosen.threads, 4);
    assert_true(strlen(pm_proof_plan_why(plan)) > 20);
    pm_proof_plan_destroy(plan);
}

static void past_the_end_and_null(void **state) {
    (void)state;
    const pm_circuit_sizes sizes = {.struct_bytes = sizeof sizes,
                                    .curve = PM_CURVE_BN254,
                                    .log_n = 4,
                                    .n_vars = 12,
                                    .n_inputs = 2};
    pm_proof_plan *plan = plan_of(&sizes, NULL);
    pm_planned_step step;
    pm_planned_buffer buffer;
    assert_int_equal(pm_proof_plan_step(plan, pm_proof_plan_n_steps(plan), &step),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_proof_plan_buffer(plan, pm_proof_plan_n_buffers(plan), &buffer),
                     PM_INVALID_ARGUMENT);
    assert_int_equal(pm_proof_plan_step(plan, 0, NULL), PM_INVALID_ARGUMENT);
    assert_true(pm_proof_plan_live_bytes(plan, 0, UINT32_MAX) == 0);
    assert_true(pm_proof_plan_live_bytes(plan, UINT32_MAX, 0) == 0);
    assert_true(pm_proof_plan_held_bytes(plan, 0, UINT32_MAX) == 0);
    assert_int_equal(pm_proof_plan_sizes(plan, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_proof_plan_choices(plan, NULL), PM_INVALID_ARGUMENT);
    pm_proof_plan_destroy(plan);

    assert_int_equal(pm_proof_plan_n_steps(NULL), 0);
    assert_int_equal(pm_proof_plan_n_buffers(NULL), 0);
    assert_int_equal(pm_proof_plan_step(NULL, 0, &step), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_proof_plan_buffer(NULL, 0, &buffer), PM_INVALID_ARGUMENT);
    assert_null(pm_proof_plan_pool(NULL, 0));
    assert_true(pm_proof_plan_peak_bytes(NULL, 0) == 0);
    assert_true(pm_proof_plan_file_bytes(NULL) == 0);
    assert_string_equal(pm_proof_plan_why(NULL), "");
    pm_proof_plan_destroy(NULL);
    assert_int_equal(pm_proof_plan_create(NULL, NULL, &plan, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_proof_plan_create(&sizes, NULL, NULL, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_proof_plan_of_key(NULL, NULL, NULL, &plan, NULL), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_circuit_preset(NULL, NULL, NULL), PM_INVALID_ARGUMENT);
    pm_circuit_sizes out = {.struct_bytes = sizeof out};
    assert_int_equal(pm_circuit_preset("porep-33g", &out, NULL), PM_INVALID_ARGUMENT);
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    const pm_circuit_sizes good = {.struct_bytes = sizeof good,
                                   .curve = PM_CURVE_BN254,
                                   .log_n = 4,
                                   .n_vars = 12,
                                   .n_inputs = 2};
    pm_proof_plan *plan = NULL;
    pm_error error = PM_ERROR_INIT;
    pm_circuit_sizes sizes = good;
    sizes.n_vars = UINT64_C(1) << 63;
    assert_int_equal(pm_proof_plan_create(&sizes, NULL, &plan, &error), PM_INVALID_ARGUMENT);
    sizes = good;
    sizes.n_inputs = 0;
    assert_int_equal(pm_proof_plan_create(&sizes, NULL, &plan, &error), PM_INVALID_ARGUMENT);
    sizes = good;
    sizes.curve = 7;
    assert_int_equal(pm_proof_plan_create(&sizes, NULL, &plan, &error), PM_INVALID_ARGUMENT);
    sizes = good;
    sizes.log_n = 200;
    assert_int_equal(pm_proof_plan_create(&sizes, NULL, &plan, &error), PM_UNSUPPORTED);
    static const char *const devices[] = {
        "gpu", "device", "device:", "device:1x", "device:-1", "device:99999999999999999999"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        const pm_plan_options options = {.struct_bytes = sizeof options, .device = devices[i]};
        assert_int_equal(pm_proof_plan_create(&good, &options, &plan, &error), PM_INVALID_ARGUMENT);
    }
    pm_plan_options options = {.struct_bytes = sizeof options, .threads = 1000000};
    assert_int_equal(pm_proof_plan_create(&good, &options, &plan, &error), PM_INVALID_ARGUMENT);
    options = (pm_plan_options){.struct_bytes = sizeof options, .form = 9};
    assert_int_equal(pm_proof_plan_create(&good, &options, &plan, &error), PM_INVALID_ARGUMENT);
    options = (pm_plan_options){.struct_bytes = sizeof options, .caller_scalars = 3};
    assert_int_equal(pm_proof_plan_create(&good, &options, &plan, &error), PM_INVALID_ARGUMENT);
    options = (pm_plan_options){.struct_bytes = sizeof options, .memory_bytes = 1};
    assert_int_equal(pm_proof_plan_create(&good, &options, &plan, &error), PM_OVER_BUDGET);
    assert_true(error.need > 1 && error.have == 1);
    assert_null(plan);
}

/* An older caller knows fewer members; what it does not know is left alone. */
static void a_shorter_struct_is_an_older_caller(void **state) {
    (void)state;
    pm_circuit_sizes sizes;
    memset(&sizes, 0x5a, sizeof sizes);
    sizes.struct_bytes = offsetof(pm_circuit_sizes, n_a);
    assert_int_equal(pm_circuit_preset("porep-32g", &sizes, NULL), PM_OK);
    assert_true(sizes.n_rows == 130278869 && sizes.n_a == UINT64_C(0x5a5a5a5a5a5a5a5a));
    pm_proof_plan *plan = plan_of(&sizes, &four_threads); /* n_a counts as 0: all there can be */
    pm_circuit_sizes whole = {.struct_bytes = sizeof whole};
    assert_int_equal(pm_proof_plan_sizes(plan, &whole), PM_OK);
    assert_true(whole.n_a == whole.n_vars);
    pm_proof_plan_destroy(plan);
}

static void a_key_has_the_plan_of_its_sizes(void **state) {
    (void)state;
    char path[PM_TEST_PATH_MAX];
    pm_context *context;
    pm_key *key;
    const pm_context_options context_options = {.struct_bytes = sizeof context_options,
                                                .threads = 2};
    assert_int_equal(pm_context_create(&context_options, &context, NULL), PM_OK);
    assert_int_equal(
        pm_key_open(context, pm_data_path(path, "mult3/mult3.zkey"), NULL, NULL, &key, NULL),
        PM_OK);
    pm_proof_plan *of_key = NULL;
    assert_int_equal(pm_proof_plan_of_key(context, key, NULL, &of_key, NULL), PM_OK);
    pm_circuit_sizes sizes = {.struct_bytes = sizeof sizes};
    assert_int_equal(pm_proof_plan_sizes(of_key, &sizes), PM_OK);
    assert_int_equal(sizes.n_vars, 8);
    assert_int_equal(sizes.n_inputs, 3);
    const pm_plan_options two_threads = {.struct_bytes = sizeof two_threads, .threads = 2};
    pm_proof_plan *of_sizes = plan_of(&sizes, &two_threads);
    assert_int_equal(pm_proof_plan_n_steps(of_key), pm_proof_plan_n_steps(of_sizes));
    static const char *const names[] = {"a",
                                        "b",
                                        "c",
                                        "pending handle",
                                        "caller inputs",
                                        "caller aux",
                                        "msm h scratch",
                                        "msm b2 scratch"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pm_planned_buffer x, y;
        (void)buffer_named(of_key, names[i], &x);
        (void)buffer_named(of_sizes, names[i], &y);
        assert_true(x.bytes == y.bytes && x.first_step == y.first_step &&
                    x.last_step == y.last_step);
    }
    pm_proof_plan_destroy(of_sizes);
    pm_proof_plan_destroy(of_key);
    pm_key_destroy(key);
    pm_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_circuits_can_be_planned),
        cmocka_unit_test(the_accessors_agree),
        cmocka_unit_test(past_the_end_and_null),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(a_shorter_struct_is_an_older_caller),
        cmocka_unit_test(a_key_has_the_plan_of_its_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
