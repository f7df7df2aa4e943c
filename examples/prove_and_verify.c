/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * prove_and_verify.c - libproofmill from a program: prove, encode, decode, verify.
 *
 *   cc prove_and_verify.c $(pkg-config --cflags --libs proofmill) -o prove_and_verify
 *   ./prove_and_verify circuit_final.zkey witness.wtns
 */
#include <proofmill/proofmill.h>

#include <stdio.h>
#include <stdlib.h>

/* Every call answers with a status and, when it is not PM_OK, with a sentence. */
static pm_error error = PM_ERROR_INIT;

static void must(pm_status status) {
    if (status != PM_OK) {
        fprintf(stderr, "%s: %s %s\n", pm_status_name(status), error.file, error.message);
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s KEY.zkey WITNESS.wtns\n", argv[0]);
        return EXIT_FAILURE;
    }
    /* A context holds the threads; keys and witnesses are opened once and may serve many proofs. */
    pm_context *context;
    pm_key *key;
    pm_vk *vk;
    pm_witness *witness;
    must(pm_context_create(NULL, &context, &error));
    must(pm_key_open(context, argv[1], NULL, NULL, &key, &error));
    must(pm_vk_from_key(context, key, &vk, &error));
    must(pm_witness_open(context, argv[2], NULL, &witness, &error));

    pm_proof proof = {.struct_bytes = sizeof proof};
    pm_prove_stats stats = {.struct_bytes = sizeof stats};
    must(pm_prove(context, key, witness, NULL, NULL, &proof, &stats, &error));

    /* What travels: the proof's bytes and the public signals, values 1 .. n_public. */
    unsigned char bytes[2 * PM_G1_BYTES_MAX + PM_G2_BYTES_MAX];
    size_t n_bytes = sizeof bytes;
    const uint32_t n_public = pm_vk_n_public(vk);
    unsigned char *publics = malloc(n_public * PM_FR_BYTES + 1);
    must(pm_proof_encode(&proof, PM_POINT_CANONICAL_LE, bytes, &n_bytes, &error));
    must(publics == NULL ? PM_NO_MEMORY : pm_witness_values(witness, 1, n_public, publics));

    /* The other side needs the verifying key alone. */
    pm_proof received = {.struct_bytes = sizeof received};
    must(
        pm_proof_decode(pm_vk_curve(vk), PM_POINT_CANONICAL_LE, bytes, n_bytes, &received, &error));
    must(pm_verify(context, vk, publics, n_public, &received, &error));
    printf("%s, %u public signals: a proof of %zu bytes in %.1f ms, valid\n",
           pm_curve_name(pm_vk_curve(vk)), n_public, n_bytes, (double)stats.wall_ns / 1e6);

    free(publics);
    pm_witness_destroy(witness);
    pm_vk_destroy(vk);
    pm_key_destroy(key);
    pm_context_destroy(context);
    return EXIT_SUCCESS;
}
