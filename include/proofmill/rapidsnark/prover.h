/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * proofmill/rapidsnark/prover.h - proving with the names, types and codes of rapidsnark's prover.h,
 * for programs and wrappers that were written for it. With this folder on the include path,
 * #include "prover.h" finds it; the library is libproofmill-rapidsnark. doc/rapidsnark.md says what
 * differs. New programs are better served by proofmill/proofmill.h.
 *
 * Ownership. A prover made from a buffer has a copy of it: the buffer may be freed, moved or
 * unmapped as soon as groth16_prover_create() has returned. A prover made from a file maps it
 * itself and needs no copy, which is the way for large keys; the file may be renamed over or
 * unlinked, but its bytes must not change while the prover lives. All other calls read their
 * buffers until they return. Buffers need no alignment.
 *
 * Threads. One prover may prove on many threads at once, and different provers are independent.
 * Destroying one while it proves, or twice, is the caller's error. A prover's own threads do not
 * survive fork(): make it in the process that uses it.
 *
 * Output. proof_size and public_size are the sizes of the buffers on input and, after PROVER_OK,
 * the lengths of the texts, which end in a NUL that is not counted. With PROVER_ERROR_SHORT_BUFFER
 * both hold what is needed, the NUL included; that is found before the proof is made, and a second
 * call with such buffers does not come back with the same code. Any other code leaves them, and
 * every other code than PROVER_OK leaves the buffers, as they were.
 *
 * Errors. error_msg receives a sentence, cut to error_msg_maxsize bytes with its NUL, for every
 * code but PROVER_OK; NULL or 0 for none. A NULL where something is needed gives PROVER_ERROR.
 */
#ifndef PROOFMILL_RAPIDSNARK_PROVER_H
#define PROOFMILL_RAPIDSNARK_PROVER_H

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PM_RAPIDSNARK_API
#if defined(PM_BUILDING_LIBRARY)
#define PM_RAPIDSNARK_API __attribute__((visibility("default")))
#else
#define PM_RAPIDSNARK_API
#endif
#endif

#define PROVER_OK 0x0
#define PROVER_ERROR 0x1                  /* whatever the other two do not say */
#define PROVER_ERROR_SHORT_BUFFER 0x2     /* proof_buffer, public_buffer or both */
#define PROVER_INVALID_WITNESS_LENGTH 0x3 /* not as many values as the key has signals */

/* Room, with the NUL, for the public signals of any witness of this key. PROVER_OK or PROVER_ERROR;
 * the key is checked as when it is opened for a proof. */
PM_RAPIDSNARK_API int groth16_public_size_for_zkey_buf(const void *zkey_buffer,
                                                       unsigned long long zkey_size,
                                                       unsigned long long *public_size,
                                                       char *error_msg,
                                                       unsigned long long error_msg_maxsize);
PM_RAPIDSNARK_API int groth16_public_size_for_zkey_file(const char *zkey_fname,
                                                        unsigned long long *public_size,
                                                        char *error_msg,
                                                        unsigned long long error_msg_maxsize);

/* Room, with the NUL, for any proof on any curve. NULL is ignored. */
PM_RAPIDSNARK_API void groth16_proof_size(unsigned long long *proof_size);

/* PROVER_OK or PROVER_ERROR, after which *prover_object is NULL. */
PM_RAPIDSNARK_API int groth16_prover_create(void **prover_object, const void *zkey_buffer,
                                            unsigned long long zkey_size, char *error_msg,
                                            unsigned long long error_msg_maxsize);
PM_RAPIDSNARK_API int groth16_prover_create_zkey_file(void **prover_object,
                                                      const char *zkey_file_path, char *error_msg,
                                                      unsigned long long error_msg_maxsize);

/* Proves a .wtns image. The proof has been verified before it is written. */
PM_RAPIDSNARK_API int groth16_prover_prove(void *prover_object, const void *wtns_buffer,
                                           unsigned long long wtns_size, char *proof_buffer,
                                           unsigned long long *proof_size, char *public_buffer,
                                           unsigned long long *public_size, char *error_msg,
                                           unsigned long long error_msg_maxsize);

/* NULL is fine. */
PM_RAPIDSNARK_API void groth16_prover_destroy(void *prover_object);

/* Create, prove and destroy in one; the key is not copied. */
PM_RAPIDSNARK_API int groth16_prover(const void *zkey_buffer, unsigned long long zkey_size,
                                     const void *wtns_buffer, unsigned long long wtns_size,
                                     char *proof_buffer, unsigned long long *proof_size,
                                     char *public_buffer, unsigned long long *public_size,
                                     char *error_msg, unsigned long long error_msg_maxsize);
PM_RAPIDSNARK_API int groth16_prover_zkey_file(const char *zkey_file_path, const void *wtns_buffer,
                                               unsigned long long wtns_size, char *proof_buffer,
                                               unsigned long long *proof_size, char *public_buffer,
                                               unsigned long long *public_size, char *error_msg,
                                               unsigned long long error_msg_maxsize);

#ifdef __cplusplus
}
#endif

#endif /* PROOFMILL_RAPIDSNARK_PROVER_H */
