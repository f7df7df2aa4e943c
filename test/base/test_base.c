/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/characters.h"
#include "base/checked.h"
#include "base/clock.h"
#include "base/control.h"
#include "base/cpu.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void every_status_has_its_words(void **state) {
    (void)state;
#define EXPECT_WORDS(name, number, sentence)                                                       \
    assert_int_equal(PM_##name, number);                                                           \
    assert_string_equal(pm_status_name(PM_##name), #name);                                         \
    assert_string_equal(pm_status_sentence(PM_##name), sentence);
    PM_STATUS_MAP(EXPECT_WORDS)
#undef EXPECT_WORDS
    assert_string_equal(pm_status_name((pm_status)12345), "UNKNOWN");
    assert_non_null(pm_status_sentence((pm_status)12345));
}

static pm_status fail_if(int condition, pm_error *error) {
    PM_FAIL_IF(condition, error, PM_COUNT, "have %d", condition);
    return PM_OK;
}

static pm_status pass_up(int condition, pm_error *error) {
    PM_TRY(fail_if(condition, error));
    return PM_OK;
}

static void errors_carry_their_facts(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    assert_int_equal(pass_up(0, &error), PM_OK);
    assert_int_equal(pass_up(7, NULL), PM_COUNT);
    assert_int_equal(pass_up(7, &error), PM_COUNT);
    assert_int_equal(error.status, PM_COUNT);
    assert_string_equal(error.message, "have 7");
    assert_true(error.offset == PM_NO_OFFSET);
    pm_error_at(&error, "file", 12);
    pm_error_need_have(&error, 3, 4);
    assert_string_equal(error.file, "file");
    assert_true(error.offset == 12 && error.need == 3 && error.have == 4);
    pm_error_at(&error, NULL, 13); /* keeps the name */
    assert_string_equal(error.file, "file");
    assert_int_equal(error.offset, 13);
    pm_error_set(&error, PM_IO, "fresh");
    assert_true(error.file[0] == '\0' && error.need == 0 && error.have == 0);
    pm_error_at(NULL, "file", 1);
    pm_error_need_have(NULL, 1, 2);
    assert_int_equal(pm_error_set_errno(&error, PM_IO, ENOENT, "name", "cannot open"), PM_IO);
    assert_string_equal(error.message, "cannot open: No such file or directory");
    assert_string_equal(error.file, "name");
    pm_error_set_errno(&error, PM_IO, 123456, NULL, "odd");
    assert_string_equal(error.message, "odd: unknown error");
}

static void long_texts_are_cut(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    char path[2000];
    memset(path, 'p', sizeof path);
    memcpy(path + sizeof path - 5, "tail", 5);
    pm_error_set(&error, PM_IO, "%s", path);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    pm_error_at(&error, path, 0);
    assert_int_equal(strlen(error.file), sizeof error.file - 1);
    assert_string_equal(error.file + sizeof error.file - 5, "tail"); /* the head is what goes */
}

static void memory_is_zeroed_aligned_and_counted(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 1, 63, 64, 4096, 262143, 262144, 262145, 1000000};
    struct pm_ledger ledger = {0};
    void *buffers[9];
    uint64_t total = 0;
    for (size_t i = 0; i < 9; ++i) {
        const enum pm_memory_flags flags = i % 2 == 0 ? PM_MEMORY_PLAIN : PM_MEMORY_SECRET;
        assert_int_equal(pm_memory_alloc(&ledger, "test", sizes[i], flags, &buffers[i], NULL),
                         PM_OK);
        assert_int_equal((uintptr_t)buffers[i] % PM_BUFFER_ALIGNMENT, 0);
        assert_int_equal(pm_memory_bytes(buffers[i]), sizes[i]);
        for (uint64_t k = 0; k < sizes[i]; ++k) {
            assert_int_equal(((uint8_t *)buffers[i])[k], 0);
        }
        memset(buffers[i], 0xaa, sizes[i]);
        total += sizes[i];
        assert_int_equal(pm_ledger_live_bytes(&ledger), total);
    }
    for (size_t i = 0; i < 9; ++i) {
        pm_memory_free(buffers[i]);
    }
    assert_int_equal(pm_ledger_live_bytes(&ledger), 0);
    assert_int_equal(pm_ledger_peak_bytes(&ledger), total);
    pm_memory_free(NULL);
    assert_int_equal(pm_memory_bytes(NULL), 0);
}

static void impossible_sizes_are_refused(void **state) {
    (void)state;
    struct pm_ledger ledger = {0};
    void *buffer = NULL;
    pm_error error = PM_ERROR_INIT;
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 63, (uint64_t)PTRDIFF_MAX,
                                     UINT64_C(1) << 60};
    for (size_t i = 0; i < 4; ++i) {
        assert_int_equal(
            pm_memory_alloc(&ledger, "too much", sizes[i], PM_MEMORY_PLAIN, &buffer, &error),
            PM_NO_MEMORY);
        assert_non_null(strstr(error.message, "too much"));
        assert_int_equal(error.need, sizes[i]);
    }
    assert_int_equal(pm_memory_alloc_array(&ledger, "wrapping", UINT64_C(1) << 60, 32,
                                           PM_MEMORY_PLAIN, &buffer, &error),
                     PM_NO_MEMORY);
    assert_null(buffer);
    assert_int_equal(pm_ledger_live_bytes(&ledger), 0);
    assert_int_equal(pm_memory_alloc_array(&ledger, "fine", 3, 5, PM_MEMORY_PLAIN, &buffer, &error),
                     PM_OK);
    assert_int_equal(pm_memory_bytes(buffer), 15);
    pm_memory_free(buffer);
}

static void *allocate_often(void *argument) {
    for (int i = 0; i < 2000; ++i) {
        void *buffer = NULL;
        if (pm_memory_alloc(argument, "thread", 100, PM_MEMORY_PLAIN, &buffer, NULL) == PM_OK) {
            pm_memory_free(buffer);
        }
    }
    return NULL;
}

static void ledger_is_shared_by_threads(void **state) {
    (void)state;
    struct pm_ledger ledger = {0};
    pthread_t threads[4];
    for (size_t i = 0; i < 4; ++i) {
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_often, &ledger), 0);
    }
    for (size_t i = 0; i < 4; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(pm_ledger_live_bytes(&ledger), 0);
    assert_int_equal(ledger.n_allocations, 8000);
    assert_in_range(pm_ledger_peak_bytes(&ledger), 100, 400);
}

/* The pages of a mapping that are in memory, of the first n. */
static size_t n_resident(void *at, size_t n) {
    unsigned char resident[2048];
    size_t n_found = 0;
    assert_true(n <= sizeof resident);
    assert_int_equal(mincore(at, n * (size_t)sysconf(_SC_PAGESIZE), resident), 0);
    for (size_t i = 0; i < n; i++) {
        n_found += resident[i] & 1;
    }
    return n_found;
}

/* Whatever was written is gone, at both ends of each piece too; what nobody has touched stays so.
 */
static void a_secret_is_wiped_piece_by_piece(void **state) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 2 * PM_MEMORY_WIPE_BYTES + page + 5;
    const size_t touched[] = {0,
                              5 * page + 1,
                              PM_MEMORY_WIPE_BYTES - 1,
                              PM_MEMORY_WIPE_BYTES,
                              2 * PM_MEMORY_WIPE_BYTES - 1,
                              2 * PM_MEMORY_WIPE_BYTES,
                              n - 1};
    (void)state;
    void *buffer = NULL;
    assert_int_equal(pm_memory_alloc(NULL, "secret", n, PM_MEMORY_SECRET, &buffer, NULL), PM_OK);
    /* Page by page, so that one byte does not bring two MiB. */
    (void)madvise(buffer, n - page, MADV_NOHUGEPAGE);
    volatile unsigned char *bytes = buffer;
    for (size_t i = 0; i < sizeof touched / sizeof touched[0]; i++) {
        bytes[touched[i]] = 0xa5;
    }
    const size_t before = n_resident(buffer, n / page + 1);
    for (size_t begin = 0; begin < n; begin += PM_MEMORY_WIPE_BYTES) {
        const size_t end = begin + PM_MEMORY_WIPE_BYTES;
        pm_memory_wipe_piece(buffer, begin, end < n ? end : n);
    }
    assert_int_equal(n_resident(buffer, n / page + 1), before);
    for (size_t i = 0; i < sizeof touched / sizeof touched[0]; i++) {
        assert_int_equal(bytes[touched[i]], 0);
    }
    pm_memory_wiped(buffer);
    pm_memory_free(buffer);
}

