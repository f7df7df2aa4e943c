/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/test_client_view.c - what the client shows: words, tables, the frame of `top`, JSON. */
#include "daemon/client_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

/* ---------------------------------------------------------------------------------------------
 * Text
 * ------------------------------------------------------------------------------------------- */

static void test_sizes_and_times(void **state) {
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {{0, "0 bytes"},        {1023, "1023 bytes"},    {1024, "1.00 KiB"},
                 {1536, "1.50 KiB"},    {10 * MIB, "10.0 MiB"},  {100 * MIB, "100 MiB"},
                 {5 * GIB, "5.00 GiB"}, {UINT64_MAX, "16.0 EiB"}};
    static const struct {
        uint64_t ms;
        const char *text;
    } spans[] = {{0, "0 ms"},
                 {999, "999 ms"},
                 {1250, "1.25 s"},
                 {9999, "9.99 s"},
                 {10000, "10 s"},
                 {59999, "59 s"},
                 {185000, "3 min 05 s"},
                 {7620000, "2 h 07 min"},
                 {273600000, "3 d 04 h"},
                 {UINT64_MAX, "213503982334 d 14 h"}};
    char size[PM_CLIENT_SIZE_CHARS], span[PM_CLIENT_TIME_CHARS];
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_string_equal(pm_client_size_text(sizes[i].bytes, size), sizes[i].text);
    }
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        assert_string_equal(pm_client_span_text(spans[i].ms, span), spans[i].text);
    }
}

static void test_moments(void **state) {
    char text[PM_CLIENT_TIME_CHARS];
    (void)state;
    assert_string_equal(pm_client_moment_text(0, text), "-");
    assert_string_equal(pm_client_moment_text(UINT64_C(1700000000123), text),
                        "2023-11-14 22:13:20");
    assert_string_equal(pm_client_moment_text(UINT64_MAX, text), "?");
    assert_string_equal(pm_client_moment_text(UINT64_C(253402300800000), text), "?");
}

/* What a hostile daemon may send to a terminal. */
static void test_control_characters_are_taken_out(void **state) {
    static const struct {
        const char *raw, *shown;
    } table[] = {{"plain text", "plain text"},
                 {"\033[2J\033]0;title\007", "?[2J?]0;title?"},
                 {"a\nb\tc\r\177", "a?b?c??"},
                 {"\302\233"
                  "31m",
                  "?31m"}, /* CSI as one character */
                 {"\342\200\256"
                  "txt",
                  "?txt"},                             /* right to left from here */
                 {"\342\201\246x\342\201\251", "?x?"}, /* isolates */
                 {"\342\200\250", "?"},                /* a line's end */
                 {"gr\303\274n \316\273", "gr\303\274n \316\273"},
                 {"\360\237\246\200", "\360\237\246\200"},
                 {"\303", "?"}, /* cut off */
                 {"\303(", "?("},
                 {"\300\201", "??"},           /* longer than it need be */
                 {"\355\240\200", "???"},      /* half of a pair */
                 {"\364\220\200\200", "????"}, /* beyond the last one */
                 {"\370\210\200\200\200", "?????"},
                 {"\377", "?"},
                 {"", ""}};
    char shown[64];
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_string_equal(pm_client_printable(table[i].raw, shown, sizeof shown), table[i].shown);
    }
    assert_string_equal(pm_client_printable(NULL, shown, sizeof shown), "");
}

/* A character of several bytes is taken whole or not at all. */
static void test_text_is_cut_between_characters(void **state) {
    char shown[4];
    (void)state;
    assert_string_equal(pm_client_printable("ab\303\274", shown, sizeof shown), "ab");
    assert_string_equal(pm_client_printable("a\303\274", shown, sizeof shown), "a\303\274");
    assert_int_equal(pm_client_columns("a\303\274b"), 3);
    assert_int_equal(pm_client_bytes_of_columns("a\303\274b", 2), 3);
    assert_int_equal(pm_client_bytes_of_columns("a\303\274b", 9), 4);
    assert_int_equal(pm_client_bytes_of_columns("a\303\274b", 0), 0);
}

