/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The configuration: what is read, what is refused and how, and that it prints as what it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "daemon/config.h"
#include "daemon/config_internal.h"
#include "support/seeded_random.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 300

static struct pm_config defaults(void) {
    struct pm_config config;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pm_config_init(&config, "/run/user/1", "/var/state", "/users/me", &error),
                     PM_OK);
    return config;
}

static pm_status parse(struct pm_config *config, const char *text, pm_error *error) {
    *error = (pm_error)PM_ERROR_INIT;
    return pm_config_parse(config, text, strlen(text), "a.toml", error);
}

static void must_parse(struct pm_config *config, const char *text) {
    pm_error error;
    if (parse(config, text, &error) != PM_OK) {
        fail_msg("%s\nin\n%s", error.message, text);
    }
}

/* For free(). */
static char *printed(const struct pm_config *config) {
    char *text = NULL;
    size_t n_bytes = 0;
    pm_error error = PM_ERROR_INIT;
    FILE *out = open_memstream(&text, &n_bytes);
    assert_non_null(out);
    const pm_status status = pm_config_print(config, out, &error);
    (void)fclose(out);
    if (status != PM_OK) {
        fail_msg("%s", error.message);
    }
    return text;
}

static void expect_same(const struct pm_config *a, const struct pm_config *b) {
    char names[512], *text_a = printed(a), *text_b = printed(b);
    pm_config_restart_keys(a, b, names, sizeof names);
    assert_string_equal(names, "");
    assert_int_equal(a->log_level, b->log_level);
    assert_string_equal(a->param_cache, b->param_cache);
    assert_int_equal(a->n_keys, b->n_keys);
    for (uint32_t i = 0; i < a->n_keys; i++) {
        const struct pm_config_key *x = &a->keys[i], *y = &b->keys[i];
        assert_string_equal(x->name, y->name);
        assert_string_equal(x->path, y->path);
        assert_int_equal(x->r1cs_path != NULL, y->r1cs_path != NULL);
        assert_true(x->r1cs_path == NULL || strcmp(x->r1cs_path, y->r1cs_path) == 0);
        assert_int_equal(x->check, y->check);
        assert_int_equal(x->preload, y->preload);
        assert_int_equal(x->has_digest, y->has_digest);
        assert_true(!x->has_digest || memcmp(x->digest, y->digest, sizeof x->digest) == 0);
    }
    assert_string_equal(text_a, text_b);
    free(text_a);
    free(text_b);
}

/* ---- Defaults ------------------------------------------------------------------------------- */

static void test_needs_no_file(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    struct pm_config config = defaults(), other = defaults();
    assert_int_equal(pm_config_check(&config, &error), PM_OK);
    assert_int_equal(config.n_listen, 1);
    if (geteuid() == 0) {
        assert_string_equal(config.listen[0], "unix:///run/proofmill/proofmill.sock");
        assert_string_equal(config.journal_path, "/var/lib/proofmill/journal");
    } else {
        assert_string_equal(config.listen[0], "unix:///run/user/1/proofmill/proofmill.sock");
        assert_string_equal(config.journal_path, "/var/state/proofmill/journal");
    }
    assert_string_equal(config.status_listen, "127.0.0.1:9821");
    assert_string_equal(config.devices[0], "auto");
    must_parse(&config, "memory.total_budget = '64GiB'");
    assert_int_equal(config.message_bytes_max, 256 << 20);
    assert_int_equal(config.upload_bytes_max, 512 << 20);
    must_parse(&config, "memory.total_budget = 'auto'");
    assert_true(config.journal && !config.insecure_listen && !config.allow_paths_over_tcp);
    must_parse(&config, "# nothing\n");
    expect_same(&config, &other);
    pm_config_free(&config);
    pm_config_free(&other);
}

