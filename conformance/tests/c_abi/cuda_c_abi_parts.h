/* What the tests of the kernels' C ABI share: how a call is held to fail, and
   memory that stands for a device's. */

#ifndef ZEROULP_CONFORMANCE_TESTS_C_ABI_CUDA_C_ABI_PARTS_H_
#define ZEROULP_CONFORMANCE_TESTS_C_ABI_CUDA_C_ABI_PARTS_H_

#include <stddef.h>

#include "zeroulp/zeroulp_cuda_model.h"

/// What is said of a call that is right.
extern const char* reason;

/// `what` is the text of a call: the error must begin with its function.
void hold(const char* what, zeroulp_status status, zeroulp_status right,
          const char* words);

/// Of a call by a macro, the text is that of the call.
#define TEXT(...) #__VA_ARGS__
#define FAILS(CALL) hold(TEXT(CALL), CALL, ZEROULP_CUDA_ERROR, reason)
#define REFUSES(CALL, WORDS) \
  hold(TEXT(CALL), CALL, ZEROULP_INVALID_ARGUMENT, WORDS)

enum { m = 64, n = 256 };
/// Nothing reads it.
extern uint32_t memory[m * n];
#define MATRIX(COLS) \
  { memory, m, COLS, COLS }

/// Those of zeroulp_cuda_model.h.
void test_model(void);

#endif  // ZEROULP_CONFORMANCE_TESTS_C_ABI_CUDA_C_ABI_PARTS_H_