static void test_tables(void **state) {
    struct pm_client_table table;
    struct pm_client_text text = {0};
    (void)state;
    pm_client_table_begin(&table, 2, "NAME|SIZE|NOTE");
    pm_client_table_cell(&table, "%s", "b\303\274cher");
    pm_client_table_cell(&table, "%d", 7);
    pm_client_table_cell(&table, "%s", "two\nlines");
    pm_client_table_cell(&table, "x");
    pm_client_table_cell(&table, "%d", 12345);
    pm_client_table_cell(&table, "%s", "");
    assert_int_equal(pm_client_table_rows(&table), 2);
    pm_client_table_write(&table, 2, 0, &text);
    assert_string_equal(text.bytes, "NAME     SIZE  NOTE\n"
                                    "b\303\274cher      7  two?lines\n"
                                    "x       12345  -\n");
    pm_client_text_free(&text);
    pm_client_table_write(&table, 1, 9, &text); /* the second row does not widen it */
    assert_string_equal(text.bytes, "NAME    S\nb\303\274cher   \n");
    pm_client_text_free(&text);
    pm_client_table_free(&table);
}

static void test_bars(void **state) {
    char bar[PM_CLIENT_BAR_CHARS];
    (void)state;
    assert_string_equal(pm_client_bar(0, 8, 8, bar), "[........]");
    assert_string_equal(pm_client_bar(1, 1000, 8, bar), "[#.......]");
    assert_string_equal(pm_client_bar(4, 8, 8, bar), "[####....]");
    assert_string_equal(pm_client_bar(8, 8, 8, bar), "[########]");
    assert_string_equal(pm_client_bar(UINT64_MAX, 8, 8, bar), "[########]");
    assert_string_equal(pm_client_bar(1, 0, 8, bar), "");
    assert_string_equal(pm_client_bar(1, 8, 0, bar), "");
    assert_int_equal(strlen(pm_client_bar(1, 8, PM_CLIENT_BAR_CHARS - 3, bar)),
                     PM_CLIENT_BAR_CHARS - 1);
    assert_string_equal(pm_client_bar(1, 8, PM_CLIENT_BAR_CHARS - 2, bar), "");
}

/* ---------------------------------------------------------------------------------------------
 * A daemon at work
 * ------------------------------------------------------------------------------------------- */

struct world {
    Proofmill__V1__Status status, before;
    Proofmill__V1__Pool pool[3], *pools[3];
    Proofmill__V1__Device device[2], *devices[2], was, *was_devices[1];
    Proofmill__V1__Key key[2], *keys[2];
    Proofmill__V1__Job job[4], *jobs[4];
    Proofmill__V1__Times times[4];
    uint64_t busy[2];
};

static void make_devices(struct world *world) {
    static char cuda[] = "cuda:0", model[] = "NVIDIA H200", cpu[] = "cpu", lost[] = "it is lost";
    for (size_t i = 0; i < 2; i++) {
        proofmill__v1__device__init(&world->device[i]);
        world->devices[i] = &world->device[i];
    }
    world->device[0].name = cuda;
    world->device[0].model = model;
    world->device[0].n_workers = world->device[0].n_busy = 2;
    world->device[0].n_jobs = 2;
    world->device[0].jobs = world->busy;
    world->busy[0] = 12;
    world->busy[1] = 13;
    world->device[0].busy_ms = 5750;
    world->device[0].n_proofs = 1204;
    world->device[1].name = cpu;
    world->device[1].n_workers = 1;
    world->device[1].is_quarantined = 1;
    world->device[1].n_faults = 3;
    world->device[1].error = lost;
    world->was = world->device[0];
    world->was.busy_ms = 5000;
    world->was_devices[0] = &world->was;
    proofmill__v1__status__init(&world->before);
    world->before.n_devices = 1;
    world->before.devices = world->was_devices;
}

static void make_pools(struct world *world) {
    static char host[] = "host", pinned[] = "pinned", vram[] = "vram:0";
    for (size_t i = 0; i < 3; i++) {
        proofmill__v1__pool__init(&world->pool[i]);
        world->pools[i] = &world->pool[i];
    }
    world->pool[0].name = host;
    world->pool[0].total_bytes = 32 * GIB;
    world->pool[0].reserved_bytes = 12 * GIB;
    world->pool[0].peak_bytes = 20 * GIB;
    world->pool[1].name = pinned;
    world->pool[1].reserved_bytes = 300 * MIB;
    world->pool[1].peak_bytes = 300 * MIB;
    world->pool[2].name = vram;
    world->pool[2].total_bytes = world->pool[2].reserved_bytes = 80 * GIB;
    world->pool[2].peak_bytes = 80 * GIB;
}