/* For whoever is not root, also where the test is run by root. */
static void test_default_address(void **state) {
    (void)state;
    char address[64], long_name[128], expected[64];
    pm_error error = PM_ERROR_INIT;
    const uid_t user = geteuid();
    assert_true(user != 0 || seteuid(65534) == 0);
    (void)snprintf(expected, sizeof expected, "unix:///tmp/proofmill-%u/proofmill.sock",
                   (unsigned)geteuid());
    memset(long_name, '/', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(pm_config_default_address(NULL, address, sizeof address, &error), PM_OK);
    assert_string_equal(address, expected);
    assert_int_equal(pm_config_default_address("not/absolute", address, sizeof address, &error),
                     PM_OK);
    assert_string_equal(address, expected);
    assert_int_equal(pm_config_default_address("/run/user/1", address, sizeof address, &error),
                     PM_OK);
    assert_string_equal(address, "unix:///run/user/1/proofmill/proofmill.sock");
    assert_int_equal(pm_config_default_address(long_name, address, sizeof address, &error),
                     PM_LENGTH);
    struct pm_config config = defaults();
    assert_string_equal(config.state_dir, "/var/state/proofmill");
    pm_config_free(&config);
    assert_int_equal(pm_config_init(&config, NULL, NULL, "/users/me", &error), PM_OK);
    assert_string_equal(config.state_dir, "/users/me/.local/state/proofmill");
    pm_config_free(&config);
    assert_int_equal(pm_config_init(&config, NULL, NULL, NULL, &error), PM_OK);
    assert_string_equal(config.state_dir, "");
    assert_int_equal(pm_config_check(&config, &error), PM_INVALID_ARGUMENT);
    pm_config_free(&config);
    assert_true(user != 0 || seteuid(0) == 0);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static const char whole[] = "[daemon]\n"
                            "listen = [\"unix:///run/p.sock\", \"127.0.0.1:9820\"]\n"
                            "status_listen = \"\"\n"
                            "state_dir = \"/srv/p\"\n"
                            "drain_timeout = \"90s\"\n"
                            "restart_on_hang = true\n"
                            "[memory]\n"
                            "total_budget = \"512GiB\"\n"
                            "safety_margin = \"5GiB\"\n"
                            "pinned_budget = 1000000\n"
                            "eviction_min_idle = \"5m\"\n"
                            "[gpus]\n"
                            "devices = [\"cuda:1\", \"cpu\"]\n"
                            "gpu_workers_per_device = 4\n"
                            "gpu_threads = 32\n"
                            "vram_limit = \"1.5GB\"\n"
                            "[logging]\n"
                            "level = \"debug\"\n"
                            "[srs]\n"
                            "param_cache = \"/data/zk/params\"\n"
                            "[[key]]\n"
                            "name = \"porep-32g\"\n"
                            "path = \"a.params\"\n"
                            "r1cs = \"/a.r1cs\"\n"
                            "check = \"fast\"\n"
                            "preload = true\n"
                            "[[key]]\n"
                            "name = 'b'\n"
                            "path = '/b.zkey'\n";

static void test_reads_everything(void **state) {
    (void)state;
    struct pm_config config = defaults();
    pm_engine_device devices[PM_CONFIG_DEVICES_MAX];
    pm_engine_options options;
    char path[64];
    must_parse(&config, whole);
    assert_int_equal(config.n_listen, 2);
    assert_string_equal(config.listen[1], "127.0.0.1:9820");
    assert_string_equal(config.status_listen, "");
    assert_int_equal(config.drain_timeout_ms, 90000);
    assert_int_equal(config.log_level, PM_LOG_DEBUG);
    assert_int_equal(config.n_keys, 2);
    assert_int_equal(config.keys[0].check, PM_CHECK_FAST);
    assert_true(config.keys[0].preload && !config.keys[1].preload);
    assert_int_equal(config.keys[0].line, 21);
    assert_true(pm_config_key_path(&config, config.keys[0].path, path, sizeof path));
    assert_string_equal(path, "/data/zk/params/a.params");
    assert_true(pm_config_key_path(&config, config.keys[1].path, path, sizeof path));
    assert_string_equal(path, "/b.zkey");
    assert_false(pm_config_key_path(&config, config.keys[0].path, path, 24));
    pm_config_engine_options(&config, devices, &options);
    assert_int_equal(options.n_devices, 2);
    assert_string_equal(devices[0].device, "cuda:1");
    assert_int_equal(devices[0].n_workers, 4);
    assert_int_equal(devices[0].n_express, UINT32_MAX);
    assert_int_equal(devices[0].vram_bytes, 1500000000);
    assert_int_equal(devices[1].vram_bytes, 0);
    assert_int_equal(devices[1].threads, 32);
    assert_int_equal(options.host_bytes, (UINT64_C(512) << 30) - config.upload_bytes_max);
    assert_int_equal(options.pinned_bytes, 1000000);
    assert_int_equal(options.evict_idle_ms, 300000);
    assert_string_equal(options.journal_path, "/srv/p/journal");
    must_parse(&config, "journal.enabled = false\n");
    pm_config_engine_options(&config, devices, &options);
    assert_null(options.journal_path);
    pm_config_free(&config);
}

/* A second file replaces lists, and keys by their names. */
static void test_on_top(void **state) {
    (void)state;
    struct pm_config config = defaults();
    pm_error error = PM_ERROR_INIT;
    must_parse(&config, whole);
    must_parse(&config,
               "daemon = { listen = \"[::1]:1\" }\n"
               "key = [{ name = \"b\", path = \"/c.zkey\" }, { name = \"c\", path = \"d\" }]");
    assert_int_equal(config.n_listen, 1);
    assert_string_equal(config.listen[0], "[::1]:1");
    assert_int_equal(config.n_keys, 3);
    assert_string_equal(config.keys[1].path, "/c.zkey");
    assert_int_equal(pm_config_set_key(&config, "c", "e", "--key", &error), PM_OK);
    assert_int_equal(pm_config_set_key(&config, "f", "g", "--key", &error), PM_OK);
    assert_int_equal(config.n_keys, 4);
    assert_string_equal(config.keys[2].path, "e");
    assert_int_equal(pm_config_set_key(&config, "a/b", "g", "--key", &error), PM_INVALID_ARGUMENT);
    assert_int_equal(pm_config_set_key(&config, "a", "", "--key", &error), PM_INVALID_ARGUMENT);
    pm_config_free(&config);
}

static void test_options(void **state) {
    (void)state;
    struct pm_config config = defaults();
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(
        pm_config_set(&config, "daemon.listen", "127.0.0.1:1", true, "--listen", &error), PM_OK);
    assert_int_equal(
        pm_config_set(&config, "daemon.listen", "127.0.0.1:2", false, "--listen", &error), PM_OK);
    assert_int_equal(config.n_listen, 2);
    assert_string_equal(config.listen[0], "127.0.0.1:1");
    assert_int_equal(pm_config_set(&config, "daemon.state_dir", "x", false, "--state-dir", &error),
                     PM_OK);
    assert_string_equal(config.journal_path, "x/journal");
    assert_int_equal(
        pm_config_set(&config, "daemon.insecure_listen", "true", false, "--insecure", &error),
        PM_OK);
    assert_true(config.insecure_listen);
    assert_int_equal(
        pm_config_set(&config, "memory.total_budget", "64 parsecs", false, "--budget", &error),
        PM_INVALID_ARGUMENT);
    assert_string_equal(error.message,
                        "--budget takes bytes, or a size such as \"5GiB\", from 1MiB "
                        "to 1024TiB, or \"auto\", not \"64 parsecs\"");
    assert_int_equal(pm_config_set(&config, "memory.total", "1", false, "--x", &error),
                     PM_INVALID_ARGUMENT);
    pm_config_free(&config);
}

/* ---- Refusals ------------------------------------------------------------------------------- */

static const struct {
    const char *text, *sentence;
} refusals[] = {
    {"[daemon]\nlisten = \"unix:///a\"\n[daemon]\n", "a.toml:3: "},
    {"[daemon]\nlisten = \"unix:///a\"\nlisten = \"unix:///b\"\n", "a.toml:3: "},
    {"[daemon\n", "a.toml:1: "},
    {"[daemon]\n\nlissten = 1\n",
     "a.toml:3: daemon.lissten: no such key; did you mean daemon.listen?"},
    {"[memory]\nlisten = 1\n", "a.toml:2: memory.listen: no such key; did you mean daemon.listen?"},
    {"[memory]\nzzz = 1\n", "a.toml:2: memory.zzz: no such key"},
    {"\n[memroy]\n", "a.toml:2: [memroy]: no such section; did you mean [memory]?"},
    {"[keys]\n", "a.toml:1: [keys]: no such section; did you mean [[key]]?"},
    {"[zzzzzzz]\n", "a.toml:1: [zzzzzzz]: no such section"},
    {"[daemon.tls]\nkey = 'a'\n", "a.toml:1: daemon.tls: no such key"},
    {"[[daemon]]\n", "a.toml:1: this section is written [daemon], not [[daemon]]"},
    {"[key]\nname='a'\n", "a.toml:1: a key is written [[key]], not [key]"},
    {"listen = 'a'\n", "a.toml:1: listen stands outside its section [daemon]"},
    {"zzz = 'a'\n", "a.toml:1: zzz stands outside any section, and none has it"},
    {"daemon = 5\n", "a.toml:1: daemon stands outside any section, and none has it"},
    {"[daemon]\nlisten = 5\n",
     "a.toml:2: daemon.listen takes a string or an array of 1 to 8 strings, each once, not 5"},
    {"[daemon]\nlisten = []\n", "1 to 8 strings, each once, not an array"},
    {"[daemon]\nlisten = ['a',\n'a']\n", "a.toml:3: daemon.listen takes"},
    {"[daemon]\nlisten = ['a', ['b']]\n", "not an array"},
    {"[daemon]\nlisten = ['1','2','3','4','5','6','7','8','9']\n", "not \"9\""},
    {"[daemon]\nstatus_listen = ['a']\n", "daemon.status_listen takes a string, not an array"},
    {"[daemon]\nstate_dir = \"a\\u0000b\"\n", "a string with a NUL in it"},
    {"[daemon]\ninsecure_listen = 'yes'\n", "takes true or false, not \"yes\""},
    {"[daemon]\ninsecure_listen = 1\n", "takes true or false, not 1"},
    {"[daemon]\ndrain_timeout = \"5\"\n", "or a duration such as \"5m\" (ms, s, m, h, d)"},
    {"[daemon]\ndrain_timeout = 1.5\n", "not a fraction"},
    {"[daemon]\ndrain_timeout = 1979-05-27\n", "not a date"},
    {"[daemon]\ndrain_timeout = \"2d\"\n", "from 0s to 1d, not \"2d\""},
    {"[daemon]\ndrain_timeout = -1\n", "not -1"},
    {"[memory]\ntotal_budget = \"99999999999GiB\"\n", "memory.total_budget takes bytes"},
    {"[memory]\ntotal_budget = \"18446744073709551617\"\n", "memory.total_budget takes bytes"},
    {"[memory]\ntotal_budget = \"1.5\"\n", "memory.total_budget takes bytes"},
    {"[memory]\ntotal_budget = \"5 gb\"\n", "memory.total_budget takes bytes"},
    {"[memory]\ntotal_budget = \"-5GiB\"\n", "memory.total_budget takes bytes"},
    {"[memory]\ntotal_budget = \"unlimited\"\n", "or \"auto\", not \"unlimited\""},
    {"[memory]\ntotal_budget = 0\n", "not 0"},
    {"[memory]\ntotal_budget = true\n", "not true"},
    {"[memory]\ntotal_budget = {}\n", "not a table"},
    {"[rpc]\nthreads = \"8\"\n", "rpc.threads takes a whole number from 1 to 256, not \"8\""},
    {"[rpc]\nthreads = 0\n", "rpc.threads takes a whole number from 1 to 256, not 0"},
    {"[rpc]\nthreads = 4294967297\n", "not 4294967297"},
    {"[rpc]\nmax_message = \"2GiB\"\n", "rpc.max_message takes"},
    {"[gpus]\ndevices = [0]\n", "gpus.devices takes a string or an array"},
    {"[logging]\nlevel = \"trace\"\n", "takes \"warning\", \"info\" or \"debug\", not \"trace\""},
    {"[logging]\nformat = \"json\"\n", "logging.format: proofmill has no such thing: lines are"},
    {"[srs]\nparam_cache = '/p'\npreload = ['porep-32g']\n",
     "a.toml:3: srs.preload: proofmill has no such thing: keys are [[key]] tables"},
    {"[synthesis]\nthreads = 0\n", "synthesis.threads: proofmill has no such thing"},
    {"[pipeline]\nenabled = true\n", "pipeline.enabled: proofmill has no such thing"},
    {"[scheduler]\nmax_batch_size = 1\n", "scheduler.max_batch_size: proofmill has no such thing"},
    {"[memory]\nworking_memory_budget = 1\n", "memory.working_memory_budget: proofmill has no"},
    {"\n[[key]]\npath = 'a'\n", "a.toml:2: key.name is missing"},
    {"[[key]]\nname = 'a'\n", "a.toml:1: key.path is missing"},
    {"[[key]]\nname = 'a b'\npath = 'a'\n", "key.name: \"a b\" is no name"},
    {"[[key]]\nname = 'a'\npath = 'a'\n[[key]]\nname = 'a'\npath = 'b'\n",
     "a.toml:4: key.name: \"a\" is the name of the key in line 1 too"},
    {"[[key]]\nname = 'a'\npath = 'a'\npreloaded = true\n",
     "a.toml:4: key.preloaded: no such key; did you mean key.preload?"},
    {"[[key]]\nname = 'a'\npath = 'a'\ndigest = 'abc'\n", "takes 128 hexadecimal digits"},
    {"[[key]]\nname = 'a'\npath = 'a'\ncheck = 'slow'\n", "takes \"none\", \"fast\" or \"full\""},
    {"[[key]]\nname = 'a'\n[key.path]\n", "a.toml:3: key.path takes a string, not a table"},
};

static void test_refusals(void **state) {
    (void)state;
    struct pm_config config = defaults(), untouched = defaults();
    must_parse(&config, whole);
    must_parse(&untouched, whole);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        pm_error error;
        assert_int_equal(parse(&config, refusals[i].text, &error), PM_ENCODING);
        if (strstr(error.message, refusals[i].sentence) == NULL) {
            fail_msg("%s\nis answered with: %s\nnot: %s", refusals[i].text, error.message,
                     refusals[i].sentence);
        }
        expect_same(&config, &untouched);
    }
    pm_config_free(&config);
    pm_config_free(&untouched);
}

static void test_many_keys(void **state) {
    (void)state;
    struct pm_config config = defaults();
    pm_error error = PM_ERROR_INIT;
    char *text = calloc(PM_CONFIG_KEYS_MAX + 1, 64);
    size_t used = 0;
    assert_non_null(text);
    for (int i = 0; i < PM_CONFIG_KEYS_MAX; i++) {
        used += (size_t)sprintf(text + used, "[[key]]\nname='k%d'\npath='p'\n", i);
    }
    must_parse(&config, text);
    assert_int_equal(config.n_keys, PM_CONFIG_KEYS_MAX);
    assert_int_equal(parse(&config, "[[key]]\nname='one'\npath='p'\n", &error), PM_COUNT);
    must_parse(&config, "[[key]]\nname='k7'\npath='q'\n");
    (void)sprintf(text + used, "[[key]]\nname='one'\npath='p'\n");
    assert_int_equal(parse(&config, text, &error), PM_ENCODING);
    assert_non_null(strstr(error.message, "more than 256 keys"));
    free(text);
    pm_config_free(&config);
}

static const struct {
    const char *text, *sentence; /* NULL: it is fine */
} checks[] = {
    {"daemon.listen = '127.0.0.1:9820'", NULL},
    {"daemon.listen = '127.3.2.1:65535'", NULL},
    {"daemon.listen = '[::1]:9820'", NULL},
    {"daemon.listen = '[::]:9820'", "daemon.listen: other machines reach [::]:9820"},
    {"daemon.listen = '0.0.0.0:9820'", "daemon.listen: other machines reach 0.0.0.0:9820"},
    {"daemon.listen = '0.0.0.0:9820'\ndaemon.insecure_listen = true", NULL},
    {"daemon.listen = '0.0.0.0:9820'\ntls.certificate = 'a'\ntls.key = 'b'", "other machines"},
    {"daemon.listen = '0.0.0.0:9820'\ntls={certificate = 'a', key = 'b', client_ca = 'c'}", NULL},
    {"daemon.listen = 'localhost:9820'", "is no address"},
    {"daemon.listen = '127.0.0.1'", "is no address"},
    {"daemon.listen = '127.0.0.1:'", "is no address"},
    {"daemon.listen = '127.0.0.1:0'", "is no address"},
    {"daemon.listen = '127.0.0.1:65536'", "is no address"},
    {"daemon.listen = '127.0.0.1:99999999'", "is no address"},
    {"daemon.listen = '127.0.0.1:+1'", "is no address"},
    {"daemon.listen = '::1:9820'", "is no address"},
    {"daemon.listen = 'unix:/a'", "is no address"},
    {"daemon.listen = 'unix://a'", "is no address"},
    {"daemon.listen = 'unix:///'", "is no address"},
    {"daemon.listen = 'unix:///0123456789012345678901234567890123456789012345678901234567890123"
     "456789012345678901234567890123456789012345678'",
     "is no address"},
    {"daemon.status_listen = 'unix:///a'", "no address for HTTP"},
    {"daemon.status_listen = '0.0.0.0:1'", "daemon.status_listen: other machines reach"},
    {"daemon.status_listen = '0.0.0.0:1'\ndaemon.insecure_listen = true", NULL},
    {"daemon.state_dir = ''", "daemon.state_dir: there is no home folder"},
    {"daemon.state_dir = ''\njournal.enabled = false", NULL},
    {"tls.key = 'a'", "tls.certificate is missing"},
    {"tls.certificate = 'a'", "tls.key is missing"},
    {"tls.client_ca = 'a'", "tls.client_ca needs"},
    {"gpus.devices = 'gpu'", "\"gpu\" is no device"},
    {"gpus.devices = 'cuda:01'", "is no device"},
    {"gpus.devices = 'cuda:'", "is no device"},
    {"gpus.devices = ['auto', 'cpu']", "\"auto\" stands alone"},
    {"gpus.devices = ['cuda:0', 'cuda:11', 'cpu']", NULL},
    {"rpc.max_message = '1GiB'\nrpc.max_upload = '512MiB'", "rpc.max_upload is smaller"},
    {"memory.total_budget = '512MiB'", NULL},
    {"memory.total_budget = '512MiB'\nrpc.max_upload = '512MiB'",
     "memory.total_budget leaves nothing"},
    {"memory.total_budget = '512MiB'\nrpc.max_message = '1GiB'",
     "memory.total_budget leaves nothing"},
};

static void test_checks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        struct pm_config config = defaults();
        pm_error error = PM_ERROR_INIT;
        must_parse(&config, checks[i].text);
        const pm_status status = pm_config_check(&config, &error);
        if (checks[i].sentence == NULL ? status != PM_OK
                                       : status != PM_INVALID_ARGUMENT ||
                                             strstr(error.message, checks[i].sentence) == NULL) {
            fail_msg("%s\nis answered with: %s\nnot: %s", checks[i].text, error.message,
                     checks[i].sentence);
        }
        pm_config_free(&config);
    }
}

