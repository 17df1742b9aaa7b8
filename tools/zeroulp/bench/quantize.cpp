// Rows of quantization and dequantization, each beside a scalar loop over the
// core and, where it says the same, numpy with ml_dtypes.

#include "tools/zeroulp/bench/arrays.hpp"
#include "tools/zeroulp/bench/python.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::program {
namespace {

/// Adds numpy's job that `request` and the data sent after it define; its first
/// outputs are sampled as `sample(job, outputs)` says.
template <class Out, class Sample>
void add_python(bench_group& g, shape s,
                const std::shared_ptr<ml_dtypes>& python, Sample sample) {
  const auto first = zeros<Out>({2, tile});
  bench_job j = make_job(g.jobs[0].name + ":ml_dtypes", s);
  sample(j, *first);
  const auto request = fmt::format("run {}", python->next_job());
  j.run = [python, request, first] {
    python->send(request);
    python->receive(first->data.data(), first->data.size() * sizeof(Out));
  };
  add_peer(g, 0, std::move(j));
}

template <class T>
void send(ml_dtypes& python, const dense<T>& x, shape part) {
  for (std::ptrdiff_t i = 0; i < part.m; ++i) {
    python.send(x.data.data() + i * x.is.n,
                static_cast<std::size_t>(part.n) * sizeof(T));
  }
}

struct quantize_row {
  std::string name;
  quantizer q;
};

/// Samples codes of some groups, and their scales.
template <class X>
void sample_groups(bench_job& j, const quantizer& q, matrix_view<const X> x,
                   dense<std::uint8_t>& codes, dense<std::uint32_t>& scales) {
  const auto h = q.group.height(codes.is.m);
  const auto w = q.group.width(codes.is.n);
  for (int s = 0; s < sampled_groups; ++s) {
    const auto at = sampled_place(scales.is.count(), s);
    const auto gi = at / scales.is.n;
    const auto gj = at % scales.is.n;
    const auto group = x.block(gi * h, gj * w, h, w);
    const auto scale = make_scale(q, group_amax(q, group));
    j.sample(scales.view()(gi, gj), scale.scale, "scale " + place(gi, gj));
    for (int e = 0; e < sample_size / sampled_groups; ++e) {
      const auto in = sampled_place(h * w, e);
      const auto i = gi * h + in / w;
      const auto k = gj * w + in % w;
      const auto code = quantize_element(q, scale, as_fp32(q.from, x(i, k)));
      j.sample(codes.view()(i, k), static_cast<std::uint32_t>(code),
               "code " + place(i, k));
    }
  }
}

template <class X>
bench_group quantize_group_of(const quantize_row& row, bench_context& how) {
  const shape whole = usual_shape(how);
  const quantizer q = row.q;
  const auto x = normals<X>(q.from, whole);
  const matrix_view<const X> in = x->view();
  bench_group g;
  const auto add = [&](const std::string& name, shape s, auto work) {
    const auto codes = zeros<std::uint8_t>(s);
    const auto scales = zeros<std::uint32_t>(groups_of(q.group, s));
    bench_job j = make_job(name, s);
    sample_groups(j, q, in.block(0, 0, s.m, s.n), *codes, *scales);
    j.run = [q, x, s, codes, scales, work] {
      const matrix_view<const X> all = x->view();
      work(q, all.block(0, 0, s.m, s.n), codes->view(), scales->view());
    };
    return j;
  };
  g.jobs.push_back(add(row.name, whole, [](const auto& by, auto... views) {
    engine::quantize(by, views...);
  }));
  g.jobs[0].threads = how.threads;
  const shape part = part_of(whole);
  add_peer(g, 0,
           add(row.name + ":core", part, [](const auto& by, auto... views) {
             zeroulp::quantize(by, views...);
           }));
  // numpy's x / (amax / max) is what vLLM computes.
  const bool is_plain = q.how.element == element_rule::quotient &&
                        q.group == group_shape{1, tile};
  const auto python = is_plain ? python_peer(how) : nullptr;
  if (python) {
    const shape s{how.sized<std::ptrdiff_t>(512, whole.m), whole.n};
    python->send(fmt::format("quantize {} {} {}", name_of(q.from),
                             name_of(q.to), s.count()));
    send(*python, *x, s);
    add_python<std::uint8_t>(
        g, s, python, [&](bench_job& j, dense<std::uint8_t>& first) {
          const matrix_view<const X> flat(x->data.data(), 2, tile);
          dense<std::uint32_t> unsent({2, 1});
          sample_groups(j, q, flat, first, unsent);
          std::erase_if(j.outputs, [](const sampled_output& o) {
            return o.bytes != sizeof(std::uint8_t);
          });
        });
  }
  return g;
}

// Dequantization.

bench_group dequantize_group(bench_context& how) {
  const shape whole = usual_shape(how);
  const group_shape group{1, tile};
  const auto codes = normals<std::uint8_t>(e4m3, whole);
  const shape tiles = groups_of(group, whole);
  const auto scales = std::make_shared<dense<std::uint32_t>>(
      tiles, random_scales(32, tiles.count()));
  const auto expected = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    return dequantize_element(e4m3, codes->view()(i, j),
                              scales->view()(i, j / tile));
  };
  const auto add = [&](const std::string& name, shape s, auto work) {
    const auto out = zeros<std::uint32_t>(s);
    bench_job j = make_job(name, s);
    for (int i = 0; i < sample_size; ++i) {
      const auto at = sampled_place(s.count(), i);
      const auto row = at / s.n;
      const auto col = at % s.n;
      j.sample(out->view()(row, col), expected(row, col), place(row, col));
    }
    j.run = [codes, scales, out, s, group, work] {
      const matrix_view<const std::uint8_t> in = codes->view();
      work(e4m3, group, in.block(0, 0, s.m, s.n), scales->view(), out->view());
    };
    return j;
  };
  bench_group g;
  g.jobs.push_back(add("dequantize.1x128", whole,
                       [](auto... all) { engine::dequantize(all...); }));
  g.jobs[0].threads = how.threads;
  add_peer(g, 0,
           add("dequantize.1x128:core", part_of(whole),
               [](format f, group_shape by, matrix_view<const std::uint8_t> in,
                  matrix_view<const std::uint32_t> s,
                  matrix_view<std::uint32_t> out) {
                 zeroulp::dequantize(f, by, in, s, out);
               }));
  if (const auto python = python_peer(how)) {
    const shape s{how.sized<std::ptrdiff_t>(512, whole.m), whole.n};
    python->send(fmt::format("dequantize e4m3 {}", s.count()));
    send(*python, *codes, s);
    send(*python, *scales, {s.m, tiles.n});
    add_python<std::uint32_t>(
        g, s, python, [&](bench_job& j, dense<std::uint32_t>& first) {
          for (std::ptrdiff_t i = 0; i < 2 * tile; ++i) {
            j.sample(first.data[static_cast<std::size_t>(i)],
                     expected(i / whole.n, i % whole.n), place(0, i));
          }
        });
  }
  return g;
}

