// The C ABI: operators of a training step that no arm of `zeroulp train` needs.

#include "src/c_abi/model_requests.hpp"

namespace zeroulp::c_abi {
namespace {

static_assert(ZEROULP_MLA_UNABSORBED ==
                  static_cast<int>(mla_order::unabsorbed) &&
              ZEROULP_MLA_ABSORBED == static_cast<int>(mla_order::absorbed));

/// Columns of each of `heads`, of a matrix that has `cols`.
std::ptrdiff_t each_of(std::ptrdiff_t cols, std::ptrdiff_t heads,
                       const char* what) {
  if (cols > 0 && cols % heads == 0) return cols / heads;
  refuse("{}: {}, but {} heads, all alike", what, cols, heads);
}

void run_mla_forward(std::int32_t order, const zeroulp_attention* given,
                     const mla_tokens& t, const zeroulp_matrix* o,
                     const zeroulp_matrix* largest,
                     const zeroulp_matrix* inverse) {
  const auto how = enum_of(order, mla_order::absorbed, "order");
  const auto& s = needed(given, "shape");
  if (s.length < 1) refuse("shape.length is {}: use 1 and up", s.length);
  if (s.heads < 1) refuse("shape.heads is {}: use 1 and up", s.heads);
  if (s.scale == 0 || s.scale >= 0x7f800000) {
    refuse("shape.scale is {:08x}: use FP32 bits of a number above 0", s.scale);
  }
  const auto m = t.q.rows;
  if (m % s.length != 0) {
    refuse("q: {} rows, but sequences of {}", m, s.length);
  }
  const auto rope = t.rope_key.cols;
  const auto depth = each_of(t.q.cols, s.heads, "q: columns") - rope;
  if (depth < 1) refuse("q: no elements of a head but rope's {}", rope);
  const auto values = each_of(t.up.rows, s.heads, "up: rows") - depth;
  if (values < 1) refuse("up: no rows of a head but those of {} keys", depth);
  if (t.latent.cols < 1) refuse("latent: no columns");
  engine::mla_forward(
      how, {s.length, s.heads, depth, rope, values, t.latent.cols, s.scale}, t,
      rows_of<bf16_bits>(o, "o", m, s.heads * values),
      rows_of<fp32_bits>(largest, "largest", m, s.heads),
      rows_of<fp32_bits>(inverse, "inverse", m, s.heads));
}

}  // namespace
}  // namespace zeroulp::c_abi

using namespace zeroulp::c_abi;

zeroulp_status zeroulp_mla_forward(
    std::int32_t order, const zeroulp_attention* shape,
    const zeroulp_const_matrix* q, const zeroulp_const_matrix* latent,
    const zeroulp_const_matrix* rope_key, const zeroulp_const_matrix* up,
    const zeroulp_matrix* o, const zeroulp_matrix* largest,
    const zeroulp_matrix* inverse) {
  return guarded(__func__, [&] {
    const auto queries = rows_of<bf16_bits>(q, "q");
    const auto m = queries.rows;
    const auto rank = view_of(latent, "latent").cols;
    run_mla_forward(
        order, shape,
        {queries, rows_of<bf16_bits>(latent, "latent", m, rank),
         rows_of<bf16_bits>(rope_key, "rope_key", m,
                            view_of(rope_key, "rope_key").cols),
         rows_of<bf16_bits>(up, "up", view_of(up, "up").rows, rank)},
        o, largest, inverse);
  });
}