/* ---- Values --------------------------------------------------------------------------------- */

static void test_values(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } sizes[] = {{"0", 0},
                 {"1", 1},
                 {"1B", 1},
                 {"5GiB", UINT64_C(5) << 30},
                 {"5 GiB", UINT64_C(5) << 30},
                 {"512MiB", 512 << 20},
                 {"64K", 64 << 10},
                 {"10GB", UINT64_C(10000000000)},
                 {"0.5MB", 500000},
                 {"1.25GiB", (UINT64_C(5) << 30) / 4},
                 {"1TB", UINT64_C(1000000000000)}};
    static const struct {
        const char *text;
        uint64_t value;
    } durations[] = {{"0s", 0},      {"250ms", 250},  {"30s", 30000},
                     {"5m", 300000}, {"2h", 7200000}, {"7d", 604800000}};
    uint64_t value;
    char text[PM_CONFIG_VALUE_CHARS];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_true(pm_config_read_size(sizes[i].text, &value));
        assert_int_equal(value, sizes[i].value);
        pm_config_size_text(value, text);
        assert_true(pm_config_read_size(text, &value));
        assert_int_equal(value, sizes[i].value);
    }
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
        assert_true(pm_config_read_duration(durations[i].text, &value));
        assert_int_equal(value, durations[i].value);
        pm_config_duration_text(value, text);
        assert_string_equal(text, durations[i].text);
    }
}