static void make_keys(struct world *world) {
    static char mimc[] = "mimc", porep[] = "porep-32g", path[] = "/keys/porep.params";
    static char why[] = "the file is gone\033[1m";
    for (size_t i = 0; i < 2; i++) {
        proofmill__v1__key__init(&world->key[i]);
        world->keys[i] = &world->key[i];
    }
    world->key[0].name = mimc;
    world->key[0].curve = PROOFMILL__V1__CURVE__CURVE_BN254;
    world->key[0].log_n = 11;
    world->key[0].n_public = 2;
    world->key[0].n_users = 1;
    world->key[0].bytes = 741 * 1024;
    world->key[0].proof_bytes = 3 * MIB;
    world->key[1].name = porep;
    world->key[1].path = path;
    world->key[1].error = why;
    world->key[1].tier = PROOFMILL__V1__TIER__TIER_COLD;
    world->key[1].curve = PROOFMILL__V1__CURVE__CURVE_BLS12_381;
    world->key[1].log_n = 27;
    world->key[1].n_public = 24;
    world->key[1].idle_ms = 273600000;
}

static void make_jobs(struct world *world) {
    static char mimc[] = "mimc", cuda[] = "cuda:0", phase[] = "h", id[] = "sector-9";
    static char waits[] = "host memory: 3 GiB more";
    for (size_t i = 0; i < 4; i++) {
        proofmill__v1__job__init(&world->job[i]);
        proofmill__v1__times__init(&world->times[i]);
        world->jobs[i] = &world->job[i];
        world->job[i].job = 12 + i;
        world->job[i].key = mimc;
        world->job[i].n_parts = 1;
        world->job[i].accepted_unix_ms = UINT64_C(1700000000000) + i * 1000;
        world->job[i].times = &world->times[i];
        world->times[i].total_ms = 61000 - i * 20000;
    }
    world->job[0].state = PROOFMILL__V1__JOB_STATE__JOB_STATE_PROVING;
    world->job[0].priority = PROOFMILL__V1__PRIORITY__PRIORITY_HIGH;
    world->job[0].device = cuda;
    world->job[0].n_parts = 10;
    world->job[0].n_parts_done = 3;
    world->job[0].phase = phase;
    world->job[0].phase_done = 42;
    world->job[0].phase_total = 100;
    world->job[1].state = PROOFMILL__V1__JOB_STATE__JOB_STATE_PREPARING;
    world->job[1].request_id = id;
    world->job[2].n_ahead = 0;
    world->job[2].waits_for = waits;
    world->job[3].n_ahead = 1;
}

static void make_world(struct world *world) {
    static char version[] = "0.1.0";
    *world = (struct world){0};
    make_devices(world);
    make_pools(world);
    make_keys(world);
    make_jobs(world);
    Proofmill__V1__Status *status = &world->status;
    proofmill__v1__status__init(status);
    status->version = version;
    status->uptime_ms = 7620000;
    status->n_devices = status->n_keys = 2;
    status->n_pools = 3;
    status->devices = world->devices;
    status->pools = world->pools;
    status->keys = world->keys;
    status->n_queued = status->n_running = 2;
    status->n_kept = 20;
    status->n_done = 148;
    status->n_failed = 2;
    status->n_cancelled = 1;
    status->n_proofs = 1478;
    status->stored_bytes = 12 * MIB;
    status->stored_bytes_max = GIB;
}

static struct pm_client_frame frame_of(const struct world *world) {
    return (struct pm_client_frame){.address = "unix:///run/proofmill/proofmill.sock",
                                    .status = &world->status,
                                    .before = &world->before,
                                    .between_ms = 1000,
                                    .jobs = world->jobs,
                                    .n_jobs = 4,
                                    .error = "",
                                    .foot = "q ends it",
                                    .columns = 160};
}

