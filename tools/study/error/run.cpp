// A cell's product and its errors.

#include "tools/study/error/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/base/sha256.hpp"
#include "src/base/threads.hpp"
#include "tools/study/error/products.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/engine.hpp"

namespace zeroulp::study {
namespace {

matrix_view<const std::uint32_t> scales_of(const codes& x) {
  return x.scales.data.empty() ? matrix_view<const std::uint32_t>{}
                               : x.scales.view();
}

/// The first rows of an operand, with their scales.
gemm_operand<std::uint32_t> first_rows(const codes& x, std::ptrdiff_t rows) {
  auto elements = x.elements.view();
  auto scales = scales_of(x);
  elements.rows = rows;
  if (scales.data != nullptr && x.group.mn > 0) {
    scales.rows = ceil_div(rows, x.group.mn);
  }
  return {x.element, elements, scales};
}

std::string digest_of(const std::vector<std::uint32_t>& bits) {
  return sha256_hex({reinterpret_cast<const char*>(bits.data()),
                     bits.size() * sizeof(bits[0])});
}

error_metrics compare(const std::vector<double>& computed,
                      const std::vector<double>& exact) {
  std::vector<double> errors(exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    errors[i] = computed[i] - exact[i];
  }
  error_accumulator sums;
  sums.add(computed, exact, errors);
  return sums.result();
}

/// The value of element (i, k), FP64: exact.
double value_at(const codes& x, std::ptrdiff_t i, std::ptrdiff_t k) {
  const double code = to_double(decode(x.element, x.elements.view()(i, k)));
  const auto s = scales_of_row(scales_of(x), x.group, i).at(k);
  return code * static_cast<double>(bit_cast<float>(s));
}

/// The fractions of a result, of one side.
void count_elements(const dense<std::uint32_t>& values, const codes& x,
                    const codes* direct, result& out) {
  const double max = to_double(decode(x.element, x.element.max_code()));
  const double half_ulp = std::ldexp(0.5, std::ilogb(max) - x.element.man_bits);
  const double count = static_cast<double>(values.data.size());
  std::ptrdiff_t saturated = 0, zeroed = 0, changed = 0;
#pragma omp parallel for schedule(static) num_threads(threads_for()) \
    reduction(+ : saturated, zeroed, changed)
  for (std::ptrdiff_t i = 0; i < values.rows; ++i) {
    const auto scales = scales_of_row(scales_of(x), x.group, i);
    for (std::ptrdiff_t k = 0; k < values.cols; ++k) {
      const double v =
          std::fabs(static_cast<double>(bit_cast<float>(values.view()(i, k))));
      const double s = static_cast<double>(bit_cast<float>(scales.at(k)));
      const auto code = x.elements.view()(i, k) & x.element.magnitude_mask();
      saturated += v > (max + half_ulp) * s ? 1 : 0;
      zeroed += v != 0 && code == 0 ? 1 : 0;
      if (direct != nullptr) {
        changed += value_at(x, i, k) != value_at(*direct, i, k) ? 1 : 0;
      }
    }
  }
  out.saturated = static_cast<double>(saturated) / count;
  out.zeroed = static_cast<double>(zeroed) / count;
  out.changed = static_cast<double>(changed) / count;
}

/// The values of the fields that `use` names, as a key.
std::string key_of(const cell& c, std::span<const std::string_view> use) {
  std::string key;
  for (const auto& f : fields()) {
    for (const auto& name : use) {
      if (name == f.name) key += f.get(c) + ";";
    }
  }
  return key;
}

constexpr std::string_view input_fields[] = {
    "shape",  "pass",    "m",       "n",     "sample", "k",
    "values", "a.input", "b.input", "shift", "smooth", "seed"};

struct drawn {
  inputs values;
  std::vector<double> product;  ///< the measured outputs
};

/// The exact products of the measured outputs.
std::vector<double> exact_products(const cell& c,
                                   const gemm_operand<std::uint32_t>& a,
                                   granularity of_a,
                                   const gemm_operand<std::uint32_t>& b,
                                   granularity of_b) {
  std::vector<double> out(
      static_cast<std::size_t>(measured_rows(c) * measured_cols(c)));
  const prepared_operand on_a(a.f, a.codes), on_b(b.f, b.codes);
  reference_products({&on_a, of_a, a.scales}, {&on_b, of_b, b.scales},
                     {out.data(), measured_rows(c), measured_cols(c)});
  return out;
}

/// How the measured outputs of `d` differ from those of the CPU.
agreement compare_bits(const cell& c, const dense<std::uint32_t>& d,
                       const dense<std::uint32_t>& by_cpu) {
  agreement all{by_cpu.rows * by_cpu.cols, 0, {}};
  for (std::ptrdiff_t i = 0; i < by_cpu.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < by_cpu.cols; ++j) {
      const auto got = d.view()(i, j), wanted = by_cpu.view()(i, j);
      if (got == wanted) continue;
      if (all.differing++ > 0) continue;
      all.first = fmt::format(
          "output ({}, {}) of {} x {} is {:08x}, by the "
          "CPU {:08x}",
          i, j, c.m, c.n, got, wanted);
    }
  }
  return all;
}

}  // namespace