/* ---- Files ---------------------------------------------------------------------------------- */

static void test_files(void **state) {
    (void)state;
    struct pm_config config = defaults();
    pm_error error = PM_ERROR_INIT;
    char path[] = "/tmp/proofmill_config_XXXXXX";
    const int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    assert_int_equal(pm_config_read(&config, "/nowhere/a.toml", &error), PM_IO);
    assert_string_equal(error.file, "/nowhere/a.toml");
    assert_int_equal(pm_config_read(&config, "/tmp", &error), PM_IO);
    (void)fputs("[rpc]\nthreads = 3\n", file);
    (void)fflush(file);
    assert_int_equal(pm_config_read(&config, path, &error), PM_OK);
    assert_int_equal(config.n_threads, 3);
    assert_string_equal(config.path, path);
    (void)fputs("zzz = 1\n", file);
    (void)fflush(file);
    assert_int_equal(pm_config_read(&config, path, &error), PM_ENCODING);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, ":3: rpc.zzz"));
    for (int i = 0; i < (1 << 20) / 16; i++) {
        (void)fputs("# fifteen bytes\n", file);
    }
    (void)fflush(file);
    assert_int_equal(pm_config_read(&config, path, &error), PM_LENGTH);
    (void)fclose(file);
    (void)unlink(path);
    pm_config_free(&config);
}

