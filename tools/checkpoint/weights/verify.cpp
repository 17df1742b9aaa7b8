#include "tools/checkpoint/weights/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>

namespace zeroulp::checkpoint {
namespace {

using count_t = std::uint64_t;

constexpr double far_off = 64;

std::string number_text(std::uint32_t bits) {
  return fmt::format("{} ({:08x})", std::bit_cast<float>(bits), bits);
}

bool is_power_of_two(std::uint32_t bits) {
  const auto fraction = bits & 0x7fffff;
  return (bits >> 23) != 0 ? fraction == 0 : std::has_single_bit(fraction);
}

/// The first scale that is wrong, as what it should be; empty: none.
const char* wrong_scale(std::uint32_t bits, bool powers) {
  if ((bits & 0x7fffffff) >= fp32_infinity) return "finite scales";
  if ((bits & 0x7fffffff) == 0 || bits >> 31 != 0) return "positive scales";
  if (powers && !is_power_of_two(bits)) {
    return "powers of two, as scale_fmt ue8m0 says";
  }
  return "";
}

/// The faults of one weight's scales: one at most.
void check_scales_of(const checkpoint& c, const quantized& q,
                     std::vector<fault>& faults) {
  const count_t rows = q.grid_rows();
  const count_t cols = q.grid_cols();
  const bool powers = c.config.powers_of_two && q.second == nullptr;
  count_t wrong = 0;
  fault first;
  const auto look = [&](const tensor& t, const std::string& place,
                        std::uint32_t bits, bool in_powers) {
    const std::string what = wrong_scale(bits, in_powers);
    if (what.empty()) return;
    if (wrong++ == 0) {
      first = {"scale values", c.file_of(t), t.name, what,
               number_text(bits) + place};
    }
  };
  const count_t strip =
      std::max<count_t>(tile_numbers / std::max<count_t>(cols, 1), 1);
  for (count_t o = 0; o < q.outer; ++o) {
    for (count_t i = 0; i < rows; i += strip) {
      const count_t m = std::min(strip, rows - i);
      const auto s = read_scales(c, q, o, i, 0, m, cols);
      for (count_t k = 0; k < s.words.size(); ++k) {
        if (*wrong_scale(s.words[k], powers) == '\0') continue;
        look(*q.scale,
             fmt::format(" at group ({}, {}){}", i + k / cols, k % cols,
                         q.outer > 1 ? fmt::format(" of matrix {}", o) : ""),
             s.words[k], powers);
      }
    }
  }
  if (q.second != nullptr) {
    std::uint32_t bits = 0;
    const window w = c.map(*q.second, 0, 4);
    std::copy_n(w.data(), 4, reinterpret_cast<std::byte*>(&bits));
    look(*q.second, "", bits, false);
  }
  if (wrong == 0) return;
  if (wrong > 1) first.found += fmt::format(" and {} more", wrong - 1);
  faults.push_back(first);
}

/// What the tiles of a tensor sum up to; each is added under `guard`.
struct facts_sum {
  std::vector<std::uint8_t> largest;  ///< code of each group
  std::vector<double> sums;           ///< of |w|, a tile
  count_t nans = 0;
  count_t first_nan = 0;
  std::mutex guard;
};

/// |value| of each code, FP64, and whether it is NaN, which has the value 0.
struct code_table {
  std::array<double, 256> value{};
  std::array<bool, 256> is_nan{};
};

code_table table_of(format f) {
  code_table table;
  for (unsigned code = 0; code < table.value.size(); ++code) {
    const auto bits = static_cast<std::uint32_t>(
        recode(f, code & low_bits(f.bits()), fp32, {}, cuda_nosat));
    const float x = std::fabs(std::bit_cast<float>(bits));
    table.value[code] = std::isfinite(x) ? static_cast<double>(x) : 0;
    table.is_nan[code] = std::isnan(x);
  }
  return table;
}

void look_at_codes(const checkpoint& c, const quantized& q, const tile& t,
                   std::size_t place, facts_sum& sum) {
  std::vector<std::uint8_t> codes;
  read_codes(c, q, t, codes);
  const auto scales = scales_of(c, q, t);
  const auto table = table_of(q.code);
  const auto mask = static_cast<std::uint8_t>(q.code.magnitude_mask());
  std::vector<std::uint8_t> largest(scales.words.size(), 0);
  double total = 0;
  count_t nans = 0;
  count_t first_nan = 0;
  const auto width = std::min(q.width(), t.n);
  for (count_t i = 0; i < t.m; ++i) {
    const count_t row =
        ((t.i + i) / q.height() - t.i / q.height()) * scales.cols;
    for (count_t j = 0, g = 0; j < t.n; j += width, ++g) {
      const auto n = std::min(width, t.n - j);
      const auto* line = codes.data() + i * t.n + j;
      double part = 0;
      std::uint8_t top = 0;
      for (count_t k = 0; k < n; ++k) {
        part += table.value[line[k]];
        const auto magnitude = static_cast<std::uint8_t>(line[k] & mask);
        if (table.is_nan[line[k]]) {
          if (nans++ == 0) first_nan = (t.i + i) * q.cols + t.j + j + k;
        } else {
          top = std::max(top, magnitude);
        }
      }
      auto& of_group = largest[row + g];
      of_group = std::max(of_group, top);
      total += part * static_cast<double>(std::fabs(
                          std::bit_cast<float>(scales.words[row + g])));
    }
  }
  const std::lock_guard lock(sum.guard);
  sum.sums[place] = total;
  if (nans != 0 && (sum.nans == 0 || first_nan < sum.first_nan)) {
    sum.first_nan = first_nan;
  }
  sum.nans += nans;
  const count_t gi = t.outer * q.grid_rows() + t.i / q.height();
  const count_t gj = t.j / q.width();
  for (count_t i = 0; i < scales.rows; ++i) {
    for (count_t j = 0; j < scales.cols; ++j) {
      auto& g = sum.largest[(gi + i) * q.grid_cols() + gj + j];
      g = std::max(g, largest[i * scales.cols + j]);
    }
  }
}

void look_at_numbers(const checkpoint& c, const tensor& t, const tile& part,
                     std::size_t place, facts_sum& sum) {
  std::vector<std::uint32_t> words;
  read_fp32(c, t, nullptr, part, {}, words);
  double total = 0;
  count_t nans = 0;
  count_t first_nan = 0;
  for (count_t k = 0; k < words.size(); ++k) {
    const auto magnitude = words[k] & 0x7fffffff;
    if (magnitude < fp32_infinity) {
      total += static_cast<double>(std::bit_cast<float>(magnitude));
    } else if (nans++ == 0) {
      first_nan = part.i * matrices_of(t).cols + part.j + k;
    }
  }
  const std::lock_guard lock(sum.guard);
  sum.sums[place] = total;
  if (nans != 0 && (sum.nans == 0 || first_nan < sum.first_nan)) {
    sum.first_nan = first_nan;
  }
  sum.nans += nans;
}

/// The name with # for each number: tensors of one kind have one.
std::string kind_of(const std::string& name) {
  std::string kind;
  for (const char ch : name) {
    const bool digit = ch >= '0' && ch <= '9';
    if (digit && !kind.empty() && kind.back() == '#') continue;
    kind += digit ? '#' : ch;
  }
  return kind;
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(),
                   x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2),
                   x.end());
  return x[x.size() / 2];
}