std::string multiply_on_cpu(const recipe& r,
                            const gemm_operand<std::uint32_t>& a,
                            const gemm_operand<std::uint32_t>& b,
                            matrix_view<std::uint32_t> d) {
  engine::gemm(r, {a.f, a.codes}, a.scales, {b.f, b.codes}, b.scales, {}, d);
  return "CPU";
}

product multiply(const cell& c, const codes& a, const codes& b,
                 const multiplier& by) {
  product out{dense<std::uint32_t>(c.m, c.n), {}};
  out.by =
      by(recipe_of(c), first_rows(a, c.m), first_rows(b, c.n), out.d.view());
  return out;
}

/// The inputs drawn last, by what they depend on, the newest at the end.
struct runner::memory {
  std::vector<std::pair<std::string, drawn>> kept;

  const drawn& inputs_of(const cell& c) {
    const auto key = key_of(c, input_fields);
    for (const auto& [name, x] : kept) {
      if (name == key) return x;
    }
    drawn x{draw_inputs(c), {}};
    const auto head = [](const dense<std::uint32_t>& all, std::ptrdiff_t rows) {
      return gemm_operand<std::uint32_t>{
          fp32, all.view().block(0, 0, rows, all.cols)};
    };
    x.product =
        exact_products(c, head(x.values.a, measured_rows(c)), per_tensor,
                       head(x.values.b, measured_cols(c)), per_tensor);
    constexpr std::ptrdiff_t most = 1 << 25;  // elements
    const bool large = (c.m + c.n) * c.k > most;
    if (large || kept.size() == 4) kept.clear();
    kept.emplace_back(key, std::move(x));
    return kept.back().second;
  }
};

runner::runner(multiplier gpu)
    : gpu_(std::move(gpu)), memory_(std::make_unique<memory>()) {}
runner::~runner() = default;

result runner::run(const cell& c) {
  const drawn& m = memory_->inputs_of(c);
  const inputs& x = m.values;
  const auto history_a = amax_history(c, true);
  const auto history_b = amax_history(c, false);
  const codes a = quantize_side(c, c.a, x.a, history_a);
  const codes b = quantize_side(c, c.b, x.b, history_b);
  result out;
  if (c.a.via == passage::direct) {
    count_elements(x.a, a, nullptr, out);
  } else {
    operand plain = c.a;
    plain.via = passage::direct;
    const codes direct = quantize_side(c, plain, x.a, history_a);
    count_elements(x.a, a, &direct, out);
  }
  const auto rows = measured_rows(c), cols = measured_cols(c);
  const auto exact = exact_products(c, first_rows(a, rows), a.group,
                                    first_rows(b, cols), b.group);
  product p;
  if (c.sum.by == accumulation::kind::exact) {
    p = {dense<std::uint32_t>(rows, cols), "FP64"};
    std::transform(exact.begin(), exact.end(), p.d.data.begin(), [](double v) {
      return bit_cast<std::uint32_t>(static_cast<float>(v));
    });
  } else {
    p = multiply(c, a, b, gpu_ ? gpu_ : multiplier(multiply_on_cpu));
  }
  if (gpu_ && c.sum.by != accumulation::kind::exact) {
    cell head = c;
    head.m = rows;
    head.n = cols;
    out.both = compare_bits(c, p.d, multiply(head, a, b).d);
  }
  std::vector<std::uint32_t> measured;
  std::vector<double> computed;
  measured.reserve(exact.size());
  computed.reserve(exact.size());
  for (std::ptrdiff_t i = 0; i < rows; ++i) {
    for (std::ptrdiff_t j = 0; j < cols; ++j) {
      measured.push_back(p.d.view()(i, j));
      computed.push_back(static_cast<double>(bit_cast<float>(measured.back())));
    }
  }
  out.by = p.by;
  auto total = beside([&] { return compare(computed, m.product); });
  auto accumulation = beside([&] { return compare(computed, exact); });
  auto digest = beside([&] { return digest_of(measured); });
  out.quantization = compare(exact, m.product);
  out.total = total.get();
  out.accumulation = accumulation.get();
  out.digest = digest.get();
  return out;
}

error_metrics accumulation_error(runner& by, const std::string& accumulator,
                                 std::ptrdiff_t k, int interval) {
  cell c;
  set(c, fmt::format("m=256 n=256 k={} values=fp32 scale=raw group=tensor "
                     "acc={} interval={}",
                     k, accumulator,
                     interval == 0 ? "none" : std::to_string(interval)));
  return by.run(c).accumulation;
}

}  // namespace zeroulp::study