/* ---- Printing ------------------------------------------------------------------------------- */

/* Some of what a string may hold: quotes, control characters, more than one byte. */
static void random_text(struct seeded_random *random, char *out, size_t n_most) {
    static const char *const pieces[] = {
        "a",    "Z",        "/", "\"",   "\\",           "\n", "\t", "'",
        "\x7f", "\xc3\xa9", "#", "\x01", "\xe2\x82\xac", " ",  "=",  "\xf0\x9f\x90\x8e",
        "[",    "u0041"};
    const size_t n = seeded_random_below(random, n_most + 1);
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        (void)strcat(out, pieces[seeded_random_below(random, sizeof pieces / sizeof pieces[0])]);
    }
}

static uint64_t random_number(struct seeded_random *random, const struct config_entry *entry) {
    const uint64_t units[] = {1, 1000, 60000, 1024, 1 << 20, 1 << 30};
    const uint64_t range = entry->most - entry->least + 1;
    const uint64_t unit = units[seeded_random_below(random, 6)];
    switch (seeded_random_below(random, 4)) {
    case 0:
        return entry->least;
    case 1:
        return entry->most;
    case 2:
        return entry->least + seeded_random_below(random, range);
    default: /* a round one, if there is one */
        return entry->most / unit * unit >= entry->least ? entry->most / unit * unit : entry->most;
    }
}

