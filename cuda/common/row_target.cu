// Checks of the outputs that kernels quantize (row_target.hpp).

#include "cuda/common/row_target.hpp"

namespace zeroulp::cuda {

void need_quantizer(const argument_checks& r, const quantizer& q) {
  r.need(q.scale <= scale_kind::ocp, "there is no such kind of scale");
  r.need(q.how.scale <= scale_rule::reciprocal_product &&
             q.how.element <= element_rule::approximate_quotient &&
             q.how.amax <= amax_rule::keep_nan,
         "there is no such convention");
}

quantized_target checked_target(const argument_checks& r, const quantizer& q,
                                const quantized& to, std::ptrdiff_t m,
                                std::ptrdiff_t n, std::ptrdiff_t mn,
                                std::ptrdiff_t k, grouping groups,
                                const char* what) {
  const int bytes = storage_bytes(q.to);
  r.need_matrix(to.codes, bytes, what);
  r.need_shape(to.codes, m, n, what);
  r.need_scales(to.scales, mn, k, what);
  r.need(to.scales.layout != scale_layout::packed_ue8m0 ||
             q.scale != scale_kind::float32,
         "ue8m0 holds powers of two alone: ask for such scales");
  return {rows_of(to.codes, bytes), {to.scales, mn, k}, groups};
}

quantized_target row_target(const argument_checks& r, const quantizer& q,
                            const quantized& to, std::ptrdiff_t m,
                            std::ptrdiff_t n, const char* what) {
  if (to.codes.data == nullptr) return {};
  r.need(q.from == bf16 && q.group == group_shape{1, 128},
         "what is quantized in the same pass must be of bf16, in groups of "
         "1x128");
  need_quantizer(r, q);
  r.need_codes(q.to, what);
  return checked_target(r, q, to, m, n, m, ceil_div(n, tile_edge),
                        grouping::row, what);
}

device_rows number_target(const argument_checks& r, format f, const matrix& to,
                          std::ptrdiff_t m, std::ptrdiff_t n,
                          const char* what) {
  if (to.data == nullptr) return {};
  const int bytes = storage_bytes(f);
  r.need_matrix(to, bytes, what);
  r.need_shape(to, m, n, what);
  return rows_of(to, bytes);
}

}  // namespace zeroulp::cuda