static void characters_are_utf_8_or_none(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t n;
    } cases[] = {{"", 1},
                 {"a\xff", 1},
                 {"\x7f", 1},
                 {"\xc3\xbc", 2},
                 {"\xe2\x82\xac", 3},
                 {"\xf0\x9f\x98\x80", 4},
                 {"\xf4\x8f\xbf\xbf", 4},
                 {"\x80", 0},
                 {"\xc1\x81", 0},         /* longer than it must be */
                 {"\xe0\x9f\xbf", 0},     /* so too */
                 {"\xf0\x8f\xbf\xbf", 0}, /* so too */
                 {"\xed\xa0\x80", 0},     /* a surrogate */
                 {"\xf4\x90\x80\x80", 0}, /* beyond Unicode */
                 {"\xf5\x80\x80\x80", 0},
                 {"\xc3", 0},
                 {"\xe2\x82", 0},
                 {"\xe2(\xac", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        assert_int_equal(pm_utf8_bytes(cases[i].text, SIZE_MAX), cases[i].n);
        if (cases[i].n > 1) { /* cut off */
            assert_int_equal(pm_utf8_bytes(cases[i].text, cases[i].n), cases[i].n);
            assert_int_equal(pm_utf8_bytes(cases[i].text, cases[i].n - 1), 0);
        }
    }
    assert_int_equal(pm_utf8_bytes("a", 0), 0);
}

