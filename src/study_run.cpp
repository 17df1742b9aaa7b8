// A cell's product and its errors.

#include "study_run.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "study_products.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::study {
namespace {

matrix_view<const std::uint32_t> scales_of(const codes& x) {
  return x.scales.data.empty() ? matrix_view<const std::uint32_t>{}
                               : x.scales.view();
}

std::vector<double> as_doubles(const std::vector<std::uint32_t>& x) {
  std::vector<double> out;
  out.reserve(x.size());
  for (const auto one : x) {
    out.push_back(static_cast<double>(bit_cast<float>(one)));
  }
  return out;
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
#pragma omp parallel for schedule(static) \
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

std::vector<metric> make_metrics() {
  std::vector<metric> all;
  constexpr std::pair<const char*, error_metrics result::*> parts[] = {
      {"total", &result::total},
      {"accumulation", &result::accumulation},
      {"quantization", &result::quantization}};
  constexpr std::pair<const char*, double error_metrics::*> values[] = {
      {"frobenius", &error_metrics::frobenius},
      {"mean_relative", &error_metrics::mean_relative},
      {"max_over_mean", &error_metrics::max_over_mean},
      {"max_over_rms", &error_metrics::max_over_rms},
      {"max_over_max", &error_metrics::max_over_max},
      {"bias", &error_metrics::bias},
      {"one_minus_cosine", &error_metrics::one_minus_cosine}};
  constexpr std::pair<const char*, std::size_t> quantiles[] = {
      {"median", 0}, {"p99", 2}, {"max", 4}};
  for (const auto& [part, member] : parts) {
    for (const auto& [name, value] : values) {
      all.push_back({fmt::format("{}.{}", part, name),
                     [member = member, value = value](const result& r) {
                       return r.*member.*value;
                     }});
    }
    for (const auto& [name, index] : quantiles) {
      all.push_back({fmt::format("{}.{}", part, name),
                     [member = member, index = index](const result& r) {
                       return (r.*member).quantiles[index];
                     }});
    }
  }
  all.push_back({"saturated", [](const result& r) { return r.saturated; }});
  all.push_back({"zeroed", [](const result& r) { return r.zeroed; }});
  all.push_back({"changed", [](const result& r) { return r.changed; }});
  return all;
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
    "shape",   "pass",    "m",     "n",      "k",   "values",
    "a.input", "b.input", "shift", "smooth", "seed"};

struct drawn {
  inputs values;
  std::vector<double> product;
};

}  // namespace

const std::vector<metric>& metrics() {
  static const std::vector<metric> all = make_metrics();
  return all;
}

const metric& find_metric(std::string_view name) {
  std::string known;
  for (const auto& m : metrics()) {
    if (m.name == name) return m;
    known += " " + m.name;
  }
  throw input_error(fmt::format("metric '{}': use one of{}", name, known));
}

dense<std::uint32_t> multiply(const cell& c, const codes& a, const codes& b) {
  dense<std::uint32_t> d(a.elements.rows, b.elements.rows);
  engine::gemm(recipe_of(c), {a.element, a.elements.view()}, scales_of(a),
               {b.element, b.elements.view()}, scales_of(b), {}, d.view());
  return d;
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
    const prepared_operand a(fp32, x.values.a.view());
    const prepared_operand b(fp32, x.values.b.view());
    x.product.resize(static_cast<std::size_t>(c.m * c.n));
    reference_products({&a, per_tensor, {}}, {&b, per_tensor, {}},
                       {x.product.data(), c.m, c.n});
    constexpr std::ptrdiff_t most = 1 << 25;  // elements
    const bool large = (c.m + c.n) * c.k > most;
    if (large || kept.size() == 4) kept.clear();
    kept.emplace_back(key, std::move(x));
    return kept.back().second;
  }
};

runner::runner() : memory_(std::make_unique<memory>()) {}
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
  const prepared_operand on_a(a.element, a.elements.view());
  const prepared_operand on_b(b.element, b.elements.view());
  std::vector<double> exact(static_cast<std::size_t>(c.m * c.n));
  reference_products({&on_a, a.group, scales_of(a)},
                     {&on_b, b.group, scales_of(b)}, {exact.data(), c.m, c.n});
  std::vector<double> computed;
  if (c.sum.by == accumulation::kind::exact) {
    for (const double v : exact) {
      computed.push_back(static_cast<double>(static_cast<float>(v)));
    }
  } else {
    dense<std::uint32_t> d(c.m, c.n);
    engine::gemm(recipe_of(c), on_a, scales_of(a), on_b, scales_of(b), {},
                 d.view());
    computed = as_doubles(d.data);
  }
  out.total = compare(computed, m.product);
  out.accumulation = compare(computed, exact);
  out.quantization = compare(exact, m.product);
  return out;
}

}  // namespace zeroulp::study
