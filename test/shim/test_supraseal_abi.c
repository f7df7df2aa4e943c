/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The binary interface of libproofmill-supraseal: what each flavour exports and nothing more, read
 * from the library's own table; that it asks the host for set_membw_throttle() alone, and weakly;
 * how structs go by value; messages that the caller frees.
 */
#include "support/file_builder.h"
#include "support/fixture.h"
#include "support/supraseal_abi.h"

#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const exports[SUPRASEAL_FLAVOURS][16] = {
    {"create_SRS", "evict_SRS", "drop_SRS", "clone_SRS", "generate_groth16_proofs_c"},
    {"create_SRS", "evict_SRS", "drop_SRS", "clone_SRS", "generate_groth16_proofs_c",
     "generate_groth16_proofs_start_c", "finalize_groth16_proof_c", "destroy_pending_proof",
     "create_gpu_mutex", "destroy_gpu_mutex"}};

static size_t count_names(const char *const *names) {
    size_t n = 0;
    while (names[n] != NULL) {
        n++;
    }
    return n;
}

static bool has_name(const char *const *names, const char *name) {
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* The dynamic symbols of a library. */
struct symbols {
    char *bytes;
    const Elf64_Sym *table;
    size_t n;
    const char *names;
};

static void open_symbols(enum supraseal_flavour flavour, struct symbols *symbols) {
    size_t n_bytes = 0;
    symbols->bytes = pm_test_read_file(supraseal_path(flavour), &n_bytes);
    assert_non_null(symbols->bytes);
    const Elf64_Ehdr *header = (const void *)symbols->bytes;
    assert_memory_equal(header->e_ident, ELFMAG, SELFMAG);
    const Elf64_Shdr *sections = (const void *)(symbols->bytes + header->e_shoff);
    for (size_t i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type == SHT_DYNSYM) {
            symbols->table = (const void *)(symbols->bytes + sections[i].sh_offset);
            symbols->n = sections[i].sh_size / sizeof(Elf64_Sym);
            symbols->names = symbols->bytes + sections[sections[i].sh_link].sh_offset;
        }
    }
    assert_non_null(symbols->table);
}

static void expect_exports(enum supraseal_flavour flavour) {
    struct symbols symbols = {0};
    size_t n_exported = 0;
    bool asks_for_throttle = false;
    open_symbols(flavour, &symbols);
    for (size_t i = 1; i < symbols.n; i++) {
        const Elf64_Sym *symbol = &symbols.table[i];
        const char *name = symbols.names + symbol->st_name;
        const int binding = ELF64_ST_BIND(symbol->st_info);
        if (symbol->st_shndx == SHN_UNDEF && strcmp(name, "set_membw_throttle") == 0) {
            asks_for_throttle = binding == STB_WEAK;
        }
        if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || binding == STB_LOCAL) {
            continue;
        }
        if (!has_name(exports[flavour], name)) {
            fail_msg("%s is exported", name);
        }
        assert_int_equal(ELF64_ST_TYPE(symbol->st_info), STT_FUNC);
        n_exported++;
    }
    assert_int_equal(n_exported, count_names(exports[flavour]));
    assert_true(asks_for_throttle);
    free(symbols.bytes);
}

static void both_flavours_export_their_names_and_no_more(void **state) {
    (void)state;
    expect_exports(SUPRASEAL_UPSTREAM);
    expect_exports(SUPRASEAL_CURIO);
}

static void structs_are_those_of_the_interface(void **state) {
    (void)state;
    assert_int_equal(sizeof(struct rust_error), 16);
    assert_int_equal(offsetof(struct rust_error, message), 8);
    assert_int_equal(sizeof(struct rust_srs), 8);
    assert_int_equal(sizeof(struct rust_assignment), 136);
    assert_int_equal(offsetof(struct rust_assignment, abc_size), 96);
    assert_int_equal(offsetof(struct rust_assignment, aux_assignment_size), 128);
}

#if defined(__x86_64__)
/* Registers as the interface's callers read them: the code in eax, the message in rdx, an SRS in
 * rax. */
static void structs_come_back_in_registers(void **state) {
    (void)state;
    for (int flavour = 0; flavour < SUPRASEAL_FLAVOURS; flavour++) {
        struct supraseal supraseal;
        struct rust_srs srs = {.ptr = &srs};
        supraseal_load((enum supraseal_flavour)flavour, &supraseal);
        unsigned __int128 (*create)(struct rust_srs *, const char *, bool);
        void *(*clone)(const struct rust_srs *);
        memcpy(&create, &supraseal.create, sizeof create);
        memcpy(&clone, &supraseal.clone, sizeof clone);
        const unsigned __int128 answer = create(&srs, "/nonexistent/file.params", false);
        char *message = (char *)(uintptr_t)(uint64_t)(answer >> 64);
        assert_int_equal((int32_t)answer, ENOENT);
        assert_non_null(message);
        assert_non_null(strstr(message, "/nonexistent/file.params"));
        free(message);
        assert_null(srs.ptr);
        assert_null(clone(&srs));
        supraseal_unload(&supraseal);
    }
}
#endif

static void nothing_can_be_dropped(void **state) {
    (void)state;
    for (int flavour = 0; flavour < SUPRASEAL_FLAVOURS; flavour++) {
        struct supraseal supraseal;
        struct rust_srs none = {.ptr = NULL};
        supraseal_load((enum supraseal_flavour)flavour, &supraseal);
        supraseal.drop(&none);
        supraseal.evict(&none);
        assert_null(supraseal.clone(&none).ptr);
        if (flavour == SUPRASEAL_CURIO) {
            uint8_t proof[RUST_PROOF_BYTES];
            supraseal.destroy(NULL);
            supraseal.destroy_mutex(NULL);
            void *mutex = supraseal.create_mutex();
            assert_non_null(mutex);
            supraseal.destroy_mutex(mutex);
            rust_expect_error(supraseal.finalize(NULL, proof), EINVAL, "pending");
        }
        supraseal_unload(&supraseal);
    }
}

static void files_that_are_none_are_refused(void **state) {
    (void)state;
    char *tree = file_make_tree();
    struct supraseal supraseal;
    struct rust_srs srs;
    supraseal_load(SUPRASEAL_UPSTREAM, &supraseal);
    rust_expect_error(supraseal.create(&srs, tree, false), EISDIR, tree);
    rust_expect_error(supraseal.create(&srs, "/dev/null", false), EINVAL, "/dev/null");
    rust_expect_error(supraseal.create(&srs, NULL, false), EINVAL, "NULL");
    rust_expect_error(supraseal.create(NULL, "/dev/null", false), EINVAL, "NULL");
    struct file_image wtns = file_wtns(PM_CURVE_BLS12_381);
    const char *path = file_in_tree(tree, "witness.params");
    file_write(path, wtns.bytes, wtns.n_bytes);
    rust_expect_error(supraseal.create(&srs, path, true), EINVAL, "wtns");
    assert_null(srs.ptr);
    file_free(&wtns);
    supraseal_unload(&supraseal);
    assert_int_equal(process_threads_settled(1), 1);
    file_remove_tree(tree);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_flavours_export_their_names_and_no_more),
        cmocka_unit_test(structs_are_those_of_the_interface),
#if defined(__x86_64__)
        cmocka_unit_test(structs_come_back_in_registers),
#endif
        cmocka_unit_test(nothing_can_be_dropped),
        cmocka_unit_test(files_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
