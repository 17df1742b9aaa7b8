// Kernels that move, add or assemble rows, against definitions on the host by
// the core's arithmetic; and SHA-256 against the library's.

#include "conformance/checks/model/model_parts.hpp"
#include "conformance/device/model/mirror.hpp"
#include "conformance/device/model/model.hpp"
#include "src/base/sha256.hpp"
#include "zeroulp/core/training.hpp"
#include "zeroulp/cuda_model.hpp"

namespace zeroulp::conformance::device {
namespace {

using A = core_fp32;

/// Codes or indices of a case on the host, which a mirror takes.
template <class T>
struct host_matrix {
  std::ptrdiff_t rows, cols;
  std::vector<T> data;

  host_matrix(std::ptrdiff_t m, std::ptrdiff_t n)
      : rows(m), cols(n), data(static_cast<std::size_t>(m * n)) {
    data.reserve(1);  // data() is no null pointer
  }
  matrix_view<T> view() { return {data.data(), rows, cols}; }
  matrix_view<const T> view() const { return {data.data(), rows, cols}; }
  T operator()(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return data[static_cast<std::size_t>(i * cols + j)];
  }
};
using halves = host_matrix<std::uint16_t>;
using words = host_matrix<std::uint32_t>;
using indices = host_matrix<std::int32_t>;

template <class T>
host_matrix<T> numbers(format f, std::ptrdiff_t m, std::ptrdiff_t n,
                       counter_rng& rng) {
  host_matrix<T> x(m, n);
  const grid g = any_numbers(f, m, n, rng);
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    x.data[i] = static_cast<T>(g.words[i]);
  }
  return x;
}

indices indices_below(std::ptrdiff_t m, std::ptrdiff_t n, int end,
                      counter_rng& rng) {
  indices x(m, n);
  for (auto& i : x.data) i = rng.between(-1, end - 1);
  return x;
}

/// Counts the elements of `got`, which should be expected(i, j).
template <class T, class Expected>
void hold(verdict& v, const host_matrix<T>& got, const char* what,
          Expected expected) {
  for (std::ptrdiff_t i = 0; i < got.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < got.cols; ++j) {
      const auto right = static_cast<T>(expected(i, j));
      v.count(got(i, j) == right, [&] {
        return std::string(what) + ": element " + std::to_string(i) + ", " +
               std::to_string(j) + " of " + std::to_string(got.rows) + " x " +
               std::to_string(got.cols) + " is " + std::to_string(got(i, j)) +
               ", not " + std::to_string(right);
      });
    }
  }
}

template <class... Mirrors>
void finish(Mirrors&... all) {
  finish_kernel();
  (all.download(), ...);
}

A::number number(std::uint16_t code) { return bf16_number<A>(code); }

verdict moved_rows(const effort& e) {
  return for_model_cases(e, 40, [](counter_rng& rng, auto, verdict& v) {
    const std::ptrdiff_t m = rng.between(1, 60), n = rng.between(1, 600);
    const auto x = numbers<std::uint16_t>(bf16, m, n, rng);
    const auto w = numbers<std::uint32_t>(fp32, m, n, rng);
    const auto rows =
        indices_below(rng.between(1, 90), 1, static_cast<int>(m), rng);
    auto ids = rows;
    for (auto& id : ids.data) id = std::max(id, 0);
    halves gathered(rows.rows, n), embedded(rows.rows, n), hot(m, ids.rows);
    const mirror on_x(x.view());
    const mirror on_w(w.view());
    const mirror on_rows(rows.view());
    const mirror on_ids(ids.view());
    mirror to_gathered(gathered.view()), to_embedded(embedded.view()),
        to_hot(hot.view());
    cuda::gather(on_x.view(), on_rows.view(), to_gathered.view());
    cuda::embed(on_w.view(), on_ids.view(), to_embedded.view());
    cuda::one_hot(on_ids.view(), to_hot.view());
    finish(to_gathered, to_embedded, to_hot);
    hold(v, gathered, "gather",
         [&](auto i, auto j) { return rows(i, 0) < 0 ? 0 : x(rows(i, 0), j); });
    hold(v, embedded, "embed", [&](auto i, auto j) {
      return recode(fp32, w(ids(i, 0), j), bf16, {}, cuda_nosat);
    });
    hold(v, hot, "one_hot",
         [&](auto i, auto j) { return ids(j, 0) == i ? 0x3f80 : 0; });

    const std::ptrdiff_t top = rng.between(1, 6);
    const auto slots = indices_below(m, top, 100, rng);
    const auto weights = numbers<std::uint32_t>(fp32, m, top, rng);
    indices all(m, top + 1);
    words by(m, top + 1);
    const mirror on_slots(slots.view());
    const mirror on_weights(weights.view());
    mirror to_all(all.view());
    mirror to_by(by.view());
    cuda::append_slot(on_slots.view(), on_weights.view(), 100, to_all.view(),
                      to_by.view());
    finish(to_all, to_by);
    hold(v, all, "append_slot",
         [&](auto i, auto j) { return j == top ? 100 + i : slots(i, j); });
    hold(v, by, "append_slot's weights",
         [&](auto i, auto j) { return j == top ? fp32_one : weights(i, j); });
  });
}

