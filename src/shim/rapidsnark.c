/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * shim/rapidsnark.c - rapidsnark's prover interface on top of the public one.
 *
 * The hard question is who owns the key. rapidsnark points into the caller's buffer for as long as
 * the prover lives and does not say so, and callers have come to differ: some keep the buffer, some
 * hand over an array that their runtime pins for one call alone. A copy is right for all of them.
 */
#include <proofmill/rapidsnark/prover.h>

#include "shim/rapidsnark_message.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Decimal digits of the largest coordinate. */
enum { DIGITS_BN254 = 77, DIGITS_BLS12_381 = 115 };

/* A value of the scalar field of either curve in its own line of a public.json as snarkjs lays it
 * out, and what surrounds them with a NUL: rapidsnark's own figures, which hold for its callers'
 * expectations and leave room for both layouts. */
enum { PUBLIC_VALUE_BYTES = 82, PUBLIC_FRAME_BYTES = 4 };

/* A proof without its eight coordinates and the curve's name; its size counts the NUL. */
#define PROOF_FRAME                                                                                \
    "{\"pi_a\":[\"\",\"\",\"1\"],\"pi_b\":[[\"\",\"\"],[\"\",\"\"],[\"1\",\"0\"]],"                \
    "\"pi_c\":[\"\",\"\",\"1\"],\"protocol\":\"groth16\",\"curve\":\"\"}"

struct prover {
    pm_context *context;
    pm_key *key;
    pm_key_facts facts;
    void *copy; /* what the key stands on, when it came from a buffer and outlives the call */
};

/* Where a key comes from: a path, or else bytes. */
struct key_source {
    const char *path;
    const void *bytes;
    unsigned long long n_bytes;
};

/* The caller's four output arguments. */
struct output {
    char *proof;
    unsigned long long *proof_size;
    char *publics;
    unsigned long long *public_size;
};

static unsigned long long proof_bytes_max(pm_curve_id curve) {
    const unsigned long long digits = curve == PM_CURVE_BN254 ? DIGITS_BN254 : DIGITS_BLS12_381;
    return sizeof PROOF_FRAME + strlen(pm_curve_name(curve)) + 8 * digits;
}

/* ---------------------------------------------------------------------------------------------
 * Keys
 * ------------------------------------------------------------------------------------------- */

static void close_prover(struct prover *prover) {
    pm_key_destroy(prover->key);
    pm_context_destroy(prover->context);
    free(prover->copy);
    *prover = (struct prover){0};
}

static pm_status open_key(const struct key_source *source, bool copy, struct prover *prover,
                          pm_error *error) {
    if (source->path != NULL) {
        /* A lone "-" is standard input to pm_key_open(), and a file's name here. */
        const char *path = strcmp(source->path, "-") == 0 ? "./-" : source->path;
        return pm_key_open(prover->context, path, NULL, NULL, &prover->key, error);
    }
    const size_t n_bytes = (size_t)source->n_bytes;
    const void *bytes = source->bytes;
    if (bytes == NULL) {
        return pm_rapidsnark_fail(error, PM_INVALID_ARGUMENT, "no zkey is given: NULL");
    }
    if (copy) {
        prover->copy = malloc(n_bytes > 0 ? n_bytes : 1);
        if (prover->copy == NULL) {
            return pm_rapidsnark_fail(error, PM_NO_MEMORY, "no memory to copy a zkey of %zu bytes",
                                      n_bytes);
        }
        memcpy(prover->copy, bytes, n_bytes);
        bytes = prover->copy;
    }
    return pm_key_open_memory(prover->context, bytes, n_bytes, "zkey", NULL, &prover->key, error);
}

/* Leaves *prover closed when it fails. */
static pm_status open_prover(const struct key_source *source, bool copy, struct prover *prover,
                             pm_error *error) {
    *prover = (struct prover){.facts = {.struct_bytes = sizeof prover->facts}};
    pm_status status = pm_context_create(NULL, &prover->context, error);
    if (status == PM_OK) {
        status = open_key(source, copy, prover, error);
    }
    if (status == PM_OK) {
        status = pm_key_get_facts(prover->key, &prover->facts);
    }
    if (status != PM_OK) {
        close_prover(prover);
    }
    return status;
}

