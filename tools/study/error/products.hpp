// Defines the products that the study measures errors against: FP64 sums of
// exact products in k order, a group of scales after the other. The bits depend
// on the operands alone. Internal.

#ifndef ZEROULP_TOOLS_STUDY_ERROR_PRODUCTS_HPP_
#define ZEROULP_TOOLS_STUDY_ERROR_PRODUCTS_HPP_

#include "zeroulp/engine.hpp"

namespace zeroulp::study {

/// An operand of a product: mn x k elements and the FP32 scales (bits) of its
/// groups; without data, 1.
struct scaled_operand {
  const prepared_operand* elements;
  granularity group;
  matrix_view<const std::uint32_t> scales;
};

/// out(i, j) = sum over k of value_a(i, k) value_b(j, k), where a value is the
/// element times its scale. Rounded as FP64 sums are: 1e-16 of the sum of
/// magnitudes, and not at all for E4M3 with one scale up to K = 2^17. Throws
/// input_error unless the shapes fit and every element is finite.
void reference_products(const scaled_operand& a, const scaled_operand& b,
                        matrix_view<double> out);

}  // namespace zeroulp::study

#endif  // ZEROULP_TOOLS_STUDY_ERROR_PRODUCTS_HPP_