verdict element_by_element(const effort& e) {
  return for_model_cases(e, 40, [](counter_rng& rng, auto, verdict& v) {
    // Without gaps: one row.
    const std::ptrdiff_t n = rng.between(1, 3000);
    const auto a = numbers<std::uint16_t>(bf16, 1, n, rng);
    const auto b = numbers<std::uint16_t>(bf16, 1, n, rng);
    const auto w = numbers<std::uint32_t>(fp32, 1, n, rng);
    halves sum(1, n), other(1, n), narrow(1, n);
    words wide(1, n), scaled(w);
    const std::uint32_t factor = any_factor(rng);
    const mirror on_a(a.view()), on_b(b.view());
    const mirror on_w(w.view());
    mirror to_sum(sum.view()), to_other(other.view()), to_narrow(narrow.view());
    mirror to_wide(wide.view()), to_scaled(scaled.view());
    const auto span = [n](auto view) {
      return std::span(view.data, static_cast<std::size_t>(n));
    };
    cuda::add(span(on_a.view()), span(on_b.view()), span(to_sum.view()));
    cuda::add(span(on_a.view()), span(on_w.view()), span(to_other.view()));
    cuda::narrow(span(on_w.view()), span(to_narrow.view()));
    cuda::widen(span(on_a.view()), span(to_wide.view()));
    cuda::scale(span(to_scaled.view()), factor);
    finish(to_sum, to_other, to_narrow, to_wide, to_scaled);
    hold(v, sum, "add", [&](auto, auto j) {
      return bf16_code<A>(A::add(number(a(0, j)), number(b(0, j))));
    });
    hold(v, other, "add of FP32", [&](auto, auto j) {
      return bf16_code<A>(A::add(number(a(0, j)), A::from_bits(w(0, j))));
    });
    hold(v, narrow, "narrow", [&](auto, auto j) {
      return recode(fp32, w(0, j), bf16, {}, cuda_nosat);
    });
    hold(v, wide, "widen",
         [&](auto, auto j) { return std::uint32_t{a(0, j)} << 16; });
    hold(v, scaled, "scale", [&](auto, auto j) {
      return A::bits(A::multiply(A::from_bits(w(0, j)), A::from_bits(factor)));
    });
  });
}

verdict swiglu_gradients_of_bf16(const effort& e) {
  return for_model_cases(e, 20, [](counter_rng& rng, auto, verdict& v) {
    const std::ptrdiff_t m = rng.between(1, 20), n = rng.between(1, 300);
    const auto g = numbers<std::uint16_t>(bf16, m, n, rng);
    const auto u = numbers<std::uint16_t>(bf16, m, n, rng);
    const auto dh = numbers<std::uint16_t>(bf16, m, n, rng);
    halves h(m, n), dg(m, n), du(m, n);
    const mirror on_g(g.view()), on_u(u.view()), on_dh(dh.view());
    mirror to_h(h.view()), to_dg(dg.view()), to_du(du.view());
    cuda::swiglu_backward(on_g.view(), on_u.view(), on_dh.view(), to_h.view(),
                          to_dg.view(), to_du.view());
    finish(to_h, to_dg, to_du);
    const auto right = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
      return swiglu_gradient<A>(number(g(i, j)), number(u(i, j)),
                                number(dh(i, j)));
    };
    hold(v, h, "h",
         [&](auto i, auto j) { return bf16_code<A>(right(i, j).h); });
    hold(v, dg, "dg",
         [&](auto i, auto j) { return bf16_code<A>(right(i, j).dg); });
    hold(v, du, "du",
         [&](auto i, auto j) { return bf16_code<A>(right(i, j).du); });
  });
}