static int fail(const struct pm_rapidsnark_message *message, const pm_error *error) {
    pm_rapidsnark_say(message, error);
    return PROVER_ERROR;
}

static int fail_because(const struct pm_rapidsnark_message *message, const char *sentence) {
    pm_error error;
    (void)pm_rapidsnark_fail(&error, PM_INVALID_ARGUMENT, "%s", sentence);
    return fail(message, &error);
}

/* ---------------------------------------------------------------------------------------------
 * Texts
 * ------------------------------------------------------------------------------------------- */

/* Takes the blanks and newlines of snarkjs's layout out; no string of these texts holds any. */
static void compact(struct pm_json_text *text) {
    size_t n = 0;
    for (size_t i = 0; i < text->n_bytes; i++) {
        if (text->bytes[i] != ' ' && text->bytes[i] != '\n') {
            text->bytes[n++] = text->bytes[i];
        }
    }
    text->bytes[n] = '\0';
    text->n_bytes = n;
}

static pm_status make_public_text(const struct prover *prover, const pm_witness *witness,
                                  struct pm_json_text *text, pm_error *error) {
    const size_t n = prover->facts.n_public;
    uint8_t *values = calloc(n > 0 ? n : 1, PM_FR_BYTES);
    if (values == NULL) {
        return pm_rapidsnark_fail(error, PM_NO_MEMORY, "no memory for %zu public signals", n);
    }
    pm_status status = n > 0 ? pm_witness_values(witness, 1, n, values) : PM_OK;
    if (status == PM_OK) {
        status = pm_json_public_write(values, n, text, error);
    }
    if (status == PM_OK) {
        compact(text);
    }
    free(values);
    return status;
}

static pm_status make_proof_text(const struct prover *prover, const pm_witness *witness,
                                 struct pm_json_text *text, pm_error *error) {
    /* A key without the verifying key's IC proves, as with rapidsnark, but cannot be checked. */
    const pm_prove_options options = {.struct_bytes = sizeof options,
                                      .no_self_verify = prover->facts.has_ic == 0};
    pm_proof proof = {.struct_bytes = sizeof proof};
    pm_status status =
        pm_prove(prover->context, prover->key, witness, &options, NULL, &proof, NULL, error);
    if (status == PM_OK) {
        status = pm_json_proof_write(&proof, text, error);
    }
    if (status == PM_OK) {
        compact(text);
        if (text->n_bytes >= proof_bytes_max((pm_curve_id)proof.curve)) {
            status =
                pm_rapidsnark_fail(error, PM_INTERNAL, "a proof of %zu characters", text->n_bytes);
        }
    }
    return status;
}

/* The text with its NUL; fits() has seen to the room. */
static void put_text(const struct pm_json_text *text, char *buffer, unsigned long long *size) {
    memcpy(buffer, text->bytes, text->n_bytes + 1);
    *size = text->n_bytes;
}

/* ---------------------------------------------------------------------------------------------
 * Proving
 * ------------------------------------------------------------------------------------------- */

/* Whether both buffers are long enough for whatever proof comes out; the sizes are set if not. */
static bool fits(const struct prover *prover, const struct pm_json_text *publics,
                 const struct output *output, pm_error *error) {
    const unsigned long long proof_need = proof_bytes_max((pm_curve_id)prover->facts.curve);
    const unsigned long long public_need = publics->n_bytes + 1;
    const unsigned long long proof_have = *output->proof_size, public_have = *output->public_size;
    if (proof_have >= proof_need && public_have >= public_need) {
        return true;
    }
    *output->proof_size = proof_need;
    *output->public_size = public_need;
    (void)pm_rapidsnark_fail(error, PM_BUFFER_TOO_SMALL,
                             "a buffer is too short: the proof needs %llu bytes and has %llu, the "
                             "public signals need %llu and have %llu",
                             proof_need, proof_have, public_need, public_have);
    return false;
}

