/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "cli/cli_bellman.h"

#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROOF_BYTES 192u
/* Of all statements of one file together. */
#define VALUES_MAX ((size_t)1 << 22)
static const char blanks[] = " \t\r\n";

/* ---- What a file is -------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *suffix) {
    const size_t n = strlen(text), n_suffix = strlen(suffix);
    return n >= n_suffix && strcmp(text + n - n_suffix, suffix) == 0;
}

/* The first byte that is no blank; 0 when there is none. */
static char first_of(const struct pm_cli_bytes *file) {
    const char *text = file->bytes;
    size_t i = 0;
    while (i < file->n_bytes && memchr(blanks, text[i], sizeof blanks - 1) != NULL) {
        i++;
    }
    return i < file->n_bytes ? text[i] : '\0';
}

static int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool is_separator(char c) {
    return c == ',' || (c != '\0' && strchr(blanks, c) != NULL);
}

/* Nothing but words of digits. */
static bool is_hexadecimal(const struct pm_cli_bytes *file) {
    const char *text = file->bytes;
    for (size_t i = 0; i < file->n_bytes; i++) {
        const bool is_x = (text[i] == 'x' || text[i] == 'X') && i > 0 && text[i - 1] == '0';
        if (digit_of(text[i]) < 0 && !is_separator(text[i]) && !is_x) {
            return false;
        }
    }
    return file->n_bytes > 0;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

pm_status pm_cli_parse_vk(struct pm_cli *cli, const struct pm_cli_bytes *file, pm_vk **vk) {
    if (first_of(file) == '{' || file->n_bytes == 0) {
        return pm_json_vk_parse(cli->context, file->bytes, file->n_bytes, file->path, vk,
                                &cli->error);
    }
    const pm_status status = pm_vk_from_bellman(cli->context, file->bytes, file->n_bytes,
                                                ends_with(file->path, ".params"), vk, &cli->error);
    if (status != PM_OK && cli->error.file[0] == '\0') {
        (void)snprintf(cli->error.file, sizeof cli->error.file, "%s", file->path);
    }
    return status;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* A word of n digits to 32 little-endian bytes: a number, or the bytes themselves. */
static bool read_word(const char *word, size_t n, uint8_t value[PM_FR_BYTES]) {
    const bool is_number = n > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X');
    if (is_number) {
        word += 2;
        n -= 2;
    }
    if (n > 2 * PM_FR_BYTES || (!is_number && n != 2 * PM_FR_BYTES)) {
        return false;
    }
    memset(value, 0, PM_FR_BYTES);
    for (size_t i = 0; i < n; i++) {
        const int digit = digit_of(word[i]);
        if (digit < 0) {
            return false;
        }
        /* From the lowest digit for a number, from the first byte's high digit for bytes. */
        const size_t at = is_number ? n - 1 - i : i;
        const bool is_high = is_number ? at % 2 == 1 : at % 2 == 0;
        value[at / 2] |= (uint8_t)(digit << (is_high ? 4 : 0));
    }
    return true;
}

static pm_status read_words(struct pm_cli *cli, const struct pm_cli_bytes *file, uint8_t *values,
                            size_t *n_values) {
    const char *text = file->bytes;
    size_t i = 0, n = 0;
    while (i < file->n_bytes) {
        size_t end = i;
        while (end < file->n_bytes && !is_separator(text[end])) {
            end++;
        }
        if (n == VALUES_MAX) {
            return pm_cli_fail(cli, PM_COUNT, file->path, "it has more than %zu values",
                               VALUES_MAX);
        }
        if (end > i && !read_word(text + i, end - i, values + PM_FR_BYTES * n++)) {
            return pm_cli_fail(cli, PM_ENCODING, file->path,
                               "value %zu is neither 0x and a number of at most 64 digits, nor the "
                               "64 digits of 32 bytes",
                               n - 1);
        }
        i = end + 1;
    }
    *n_values = n;
    return PM_OK;
}

pm_status pm_cli_parse_values(struct pm_cli *cli, const struct pm_cli_bytes *file,
                              pm_curve_id curve, uint8_t **values, size_t *n_values) {
    if (first_of(file) == '[') {
        return pm_json_public_parse(file->bytes, file->n_bytes, file->path, curve, values, n_values,
                                    &cli->error);
    }
    const bool is_words = is_hexadecimal(file);
    if (!is_words && file->n_bytes / PM_FR_BYTES >= VALUES_MAX) {
        return pm_cli_fail(cli, PM_COUNT, file->path, "it has %zu values, at most %zu are taken",
                           file->n_bytes / PM_FR_BYTES, VALUES_MAX - 1);
    }
    if (!is_words && file->n_bytes % PM_FR_BYTES != 0) {
        return pm_cli_fail(cli, PM_LENGTH, file->path,
                           "%zu bytes are no number of values: it is neither JSON nor hexadecimal, "
                           "and not a multiple of 32 bytes",
                           file->n_bytes);
    }
    /* The shortest words are of three characters, and something stands between two of them. */
    const size_t most = is_words ? file->n_bytes / 4 + 2 : file->n_bytes / PM_FR_BYTES + 1;
    uint8_t *read = calloc(most < VALUES_MAX ? most : VALUES_MAX, PM_FR_BYTES);
    if (read == NULL) {
        return pm_cli_fail(cli, PM_NO_MEMORY, file->path, "no memory for its values");
    }
    pm_status status = PM_OK;
    if (is_words) {
        status = read_words(cli, file, read, n_values);
    } else {
        memcpy(read, file->bytes, file->n_bytes);
        *n_values = file->n_bytes / PM_FR_BYTES;
    }
    if (status != PM_OK) {
        free(read);
        return status;
    }
    *values = read;
    return PM_OK;
}

/* ---- Proofs ---------------------------------------------------------------------------------- */

static pm_status parse_json_proof(struct pm_cli *cli, const struct pm_cli_bytes *file,
                                  pm_curve_id curve, pm_proof *proof) {
    proof->struct_bytes = (uint32_t)sizeof *proof;
    return pm_json_proof_parse(file->bytes, file->n_bytes, file->path, curve, proof, &cli->error);
}

/* Digits to bytes, in place; separators are left out. */
static size_t pack_digits(char *text, size_t n) {
    size_t n_digits = 0;
    for (size_t i = 0; i < n; i++) {
        const bool is_prefix = text[i] == '0' && i + 1 < n && (text[i + 1] | 0x20) == 'x';
        const int digit = digit_of(text[i]);
        if (digit >= 0 && !is_prefix) {
            const uint8_t before = (uint8_t)text[n_digits / 2];
            text[n_digits / 2] = (char)(n_digits % 2 == 0 ? digit << 4 : (before & 0xf0) | digit);
            n_digits++;
        }
    }
    return n_digits / 2;
}

static pm_status parse_bytes_proofs(struct pm_cli *cli, const struct pm_cli_bytes *file,
                                    pm_curve_id curve, pm_proof *proofs, size_t n_proofs) {
    const pm_status status = pm_proofs_decode(curve, PM_POINT_ZCASH_COMPRESSED, file->bytes,
                                              file->n_bytes, proofs, n_proofs, &cli->error);
    if (status != PM_OK && cli->error.file[0] == '\0') {
        (void)snprintf(cli->error.file, sizeof cli->error.file, "%s", file->path);
    }
    return status;
}

pm_status pm_cli_parse_proofs(struct pm_cli *cli, const struct pm_cli_bytes *file,
                              pm_curve_id curve, pm_proof **proofs, size_t *n_proofs) {
    const bool is_json = first_of(file) == '{' || file->n_bytes == 0 || curve != PM_CURVE_BLS12_381;
    struct pm_cli_bytes packed = *file;
    if (!is_json && is_hexadecimal(file)) {
        packed.n_bytes = pack_digits(file->bytes, file->n_bytes);
    }
    if (!is_json && (packed.n_bytes == 0 || packed.n_bytes % PROOF_BYTES != 0)) {
        return pm_cli_fail(cli, PM_LENGTH, file->path,
                           "%zu bytes are no number of proofs, which have %u bytes each",
                           packed.n_bytes, PROOF_BYTES);
    }
    const size_t n = is_json ? 1 : packed.n_bytes / PROOF_BYTES;
    pm_proof *read = calloc(n, sizeof *read);
    if (read == NULL) {
        return pm_cli_fail(cli, PM_NO_MEMORY, file->path, "no memory for its %zu proofs", n);
    }
    const pm_status status = is_json ? parse_json_proof(cli, file, curve, read)
                                     : parse_bytes_proofs(cli, &packed, curve, read, n);
    if (status != PM_OK) {
        free(read);
        return status;
    }
    *proofs = read;
    *n_proofs = n;
    return PM_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* The text's own block, which pm_json_text_free() would give to free(). */
static void take_text(struct pm_json_text *text, void **bytes, size_t *n_bytes) {
    *bytes = text->bytes;
    *n_bytes = text->n_bytes;
    *text = (struct pm_json_text){0};
}

bool pm_cli_is_json(const char *path) {
    return ends_with(path, ".json");
}

pm_status pm_cli_proof_bytes(struct pm_cli *cli, const char *path, bool as_json,
                             const pm_proof *proof, void **bytes, size_t *n_bytes) {
    if (proof->curve != PM_CURVE_BLS12_381 || as_json) {
        struct pm_json_text text = {0};
        const pm_status status = pm_json_proof_write(proof, &text, &cli->error);
        take_text(&text, bytes, n_bytes);
        return status;
    }
    *bytes = malloc(PROOF_BYTES);
    *n_bytes = PROOF_BYTES;
    return *bytes != NULL
               ? pm_proof_encode(proof, PM_POINT_ZCASH_COMPRESSED, *bytes, n_bytes, &cli->error)
               : pm_cli_fail(cli, PM_NO_MEMORY, path, "no memory for a proof");
}

pm_status pm_cli_publics_bytes(struct pm_cli *cli, const char *path, bool as_json,
                               const uint8_t *values, size_t n_values, void **bytes,
                               size_t *n_bytes) {
    if (as_json) {
        struct pm_json_text text = {0};
        const pm_status status = pm_json_public_write(values, n_values, &text, &cli->error);
        take_text(&text, bytes, n_bytes);
        return status;
    }
    *n_bytes = n_values * PM_FR_BYTES;
    *bytes = malloc(*n_bytes + 1);
    if (*bytes == NULL) {
        return pm_cli_fail(cli, PM_NO_MEMORY, path, "no memory for %zu values", n_values);
    }
    memcpy(*bytes, values, *n_bytes);
    return PM_OK;
}

/* ---- Assignments ----------------------------------------------------------------------------- */

bool pm_cli_is_assignment(const struct pm_cli *cli) {
    static const char magic[8] = "pmasg";
    char bytes[sizeof magic] = {0};
    const char *path = cli->files[PM_ROLE_WITNESS];
    if (pm_cli_file_bytes(path) < sizeof magic) {
        return false; /* also what can be read only once */
    }
    FILE *file = fopen(path, "rb");
    const bool is_read = file != NULL && fread(bytes, sizeof bytes, 1, file) == 1;
    if (file != NULL) {
        (void)fclose(file);
    }
    return is_read && memcmp(bytes, magic, sizeof magic) == 0;
}
