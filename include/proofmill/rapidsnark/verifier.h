/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * proofmill/rapidsnark/verifier.h - verifying with the name, types and codes of rapidsnark's
 * verifier.h; see prover.h beside it.
 */
#ifndef PROOFMILL_RAPIDSNARK_VERIFIER_H
#define PROOFMILL_RAPIDSNARK_VERIFIER_H

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

#define VERIFIER_VALID_PROOF 0x0
#define VERIFIER_INVALID_PROOF 0x1 /* well-formed, and does not verify */
#define VERIFIER_ERROR 0x2         /* malformed, or the check could not be made */

/*
 * proof, inputs and verification_key are JSON texts of snarkjs or rapidsnark that end in a NUL. A
 * proof without the member curve is taken to be on the key's curve. error_msg receives a sentence,
 * cut to error_msg_maxsize bytes with its NUL, for every code but VERIFIER_VALID_PROOF; NULL or 0
 * for none. May be called from many threads at once.
 */
PM_RAPIDSNARK_API int groth16_verify(const char *proof, const char *inputs,
                                     const char *verification_key, char *error_msg,
                                     unsigned long error_msg_maxsize);

#ifdef __cplusplus
}
#endif

#endif /* PROOFMILL_RAPIDSNARK_VERIFIER_H */