static const char golden[] =
    "proofmill 0.1.0 at unix:///run/proofmill/proofmill.sock, up 2 h 07 min\n"
    "jobs: 2 running, 2 queued; 148 done, 2 failed, 1 cancelled; 1478 proofs; 20 outcomes kept\n"
    "inputs stored: 12.0 MiB of 1.00 GiB\n"
    "\n"
    "MEMORY                                              RESERVED        OF    USE      PEAK\n"
    "host    [###############.........................]  12.0 GiB  32.0 GiB   38 %  20.0 GiB\n"
    "pinned  -                                            300 MiB         -      -   300 MiB\n"
    "vram:0  [########################################]  80.0 GiB  80.0 GiB  100 %  80.0 GiB\n"
    "\n"
    "DEVICE  MODEL        WORKERS  BUSY  PROOFS  FAULTS  JOBS\n"
    "cuda:0  NVIDIA H200      2/2  75 %    1204       0  #12 #13\n"
    "cpu     -                0/1  0 ms       0       3  given up: it is lost\n"
    "\n"
    "JOB  STATE      PRIORITY  KEY   PARTS  DEVICE  ACCEPTED                   TIME  REQUEST ID  "
    "ABOUT\n"
    " 12  proving    high      mimc   3/10  cuda:0  2023-11-14 22:13:20  1 min 01 s  -           "
    "h 42 %\n"
    " 13  preparing  normal    mimc    0/1  -       2023-11-14 22:13:21        41 s  sector-9    "
    "-\n"
    " 14  queued     normal    mimc    0/1  -       2023-11-14 22:13:22        21 s  -           "
    "0 ahead: host memory: 3 GiB more\n"
    " 15  queued     normal    mimc    0/1  -       2023-11-14 22:13:23      1.00 s  -           "
    "1 ahead\n"
    "\n"
    "KEY        TIER  CURVE     DOMAIN  PUBLIC  USERS   MEMORY   A PROOF      IDLE\n"
    "mimc       hot   bn128       2^11       2      1  741 KiB  3.00 MiB      0 ms\n"
    "porep-32g  cold  bls12381    2^27      24      0        -         -  3 d 04 h\n"
    "\n"
    "q ends it\n";

static void test_frame(void **state) {
    struct world world;
    struct pm_client_text text = {0};
    (void)state;
    make_world(&world);
    const struct pm_client_frame frame = frame_of(&world);
    pm_client_frame_write(&frame, &text);
    assert_string_equal(text.bytes, golden);
    pm_client_text_free(&text);
}

static uint32_t widest_line(const char *text, uint32_t *n_lines) {
    uint32_t widest = 0;
    *n_lines = 0;
    for (const char *line = text; *line != '\0';) {
        const size_t n = strcspn(line, "\n");
        char *copy = strndup(line, n);
        assert_non_null(copy);
        const uint32_t columns = (uint32_t)pm_client_columns(copy);
        widest = columns > widest ? columns : widest;
        free(copy);
        *n_lines += 1;
        line += n + 1;
    }
    return widest;
}

/* Whatever the terminal's size and the answer, no line is longer and no frame is higher. */
static void test_frame_fits_every_terminal(void **state) {
    struct world world;
    (void)state;
    make_world(&world);
    struct pm_client_frame frame = frame_of(&world);
    world.status.is_draining = world.status.journal_is_failing = 1;
    frame.error = "no daemon answers at \033[2Junix:///x";
    for (frame.rows = 9; frame.rows < 45; frame.rows++) {
        for (frame.columns = 1; frame.columns < 180; frame.columns += 7) {
            struct pm_client_text text = {0};
            uint32_t n_lines = 0;
            pm_client_frame_write(&frame, &text);
            assert_false(text.is_short);
            assert_in_range(widest_line(text.bytes, &n_lines), 0, frame.columns);
            assert_in_range(n_lines, 1, frame.rows);
            assert_null(strchr(text.bytes, '\033'));
            pm_client_text_free(&text);
        }
    }
}

static void test_frame_of_nothing(void **state) {
    struct pm_client_text text = {0};
    const struct pm_client_frame frame = {
        .address = "a", .error = "nobody answers", .foot = "", .columns = 9, .rows = 5};
    (void)state;
    pm_client_frame_write(&frame, &text);
    assert_string_equal(text.bytes, "nobody an\n");
    pm_client_text_free(&text);
}