static int prove_witness(const struct prover *prover, const pm_witness *witness,
                         const struct output *output, pm_error *error) {
    const size_t count = pm_witness_count(witness);
    if (count != prover->facts.n_vars) {
        (void)pm_rapidsnark_fail(error, PM_WITNESS_MISMATCH,
                                 "the witness has %zu values, the zkey has %u signals", count,
                                 prover->facts.n_vars);
        return PROVER_INVALID_WITNESS_LENGTH;
    }
    if (pm_witness_curve(witness) != (pm_curve_id)prover->facts.curve) {
        (void)pm_rapidsnark_fail(error, PM_CURVE, "the witness is on %s, the zkey on %s",
                                 pm_curve_name(pm_witness_curve(witness)),
                                 pm_curve_name((pm_curve_id)prover->facts.curve));
        return PROVER_ERROR;
    }
    struct pm_json_text proof = {0}, publics = {0};
    int code = PROVER_ERROR;
    if (make_public_text(prover, witness, &publics, error) == PM_OK) {
        if (!fits(prover, &publics, output, error)) {
            code = PROVER_ERROR_SHORT_BUFFER;
        } else if (make_proof_text(prover, witness, &proof, error) == PM_OK) {
            put_text(&proof, output->proof, output->proof_size);
            put_text(&publics, output->publics, output->public_size);
            code = PROVER_OK;
        }
    }
    pm_json_text_free(&proof);
    pm_json_text_free(&publics);
    return code;
}

/* The first of the arguments that must not be NULL and is. */
static const char *missing(const void *witness, const struct output *output) {
    return witness == NULL               ? "wtns_buffer is NULL"
           : output->proof == NULL       ? "proof_buffer is NULL"
           : output->proof_size == NULL  ? "proof_size is NULL"
           : output->publics == NULL     ? "public_buffer is NULL"
           : output->public_size == NULL ? "public_size is NULL"
                                         : NULL;
}

static int prove(const struct prover *prover, const void *wtns, unsigned long long wtns_bytes,
                 const struct output *output, const struct pm_rapidsnark_message *message) {
    pm_error error = PM_ERROR_INIT;
    pm_witness *witness = NULL;
    int code = PROVER_ERROR;
    if (pm_witness_open_memory(prover->context, wtns, (size_t)wtns_bytes, "witness", NULL, &witness,
                               &error) == PM_OK) {
        code = prove_witness(prover, witness, output, &error);
    }
    pm_witness_destroy(witness);
    if (code != PROVER_OK) {
        pm_rapidsnark_say(message, &error);
    }
    return code;
}

static int prove_once(const struct key_source *source, const void *wtns,
                      unsigned long long wtns_bytes, const struct output *output,
                      const struct pm_rapidsnark_message *message) {
    const char *sentence = missing(wtns, output);
    if (sentence != NULL) {
        return fail_because(message, sentence);
    }
    struct prover prover;
    pm_error error = PM_ERROR_INIT;
    if (open_prover(source, false, &prover, &error) != PM_OK) {
        return fail(message, &error);
    }
    const int code = prove(&prover, wtns, wtns_bytes, output, message);
    close_prover(&prover);
    return code;
}

static int create(void **prover_object, const struct key_source *source,
                  const struct pm_rapidsnark_message *message) {
    if (prover_object == NULL) {
        return fail_because(message, "prover_object is NULL");
    }
    *prover_object = NULL;
    struct prover *prover = malloc(sizeof *prover);
    if (prover == NULL) {
        return fail_because(message, "no memory for a prover");
    }
    pm_error error = PM_ERROR_INIT;
    if (open_prover(source, true, prover, &error) != PM_OK) {
        free(prover);
        return fail(message, &error);
    }
    *prover_object = prover;
    return PROVER_OK;
}

static int public_size_of(const struct key_source *source, unsigned long long *public_size,
                          const struct pm_rapidsnark_message *message) {
    if (public_size == NULL) {
        return fail_because(message, "public_size is NULL");
    }
    struct prover prover;
    pm_error error = PM_ERROR_INIT;
    if (open_prover(source, false, &prover, &error) != PM_OK) {
        return fail(message, &error);
    }
    *public_size =
        (unsigned long long)prover.facts.n_public * PUBLIC_VALUE_BYTES + PUBLIC_FRAME_BYTES;
    close_prover(&prover);
    return PROVER_OK;
}