static void set_random(struct seeded_random *random, const struct config_entry *entry, void *base) {
    pm_error error = PM_ERROR_INIT;
    char text[128];
    struct config_value value = {.text = text};
    uint32_t n = 1;
    random_text(random, text, 12);
    switch (entry->kind) {
    case CONFIG_LIST:
        pm_config_clear_list(entry, base);
        n = 1 + (uint32_t)seeded_random_below(random, entry->list_max);
        break;
    case CONFIG_FLAG:
        value = (struct config_value){.is_flag = true,
                                      .number = (int64_t)seeded_random_below(random, 2)};
        break;
    case CONFIG_COUNT:
    case CONFIG_SIZE:
    case CONFIG_DURATION:
        value = (struct config_value){.number = (int64_t)random_number(random, entry)};
        if (entry->zero != NULL && seeded_random_below(random, 3) == 0) {
            value.text = entry->zero;
        }
        break;
    case CONFIG_LEVEL:
    case CONFIG_CHECK:
        value.text = pm_config_choice_name(
            entry->kind, (entry->kind == CONFIG_LEVEL) + (uint32_t)seeded_random_below(random, 3));
        break;
    case CONFIG_DIGEST:
        text[0] = '\0';
        break;
    default:
        break;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (entry->kind == CONFIG_LIST) {
            (void)snprintf(text + strlen(text), 16, "%u", i);
        }
        assert_int_equal(pm_config_store(entry, base, &value, &error), PM_OK);
    }
}

