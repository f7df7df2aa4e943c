/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * cli/cli_bellman.h - keys, inputs and proofs as bellman's and Filecoin's tools have them, beside
 * snarkjs's JSON. What a file is says its contents: JSON begins with a bracket.
 */
#ifndef PM_CLI_CLI_BELLMAN_H
#define PM_CLI_CLI_BELLMAN_H

#include "cli/cli.h"

/* A file's bytes, and what it is called. */
struct pm_cli_bytes {
    const char *path;
    void *bytes;
    size_t n_bytes;
};

/* JSON, or a .vk file, or the beginning of a .params file. */
pm_status pm_cli_parse_vk(struct pm_cli *cli, const struct pm_cli_bytes *file, pm_vk **vk);
/*
 * JSON, or 32 little-endian bytes a value, or words of hexadecimal: 0x and a number, or the 64
 * digits of those bytes. *values is for free(). They are checked when something is verified.
 */
pm_status pm_cli_parse_values(struct pm_cli *cli, const struct pm_cli_bytes *file,
                              pm_curve_id curve, uint8_t **values, size_t *n_values);
/* JSON, or one proof after another in bellman's 192 bytes each, also as hexadecimal. *proofs is for
 * free(). */
pm_status pm_cli_parse_proofs(struct pm_cli *cli, const struct pm_cli_bytes *file,
                              pm_curve_id curve, pm_proof **proofs, size_t *n_proofs);

/* Whether a file's name asks for JSON. */
bool pm_cli_is_json(const char *path);
/* JSON when as_json is set or the curve has no other form; else 192 bytes, and 32 a value. *bytes
 * is for free(). */
pm_status pm_cli_proof_bytes(struct pm_cli *cli, const char *path, bool as_json,
                             const pm_proof *proof, void **bytes, size_t *n_bytes);
pm_status pm_cli_publics_bytes(struct pm_cli *cli, const char *path, bool as_json,
                               const uint8_t *values, size_t n_values, void **bytes,
                               size_t *n_bytes);

/* Whether the file of role WITNESS is an assignment (.pmasg). */
bool pm_cli_is_assignment(const struct pm_cli *cli);
/* cmd_prove_assignment.c: `prove` with an assignment instead of a witness. */
pm_status pm_cmd_prove_assignment(struct pm_cli *cli);

#endif