/* ---------------------------------------------------------------------------------------------
 * What is exported
 * ------------------------------------------------------------------------------------------- */

void groth16_proof_size(unsigned long long *proof_size) {
    if (proof_size != NULL) {
        *proof_size = proof_bytes_max(PM_CURVE_BLS12_381); /* the longer one */
    }
}

int groth16_public_size_for_zkey_buf(const void *zkey_buffer, unsigned long long zkey_size,
                                     unsigned long long *public_size, char *error_msg,
                                     unsigned long long error_msg_maxsize) {
    const struct pm_rapidsnark_message message = {error_msg, error_msg_maxsize};
    const struct key_source source = {.bytes = zkey_buffer, .n_bytes = zkey_size};
    return public_size_of(&source, public_size, &message);
}

int groth16_public_size_for_zkey_file(const char *zkey_fname, unsigned long long *public_size,
                                      char *error_msg, unsigned long long error_msg_maxsize) {
    const struct pm_rapidsnark_message message = {error_msg, error_msg_maxsize};
    const struct key_source source = {.path = zkey_fname};
    return public_size_of(&source, public_size, &message);
}

int groth16_prover_create(void **prover_object, const void *zkey_buffer,
                          unsigned long long zkey_size, char *error_msg,
                          unsigned long long error_msg_maxsize) {
    const struct pm_rapidsnark_message message = {error_msg, error_msg_maxsize};
    const struct key_source source = {.bytes = zkey_buffer, .n_bytes = zkey_size};
    return create(prover_object, &source, &message);
}

int groth16_prover_create_zkey_file(void **prover_object, const char *zkey_file_path,
                                    char *error_msg, unsigned long long error_msg_maxsize) {
    const struct pm_rapidsnark_message message = {error_msg, error_msg_maxsize};
    const struct key_source source = {.path = zkey_file_path};
    return create(prover_object, &source, &message);
}

int groth16_prover_prove(void *prover_object, const void *wtns_buffer, unsigned long long wtns_size,
                         char *proof_buffer, unsigned long long *proof_size, char *public_buffer,
                         unsigned long long *public_size, char *error_msg,
                         unsigned long long error_msg_maxsize) {
    const struct pm_rapidsnark_message message = {error_msg, error_msg_maxsize};
    const struct output output = {proof_buffer, proof_size, public_buffer, public_size};
    const char *sentence =
        prover_object == NULL ? "prover_object is NULL" : missing(wtns_buffer, &output);
    if (sentence != NULL) {
        return fail_because(&message, sentence);
    }
    return prove(prover_object, wtns_buffer, wtns_size, &output, &message);
}

void groth16_prover_destroy(void *prover_object) {
    if (prover_object != NULL) {
        close_prover(prover_object);
        free(prover_object);
    }
}

int groth16_prover(const void *zkey_buffer, unsigned long long zkey_size, const void *wtns_buffer,
                   unsigned long long wtns_size, char *proof_buffer, unsigned long long *proof_size,
                   char *public_buffer, unsigned long long *public_size, char *error_msg,
                   unsigned long long error_msg_maxsize) {
    const struct pm_rapidsnark_message message = {error_msg, error_msg_maxsize};
    const struct key_source source = {.bytes = zkey_buffer, .n_bytes = zkey_size};
    const struct output output = {proof_buffer, proof_size, public_buffer, public_size};
    return prove_once(&source, wtns_buffer, wtns_size, &output, &message);
}

int groth16_prover_zkey_file(const char *zkey_file_path, const void *wtns_buffer,
                             unsigned long long wtns_size, char *proof_buffer,
                             unsigned long long *proof_size, char *public_buffer,
                             unsigned long long *public_size, char *error_msg,
                             unsigned long long error_msg_maxsize) {
    const struct pm_rapidsnark_message message = {error_msg, error_msg_maxsize};
    const struct key_source source = {.path = zkey_file_path};
    const struct output output = {proof_buffer, proof_size, public_buffer, public_size};
    return prove_once(&source, wtns_buffer, wtns_size, &output, &message);
}