void compare_sizes(const checkpoint& c, verification& v) {
  struct kind {
    std::vector<double> sizes;
    double usual = 0;
  };
  std::map<std::string, kind> kinds;
  std::vector<double> all;
  const auto counts = [](const weight_facts& w) {
    return w.mean > 0 && std::isfinite(w.mean);
  };
  for (const auto& w : v.weights) {
    if (!counts(w)) continue;
    kinds[kind_of(w.of->name)].sizes.push_back(w.mean);
    all.push_back(w.mean);
  }
  constexpr std::size_t few = 3;
  if (all.size() < few) return;
  const double middle = median(all);
  for (auto& [name, k] : kinds) {
    k.usual = k.sizes.size() < few ? middle : median(k.sizes);
  }
  for (const auto& w : v.weights) {
    if (!counts(w)) continue;
    const auto name = kind_of(w.of->name);
    const auto& k = kinds[name];
    const double factor = w.mean / k.usual;
    if (factor < far_off && factor > 1 / far_off) continue;
    v.faults.push_back(
        {"size", c.file_of(*w.of), w.of->name,
         fmt::format("mean |w| near {:.3g}, that of {}", k.usual,
                     k.sizes.size() < few ? "all weights" : name),
         fmt::format("{:.3g}: {:.3g} times that", w.mean, factor)});
  }
}

struct looked_at {
  weight_facts facts;
  std::unique_ptr<facts_sum> sum = std::make_unique<facts_sum>();
};

