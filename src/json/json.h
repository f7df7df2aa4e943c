/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * json/json.h - snarkjs's JSON files, in and out, and what Solidity needs of them.
 *
 * Reading is strict, because what is read decides whether a proof counts: one text has one meaning.
 * A field element is a string holding the canonical decimal of a value below the modulus; a number,
 * a sign, a leading zero, hexadecimal, an exponent or white space inside is refused, and so are
 * doubled keys, wrong shapes, wrong counts, text after the end and projective coordinates. A
 * refusal names the place ("pi_b[0][1]"). Members that snarkjs does not write are ignored.
 *
 * Writing gives snarkjs's own bytes: members in its order, one space a level, no newline at the
 * end.
 *
 * Every function may be called from many threads at once. error may be NULL. name goes into errors
 * as the file's name and may be NULL.
 */
#ifndef PM_JSON_JSON_H
#define PM_JSON_JSON_H

#include <proofmill/proofmill.h>

#include <stddef.h>
#include <stdint.h>

/* The largest texts that are looked at. A proof has a fixed shape; the other two grow with the
 * number of public signals. A tree of values takes many times its text, so it is judged by the raw
 * text: a hostile one cannot make the reader hold more than the text's own size and 64 MiB, of
 * which PM_JSON_TREE_BYTES_MAX are for the tree. That is room for 400,000 public signals and for a
 * key of 100,000. */
#define PM_JSON_TREE_BYTES_MAX ((size_t)56 << 20)
#define PM_JSON_SIGNALS_MAX (UINT32_C(1) << 20)
#define PM_JSON_PROOF_BYTES_MAX ((size_t)64 << 10)
#define PM_JSON_PUBLIC_BYTES_MAX ((size_t)PM_JSON_SIGNALS_MAX * 96)
#define PM_JSON_VK_BYTES_MAX ((size_t)PM_JSON_SIGNALS_MAX * 320)

/* Text made by the writers: n_bytes bytes and a NUL that is not counted. Owned by the caller. */
struct pm_json_text {
    char *bytes;
    size_t n_bytes;
};

/* Frees and empties; a text that is all zero is fine. */
void pm_json_text_free(struct pm_json_text *text);

/*
 * Reads a proof and checks it as pm_proof_decode() does. fallback is the curve of a proof that does
 * not name its own (rapidsnark writes such). Errors: ENCODING (not this JSON), LENGTH (too long),
 * PROTOCOL, CURVE, NOT_CANONICAL, NOT_ON_CURVE, NOT_IN_SUBGROUP, POINT_AT_INFINITY, NO_MEMORY. When
 * exchanging c0 and c1 of pi_b (the order that Solidity verifiers take) would mend it, the sentence
 * says so.
 */
pm_status pm_json_proof_parse(const char *text, size_t n_bytes, const char *name,
                              pm_curve_id fallback, pm_proof *proof, pm_error *error);

/* Reads the array of public signals of a statement on curve: *values has *n_values values of
 * PM_FR_BYTES, canonical little-endian; free with pm_json_values_free(). Errors: ENCODING, LENGTH,
 * COUNT (more than PM_JSON_SIGNALS_MAX), NOT_CANONICAL, CURVE, NO_MEMORY. */
pm_status pm_json_public_parse(const char *text, size_t n_bytes, const char *name,
                               pm_curve_id curve, uint8_t **values, size_t *n_values,
                               pm_error *error);
void pm_json_values_free(uint8_t *values);

/* Reads a verifying key and makes it ready. nPublic must agree with the length of IC. The member
 * vk_alphabeta_12 is derived from the others: it must have its shape if it is there, and is
 * computed anew. Errors: as pm_json_proof_parse(), COUNT, and those of pm_vk_from_arrays(). */
pm_status pm_json_vk_parse(pm_context *context, const char *text, size_t n_bytes, const char *name,
                           pm_vk **vk, pm_error *error);

/* The writers. *text is set on PM_OK alone. Errors: NO_MEMORY, CURVE (unknown), INVALID_ARGUMENT.
 */
pm_status pm_json_proof_write(const pm_proof *proof, struct pm_json_text *text, pm_error *error);
pm_status pm_json_public_write(const uint8_t *values, size_t n_values, struct pm_json_text *text,
                               pm_error *error);
pm_status pm_json_vk_write(const pm_vk *vk, struct pm_json_text *text, pm_error *error);

/* The arguments of a Solidity verifier's call as `snarkjs zkey export soliditycalldata` prints
 * them: 64 hexadecimal digits a value, G2 coordinates as [c1, c0], no newline. BN254 only, as the
 * precompiled contracts it is for: UNSUPPORTED for any other curve. */
pm_status pm_json_calldata_write(const pm_proof *proof, const uint8_t *publics, size_t n_publics,
                                 struct pm_json_text *text, pm_error *error);

/* A Solidity contract that verifies proofs under vk: Groth16Verifier, whose verifyProof() takes
 * that calldata (doc/solidity.md). Without public signals verifyProof() has three arguments, for
 * Solidity has no empty array. BN254 only: UNSUPPORTED for any other curve. Errors also:
 * NO_MEMORY. */
pm_status pm_json_solidity_write(const pm_vk *vk, struct pm_json_text *text, pm_error *error);

/*
 * Appends a whole proving key to writer, with the bytes of `snarkjs zkey export json`, holding no
 * more than some 4,000 points at a time. control: progress, cancel, deadline; may be NULL. Errors:
 * those of pm_key_points(), SECTION (the key has no IC), IO, NO_MEMORY.
 */
pm_status pm_json_key_write(const pm_key *key, const pm_control *control, pm_file_writer *writer,
                            pm_error *error);

#endif
