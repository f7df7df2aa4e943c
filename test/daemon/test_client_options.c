/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/test_client_options.c - the client's command lines: what is taken, and what is refused. */
#include "daemon/client_common.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 16

struct line {
    struct pm_client client;
    const char *words[WORDS_MAX + 1];
    char text[512];
    char *arguments[WORDS_MAX];
};

/* Reads a command line whose words stand between blanks; '_' is an empty word. */
static pm_status read_line(const char *text, struct line *line) {
    int n = 0;
    *line = (struct line){.client = {.error = PM_ERROR_INIT}};
    line->client.options.words = line->words;
    (void)snprintf(line->text, sizeof line->text, "%s", text);
    for (char *word = strtok(line->text, " "); word != NULL; word = strtok(NULL, " ")) {
        line->arguments[n++] = strcmp(word, "_") == 0 ? strchr(word, '\0') : word;
    }
    return pm_client_read_arguments(&line->client, n, line->arguments);
}

static void expect_refused(const char *text, const char *sentence) {
    struct line line;
    const pm_status status = read_line(text, &line);
    if (status != PM_INVALID_ARGUMENT || strstr(line.client.error.message, sentence) == NULL) {
        fail_msg("%s: %s: %s", text, pm_status_name(status), line.client.error.message);
    }
}

static void test_verbs(void **state) {
    static const struct {
        const char *text, *verb;
        size_t n_words;
    } good[] = {{"submit k a.wtns", "submit", 2},
                {"submit k a.wtns b.wtns c.wtns", "submit", 4},
                {"--json submit k a.wtns", "submit", 2},
                {"submit -- k --odd.wtns", "submit", 2},
                {"await 7", "await", 1},
                {"await --request-id 7", "await", 0},
                {"watch an:id", "watch", 1},
                {"cancel 1", "cancel", 1},
                {"jobs", "jobs", 0},
                {"jobs --all", "jobs", 0},
                {"status", "status", 0},
                {"top", "top", 0},
                {"key list", "key list", 0},
                {"key add n f", "key add", 2},
                {"key --json load n", "key load", 1},
                {"key evict n", "key evict", 1},
                {"key forget n", "key forget", 1},
                {"key plan n --device cpu", "key plan", 1},
                {"device restore cuda:0", "device restore", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct line line;
        if (read_line(good[i].text, &line) != PM_OK) {
            fail_msg("%s: %s", good[i].text, line.client.error.message);
        }
        assert_string_equal(line.client.verb->name, good[i].verb);
        assert_int_equal(line.client.options.n_words, good[i].n_words);
    }
}

static void test_values(void **state) {
    struct line line;
    const struct pm_client_options *given = &line.client.options;
    (void)state;
    assert_int_equal(read_line("submit k w --priority critical --request-id a-1 --timeout 0.25 "
                               "--wait --proof p --public=q --upload -q --json",
                               &line),
                     PM_OK);
    assert_int_equal(given->priority, PROOFMILL__V1__PRIORITY__PRIORITY_CRITICAL);
    assert_string_equal(given->request_id, "a-1");
    assert_int_equal(given->timeout_ms, 250);
    assert_string_equal(given->proof_path, "p");
    assert_string_equal(given->public_path, "q");
    assert_true(given->wait && given->upload && given->quiet && given->json);
    assert_int_equal(read_line("submit k w --priority=low --timeout 3", &line), PM_OK);
    assert_int_equal(given->priority, PROOFMILL__V1__PRIORITY__PRIORITY_LOW);
    assert_int_equal(given->timeout_ms, 3000);
    assert_false(given->wait || given->upload || given->quiet || given->json);
    assert_int_equal(read_line("key add n f --check none --r1cs r --address h:1 --tls-ca a "
                               "--tls-certificate b --tls-key c",
                               &line),
                     PM_OK);
    assert_int_equal(given->check, PROOFMILL__V1__REGISTER_KEY_REQUEST__CHECK__CHECK_NONE);
    assert_string_equal(given->r1cs_path, "r");
    assert_string_equal(given->address, "h:1");
    assert_string_equal(given->tls_ca, "a");
    assert_string_equal(given->tls_certificate, "b");
    assert_string_equal(given->tls_key, "c");
}

static void test_digest(void **state) {
    char text[256] = "key add n f --digest ";
    struct line line;
    (void)state;
    for (size_t i = 0; i < 64; i++) {
        (void)snprintf(text + strlen(text), 3, i % 2 == 0 ? "%02x" : "%02X", (unsigned)(i * 4));
    }
    assert_int_equal(read_line(text, &line), PM_OK);
    assert_true(line.client.options.has_digest);
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(line.client.options.digest[i], i * 4);
    }
    text[strlen(text) - 1] = '\0';
    expect_refused(text, "128 hexadecimal digits");
    (void)strcat(text, "g");
    expect_refused(text, "128 hexadecimal digits");
}