verdict scales_of_rows(const effort& e) {
  return for_model_cases(e, 20, [](counter_rng& rng, auto, verdict& v) {
    const std::ptrdiff_t m = rng.between(1, 400), n = rng.between(1, 20);
    const std::ptrdiff_t each = rng.between(1, 128);
    const auto blocks = numbers<std::uint32_t>(fp32, ceil_div(m, each), n, rng);
    words rows(m, n);
    const mirror on_blocks(blocks.view());
    mirror to(rows.view());
    cuda::expand_rows(on_blocks.view(), each, to.view());
    finish(to);
    hold(v, rows, "expand_rows",
         [&](auto i, auto j) { return blocks(i / each, j); });
  });
}

/// Copies of columns and rope (held by RopeRows) of each head, and back.
verdict mla_parts(const effort& e) {
  return for_model_cases(e, 20, [](counter_rng& rng, auto, verdict& v) {
    cuda::mla_shape s{};
    s.heads = rng.between(1, rng.one_in(4) ? 20 : 5);
    const bool in_eights = rng.one_in(2);
    const int unit = in_eights ? 8 : 2;
    s.plain = unit * rng.between(0, 80 / unit);
    s.turned = unit * rng.between(1, 80 / unit);
    s.value = unit * rng.between(1, 80 / unit);
    s.rank = in_eights ? 8 * rng.between(0, 8) : rng.between(0, 70);
    const std::ptrdiff_t m = rng.between(1, s.heads > 5 ? 8 : 50);
    const std::ptrdiff_t depth = s.plain + s.turned;
    const std::ptrdiff_t wide = s.heads * depth + s.rank + s.turned;
    const std::ptrdiff_t positions = rng.between(1, 30);
    const auto cosines =
        numbers<std::uint32_t>(fp32, positions, s.turned / 2, rng);
    const auto sines =
        numbers<std::uint32_t>(fp32, positions, s.turned / 2, rng);
    const std::ptrdiff_t other = s.heads * (s.plain + s.value);
    const bool backward = rng.one_in(2);
    auto first = numbers<std::uint16_t>(bf16, m, wide, rng);
    auto second = numbers<std::uint16_t>(bf16, m, other, rng);
    auto q = numbers<std::uint16_t>(bf16, m, s.heads * depth, rng);
    auto k = numbers<std::uint16_t>(bf16, m, s.heads * depth, rng);
    auto x = numbers<std::uint16_t>(bf16, m, s.heads * s.value, rng);
    const halves first_before(first), second_before(second), q_before(q),
        k_before(k), x_before(x);
    const mirror on_cosines(cosines.view()), on_sines(sines.view());
    s.cosines = on_cosines.view(), s.sines = on_sines.view();
    mirror on_first(first.view()), on_second(second.view()), on_q(q.view()),
        on_k(k.view()), on_x(x.view());
    const cuda::mla_tensors<std::uint16_t> t{on_first.view(), on_second.view(),
                                             on_q.view(), on_k.view(),
                                             on_x.view()};
    (backward ? cuda::mla_assemble_backward : cuda::mla_assemble)(s, t,
                                                                  nullptr);
    finish(on_first, on_second, on_q, on_k, on_x);
    // Element `at` of a turned pair of row i.
    const auto turned = [&](std::ptrdiff_t i, std::ptrdiff_t at, auto code) {
      const auto position = i % positions;
      const auto c = A::from_bits(cosines(position, at / 2));
      auto sine = A::from_bits(sines(position, at / 2));
      if (backward) sine = A::negate(sine);
      const auto x0 = number(code(at / 2 * 2));
      const auto x1 = number(code(at / 2 * 2 + 1));
      return bf16_code<A>(at % 2 == 0
                              ? A::fma(A::negate(x1), sine, A::multiply(x0, c))
                              : A::fma(x0, sine, A::multiply(x1, c)));
    };
    const auto of_q = [&](const halves& from, std::ptrdiff_t i,
                          std::ptrdiff_t j) -> std::uint32_t {
      const std::ptrdiff_t at = j % depth;
      if (at < s.plain) return from(i, j);
      return turned(i, at - s.plain, [&](std::ptrdiff_t p) {
        return from(i, j - at + s.plain + p);
      });
    };
    const std::ptrdiff_t shared = s.heads * depth + s.rank;
    if (!backward) {
      hold(v, q, "q", [&](auto i, auto j) { return of_q(first_before, i, j); });
      hold(v, k, "k", [&](auto i, auto j) -> std::uint32_t {
        const std::ptrdiff_t at = j % depth;
        if (at < s.plain) {
          return second_before(i, j / depth * (s.plain + s.value) + at);
        }
        return turned(i, at - s.plain, [&](std::ptrdiff_t p) {
          return first_before(i, shared + p);
        });
      });
      hold(v, x, "v", [&](auto i, auto j) {
        return second_before(
            i, j / s.value * (s.plain + s.value) + s.plain + j % s.value);
      });
      return;
    }
    const auto of_shared = [&](std::ptrdiff_t i, std::ptrdiff_t p) {
      auto sum = A::from_bits(0);
      for (std::ptrdiff_t h = 0; h < s.heads; ++h) {
        sum = A::add(sum, number(k_before(i, h * depth + s.plain + p)));
      }
      return bf16_code<A>(sum);
    };
    hold(v, first, "the gradient of first",
         [&](auto i, auto j) -> std::uint32_t {
           if (j < s.heads * depth) return of_q(q_before, i, j);
           if (j < shared) return first_before(i, j);
           return turned(i, j - shared,
                         [&](std::ptrdiff_t p) { return of_shared(i, p); });
         });
    hold(v, second, "the gradient of second", [&](auto i, auto j) {
      const std::ptrdiff_t head = j / (s.plain + s.value);
      const std::ptrdiff_t at = j % (s.plain + s.value);
      return at < s.plain ? k_before(i, head * depth + at)
                          : x_before(i, head * s.value + at - s.plain);
    });
  });
}

