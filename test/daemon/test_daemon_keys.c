/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The configuration's keys in the engine: they come, change, fail and go as it says. */
#include "engine/engine_case.h"

#include "daemon/daemon_internal.h"
#include "support/toy_circuits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define LOOK_MS 5
#define LOOKS_MAX 4000

static struct circuits circuits;

struct world {
    struct pm_daemon daemon;
    struct pm_config config;
};

static void open_world_within(struct world *world, uint64_t host_bytes, const char *journal_path,
                              const char *names_path) {
    const pm_engine_options options = {
        .struct_bytes = sizeof options, .host_bytes = host_bytes, .journal_path = journal_path};
    pm_error error = PM_ERROR_INIT;
    memset(world, 0, sizeof *world);
    toy_expect(pm_config_init(&world->config, "/run/user/1", "/s", "/h", &error), PM_OK, &error);
    toy_expect(pm_engine_create(&options, &world->daemon.engine, &error), PM_OK, &error);
    toy_expect(pm_daemon_keys_start(world->daemon.engine, names_path, &world->daemon.keys, &error),
               PM_OK, &error);
}

static void open_world_on(struct world *world, const char *journal_path, const char *names_path) {
    open_world_within(world, 256 * MIB, journal_path, names_path);
}

static void open_world(struct world *world) {
    open_world_on(world, NULL, NULL);
}

static void close_world(struct world *world) {
    pm_engine_stop(world->daemon.engine);
    pm_daemon_keys_stop(world->daemon.keys);
    pm_engine_destroy(world->daemon.engine);
    pm_config_free(&world->config);
}

static void want(struct world *world) {
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_daemon_keys_want(world->daemon.keys, &world->config, &error), PM_OK, &error);
}

static void set_key(struct world *world, const char *name, const char *path) {
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_config_set_key(&world->config, name, path, "--key", &error), PM_OK, &error);
}

/* Whether the engine has it; its tier and the end of its path. */
static bool find(struct world *world, const char *name, pm_engine_key_info *info) {
    pm_engine_key_info infos[16];
    uint32_t n = 16;
    assert_int_equal(pm_engine_keys(world->daemon.engine, infos, &n), PM_OK);
    assert_true(n <= 16);
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(infos[i].name, name) == 0) {
            *info = infos[i];
            return true;
        }
    }
    return false;
}

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* end NULL: that it is not there. */
static void wait_for(struct world *world, const char *name, const char *end, uint32_t tier) {
    for (int i = 0; i < LOOKS_MAX; i++) {
        pm_engine_key_info info;
        const bool is_there = find(world, name, &info);
        if (end == NULL ? !is_there : is_there && ends_with(info.path, end) && info.tier == tier) {
            return;
        }
        test_sleep_ms(LOOK_MS);
    }
    fail_msg("key %s does not become %s", name, end != NULL ? end : "unknown");
}

static struct pm_daemon_key_fault wait_for_fault(struct world *world, const char *name) {
    struct pm_daemon_key_fault faults[4];
    for (int i = 0; i < LOOKS_MAX; i++) {
        const uint32_t n = pm_daemon_key_faults(&world->daemon, faults, 4);
        for (uint32_t k = 0; k < n && k < 4; k++) {
            if (strcmp(faults[k].name, name) == 0) {
                return faults[k];
            }
        }
        test_sleep_ms(LOOK_MS);
    }
    fail_msg("nothing is wrong with key %s", name);
    return faults[0];
}

static void wait_for_no_fault(struct world *world) {
    for (int i = 0; i < LOOKS_MAX; i++) {
        if (pm_daemon_key_faults(&world->daemon, NULL, 0) == 0) {
            return;
        }
        test_sleep_ms(LOOK_MS);
    }
    fail_msg("something is still wrong with a key");
}

static void test_come_change_and_go(void **state) {
    (void)state;
    struct world world;
    open_world(&world);
    set_key(&world, "a", circuits.key_path[MULT3]);
    set_key(&world, "b", circuits.key_path[MIMC]);
    world.config.keys[1].preload = true;
    want(&world);
    wait_for(&world, "a", "mult3.zkey", PM_ENGINE_COLD);
    wait_for(&world, "b", "mimc.zkey", PM_ENGINE_WARM);
    assert_int_equal(pm_daemon_key_faults(&world.daemon, NULL, 0), 0);
    set_key(&world, "a", circuits.key_path[ONE]);
    set_key(&world, "c", circuits.key_path[MULT3_BLS]);
    want(&world);
    wait_for(&world, "a", "one.zkey", PM_ENGINE_COLD);
    wait_for(&world, "c", ".zkey", PM_ENGINE_COLD);
    pm_config_free(&world.config);
    world.config = (struct pm_config){0};
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_config_init(&world.config, NULL, NULL, "/h", &error), PM_OK, &error);
    set_key(&world, "b", circuits.key_path[MIMC]);
    want(&world);
    wait_for(&world, "a", NULL, 0);
    wait_for(&world, "c", NULL, 0);
    wait_for(&world, "b", "mimc.zkey", PM_ENGINE_WARM); /* untouched */
    close_world(&world);
}

