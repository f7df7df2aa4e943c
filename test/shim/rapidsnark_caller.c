/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A caller as rapidsnark has them, who knows its two headers and nothing else: this file is
 * compiled with their folder as its only include path and linked with the shared library alone. It
 * allocates what the size queries say, takes its key out of a buffer that it frees at once, and
 * doubles back on a short buffer.
 *
 *   rapidsnark_caller KEY.zkey WITNESS.wtns VKEY.json      exit status 0: proved and verified
 */
#include "prover.h"
#include "verifier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *slurp(const char *path, unsigned long long *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        return NULL;
    }
    *size = (unsigned long long)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    if (bytes != NULL && fread(bytes, 1, *size, file) == *size) {
        bytes[*size] = '\0';
    }
    fclose(file);
    return bytes;
}

static void *open_prover(const char *path, unsigned long long *public_size) {
    char error[256] = "";
    unsigned long long size = 0, from_file = 0;
    void *prover = NULL;
    char *zkey = slurp(path, &size);
    if (zkey == NULL ||
        groth16_public_size_for_zkey_buf(zkey, size, public_size, error, sizeof error) ||
        groth16_public_size_for_zkey_file(path, &from_file, error, sizeof error) ||
        groth16_prover_create(&prover, zkey, size, error, sizeof error)) {
        fprintf(stderr, "%s: %s\n", path, error);
    }
    if (zkey != NULL) {
        memset(zkey, 0, size);
        free(zkey);
    }
    return from_file == *public_size ? prover : NULL;
}

int main(int argc, char **argv) {
    char error[256] = "";
    unsigned long long wtns_size = 0, vkey_size = 0, proof_size = 1, public_size = 0;
    if (argc != 4) {
        return 2;
    }
    void *prover = open_prover(argv[1], &public_size);
    char *wtns = slurp(argv[2], &wtns_size), *vkey = slurp(argv[3], &vkey_size);
    char *proof = malloc(1), *publics = malloc(public_size);
    if (prover == NULL || wtns == NULL || vkey == NULL || proof == NULL || publics == NULL) {
        return 2;
    }
    int code = groth16_prover_prove(prover, wtns, wtns_size, proof, &proof_size, publics,
                                    &public_size, error, sizeof error);
    if (code == PROVER_ERROR_SHORT_BUFFER) {
        free(proof);
        free(publics);
        proof = malloc(proof_size);
        publics = malloc(public_size);
        code = groth16_prover_prove(prover, wtns, wtns_size, proof, &proof_size, publics,
                                    &public_size, error, sizeof error);
    }
    if (code == PROVER_OK) {
        code = groth16_verify(proof, publics, vkey, error, sizeof error);
        printf("%s\n%s\n%s\n", proof, publics, code == VERIFIER_VALID_PROOF ? "valid" : error);
    } else {
        fprintf(stderr, "code %d: %s\n", code, error);
    }
    groth16_prover_destroy(prover);
    free(wtns);
    free(vkey);
    free(proof);
    free(publics);
    return code;
}