verdict digests_of_bytes(const effort& e) {
  return for_model_cases(e, 4, [](counter_rng& rng, auto, verdict& v) {
    std::vector<std::size_t> sizes{0, 1, 55, 56, 63, 64, 65, 119, 120, 128};
    for (int i = 0; i < 40; ++i) sizes.push_back(rng.below(5000));
    std::vector<unsigned char> bytes;
    std::vector<std::size_t> places;
    for (const std::size_t size : sizes) {
      bytes.resize((bytes.size() + 15) / 16 * 16);
      places.push_back(bytes.size());
      for (std::size_t i = 0; i < size; ++i) {
        bytes.push_back(static_cast<unsigned char>(rng.next32()));
      }
    }
    const device_buffer<unsigned char> memory(bytes.size());
    require(cudaMemcpy(memory.data(), bytes.data(), bytes.size(),
                       cudaMemcpyHostToDevice));
    std::vector<cuda::byte_range> ranges;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      ranges.push_back({memory.data() + places[i], sizes[i]});
    }
    const device_buffer<cuda::byte_range> table(ranges.size());
    require(cudaMemcpy(table.data(), ranges.data(),
                       ranges.size() * sizeof ranges[0],
                       cudaMemcpyHostToDevice));
    words digests(static_cast<std::ptrdiff_t>(sizes.size()), 8);
    const device_buffer<std::uint32_t> to(digests.data.size());
    cuda::sha256(table.data(), digests.rows, to.data());
    finish_kernel();
    to.copy_to(digests.data.data(), digests.data.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::string right = sha256_hex(
          {reinterpret_cast<const char*>(bytes.data()) + places[i], sizes[i]});
      std::string got;
      for (std::ptrdiff_t k = 0; k < 8; ++k) {
        constexpr const char* hex = "0123456789abcdef";
        const auto word = digests(static_cast<std::ptrdiff_t>(i), k);
        for (int shift = 28; shift >= 0; shift -= 4) {
          got += hex[word >> shift & 15];
        }
      }
      v.count(got == right, [&] {
        return std::to_string(sizes[i]) + " bytes: " + got + ", not " + right;
      });
    }
  });
}

}  // namespace

check_list kernel_model_row_checks() {
  const char* const by = "the core";
  return {
      device_check("kernel.model.MovedRows", "N13 N19", by, moved_rows),
      device_check("kernel.model.ElementByElement", "N17 N20", by,
                   element_by_element),
      device_check("kernel.model.SwigluGradientsOfBf16", "S3", by,
                   swiglu_gradients_of_bf16),
      device_check("kernel.model.ScalesOfRows", "G2", by, scales_of_rows),
      device_check("kernel.model.MlaParts", "N4 N20 N21", by, mla_parts),
      device_check("kernel.model.Digests", "N24", "FIPS 180-4 on the host",
                   digests_of_bytes),
  };
}

}  // namespace zeroulp::conformance::device