static void add_random_key(struct seeded_random *random, struct pm_config *config, uint32_t i) {
    char name[24], path[128];
    pm_error error = PM_ERROR_INIT;
    (void)snprintf(name, sizeof name, "k%u", i);
    random_text(random, path, 12);
    (void)strcat(path, "p");
    assert_int_equal(pm_config_set_key(config, name, path, "--key", &error), PM_OK);
    struct pm_config_key *key = &config->keys[config->n_keys - 1];
    for (size_t e = 2; e < pm_config_n_key_entries; e++) {
        set_random(random, &pm_config_key_entries[e], key);
    }
    if (seeded_random_below(random, 2) == 0) {
        key->has_digest = true;
        seeded_random_bytes(random, key->digest, sizeof key->digest);
    }
}

static void test_prints_what_it_is(void **state) {
    (void)state;
    struct seeded_random random = seeded_random_from_environment();
    for (int round = 0; round < ROUNDS; round++) {
        struct pm_config config = defaults(), again = defaults();
        pm_error error = PM_ERROR_INIT;
        for (size_t i = 0; i < pm_config_n_entries; i++) {
            set_random(&random, &pm_config_entries[i], &config);
        }
        for (uint32_t i = (uint32_t)seeded_random_below(&random, 4); i > 0; i--) {
            add_random_key(&random, &config, i);
        }
        char *text = printed(&config);
        if (parse(&again, text, &error) != PM_OK) {
            fail_msg("%s\nin\n%s", error.message, text);
        }
        expect_same(&config, &again);
        free(text);
        pm_config_free(&config);
        pm_config_free(&again);
    }
}

/* Each key, with a comment before it; and what is not UTF-8 cannot be printed. */
static void test_prints_every_key(void **state) {
    (void)state;
    struct pm_config config = defaults();
    pm_error error = PM_ERROR_INIT;
    char *text = printed(&config);
    for (size_t i = 0; i < pm_config_n_entries; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "\n%s = ", pm_config_entries[i].key);
        assert_true(strlen(pm_config_entries[i].what) > 10);
        assert_non_null(strstr(text, line));
    }
    for (const char *at = text; at != NULL; at = strchr(at + 1, '\n')) {
        const char *end = strchr(at + 1, '\n');
        assert_true(end == NULL || end - at <= 101);
    }
    free(text);
    assert_int_equal(
        pm_config_set(&config, "daemon.state_dir", "/a\xff", false, "--state-dir", &error), PM_OK);
    FILE *out = fopen("/dev/null", "w");
    assert_non_null(out);
    assert_int_equal(pm_config_print(&config, out, &error), PM_ENCODING);
    (void)fclose(out);
    pm_config_free(&config);
    config = defaults();
    out = fopen("/dev/full", "w");
    assert_non_null(out);
    assert_int_equal(pm_config_print(&config, out, &error), PM_IO);
    (void)fclose(out);
    pm_config_free(&config);
}