/* Of two keys, as status has them: it is one of them, with this status, and stands there once. */
static void expect_listed(struct world *world, const char *name, pm_status status) {
    pm_engine_key_info infos[4];
    uint32_t n = 0, n_found = 0;
    assert_int_equal(pm_daemon_list_keys(&world->daemon, NULL, &n), PM_OK);
    assert_int_equal(n, 2);
    n = 4;
    assert_int_equal(pm_daemon_list_keys(&world->daemon, infos, &n), PM_OK);
    assert_int_equal(n, 2);
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(infos[i].name, name) == 0) {
            n_found++;
            assert_int_equal(infos[i].status, status);
            assert_int_equal(infos[i].tier, PM_ENGINE_COLD);
        }
    }
    assert_int_equal(n_found, 1);
    n = 1; /* no room for it */
    assert_int_equal(pm_daemon_list_keys(&world->daemon, infos, &n), PM_OK);
    assert_int_equal(n, 2);
}

/* The others are there all the same; once the file is there and it is asked for again, so is it. */
static void test_a_file_is_missing(void **state) {
    (void)state;
    struct world world;
    char folder[] = "/tmp/proofmill_keys_XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/late.zkey", folder);
    open_world(&world);
    pm_error error = PM_ERROR_INIT;
    toy_expect(pm_config_set(&world.config, "srs.param_cache", folder, false, "-", &error), PM_OK,
               &error);
    set_key(&world, "late", "late.zkey");
    set_key(&world, "a", circuits.key_path[MULT3]);
    want(&world);
    const struct pm_daemon_key_fault fault = wait_for_fault(&world, "late");
    assert_int_equal(fault.status, PM_IO);
    assert_string_equal(fault.path, path);
    assert_non_null(strstr(fault.message, "No such file"));
    wait_for(&world, "a", "mult3.zkey", PM_ENGINE_COLD);
    expect_listed(&world, "late", PM_IO);
    assert_int_equal(symlink(circuits.key_path[MIMC], path), 0);
    want(&world);
    wait_for(&world, "late", "late.zkey", PM_ENGINE_COLD);
    wait_for_no_fault(&world);
    expect_listed(&world, "late", PM_OK);
    close_world(&world);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* What jobs use stays until they have ended, and then follows by itself. */
static void test_a_key_is_in_use(void **state) {
    (void)state;
    struct world world;
    open_world(&world);
    set_key(&world, circuits.name[LONG], circuits.key_path[LONG]);
    want(&world);
    wait_for(&world, circuits.name[LONG], ".zkey", PM_ENGINE_COLD);
    uint64_t jobs[20];
    for (int i = 0; i < 20; i++) {
        jobs[i] = submit_one(world.daemon.engine, &circuits, LONG, PM_ENGINE_NORMAL, NULL);
    }
    set_key(&world, circuits.name[LONG], circuits.key_path[MIMC]);
    want(&world);
    assert_int_equal(wait_for_fault(&world, circuits.name[LONG]).status, PM_BUDGET_BUSY);
    for (int i = 0; i < 20; i++) {
        expect_valid(world.daemon.engine, &circuits, LONG, jobs[i]);
    }
    wait_for(&world, circuits.name[LONG], "mimc.zkey", PM_ENGINE_COLD);
    wait_for_no_fault(&world);
    close_world(&world);
}

/* Configurations come faster than they can be followed: the last one counts. */
static void test_the_last_one_counts(void **state) {
    (void)state;
    struct world world;
    open_world(&world);
    for (int i = 0; i < 50; i++) {
        set_key(&world, "a", circuits.key_path[i % 2 == 0 ? MULT3 : MIMC]);
        set_key(&world, i % 3 == 0 ? "x" : "y", circuits.key_path[ONE]);
        want(&world);
        (void)pm_daemon_key_faults(&world.daemon, NULL, 0);
    }
    wait_for(&world, "a", "mimc.zkey", PM_ENGINE_COLD);
    wait_for(&world, "y", "one.zkey", PM_ENGINE_COLD);
    close_world(&world);
}