static void names_have_few_characters(void **state) {
    (void)state;
    assert_true(pm_is_name("aZ09-_.:", 8));
    assert_false(pm_is_name("aZ09-_.:", 7));
    assert_false(pm_is_name("", 8));
    static const char *const wrong[] = {" ", "a b", "a/", "\xc3\xbc", "a\n", "a\"", "@", "["};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        assert_false(pm_is_name(wrong[i], 100));
    }
    assert_true(pm_same_text(NULL, NULL) && pm_same_text("a", "a"));
    assert_false(pm_same_text(NULL, "") || pm_same_text("", NULL) || pm_same_text("a", "b"));
}

static void a_mapped_buffer_grows_where_it_is(void **state) {
    (void)state;
    pm_error error = PM_ERROR_INIT;
    void *buffer = NULL;
    assert_int_equal(pm_memory_alloc(NULL, "grown", 1000, PM_MEMORY_SECRET, &buffer, NULL), PM_OK);
    memset(buffer, 7, 1000);
    for (uint64_t n = 1001; n < 40000000; n = n * 3 + 5) {
        assert_int_equal(pm_memory_grow(&buffer, n, NULL), PM_OK);
        assert_int_equal(pm_memory_bytes(buffer), n);
        ((uint8_t *)buffer)[n - 1] = 9;
    }
    const uint8_t *bytes = buffer;
    assert_true(bytes[0] == 7 && bytes[999] == 7 && bytes[1000] == 9 && bytes[1001] == 0);
    assert_int_equal(pm_memory_grow(&buffer, UINT64_MAX, &error), PM_NO_MEMORY);
    assert_int_equal(pm_memory_grow(&buffer, UINT64_C(1) << 60, &error), PM_NO_MEMORY);
    assert_int_equal(bytes[999], 7);
    pm_memory_free(buffer);
    assert_int_equal(pm_memory_alloc(NULL, "heap", 1000, PM_MEMORY_PLAIN, &buffer, NULL), PM_OK);
    assert_int_equal(pm_memory_grow(&buffer, 2000, &error), PM_NO_MEMORY);
    pm_memory_free(buffer);
}

