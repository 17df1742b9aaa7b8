// Defines the C ABI of zeroulp's suite: the cases that know the numerics, what
// names the cause of a difference, and what names the definition of outputs. It
// is a library of its own, libzeroulp_suite, beside libzeroulp.
//
//   zeroulp_named_matrix x = {"x", {...}}, made[2] = {{"codes", ...},
//                                                     {"scales", ...}};
//   zeroulp_suite_explain("quantize", "from=bf16,convention=vllm", &x, 1, made,
//                         2, NULL);
//   puts(zeroulp_suite_text());
//
// Targets   quantize, gemm, retile, step and the others that `zeroulp fuzz`
//           lists.
// Settings  "name=value,...": those that `zeroulp fuzz TARGET --help` lists.
//           Of a case, those that are left out are drawn; to explain, they
//           are bf16, e4m3, 1x128, the convention zeroulp, the recipe
//           deepgemm.1d2d. To explain a gemm there is recipe=NAME, too: it
//           comes before the others. NULL: none.
// Cases     are tokens: one word of text that holds target, settings and
//           operands (`zeroulp fuzz TARGET --replay TOKEN`).
// Results   A call that succeeds leaves its result in zeroulp_suite_text(). The
//           text is the calling thread's, until its next call. JSON is UTF-8.
// Errors, memory, threads, versions: as in zeroulp.h.

#ifndef ZEROULP_ZEROULP_SUITE_H_
#define ZEROULP_ZEROULP_SUITE_H_

#include "zeroulp/zeroulp.h"

#ifdef __cplusplus
extern "C" {
#endif

/// An operand or an output of a target, by its name: x, codes, scales of
/// quantize; a, b, a_scales, b_scales, c, d of gemm. Elements are bits, as in
/// zeroulp.h.
typedef struct zeroulp_named_matrix {
  const char* name;
  zeroulp_const_matrix matrix;
} zeroulp_named_matrix;

/// The result of the calling thread's last call that succeeded; "" before.
ZEROULP_API const char* zeroulp_suite_text(void);

/// Says how outputs that an implementation `made` differ from those that the
/// settings claim: where, how far, and what may have made them so. Outputs may
/// be left out. `ignored` has kinds of differences that do not count, such as
/// "nan-bits,zero-sign"; NULL: none. JSON: "same", "outputs", "likely", "text".
ZEROULP_API zeroulp_status zeroulp_suite_explain(
    const char* target, const char* settings,
    const zeroulp_named_matrix* operands, int64_t operand_count,
    const zeroulp_named_matrix* made, int64_t made_count, const char* ignored);

/// Says whose bits these are: the definitions of the grid of `zeroulp identify`
/// that turn these inputs into these outputs, or the nearest. Takes seconds.
///
///   quantizer  matrices x, codes, scales. Settings: from (fp32, fp16, bf16),
///              the format of x; to, group, layout (SPEC Q11): each one that
///              fits, if left out; scales, below.
///   gemm       a, b, d, and if there are any a_scales, b_scales, c; of block
///              scales a_second and b_second (fp32, 1 x 1 or m x 1). Settings:
///              the formats a and b (e4m3 if left out) and output (fp32 or
///              bf16); a_scales and b_scales, below: ue8m0 also for the bytes
///              of block scales that are ue4m3.
///
/// Scales are fp32 (or their inverses), ue8m0 or packed_ue8m0, in any layout of
/// SPEC Q11 or its transpose. JSON: "exact", "found", "names", "fields",
/// "tried", and where the nearest differs.
ZEROULP_API zeroulp_status
zeroulp_suite_identify(const char* target, const char* settings,
                       const zeroulp_named_matrix* matrices, int64_t count);

/// Case `number` of a target's profile (NULL: mixed) with these settings, the
/// same on any machine. A token.
ZEROULP_API zeroulp_status zeroulp_suite_case(const char* target,
                                              const char* profile,
                                              const char* settings,
                                              uint64_t seed, uint64_t number);

/// What a token holds, and the outputs that it must give. JSON: "target",
/// "settings", "operands" and "outputs", each with "name", "format", "rows",
/// "cols" and "words".
ZEROULP_API zeroulp_status zeroulp_suite_replay(const char* token);

/// Returns 1 if the case fails, else 0.
typedef int32_t (*zeroulp_suite_predicate)(void* context, const char* token);

/// The smallest case that fails, found from one that does. `fails` must not
/// throw. A token.
ZEROULP_API zeroulp_status zeroulp_suite_shrink(const char* token,
                                                zeroulp_suite_predicate fails,
                                                void* context);

#ifdef __cplusplus
}
#endif

#endif  // ZEROULP_ZEROULP_SUITE_H_