static bool is_refused(struct world *world, const char *name) {
    char message[512];
    return pm_daemon_key_is_refused(&world->daemon, name, message);
}

/* What the engine knows from before is not what the configuration means by the name. */
static void test_an_old_key_is_refused(void **state) {
    (void)state;
    struct world world;
    char message[512];
    pm_engine_key_info infos[4];
    uint32_t n = 4;
    open_world(&world);
    set_key(&world, "a", circuits.key_path[MULT3]);
    want(&world);
    wait_for(&world, "a", "mult3.zkey", PM_ENGINE_COLD);
    set_key(&world, "a", "/nowhere/a.zkey");
    want(&world);
    assert_int_equal(wait_for_fault(&world, "a").status, PM_IO);
    assert_true(pm_daemon_key_is_refused(&world.daemon, "a", message));
    assert_non_null(strstr(message, "/nowhere/a.zkey: "));
    assert_false(is_refused(&world, "b"));
    assert_int_equal(pm_daemon_list_keys(&world.daemon, infos, &n), PM_OK);
    assert_int_equal(n, 1);
    assert_int_equal(infos[0].status, PM_IO); /* for metrics */
    assert_true(ends_with(infos[0].path, "mult3.zkey"));
    /* A caller who registers it has the last word, up to the next configuration. */
    pm_daemon_key_was_added(&world.daemon, "a", circuits.key_path[MULT3]);
    assert_false(is_refused(&world, "a"));
    assert_int_equal(pm_daemon_key_faults(&world.daemon, NULL, 0), 0);
    want(&world);
    assert_int_equal(wait_for_fault(&world, "a").status, PM_IO);
    set_key(&world, "a", circuits.key_path[MIMC]);
    want(&world);
    wait_for(&world, "a", "mimc.zkey", PM_ENGINE_COLD);
    wait_for_no_fault(&world);
    assert_false(is_refused(&world, "a"));
    close_world(&world);
}

static pm_engine_key_info key_of(struct world *world, const char *name) {
    pm_engine_key_info info = {0};
    assert_true(find(world, name, &info));
    return info;
}

/* The configuration's key could never fit: jobs go on with the one that has its name. */
static void test_a_key_that_cannot_fit(void **state) {
    (void)state;
    struct world world;
    pm_engine_key_info infos[4];
    uint32_t n = 4;
    open_world(&world);
    set_key(&world, "mult3", circuits.key_path[MULT3]);
    want(&world);
    wait_for(&world, "mult3", "mult3.zkey", PM_ENGINE_COLD);
    const pm_engine_key_info small = key_of(&world, "mult3");
    close_world(&world);

    /* Room for a proof of the small one with its key; an eighth is for inputs. */
    open_world_within(&world, (small.bytes + small.proof_bytes) * 4 / 3, NULL, NULL);
    set_key(&world, "mult3", circuits.key_path[MULT3]);
    set_key(&world, "b", circuits.key_path[LONG]);
    want(&world);
    wait_for(&world, "mult3", "mult3.zkey", PM_ENGINE_COLD);
    wait_for(&world, "b", "long.zkey", PM_ENGINE_COLD); /* takes no name from another */
    set_key(&world, "mult3", circuits.key_path[LONG]);
    want(&world);
    const struct pm_daemon_key_fault fault = wait_for_fault(&world, "mult3");
    assert_int_equal(fault.status, PM_OVER_BUDGET);
    assert_non_null(strstr(fault.message, " are allowed"));
    assert_true(ends_with(key_of(&world, "mult3").path, "mult3.zkey"));
    assert_int_equal(pm_daemon_list_keys(&world.daemon, infos, &n), PM_OK);
    assert_int_equal(n, 2);
    assert_int_equal(infos[strcmp(infos[0].name, "mult3") == 0 ? 0 : 1].status, PM_OVER_BUDGET);
    assert_false(is_refused(&world, "mult3"));
    expect_valid(world.daemon.engine, &circuits, MULT3,
                 submit_one(world.daemon.engine, &circuits, MULT3, PM_ENGINE_NORMAL, NULL));
    set_key(&world, "mult3", circuits.key_path[ONE]);
    want(&world);
    wait_for(&world, "mult3", "one.zkey", PM_ENGINE_COLD);
    wait_for_no_fault(&world);
    close_world(&world);
}

