#include "tools/study/error/shapes.hpp"

namespace zeroulp::study {
namespace {

/// The Linear of LINEAR.PASS, or null.
const linear* linear_of(std::string_view text) {
  const auto dot = text.find('.');
  for (const auto& x : linears) {
    if (dot != std::string_view::npos && text.substr(0, dot) == x.name) {
      return &x;
    }
  }
  return nullptr;
}

}  // namespace

void set_shape(cell& c, std::string_view text) {
  const linear* x = linear_of(text);
  if (x == nullptr && text != free_shape) {
    std::string known;
    for (const auto& one : linears) known += std::string(" ") + one.name;
    throw input_error(fmt::format(
        "'{}': use free or LINEAR.PASS, of{} and fprop, dgrad, wgrad", text,
        known));
  }
  c.shape = text;
  if (x == nullptr) return;
  c.pass = find(passes, text.substr(text.find('.') + 1));
  c.k = c.pass == gemm_pass::fprop   ? x->inputs
        : c.pass == gemm_pass::dgrad ? x->outputs
                                     : tokens;
  c.a.group = tile_1x128;
  c.b.group = c.pass == gemm_pass::wgrad ? tile_1x128 : block_128x128;
}

void take_all_outputs(cell& c) {
  const linear* x = linear_of(c.shape);
  if (x == nullptr) return;
  c.m = c.pass == gemm_pass::wgrad ? x->outputs : tokens;
  c.n = c.pass == gemm_pass::fprop ? x->outputs : x->inputs;
}

}  // namespace zeroulp::study