static void test_jobs_in_words(void **state) {
    static char why[] = "UNSATISFIED: row 7", cpu[] = "cpu";
    struct world world;
    (void)state;
    make_world(&world);
    world.job[1].n_retries = 2;
    world.job[3].state = PROOFMILL__V1__JOB_STATE__JOB_STATE_FAILED;
    world.job[3].error = why;
    static const char *const words[] = {
        "proving on cuda:0, 3 of 10 parts done, h 42 %", "preparing, 2 retries",
        "queued, 0 ahead: host memory: 3 GiB more", "failed after 1.00 s: UNSATISFIED: row 7"};
    for (size_t i = 0; i < 4; i++) {
        struct pm_client_text text = {0};
        pm_client_describe_job(&world.job[i], &text);
        assert_string_equal(text.bytes, words[i]);
        pm_client_text_free(&text);
    }
    struct pm_client_text text = {0};
    world.job[0].state = PROOFMILL__V1__JOB_STATE__JOB_STATE_DONE;
    world.job[0].device = cpu;
    world.times[0].queue_ms = 20;
    world.times[0].prove_ms = 1500;
    pm_client_describe_job(&world.job[0], &text);
    assert_string_equal(text.bytes, "done after 1 min 01 s (queue 20 ms, prove 1.50 s)");
    pm_client_text_free(&text);
    /* What an earlier version's journal does not have. */
    world.job[0].device = cpu + 3;
    world.times[0] = (Proofmill__V1__Times)PROOFMILL__V1__TIMES__INIT;
    world.times[0].total_ms = 61000;
    pm_client_describe_job(&world.job[0], &text);
    assert_string_equal(text.bytes, "done after 1 min 01 s (queue -, prove -)");
    pm_client_text_free(&text);
    world.job[1].n_retries = 1;
    pm_client_describe_job(&world.job[1], &text);
    assert_string_equal(text.bytes, "preparing, 1 retry");
    pm_client_text_free(&text);
}

static void test_unknown_numbers_have_a_word(void **state) {
    (void)state;
    assert_string_equal(pm_client_state_word((Proofmill__V1__JobState)99), "?");
    assert_string_equal(pm_client_state_word((Proofmill__V1__JobState)-1), "?");
    assert_string_equal(pm_client_tier_word((Proofmill__V1__Tier)3), "?");
    assert_string_equal(pm_client_curve_word((Proofmill__V1__Curve)0), "?");
    assert_string_equal(pm_client_priority_word((Proofmill__V1__Priority)5), "?");
    Proofmill__V1__Job job = PROOFMILL__V1__JOB__INIT;
    assert_true(pm_client_phase_percent(&job) == UINT32_MAX);
    job.phase_total = 1;
    job.phase_done = UINT64_MAX;
    assert_true(pm_client_phase_percent(&job) == 100);
}

/* ---------------------------------------------------------------------------------------------
 * Messages
 * ------------------------------------------------------------------------------------------- */

static void expect_json(const ProtobufCMessage *message, const char *expected) {
    json_t *json = pm_client_message_json(message);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_string_equal(text, expected);
    free(text);
    json_decref(json);
}

