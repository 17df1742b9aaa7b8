// Rows of re-tiling and packing, each beside a scalar loop over the core.

#include "tools/zeroulp/bench/arrays.hpp"
#include "zeroulp/core/pack.hpp"

namespace zeroulp::program {
namespace {

bench_group retile_group(const bench_context& how) {
  const retiling r{e4m3, e4m3, scale_kind::pow2, tile, retile_rule::amax};
  const shape whole = usual_shape(how);
  const auto codes = normals<std::uint8_t>(e4m3, whole);
  const auto scales = zeros<std::uint32_t>(groups_of({1, tile}, whole));
  for (std::size_t i = 0; i < scales->data.size(); ++i) {
    scales->data[i] = (120u + static_cast<std::uint32_t>(i * 5 % 13)) << 23;
  }
  const auto add = [&](const std::string& name, shape s, auto work) {
    const auto out = zeros<std::uint8_t>({s.n, s.m});
    const auto out_scales = zeros<std::uint32_t>({s.n, ceil_div(s.m, tile)});
    const matrix_view<const std::uint8_t> in = codes->view();
    const matrix_view<const std::uint32_t> in_scales = scales->view();
    bench_job j = make_job(name, s);
    for (int t = 0; t < sampled_groups; ++t) {
      const auto at = sampled_place(out_scales->is.count(), t);
      const auto col = at / out_scales->is.n;
      const auto i0 = at % out_scales->is.n * tile;
      dense<std::uint8_t> line({1, tile});
      std::uint32_t scale = 0;
      zeroulp::retile(r, in.block(i0, col, tile, 1),
                      in_scales.block(i0, col / tile, tile, 1), line.view(),
                      matrix_view<std::uint32_t>(&scale, 1, 1));
      j.sample(out_scales->view()(col, i0 / tile), scale,
               "scale " + place(col, i0 / tile));
      for (std::ptrdiff_t i = 0; i < tile; ++i) {
        j.sample(out->view()(col, i0 + i), line.view()(0, i),
                 "code " + place(col, i0 + i));
      }
    }
    j.run = [r, codes, scales, out, out_scales, s, work] {
      const matrix_view<const std::uint8_t> all = codes->view();
      const matrix_view<const std::uint32_t> all_scales = scales->view();
      work(r, all.block(0, 0, s.m, s.n),
           all_scales.block(0, 0, s.m, ceil_div(s.n, tile)), out->view(),
           out_scales->view());
    };
    return j;
  };
  bench_group g;
  g.jobs.push_back(add("retile.e4m3", whole, [](const auto& by, auto... views) {
    engine::retile(by, views...);
  }));
  g.jobs[0].threads = how.threads;
  add_peer(g, 0,
           add("retile.e4m3:core", part_of(whole),
               [](const auto& by, auto... views) {
                 zeroulp::retile(by, views...);
               }));
  return g;
}

bench_group pack_group(const bench_context& how) {
  const shape whole = usual_shape(how);
  const auto codes = normals<std::uint16_t>(e5m6, whole);
  const auto add = [&](const std::string& name, shape s, auto work) {
    const auto out = zeros<std::uint8_t>({s.m, packed_bytes(s.n)});
    const matrix_view<const std::uint16_t> in = codes->view();
    bench_job j = make_job(name, s);
    for (int i = 0; i < sample_size; ++i) {
      const auto at = sampled_place(s.count() / 2, i) * 2;
      std::uint8_t bytes[3];
      zeroulp::pack_bytes(in.block(at / s.n, at % s.n, 1, 2),
                          matrix_view<std::uint8_t>(bytes, 1, 3));
      for (std::ptrdiff_t b = 0; b < 3; ++b) {
        const auto k = at % s.n / 2 * 3 + b;
        j.sample(out->view()(at / s.n, k), bytes[b],
                 "byte " + place(at / s.n, k));
      }
    }
    j.run = [codes, out, s, work] {
      const matrix_view<const std::uint16_t> all = codes->view();
      work(all.block(0, 0, s.m, s.n), out->view());
    };
    return j;
  };
  bench_group g;
  g.jobs.push_back(add("pack.e5m6", whole,
                       [](auto in, auto out) { engine::pack_bytes(in, out); }));
  g.jobs[0].threads = how.threads;
  add_peer(g, 0, add("pack.e5m6:core", part_of(whole), [](auto in, auto out) {
             zeroulp::pack_bytes(in, out);
           }));
  return g;
}

}  // namespace

std::vector<bench_entry> layout_benches() {
  return {{{"retile.e4m3"}, retile_group}, {{"pack.e5m6"}, pack_group}};
}

}  // namespace zeroulp::program