/// The jobs that look at a tensor.
void add_jobs(const checkpoint& c, looked_at& l, std::vector<job>& jobs) {
  const tensor& t = *l.facts.of;
  const quantized* q = l.facts.q;
  facts_sum& sum = *l.sum;
  if (q != nullptr) {
    sum.largest.assign(q->outer * q->grid_rows() * q->grid_cols(), 0);
  }
  const auto share = static_cast<double>(t.bytes) /
                     static_cast<double>(q ? q->count() : t.count());
  for_each_tile(q ? matrices_of(*q) : matrices_of(t), [&](const tile& part) {
    const auto place = sum.sums.size();
    sum.sums.push_back(0);
    const double bytes = share * static_cast<double>(part.count());
    jobs.push_back({bytes, [&c, &t, q, part, place, &sum] {
                      q ? look_at_codes(c, *q, part, place, sum)
                        : look_at_numbers(c, t, part, place, sum);
                    }});
  });
}

void finish(const checkpoint& c, looked_at& l, verification& v) {
  weight_facts& w = l.facts;
  const quantized* q = w.q;
  const count_t count = q ? q->count() : w.of->count();
  for (const double s : l.sum->sums) w.mean += s;
  if (count != 0) w.mean /= static_cast<double>(count);
  if (q != nullptr) {
    w.groups = l.sum->largest.size();
    w.full_groups = static_cast<count_t>(
        std::count(l.sum->largest.begin(), l.sum->largest.end(),
                   static_cast<std::uint8_t>(q->code.max_code())));
  }
  if (l.sum->nans != 0) {
    const count_t cols = q ? q->cols : matrices_of(*w.of).cols;
    v.faults.push_back(
        {"nan", c.file_of(*w.of), w.of->name,
         q ? "codes that are numbers" : "finite numbers",
         fmt::format("{} that are not, the first at ({}, {})", l.sum->nans,
                     l.sum->first_nan / cols, l.sum->first_nan % cols)});
  }
  v.weights.push_back(w);
}

}  // namespace

std::vector<fault> check_scales(const checkpoint& c, const pairs& p) {
  std::vector<fault> faults;
  for (const auto& q : p.weights) {
    if (q.scale == nullptr || q.weight->bytes == 0) continue;
    check_scales_of(c, q, faults);
  }
  return faults;
}

verification verify(const checkpoint& c, const pairs& p,
                    const work_options& options) {
  verification v;
  v.faults = p.faults;
  v.tensors = c.tensors.size();
  if (!v.faults.empty()) return v;  // what follows needs groups that fit
  v.faults = check_scales(c, p);
  std::vector<looked_at> all;
  for (std::size_t k = 0; k < c.tensors.size(); ++k) {
    const tensor& t = c.tensors[k];
    const auto at = p.weight_at[k];
    if (p.scale_of[k] >= 0 || t.bytes == 0) continue;
    if (at < 0 && (!is_numeric(t.type) || t.shape.size() < 2)) continue;
    looked_at l;
    l.facts.of = &t;
    l.facts.q = at >= 0 ? &p.weights[static_cast<std::size_t>(at)] : nullptr;
    all.push_back(std::move(l));
  }
  work_state state;
  for (const auto& l : all)
    state.total += static_cast<double>(l.facts.of->bytes);
  // A tensor after the other: what they sum up to is small then.
  for (auto& l : all) {
    std::vector<job> jobs;
    add_jobs(c, l, jobs);
    run_jobs(jobs, options, state);
    finish(c, l, v);
    l.sum.reset();
  }
  end_progress(options, state);
  compare_sizes(c, v);
  return v;
}

std::string fingerprint(const verification& v) {
  count_t groups = 0;
  count_t full = 0;
  for (const auto& w : v.weights) {
    // Of four bits most groups reach it, whatever the rule.
    if (w.q == nullptr || w.q->code == e2m1 || w.q->scale == nullptr) continue;
    groups += w.groups;
    full += w.full_groups;
  }
  if (groups == 0) return "";
  const double share =
      100 * static_cast<double>(full) / static_cast<double>(groups);
  return fmt::format(
      "{} of {} groups ({:.3g} %) reach the format's largest number: {}", full,
      groups, share,
      share > 90   ? "scales are amax / largest"
      : share < 20 ? "scales are rounded up, as powers of two are"
                   : "scales of no one rule");
}

}  // namespace zeroulp::checkpoint