static void double_free_stops_the_process(void **state) {
    (void)state;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        /* The header of a freed buffer, kept readable: the block stays ours. */
        static struct { _Alignas(64) uint8_t header[64], buffer[64]; } block;
        (void)signal(SIGABRT, SIG_DFL);
        pm_memory_free(block.buffer);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void sums_and_products_do_not_wrap(void **state) {
    (void)state;
    uint64_t out = 0;
    assert_true(pm_checked_add_u64(UINT64_MAX - 1, 1, &out) && out == UINT64_MAX);
    assert_false(pm_checked_add_u64(UINT64_MAX, 1, &out));
    assert_true(pm_checked_mul_u64(UINT64_C(1) << 32, UINT32_MAX, &out));
    assert_int_equal(out, UINT64_C(0xffffffff00000000));
    assert_false(pm_checked_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
}

struct heard {
    unsigned n_progress, n_logs;
    char sentence[600];
};

static void on_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
    struct heard *heard = user;
    assert_string_equal(phase, "phase");
    assert_true(done == 1 && total == 2);
    heard->n_progress += 1;
}

static void on_log(void *user, pm_log_level level, const char *sentence) {
    struct heard *heard = user;
    assert_int_equal(level, PM_LOG_WARNING);
    (void)snprintf(heard->sentence, sizeof heard->sentence, "%s", sentence);
    heard->n_logs += 1;
}

static void control_cancels_and_reports(void **state) {
    (void)state;
    struct heard heard = {0};
    int cancel = 0;
    pm_error error = PM_ERROR_INIT;
    pm_control control = {.struct_bytes = sizeof control,
                          .cancel = &cancel,
                          .progress = on_progress,
                          .log = on_log,
                          .user = &heard};
    assert_int_equal(pm_control_check(NULL, &error), PM_OK);
    assert_false(pm_control_stopped(NULL));
    assert_int_equal(pm_control_check(&control, &error), PM_OK);
    cancel = 1;
    assert_int_equal(pm_control_check(&control, &error), PM_CANCELLED);
    assert_true(pm_control_stopped(&control));
    cancel = 0;
    control.deadline_ns = pm_clock_now_ns() + UINT64_C(3600000000000);
    assert_false(pm_control_stopped(&control));
    control.deadline_ns = pm_clock_now_ns();
    assert_true(pm_control_stopped(&control));
    assert_int_equal(pm_control_check(&control, &error), PM_DEADLINE);
    pm_control_progress(&control, "phase", 1, 2);
    pm_control_progress(NULL, "phase", 1, 2);
    pm_control_log(&control, PM_LOG_WARNING, "%d is %s", 7, "odd");
    pm_control_log(NULL, PM_LOG_WARNING, "nobody hears");
    assert_true(heard.n_progress == 1 && heard.n_logs == 1);
    assert_string_equal(heard.sentence, "7 is odd");
    control.progress = NULL;
    control.log = NULL;
    pm_control_progress(&control, "phase", 1, 2);
    pm_control_log(&control, PM_LOG_WARNING, "nobody hears");
    assert_true(heard.n_progress == 1 && heard.n_logs == 1);
}

/* E12: threads follow the affinity of the process. */
static void E12_affinity_bounds_the_threads(void **state) {
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    const uint32_t available = pm_cpu_available();
    assert_in_range(available, 1, (uint32_t)CPU_COUNT(&all));
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &all)) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            break;
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(pm_cpu_available(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(pm_cpu_available(), available);
}

static void bodies_have_names(void **state) {
    (void)state;
    assert_string_equal(pm_body_name(PM_BODY_PORTABLE), "portable");
    assert_string_equal(pm_body_name(PM_BODY_ADX), "adx");
    assert_string_equal(pm_body_name(PM_BODY_IFMA), "ifma");
    assert_string_equal(pm_body_name(PM_BODY_COUNT), "unknown");
    assert_true(pm_cpu_has_body(PM_BODY_PORTABLE));
    assert_false(pm_cpu_has_body(PM_BODY_COUNT));
    assert_true(pm_cpu_has_body(pm_cpu_best_body()));
}

static void randomness_fills_everything(void **state) {
    (void)state;
    enum { BYTES = 5000, ROUNDS = 40 };
    static uint8_t bytes[BYTES], seen[BYTES];
    for (int round = 0; round < ROUNDS; ++round) {
        memset(bytes, 0, sizeof bytes);
        assert_int_equal(pm_random_bytes(bytes, sizeof bytes, NULL), PM_OK);
        for (size_t i = 0; i < sizeof bytes; ++i) {
            seen[i] |= bytes[i];
        }
    }
    /* Each bit stays 0 in all rounds with a chance of 2^-40. */
    for (size_t i = 0; i < sizeof seen; ++i) {
        assert_int_equal(seen[i], 0xff);
    }
    assert_int_equal(pm_random_bytes(bytes, 0, NULL), PM_OK);
}

/* A control of an older or careless caller: what lies beyond its struct_bytes is not read. */
static void control_reads_what_the_caller_knows(void **state) {
    (void)state;
    static const volatile int cancelled = 1;
    pm_control control = {.cancel = &cancelled, .deadline_ns = 1};
    assert_int_equal(pm_control_check(&control, NULL), PM_OK); /* struct_bytes is 0 */
    control.struct_bytes = (uint32_t)offsetof(pm_control, deadline_ns);
    assert_int_equal(pm_control_check(&control, NULL), PM_CANCELLED);
    control.cancel = NULL;
    assert_int_equal(pm_control_check(&control, NULL), PM_OK);
    assert_false(pm_control_stopped(&control));
    control.struct_bytes = (uint32_t)sizeof control + 64;
    assert_int_equal(pm_control_check(&control, NULL), PM_DEADLINE);
    assert_true(pm_control_stopped(&control));
}

/* What a thread filled in for itself reaches the caller, but not the size that the caller set. */
static void a_copied_error_keeps_to_its_struct(void **state) {
    (void)state;
    pm_error from = PM_ERROR_INIT, to = PM_ERROR_INIT;
    pm_error_set(&from, PM_COUNT, "five of %d", 4);
    pm_error_need_have(&from, 4, 5);
    to.struct_bytes += 8; /* a later release's caller */
    pm_error_copy(&to, &from);
    assert_int_equal(to.struct_bytes, sizeof to + 8);
    assert_int_equal(to.status, PM_COUNT);
    assert_true(to.need == 4 && to.have == 5);
    assert_string_equal(to.message, "five of 4");

    pm_error small, before;
    memset(&small, 0xa5, sizeof small);
    small.struct_bytes = 48;
    before = small;
    pm_error_copy(&small, &from);
    assert_memory_equal(&small, &before, sizeof small);
    pm_error_copy(NULL, &from);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copied_error_keeps_to_its_struct),
        cmocka_unit_test(every_status_has_its_words),
        cmocka_unit_test(errors_carry_their_facts),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(memory_is_zeroed_aligned_and_counted),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(ledger_is_shared_by_threads),
        cmocka_unit_test(a_secret_is_wiped_piece_by_piece),
        cmocka_unit_test(characters_are_utf_8_or_none),
        cmocka_unit_test(names_have_few_characters),
        cmocka_unit_test(a_mapped_buffer_grows_where_it_is),
        cmocka_unit_test(double_free_stops_the_process),
        cmocka_unit_test(sums_and_products_do_not_wrap),
        cmocka_unit_test(control_cancels_and_reports),
        cmocka_unit_test(E12_affinity_bounds_the_threads),
        cmocka_unit_test(bodies_have_names),
        cmocka_unit_test(control_reads_what_the_caller_knows),
        cmocka_unit_test(randomness_fills_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
