#include "tools/checkpoint/weights/rescale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "tools/checkpoint/weights/dequantize.hpp"
#include "zeroulp/arrays.hpp"

namespace zeroulp::checkpoint {
namespace {

using count_t = std::uint64_t;

std::ptrdiff_t length_of(count_t n) { return static_cast<std::ptrdiff_t>(n); }

/// The power of two that takes the place of a scale, FP32 bits.
std::uint32_t power_above(std::uint32_t s) {
  return pow2_as_fp32(
      clamp_exponent(integer_log2(decode(fp32, s), scale_kind::pow2)));
}

double value_of(std::uint32_t bits) {
  return static_cast<double>(std::bit_cast<float>(bits));
}

struct place_of_codes {
  const shard_writer* out = nullptr;
  std::size_t codes = 0;
};

/// The values of all codes, FP64.
std::array<double, 256> values_of_codes(format f) {
  std::array<double, 256> values{};
  for (unsigned code = 0; code < 256; ++code) {
    values[code] = value_of(
        static_cast<std::uint32_t>(recode(f, code, fp32, {}, cuda_nosat)));
  }
  return values;
}

/// Counts codes and values that are others. Products of FP64 are exact.
void count_changes(const quantized& q, const tile& t, const tile_scales& s,
                   const std::vector<std::uint8_t>& codes,
                   const std::vector<std::uint8_t>& changed, change& part) {
  const auto values = values_of_codes(q.code);
  const count_t width = std::min(q.width(), t.n);
  for (count_t i = 0; i < t.m; ++i) {
    const count_t row = ((t.i + i) / q.height() - t.i / q.height()) * s.cols;
    for (count_t j = 0, g = row; j < t.n; j += width, ++g) {
      const double before_by = value_of(s.words[g]);
      const double after_by = value_of(power_above(s.words[g]));
      const count_t end = std::min(j + width, t.n);
      for (count_t k = j; k < end; ++k) {
        const auto code = codes[i * t.n + k];
        const auto now = changed[i * t.n + k];
        part.codes += code != now ? 1 : 0;
        const double before = values[code] * before_by;
        const double after = values[now] * after_by;
        if (before == after || (std::isnan(before) && std::isnan(after))) {
          continue;
        }
        part.add({t.outer * q.rows + t.i + i, t.j + k, before, after});
      }
    }
  }
}

void rescale_tile(const checkpoint& c, const rescaled& w, const tile& t,
                  const place_of_codes& to) {
  const quantized& q = *w.q;
  std::vector<std::uint8_t> codes;
  read_codes(c, q, t, codes);
  const auto s = scales_of(c, q, t);
  std::vector<std::uint32_t> ratios(s.words.size());
  for (std::size_t k = 0; k < ratios.size(); ++k) {
    ratios[k] = detail::fl_divide(s.words[k], power_above(s.words[k]));
  }
  const auto m = length_of(t.m);
  const auto n = length_of(t.n);
  std::vector<std::uint8_t> changed(codes.size());
  engine::dequantize(q.code, q.group,
                     matrix_view<const std::uint8_t>(codes.data(), m, n),
                     matrix_view<const std::uint32_t>(
                         ratios.data(), length_of(s.rows), length_of(s.cols)),
                     q.code, matrix_view<std::uint8_t>(changed.data(), m, n));
  change part;
  part.count = t.count();
  count_changes(q, t, s, codes, changed, part);
  w.changes->merge(part);
  if (to.out == nullptr) return;
  write_tile(*to.out, to.codes, t, t.outer * q.rows + t.i, q.cols, 1,
             reinterpret_cast<const std::byte*>(changed.data()));
}

void add_rescaling(const checkpoint& c, const rescaled& w,
                   const place_of_codes& to, std::vector<job>& jobs) {
  w.changes->sum = {};
  w.changes->sum.of = w.q->weight;
  w.changes->sum.group = w.q->group;
  for_each_tile(matrices_of(*w.q), [&](const tile& t) {
    jobs.push_back({static_cast<double>(t.count()),
                    [&c, &w, t, to] { rescale_tile(c, w, t, to); }});
  });
}

/// Writes the new scales of a weight, a piece at a time.
void add_scales(const checkpoint& c, const rescaled& w, element type,
                std::size_t place, const shard_writer& out,
                std::vector<job>& jobs) {
  const quantized& q = *w.q;
  const auto bytes = static_cast<count_t>(bits_of(type) / 8);
  jobs.push_back(
      {static_cast<double>(q.scale->bytes), [&c, &q, &out, type, bytes, place] {
         for (count_t o = 0; o < q.outer; ++o) {
           for (count_t i = 0; i < q.grid_rows(); ++i) {
             auto s = read_scales(c, q, o, i, 0, 1, q.grid_cols());
             for (auto& word : s.words) word = power_above(word);
             std::vector<std::byte> stored(s.words.size() * bytes);
             const auto count = length_of(s.words.size());
             engine::recode(
                 fp32,
                 matrix_view<const std::uint32_t>(s.words.data(), 1, count),
                 row_of(type).holds.value(),
                 engine::code_view(stored.data(), 1, count, count, 1,
                                   static_cast<int>(bytes)),
                 rounding::nearest_even, ocp_nonsaturate);
             out.write(place, (o * q.grid_rows() + i) * stored.size(),
                       stored.data(), stored.size());
           }
         }
       }});
}

}  // namespace

std::vector<rescaled> rescaled_of(const checkpoint& c, const pairs& p,
                                  const std::string& only) {
  const auto wanted = matcher(only, "--only");
  constexpr element_set types = {element::f32, element::bf16, element::f16};
  std::vector<rescaled> found;
  for (const auto& q : p.weights) {
    const bool fits = q.scale != nullptr && q.second == nullptr &&
                      q.packed == packing::none && types.has(q.scale->type);
    if (!fits || !wanted(q.weight->name)) continue;
    found.push_back({&q, std::make_shared<shared_change>()});
  }
  if (found.empty()) {
    refuse({"weights", c.path.string(), "",
            "weights of FP8 with scales of " + types.text(), "none"});
  }
  return found;
}

void prove(const checkpoint& c, const std::vector<rescaled>& weights,
           const work_options& options) {
  work_state state;
  for (const auto& w : weights)
    state.total += static_cast<double>(w.q->count());
  for (const auto& w : weights) {
    std::vector<job> jobs;
    add_rescaling(c, w, {}, jobs);
    run_jobs(jobs, options, state);
  }
  end_progress(options, state);
}

conversion rescaling(const checkpoint& c, const std::vector<rescaled>& weights,
                     element scales, const std::string& only) {
  // For each tensor: the weight whose codes, or whose scales, it has.
  struct roles {
    std::vector<const rescaled*> codes;
    std::vector<const rescaled*> scales;
  };
  const auto all = std::make_shared<roles>();
  all->codes.assign(c.tensors.size(), nullptr);
  all->scales = all->codes;
  for (const auto& w : weights) {
    all->codes[static_cast<std::size_t>(w.q->weight - c.tensors.data())] = &w;
    all->scales[static_cast<std::size_t>(w.q->scale - c.tensors.data())] = &w;
  }
  const auto place_of = [&c](const tensor& t) {
    return static_cast<std::size_t>(&t - c.tensors.data());
  };
  conversion how;
  how.request =
      fmt::format("rescale scales {} only '{}'", name_of(scales), only);
  how.outputs = [all, place_of, scales](const tensor& t) -> std::vector<entry> {
    entry e = t;
    if (all->scales[place_of(t)] != nullptr) e.type = scales;
    return {e};
  };
  how.add_jobs = [&c, all, place_of, scales](const tensor& t, const places& to,
                                             const shard_writer& out,
                                             std::vector<job>& jobs) {
    const auto* codes = all->codes[place_of(t)];
    const auto* of_scales = all->scales[place_of(t)];
    if (codes != nullptr) {
      return add_rescaling(c, *codes, {&out, to.front()}, jobs);
    }
    if (of_scales != nullptr) {
      return add_scales(c, *of_scales, scales, to.front(), out, jobs);
    }
    add_copy(c, t, to.front(), out, jobs);
  };
  how.change_config = [](json& config) {
    const auto at =
        config.is_object() ? config.find("quantization_config") : config.end();
    if (config.is_object() && at != config.end() && at->is_object()) {
      (*at)["scale_fmt"] = "ue8m0";
    }
  };
  return how;
}

}  // namespace zeroulp::checkpoint