static void test_refusals(void **state) {
    static const struct {
        const char *text, *sentence;
    } bad[] = {{"", "a verb is missing"},
               {"prove k w", "unknown verb prove"},
               {"key", "`key` takes one of"},
               {"key drop n", "`key` takes one of"},
               {"device", "`device` takes restore"},
               {"submit k", "`submit` needs KEY WTNS"},
               {"await 1 2", "`await` has no use for 2"},
               {"jobs 3", "`jobs` has no use for 3"},
               {"key add n", "`key add` needs NAME PATH"},
               {"key load _", "empty word"},
               {"status --frob", "unknown option --frob"},
               {"status -x", "unknown option -x"},
               {"status --jso", "unknown option --jso"},
               {"status --jsonn", "unknown option --jsonn"},
               {"status --json=1", "--json takes no value"},
               {"status --wait", "--wait does not belong to `status`"},
               {"submit k w --all", "--all does not belong to `submit`"},
               {"await 1 --priority low", "--priority does not belong to `await`"},
               {"status --address", "--address needs a value"},
               {"status --address=", "--address needs a value"},
               {"status --address a:1 --address b:1", "--address is given twice"},
               {"submit k w --priority urgent", "low|normal|high|critical"},
               {"submit k w --priority normal2", "low|normal|high|critical"},
               {"key add n f --check some", "fast|full|none"},
               {"await 1 --timeout 0", "--timeout takes seconds"},
               {"await 1 --timeout -1", "--timeout takes seconds"},
               {"await 1 --timeout 1e3", "--timeout takes seconds"},
               {"await 1 --timeout 1.", "--timeout takes seconds"},
               {"await 1 --timeout 0.0001", "--timeout takes seconds"},
               {"await 1 --timeout 99999999999", "--timeout takes seconds"},
               {"await 1 --timeout 99999999999999999999", "--timeout takes seconds"},
               {"submit k w --proof p", "need --wait"},
               {"submit k w --public p", "need --wait"},
               {"status --tls-key k", "go together"},
               {"status --tls-certificate k --tls-key k", "needs --tls-ca"}};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_refused(bad[i].text, bad[i].sentence);
    }
}

static void test_numbers(void **state) {
    uint64_t value = 7;
    (void)state;
    assert_true(pm_client_read_number("18446744073709551615", &value));
    assert_true(value == UINT64_MAX);
    assert_false(pm_client_read_number("18446744073709551616", &value));
    assert_false(pm_client_read_number("", &value));
    assert_false(pm_client_read_number("+1", &value));
    assert_false(pm_client_read_number("1 ", &value));
    assert_true(pm_client_read_number("0", &value) && value == 0);
}