static void test_json(void **state) {
    static char name[] = "a\"b\377";
    static uint8_t digest[] = {0, 0xab, 0xff};
    Proofmill__V1__AwaitRequest by_id = PROOFMILL__V1__AWAIT_REQUEST__INIT;
    Proofmill__V1__CancelResponse cancelled = PROOFMILL__V1__CANCEL_RESPONSE__INIT;
    Proofmill__V1__SubmitResponse submitted = PROOFMILL__V1__SUBMIT_RESPONSE__INIT;
    Proofmill__V1__RegisterKeyRequest key = PROOFMILL__V1__REGISTER_KEY_REQUEST__INIT;
    struct world world;
    (void)state;
    submitted.job = UINT64_MAX;
    submitted.known = 1;
    expect_json(&submitted.base, "{\"job\":\"18446744073709551615\",\"known\":true,\"n_ahead\":0}");
    cancelled.state = PROOFMILL__V1__JOB_STATE__JOB_STATE_CANCELLED;
    expect_json(&cancelled.base, "{\"was_running\":false,\"state\":\"JOB_STATE_CANCELLED\"}");
    cancelled.state = (Proofmill__V1__JobState)77;
    expect_json(&cancelled.base, "{\"was_running\":false,\"state\":77}");
    by_id.which_case = PROOFMILL__V1__AWAIT_REQUEST__WHICH_REQUEST_ID;
    by_id.request_id = name;
    expect_json(&by_id.base, "{\"request_id\":\"a\\\"b?\",\"timeout_ms\":0,\"without_proofs\":"
                             "false,\"first_proof\":0,\"n_proofs\":0}");
    key.digest = (ProtobufCBinaryData){sizeof digest, digest};
    expect_json(&key.base, "{\"name\":\"\",\"path\":\"\",\"r1cs_path\":\"\",\"check\":"
                           "\"CHECK_DEFAULT\",\"digest\":\"00abff\"}");
    make_world(&world);
    json_t *json = pm_client_message_json(&world.status.base);
    json_t *device = json_array_get(json_object_get(json, "devices"), 0);
    assert_int_equal(json_array_size(json_object_get(json, "pools")), 3);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(device, "jobs"), 1)), 13);
    json_decref(json);
}

static void test_decoding_is_bounded(void **state) {
    pm_error error = PM_ERROR_INIT;
    ProtobufCMessage *message = NULL;
    const size_t n_bytes = (size_t)8 << 20;
    uint8_t *bytes = calloc(1, n_bytes);
    (void)state;
    assert_non_null(bytes);
    /* Keys of no bytes: each becomes a struct of some two hundred. */
    for (size_t i = 0; i < n_bytes; i += 2) {
        bytes[i] = 0x0a;
    }
    assert_int_equal(pm_client_message_decode(&proofmill__v1__list_keys_response__descriptor, bytes,
                                              n_bytes, &message, &error),
                     PM_NO_MEMORY);
    assert_null(message);
    assert_int_equal(pm_client_message_decode(&proofmill__v1__list_keys_response__descriptor, bytes,
                                              2000, &message, &error),
                     PM_OK);
    assert_int_equal(((const Proofmill__V1__ListKeysResponse *)(const void *)message)->n_keys,
                     1000);
    pm_client_message_free(message);
    free(bytes);
}

static void test_what_is_no_message_is_refused(void **state) {
    static const struct {
        uint8_t bytes[12];
        size_t n_bytes;
    } table[] = {{{0x0a}, 1},       /* cut off */
                 {{0x0a, 5, 1}, 3}, /* longer than what is there */
                 {{0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f}, 6},
                 {{0x08, 0x80}, 2}, /* a number without an end */
                 {{0x07}, 1}};      /* no such kind of field */
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        pm_error error = PM_ERROR_INIT;
        ProtobufCMessage *message = NULL;
        assert_int_equal(pm_client_message_decode(&proofmill__v1__status__descriptor,
                                                  table[i].bytes, table[i].n_bytes, &message,
                                                  &error),
                         PM_ENCODING);
        assert_null(message);
    }
}

static void test_statuses_by_name(void **state) {
    (void)state;
    assert_int_equal(pm_client_status_named("UNSATISFIED"), PM_UNSATISFIED);
    assert_int_equal(pm_client_status_named("OK"), PM_OK);
    assert_int_equal(pm_client_status_named("SELF_VERIFY"), PM_SELF_VERIFY);
    assert_int_equal(pm_client_status_named("UNKNOWN"), PM_INTERNAL);
    assert_int_equal(pm_client_status_named("nonsense"), PM_INTERNAL);
    assert_int_equal(pm_client_status_named(""), PM_INTERNAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_and_times),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_control_characters_are_taken_out),
        cmocka_unit_test(test_text_is_cut_between_characters),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_bars),
        cmocka_unit_test(test_frame),
        cmocka_unit_test(test_frame_fits_every_terminal),
        cmocka_unit_test(test_frame_of_nothing),
        cmocka_unit_test(test_jobs_in_words),
        cmocka_unit_test(test_unknown_numbers_have_a_word),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_decoding_is_bounded),
        cmocka_unit_test(test_what_is_no_message_is_refused),
        cmocka_unit_test(test_statuses_by_name),
    };
    if (setenv("TZ", "UTC", 1) != 0) { /* moments are in local time */
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
