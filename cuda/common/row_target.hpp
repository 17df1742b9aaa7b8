// Declares the checks of outputs that kernels quantize, including those that a
// kernel quantizes beside its own work in groups of 1x128. Internal.

#ifndef ZEROULP_CUDA_COMMON_ROW_TARGET_HPP_
#define ZEROULP_CUDA_COMMON_ROW_TARGET_HPP_

#include "cuda/common/argument_checks.hpp"
#include "cuda/quantize/params.cuh"

namespace zeroulp::cuda {

/// Refuses a quantizer whose kind of scale or convention does not exist.
void need_quantizer(const argument_checks& r, const quantizer& q);

/// Checks the target and returns where the m x n codes and the scales of mn x k
/// groups go.
quantized_target checked_target(const argument_checks& r, const quantizer& q,
                                const quantized& to, std::ptrdiff_t m,
                                std::ptrdiff_t n, std::ptrdiff_t mn,
                                std::ptrdiff_t k, grouping groups,
                                const char* what);

/// Returns where the codes and scales of an m x n matrix go; nothing without
/// codes. Refuses a quantizer that rows_1x128.cuh cannot apply to BF16
/// numbers.
quantized_target row_target(const argument_checks& r, const quantizer& q,
                            const quantized& to, std::ptrdiff_t m,
                            std::ptrdiff_t n, const char* what);

/// Returns the rows of an m x n output matrix of numbers; nothing without data.
device_rows number_target(const argument_checks& r, format f, const matrix& to,
                          std::ptrdiff_t m, std::ptrdiff_t n, const char* what);

}  // namespace zeroulp::cuda

#endif  // ZEROULP_CUDA_COMMON_ROW_TARGET_HPP_
