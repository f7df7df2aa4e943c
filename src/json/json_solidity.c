/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * json/json_solidity.c - a verifying key as a Solidity contract, over the precompiled contracts of
 * EIP-196 (addition and multiplication on BN254's G1, at addresses 6 and 7) and EIP-197 (the
 * product of pairings is one, at 8). doc/solidity.md describes the result.
 */
#include "json/json.h"
#include "json/json_read.h"
#include "json/json_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FP_BYTES 32

static const char head[] = "// SPDX-License-Identifier: Apache-2.0 OR MIT\n"
                           "//\n"
                           "// Written by proofmill from a Groth16 verifying key on BN254.\n";

static const char warning[] =
    "//\n"
    "// WARNING: nobody has contributed to this key, or it is a development key: anyone can forge\n"
    "// proofs for this contract.\n";

static const char contract[] =
    "pragma solidity ^0.8.0;\n"
    "\n"
    "/// @title A verifier of Groth16 proofs over the precompiled contracts of EIP-196 and "
    "EIP-197\n"
    "/// @notice Anyone can turn a valid proof into another one of the same statement: never use "
    "a\n"
    "/// proof's bytes as an identifier.\n"
    "contract Groth16Verifier {\n"
    "    // Coordinates are below Q, scalars below R.\n"
    "    uint256 private constant Q =\n"
    "        21888242871839275222246405745257275088696311157297823662689037894645226208583;\n"
    "    uint256 private constant R =\n"
    "        21888242871839275222246405745257275088548364400416034343698204186575808495617;\n"
    "\n"
    "    // The verifying key. C1 is the imaginary part of a coordinate, C0 the real one.\n";

static const char verify_begin[] =
    "\n"
    "    /// @notice Whether the proof (a, b, c) is valid for the public signals in `input`.\n"
    "    /// @dev Coordinates of b are given imaginary part first. Every coordinate must be below "
    "Q\n"
    "    /// and every signal below R, so that a statement has one form only. A point that is not "
    "on\n"
    "    /// its curve makes a precompiled contract fail, which takes all the gas it was given.\n"
    "    function verifyProof(\n"
    "        uint256[2] calldata a,\n"
    "        uint256[2][2] calldata b,\n"
    "        uint256[2] calldata c";

static const char verify_body[] =
    "\n"
    "    ) public view returns (bool) {\n"
    "        if (a[0] >= Q || a[1] >= Q || c[0] >= Q || c[1] >= Q) {\n"
    "            return false;\n"
    "        }\n"
    "        if (b[0][0] >= Q || b[0][1] >= Q || b[1][0] >= Q || b[1][1] >= Q) {\n"
    "            return false;\n"
    "        }\n";

static const char verify_end[] =
    "        // e(-a, b) e(alpha, beta) e(l, gamma) e(c, delta) = 1. No point of G1 has y = 0, so\n"
    "        // Q - a[1] is below Q, save for infinity (0, 0), which is refused.\n"
    "        uint256[24] memory pairs = [\n"
    "            a[0], Q - a[1], b[0][0], b[0][1], b[1][0], b[1][1],\n"
    "            ALPHA_X, ALPHA_Y, BETA_X_C1, BETA_X_C0, BETA_Y_C1, BETA_Y_C0,\n"
    "            lX, lY, GAMMA_X_C1, GAMMA_X_C0, GAMMA_Y_C1, GAMMA_Y_C0,\n"
    "            c[0], c[1], DELTA_X_C1, DELTA_X_C0, DELTA_Y_C1, DELTA_Y_C0\n"
    "        ];\n"
    "        bool success;\n"
    "        // The size of the answer tells that there is a contract at the address at all.\n"
    "        assembly {\n"
    "            success := staticcall(gas(), 8, pairs, 768, pairs, 32)\n"
    "            success := and(success, eq(returndatasize(), 32))\n"
    "        }\n"
    "        return success && pairs[0] == 1;\n"
    "    }\n";

static const char combine_begin[] = "\n"
                                    "    /// l = IC[0] + input[0] IC[1] + input[1] IC[2] + ...\n"
                                    "    function combine(uint256[N_INPUTS] calldata input)\n"
                                    "        private\n"
                                    "        view\n"
                                    "        returns (bool success, uint256 lX, uint256 lY)\n"
                                    "    {\n"
                                    "        // x and y of each point in turn.\n"
                                    "        uint256[2 * N_INPUTS + 2] memory ic = [\n";

static const char combine_end[] =
    "        ];\n"
    "        // The sum (x, y), then a point and its factor: the multiplication reads the last "
    "three\n"
    "        // and leaves its result in the first two of them, where the addition reads it.\n"
    "        uint256[5] memory work;\n"
    "        (work[0], work[1]) = (ic[0], ic[1]);\n"
    "        for (uint256 i = 0; i < N_INPUTS; i++) {\n"
    "            if (input[i] >= R) {\n"
    "                return (false, 0, 0);\n"
    "            }\n"
    "            (work[2], work[3], work[4]) = (ic[2 * i + 2], ic[2 * i + 3], input[i]);\n"
    "            assembly {\n"
    "                success := staticcall(gas(), 7, add(work, 64), 96, add(work, 64), 64)\n"
    "                success := and(success, eq(returndatasize(), 64))\n"
    "            }\n"
    "            if (!success) {\n"
    "                return (false, 0, 0);\n"
    "            }\n"
    "            assembly {\n"
    "                success := staticcall(gas(), 6, work, 128, work, 64)\n"
    "                success := and(success, eq(returndatasize(), 64))\n"
    "            }\n"
    "            if (!success) {\n"
    "                return (false, 0, 0);\n"
    "            }\n"
    "        }\n"
    "        return (true, work[0], work[1]);\n"
    "    }\n";