/// To BF16, as a checkpoint's blocks: rounded once, or to FP32 first.
bench_group dequantize_blocks(const std::string& name, bool twice,
                              bench_context& how) {
  const shape whole = usual_shape(how);
  const group_shape group{tile, tile};
  const auto codes = normals<std::uint8_t>(e4m3, whole);
  const shape blocks = groups_of(group, whole);
  const auto scales = std::make_shared<dense<std::uint32_t>>(
      blocks, random_scales(32, blocks.count()));
  const auto rounded = [twice](std::uint64_t code, std::uint32_t scale) {
    if (twice) {
      const auto first = dequantize_element(e4m3, code, scale);
      return recode(fp32, first, bf16, {}, cuda_nosat);
    }
    return encode(bf16, product(decode(e4m3, code), decode(fp32, scale)), {},
                  cuda_nosat);
  };
  const auto at = [codes, scales, rounded](std::ptrdiff_t i, std::ptrdiff_t j) {
    return static_cast<std::uint16_t>(
        rounded(codes->view()(i, j), scales->view()(i / tile, j / tile)));
  };
  const auto add = [&](const std::string& job, shape s, auto work) {
    const auto out = zeros<std::uint16_t>(s);
    bench_job j = make_job(job, s);
    for (int i = 0; i < sample_size; ++i) {
      const auto k = sampled_place(s.count(), i);
      j.sample(out->view()(k / s.n, k % s.n), at(k / s.n, k % s.n),
               place(k / s.n, k % s.n));
    }
    j.run = [out, work] { work(out->view()); };
    return j;
  };
  bench_group g;
  const auto numbers = zeros<std::uint32_t>(twice ? whole : shape{0, 0});
  g.jobs.push_back(add(name, whole, [=](matrix_view<std::uint16_t> out) {
    const matrix_view<const std::uint8_t> in = codes->view();
    const matrix_view<const std::uint32_t> by = scales->view();
    if (!twice) {
      return engine::dequantize(e4m3, group, in, by, bf16, out);
    }
    engine::dequantize(e4m3, group, in, by, numbers->view());
    engine::recode(fp32, numbers->view(), bf16, out, rounding::nearest_even,
                   cuda_nosat);
  }));
  g.jobs[0].threads = how.threads;
  add_peer(
      g, 0,
      add(name + ":core", part_of(whole), [at](matrix_view<std::uint16_t> out) {
        for (std::ptrdiff_t i = 0; i < out.rows; ++i) {
          for (std::ptrdiff_t j = 0; j < out.cols; ++j) {
            out(i, j) = at(i, j);
          }
        }
      }));
  return g;
}

}  // namespace

std::vector<bench_entry> quantizer_benches() {
  std::vector<bench_entry> all;
  for (const char* group : {"1x128", "128x1", "128x128"}) {
    for (const char* convention : {"zeroulp", "vllm"}) {
      for (const format from : {fp32, bf16}) {
        const auto by = parse_convention(convention);
        const quantize_row row{
            fmt::format("quantize.{}{}{}", group, from == bf16 ? ".bf16" : "",
                        by.name == std::string("vllm") ? ".vllm" : ""),
            {from, e4m3, by.value, scale_kind::float32, parse_group(group)}};
        all.push_back({{row.name}, [row](bench_context& how) {
                         return row.q.from == fp32
                                    ? quantize_group_of<std::uint32_t>(row, how)
                                    : quantize_group_of<std::uint16_t>(row,
                                                                       how);
                       }});
      }
    }
  }
  all.push_back({{"dequantize.1x128"}, dequantize_group});
  for (const bool twice : {false, true}) {
    const std::string name =
        fmt::format("dequantize.128x128.bf16{}", twice ? ".via_fp32" : "");
    all.push_back({{name}, [name, twice](bench_context& how) {
                     return dequantize_blocks(name, twice, how);
                   }});
  }
  return all;
}

}  // namespace zeroulp::program