/* The same path, another file: the same configuration again registers it. */
static void test_a_file_is_replaced(void **state) {
    (void)state;
    struct world world;
    char folder[] = "/tmp/proofmill_keys_XXXXXX", path[64];
    pm_engine_key_info info;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/a.zkey", folder);
    assert_int_equal(symlink(circuits.key_path[MULT3], path), 0);
    open_world(&world);
    set_key(&world, "a", path);
    world.config.keys[0].preload = true;
    want(&world);
    wait_for(&world, "a", "a.zkey", PM_ENGINE_WARM);
    assert_true(find(&world, "a", &info));
    const uint32_t log_n = info.log_n;
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(circuits.key_path[MIMC], path), 0);
    want(&world);
    for (int i = 0; i < LOOKS_MAX && (!find(&world, "a", &info) || info.log_n == log_n); i++) {
        test_sleep_ms(LOOK_MS);
    }
    assert_int_not_equal(info.log_n, log_n);
    wait_for(&world, "a", "a.zkey", PM_ENGINE_WARM);
    wait_for_no_fault(&world);
    assert_false(is_refused(&world, "a"));
    close_world(&world);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* Those of the configuration go when it has them no more; those of callers stay. */
static void test_the_next_start_forgets(void **state) {
    (void)state;
    struct world world;
    char folder[] = "/tmp/proofmill_keys_XXXXXX", journal[64], names[64], command[96];
    pm_error error = PM_ERROR_INIT;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(journal, sizeof journal, "%s/journal", folder);
    (void)snprintf(names, sizeof names, "%s/names", folder);
    open_world_on(&world, journal, names);
    set_key(&world, "stays", circuits.key_path[MULT3]);
    set_key(&world, "leaves", circuits.key_path[MIMC]);
    set_key(&world, "taken", circuits.key_path[MIMC]);
    want(&world);
    wait_for(&world, "taken", "mimc.zkey", PM_ENGINE_COLD);
    const pm_engine_key added = {
        .struct_bytes = sizeof added, .name = "added", .path = circuits.key_path[ONE]};
    toy_expect(pm_engine_key_register(world.daemon.engine, &added, NULL, &error), PM_OK, &error);
    pm_daemon_key_was_added(&world.daemon, "added", added.path);
    pm_daemon_key_was_added(&world.daemon, "taken", circuits.key_path[MIMC]);
    close_world(&world);
    open_world_on(&world, journal, names);
    set_key(&world, "stays", circuits.key_path[MULT3]);
    want(&world);
    wait_for(&world, "leaves", NULL, 0);
    wait_for(&world, "stays", "mult3.zkey", PM_ENGINE_COLD);
    wait_for(&world, "added", ".zkey", PM_ENGINE_COLD);
    wait_for(&world, "taken", "mimc.zkey", PM_ENGINE_COLD);
    close_world(&world);
    /* What is no list of names takes no key along. */
    FILE *out = fopen(names, "w");
    assert_true(out != NULL && fputs("added\nno name\n", out) >= 0 && fclose(out) == 0);
    open_world_on(&world, journal, names);
    set_key(&world, "last", circuits.key_path[MIMC]);
    want(&world);
    wait_for(&world, "last", "mimc.zkey", PM_ENGINE_COLD);
    wait_for(&world, "added", ".zkey", PM_ENGINE_COLD);
    close_world(&world);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* A key whose secrets are known is warned of, whoever registered it. */
static void test_a_development_key(void **state) {
    (void)state;
    struct world world;
    pm_engine_key_info info;
    open_world(&world);
    set_key(&world, "a", circuits.key_path[MULT3]);
    set_key(&world, "b", circuits.key_path[LONG]);
    set_key(&world, "c", circuits.key_path[MIMC]); /* comes after them */
    want(&world);
    wait_for(&world, "c", ".zkey", PM_ENGINE_COLD);
    assert_true(find(&world, "a", &info));
    assert_string_equal(pm_daemon_key_warning(&world.daemon, &info), "");
    assert_true(find(&world, "b", &info));
    assert_non_null(strstr(pm_daemon_key_warning(&world.daemon, &info), "development key"));
    close_world(&world);
}

static int open_all(void **state) {
    (void)state;
    circuits_open(12, &circuits);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    circuits_close(&circuits);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_come_change_and_go),    cmocka_unit_test(test_a_file_is_missing),
        cmocka_unit_test(test_a_key_is_in_use),       cmocka_unit_test(test_the_last_one_counts),
        cmocka_unit_test(test_an_old_key_is_refused), cmocka_unit_test(test_a_key_that_cannot_fit),
        cmocka_unit_test(test_a_file_is_replaced),    cmocka_unit_test(test_the_next_start_forgets),
        cmocka_unit_test(test_a_development_key)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