/* What nobody asked for takes no more than an eighth of a small budget. */
static void test_uploads_of_a_small_budget(void **state) {
    (void)state;
    struct pm_config config = defaults();
    pm_engine_device devices[PM_CONFIG_DEVICES_MAX];
    pm_engine_options options;
    char size[PM_CONFIG_SHORT_CHARS];
    must_parse(&config, "memory.total_budget = '1GiB'");
    assert_int_equal(config.upload_bytes_max, 128 << 20);
    assert_int_equal(config.message_bytes_max, 64 << 20);
    pm_config_engine_options(&config, devices, &options);
    assert_int_equal(options.host_bytes, 896 << 20);
    must_parse(&config, "rpc.max_message = '200MiB'");
    assert_int_equal(config.upload_bytes_max, 200 << 20);
    assert_int_equal(config.message_bytes_max, 200 << 20);
    must_parse(&config, "rpc.max_message = 'auto'\nrpc.max_upload = '512MiB'");
    assert_int_equal(config.upload_bytes_max, 512 << 20);
    assert_int_equal(config.message_bytes_max, 256 << 20);
    pm_config_short_size(896 << 20, size);
    assert_string_equal(size, "896 MiB");
    pm_config_short_size(UINT64_C(3) << 29, size);
    assert_string_equal(size, "1.5 GiB");
    pm_config_free(&config);
}

/* What no single key shows names its file and line too, unless an option has said it. */
static void test_checks_have_lines(void **state) {
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"\n[daemon]\nlisten = ['unix:///a',\n 'b']\n", ":3: daemon.listen: \"b\""},
        {"[daemon]\nstatus_listen = 'c'\n", ":2: daemon.status_listen: \"c\""},
        {"[gpus]\n\ndevices = ['gpu']\n", ":3: gpus.devices: \"gpu\""},
        {"[tls]\nkey = 'd'\n", ":2: tls.certificate is missing"},
    };
    char path[] = "/tmp/proofmill_config_XXXXXX";
    assert_true(close(mkstemp(path)) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pm_config config = defaults();
        pm_error error = PM_ERROR_INIT;
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        assert_true(fputs(cases[i].text, out) >= 0 && fclose(out) == 0);
        assert_int_equal(pm_config_read(&config, path, &error), PM_OK);
        assert_int_equal(pm_config_check(&config, &error), PM_ENCODING);
        assert_int_equal(strncmp(error.message, path, strlen(path)), 0);
        assert_non_null(strstr(error.message, cases[i].sentence));
        if (i == 0) {
            assert_int_equal(pm_config_set(&config, "daemon.listen", "b", true, "--listen", &error),
                             PM_OK);
            assert_int_equal(pm_config_check(&config, &error), PM_INVALID_ARGUMENT);
        }
        pm_config_free(&config);
    }
    assert_int_equal(unlink(path), 0);
}

static void test_what_needs_a_restart(void **state) {
    (void)state;
    struct pm_config a = defaults(), b = defaults();
    char names[64];
    must_parse(&b, "[logging]\nlevel = 'debug'\n[[key]]\nname = 'a'\npath = 'b'\n");
    pm_config_restart_keys(&a, &b, names, sizeof names);
    assert_string_equal(names, "");
    must_parse(&b, "gpus.gpu_threads = 3\nrpc.threads = 3\ndaemon.listen = 'a'\ntls.key = 'a'\n"
                   "journal.enabled = false");
    pm_config_restart_keys(&a, &b, names, sizeof names);
    assert_string_equal(names, "daemon.listen, tls.key, rpc.threads, gpus.gpu_threads");
    pm_config_free(&a);
    pm_config_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_needs_no_file),
                                       cmocka_unit_test(test_default_address),
                                       cmocka_unit_test(test_reads_everything),
                                       cmocka_unit_test(test_on_top),
                                       cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_many_keys),
                                       cmocka_unit_test(test_checks),
                                       cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_files),
                                       cmocka_unit_test(test_prints_what_it_is),
                                       cmocka_unit_test(test_prints_every_key),
                                       cmocka_unit_test(test_uploads_of_a_small_budget),
                                       cmocka_unit_test(test_checks_have_lines),
                                       cmocka_unit_test(test_what_needs_a_restart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
