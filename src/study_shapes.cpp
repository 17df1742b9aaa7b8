#include "study_shapes.hpp"

namespace zeroulp::study {

void set_shape(cell& c, std::string_view text) {
  const auto dot = text.find('.');
  for (const auto& x : linears) {
    if (dot == std::string_view::npos || text.substr(0, dot) != x.name) {
      continue;
    }
    c.pass = find(passes, text.substr(dot + 1));
    c.k = c.pass == gemm_pass::fprop   ? x.inputs
          : c.pass == gemm_pass::dgrad ? x.outputs
                                       : tokens;
    c.a.group = tile_1x128;
    c.b.group = c.pass == gemm_pass::wgrad ? tile_1x128 : block_128x128;
    c.shape = text;
    return;
  }
  if (text != free_shape) {
    std::string known;
    for (const auto& x : linears) known += std::string(" ") + x.name;
    throw input_error(fmt::format(
        "'{}': use free or LINEAR.PASS, of{} and fprop, dgrad, wgrad", text,
        known));
  }
  c.shape = text;
}

}  // namespace zeroulp::study
