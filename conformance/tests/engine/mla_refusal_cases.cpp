// What attention of MLA says of shapes that do not fit, and what it takes at
// the limits.

#include "conformance/tests/engine/model_refusal_parts.hpp"

namespace zeroulp::conformance::model_refusals {

void requests::latent_attention() {
  struct pass {
    mla_order order;
    mla_shape shape;
    matrix_view<const std::uint16_t> q, latent, rope_key, up;
    matrix_view<std::uint16_t> o;
    codes_out largest, inverse;
  };
  const auto call = [&](const pass& p) {
    f.mla_forward(p.order, p.shape, {p.q, p.latent, p.rope_key, p.up}, p.o,
                  p.largest, p.inverse);
  };
  const std::string name = "mla_forward, ";
  for (const auto order : {mla_order::unabsorbed, mla_order::absorbed}) {
    // Two sequences of 3 tokens, 2 heads of 4 + 2 and 5, rank 3.
    const pass usual{order,
                     {3, 2, 4, 2, 5, 3, 0x3f800000},
                     {half, 6, 12},
                     {half, 6, 3},
                     {half, 6, 2},
                     {half, 18, 3},
                     {out_half, 6, 10},
                     {out, 6, 2},
                     {out + 100, 6, 2}};
    one(
        usual, call, [](auto&) {}, "");
    shapes(usual, call, &pass::q, name + "q", false, true, true);
    shapes(usual, call, &pass::latent, name + "latent", true, true, true);
    shapes(usual, call, &pass::rope_key, name + "rope_key", true, true, true);
    shapes(usual, call, &pass::up, name + "up", true, true, true);
    shapes(usual, call, &pass::o, name + "o", true, true, true);
    shapes(usual, call, &pass::largest, name + "largest", true, true, true);
    shapes(usual, call, &pass::inverse, name + "inverse", true, true, true);
    for (const int rows : {5, 7}) {
      one(
          usual, call, [&](pass& p) { p.q.rows = rows; },
          fmt::format("mla_forward: {} tokens in sequences of 3, 2 heads of 4 "
                      "+ 2 and 5, rank 3",
                      rows));
    }
    for (const auto field :
         {&mla_shape::length, &mla_shape::heads, &mla_shape::depth,
          &mla_shape::value_depth, &mla_shape::rank}) {
      for (const int value : {0, -1}) {
        one(
            usual, call, [&](pass& p) { p.shape.*field = value; },
            "mla_forward: 6 tokens");
      }
    }
    one(
        usual, call, [](pass& p) { p.shape.rope_depth = -1; },
        "mla_forward: 6 tokens");
    for (const std::uint32_t scale :
         {0u, 0x7f800000u, 0x7f800001u, 0x80000000u, 0xbf800000u}) {
      one(
          usual, call, [&](pass& p) { p.shape.scale = scale; },
          "mla_forward: the scores' scale");
    }
    for (const std::uint32_t scale : {1u, 0x7f7fffffu}) {
      one(
          usual, call, [&](pass& p) { p.shape.scale = scale; }, "");
    }
    // One of everything, without rope; then no tokens.
    for (const int tokens : {1, 0}) {
      one(
          usual, call,
          [tokens](pass& p) {
            p.shape = {1, 1, 1, 0, 1, 1, 0x3f800000};
            const auto cut = [tokens](auto&... x) {
              ((x.rows = tokens, x.cols = 1, x.row_stride = 1), ...);
            };
            cut(p.q, p.latent, p.rope_key, p.up, p.o, p.largest, p.inverse);
            p.rope_key.cols = 0;
            p.up.rows = 2;
          },
          "");
    }
  }
}

}  // namespace zeroulp::conformance::model_refusals