static void put_constant(struct pm_json_writer *writer, const char *name, const uint8_t *value) {
    pm_json_puts(writer, "    uint256 private constant ");
    pm_json_puts(writer, name);
    pm_json_puts(writer, " =\n        ");
    pm_json_hex(writer, value);
    pm_json_puts(writer, ";\n");
}

static void put_key(struct pm_json_writer *writer, const pm_vk_arrays *vk) {
    const struct {
        const char *name;
        const void *point;
        size_t offset;
    } constants[] = {
        {"ALPHA_X", vk->alpha_g1, 0},     {"ALPHA_Y", vk->alpha_g1, 32},
        {"BETA_X_C1", vk->beta_g2, 32},   {"BETA_X_C0", vk->beta_g2, 0},
        {"BETA_Y_C1", vk->beta_g2, 96},   {"BETA_Y_C0", vk->beta_g2, 64},
        {"GAMMA_X_C1", vk->gamma_g2, 32}, {"GAMMA_X_C0", vk->gamma_g2, 0},
        {"GAMMA_Y_C1", vk->gamma_g2, 96}, {"GAMMA_Y_C0", vk->gamma_g2, 64},
        {"DELTA_X_C1", vk->delta_g2, 32}, {"DELTA_X_C0", vk->delta_g2, 0},
        {"DELTA_Y_C1", vk->delta_g2, 96}, {"DELTA_Y_C0", vk->delta_g2, 64},
    };
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        put_constant(writer, constants[i].name,
                     (const uint8_t *)constants[i].point + constants[i].offset);
    }
}

/* What depends on the signals, where there are any. */
static void put_inputs_argument(struct pm_json_writer *writer) {
    pm_json_puts(writer, ",\n        uint256[N_INPUTS] calldata input");
}

static void put_inputs_call(struct pm_json_writer *writer) {
    pm_json_puts(writer, "        (bool combined, uint256 lX, uint256 lY) = combine(input);\n"
                         "        if (!combined) {\n"
                         "            return false;\n"
                         "        }\n");
}

static void put_inputs_sum(struct pm_json_writer *writer, const pm_vk_arrays *vk) {
    const size_t n_words = 2 * ((size_t)vk->n_public + 1);
    pm_json_puts(writer, combine_begin);
    for (size_t i = 0; i < n_words; i++) {
        /* The first element gives the array its type. */
        pm_json_puts(writer, i == 0 ? "            uint256(" : "            ");
        pm_json_hex(writer, (const uint8_t *)vk->ic + i * FP_BYTES);
        pm_json_puts(writer, i == 0 ? ")" : "");
        pm_json_puts(writer, i + 1 < n_words ? ",\n" : "\n");
    }
    pm_json_puts(writer, combine_end);
}

/* Without signals l is the constant IC[0]. */
static void put_constant_l(struct pm_json_writer *writer, const pm_vk_arrays *vk) {
    pm_json_puts(writer, "        uint256 lX = ");
    pm_json_hex(writer, vk->ic);
    pm_json_puts(writer, ";\n        uint256 lY = ");
    pm_json_hex(writer, (const uint8_t *)vk->ic + FP_BYTES);
    pm_json_puts(writer, ";\n");
}

pm_status pm_json_solidity_write(const pm_vk *vk, struct pm_json_text *text, pm_error *error) {
    pm_vk_arrays arrays = {.struct_bytes = (uint32_t)sizeof arrays};
    if (pm_vk_curve(vk) != PM_CURVE_BN254) {
        return pm_json_fail(error, PM_UNSUPPORTED,
                            "a Solidity verifier needs a key on bn128, this one is on %s: the "
                            "precompiled contracts of EIP-196 and EIP-197 know no other curve",
                            pm_curve_name(pm_vk_curve(vk)));
    }
    const pm_status status = pm_vk_get_arrays(vk, &arrays);
    if (status != PM_OK) {
        return pm_json_fail(error, status, "the verifying key cannot be taken apart: %s",
                            pm_status_sentence(status));
    }
    const bool has_inputs = arrays.n_public > 0;
    struct pm_json_writer writer = {0};
    pm_json_puts(&writer, head);
    pm_json_puts(&writer, pm_vk_insecure(vk) != 0 ? warning : "");
    pm_json_puts(&writer, contract);
    put_key(&writer, &arrays);
    if (has_inputs) {
        char line[80];
        (void)snprintf(line, sizeof line, "    uint256 private constant N_INPUTS = %" PRIu32 ";\n",
                       arrays.n_public);
        pm_json_puts(&writer, line);
    }
    pm_json_puts(&writer, verify_begin);
    if (has_inputs) {
        put_inputs_argument(&writer);
    }
    pm_json_puts(&writer, verify_body);
    if (has_inputs) {
        put_inputs_call(&writer);
    } else {
        put_constant_l(&writer, &arrays);
    }
    pm_json_puts(&writer, verify_end);
    if (has_inputs) {
        put_inputs_sum(&writer, &arrays);
    }
    pm_json_puts(&writer, "}\n");
    return pm_json_writer_finish(&writer, text, error);
}