static void test_jobs_by_name(void **state) {
    static const struct {
        const char *text;
        uint64_t job;
        const char *id, *shown; /* shown NULL: refused */
    } table[] = {{"await 12", 12, NULL, "12"},
                 {"await porep-1", 0, "porep-1", "porep-1"},
                 {"await --request-id 12", 0, "12", "--request-id 12"},
                 {"await --request-id x", 0, "x", "x"},
                 {"await 0", 0, NULL, NULL},
                 {"await 18446744073709551616", 0, NULL, NULL},
                 {"await", 0, NULL, NULL},
                 {"await 12 --request-id 12", 0, NULL, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct pm_client_which which;
        struct line line;
        char shown[PM_CLIENT_WHICH_CHARS];
        assert_int_equal(read_line(table[i].text, &line), PM_OK);
        const pm_status status = pm_client_read_which(&line.client, &which);
        assert_int_equal(status, table[i].shown != NULL ? PM_OK : PM_INVALID_ARGUMENT);
        if (status == PM_OK) {
            assert_true(which.job == table[i].job);
            assert_true((which.request_id != NULL) == (table[i].id != NULL));
            assert_string_equal(pm_client_which_text(&which, shown), table[i].shown);
        }
    }
}

/* A mistake is reported in JSON also when it stands left of --json. */
static void test_json_counts_from_the_start(void **state) {
    struct line line;
    (void)state;
    assert_int_equal(read_line("status --frob --json", &line), PM_INVALID_ARGUMENT);
    assert_true(line.client.options.json);
    assert_int_equal(read_line("status --frob -- --json", &line), PM_INVALID_ARGUMENT);
    assert_false(line.client.options.json);
}

static void test_files_of_several_parts(void **state) {
    struct pm_client client = {.error = PM_ERROR_INIT};
    struct pm_client_outputs outputs;
    (void)state;
    client.options.proof_path = "/tmp/a.b/proof.json";
    client.options.public_path = "/tmp/public";
    assert_int_equal(pm_client_outputs_choose(&client, 1, NULL, 0, &outputs), PM_IO);
    assert_non_null(strstr(client.error.message, "/tmp/a.b/proof.json"));
    pm_client_outputs_free(&outputs);
    client.options.proof_path = "/tmp/.hidden";
    assert_int_equal(pm_client_outputs_choose(&client, 2, NULL, 0, &outputs), PM_OK);
    assert_string_equal(outputs.paths[0], "/tmp/.hidden-0");
    assert_string_equal(outputs.paths[1], "/tmp/.hidden-1");
    assert_string_equal(outputs.paths[2], "/tmp/public-0");
    assert_string_equal(outputs.paths[3], "/tmp/public-1");
    pm_client_outputs_free(&outputs);
    client.options.proof_path = "/tmp/p.x.json";
    assert_int_equal(pm_client_outputs_choose(&client, 11, NULL, 0, &outputs), PM_OK);
    assert_string_equal(outputs.paths[10], "/tmp/p.x-10.json");
    pm_client_outputs_free(&outputs);
    assert_int_equal(pm_client_outputs_choose(&client, 1, NULL, 0, &outputs), PM_OK);
    assert_string_equal(outputs.paths[0], "/tmp/p.x.json");
    pm_client_outputs_free(&outputs);
}

static void test_outputs_that_collide(void **state) {
    struct pm_client client = {.error = PM_ERROR_INIT};
    struct pm_client_outputs outputs;
    const char *const inputs[] = {"/tmp/w.wtns"};
    (void)state;
    client.options.proof_path = client.options.public_path = "-";
    assert_int_equal(pm_client_outputs_choose(&client, 1, NULL, 0, &outputs), PM_INVALID_ARGUMENT);
    pm_client_outputs_free(&outputs);
    client.options.public_path = NULL;
    assert_int_equal(pm_client_outputs_choose(&client, 1, NULL, 0, &outputs), PM_OK);
    pm_client_outputs_free(&outputs);
    assert_int_equal(pm_client_outputs_choose(&client, 2, NULL, 0, &outputs), PM_INVALID_ARGUMENT);
    pm_client_outputs_free(&outputs);
    client.options.json = true;
    assert_int_equal(pm_client_outputs_choose(&client, 1, NULL, 0, &outputs), PM_INVALID_ARGUMENT);
    pm_client_outputs_free(&outputs);
    client.options.json = false;
    client.options.proof_path = client.options.public_path = "/tmp/same.json";
    assert_int_not_equal(pm_client_outputs_choose(&client, 1, NULL, 0, &outputs), PM_OK);
    pm_client_outputs_free(&outputs);
    client.options.public_path = "/tmp/w.wtns";
    assert_int_equal(pm_client_outputs_choose(&client, 1, inputs, 1, &outputs), PM_SAME_FILE);
    pm_client_outputs_free(&outputs);
    client.options.public_path = "/tmp";
    assert_int_equal(pm_client_outputs_choose(&client, 1, NULL, 0, &outputs), PM_IO);
    pm_client_outputs_free(&outputs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verbs),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_jobs_by_name),
        cmocka_unit_test(test_json_counts_from_the_start),
        cmocka_unit_test(test_files_of_several_parts),
        cmocka_unit_test(test_outputs_that_collide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
