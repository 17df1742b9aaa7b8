#include "tools/checkpoint/weights/diff.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

#include "tools/checkpoint/weights/hash.hpp"
#include "zeroulp/arrays.hpp"
#include "zeroulp/metrics.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::checkpoint {
namespace {

using count_t = std::uint64_t;

/// A tensor with what it is.
struct operand {
  const diff_side* side = nullptr;
  const tensor* t = nullptr;
  const quantized* q = nullptr;

  const shape_t& shape() const { return q != nullptr ? q->shape : t->shape; }
  bool is_number() const { return q != nullptr || is_numeric(t->type); }
  matrices tiles() const {
    return q != nullptr ? matrices_of(*q) : matrices_of(*t);
  }
  std::string text() const {
    std::string type = name_of(t->type);
    if (q == nullptr || q->scale == nullptr) return type;
    return fmt::format("{} {} by {}", type, zeroulp::name_of(q->group),
                       name_of(q->scale->type));
  }
};

std::map<std::string, operand> operands_of(const diff_side& side) {
  std::map<std::string, operand> found;
  for (std::size_t i = 0; i < side.files.tensors.size(); ++i) {
    if (side.scales.scale_of[i] >= 0) continue;
    const auto at = side.scales.weight_at[i];
    operand o{&side, &side.files.tensors[i], nullptr};
    if (at >= 0) o.q = &side.scales.weights[static_cast<std::size_t>(at)];
    found[value_name(*o.t, o.q)] = o;
  }
  return found;
}

bool same_bytes(const operand& a, const tensor& x, const operand& b,
                const tensor& y) {
  if (x.type != y.type || x.shape != y.shape) return false;
  bool same = true;
  for_each_piece(x.bytes, [&](count_t from, count_t bytes) {
    if (!same) return;
    const window u = a.side->files.map(x, from, bytes);
    const window v = b.side->files.map(y, from, bytes);
    same = std::memcmp(u.data(), v.data(), bytes) == 0;
  });
  return same;
}

bool same_bytes(const operand& a, const operand& b) {
  const auto both = [&](const tensor* x, const tensor* y) {
    if (x == nullptr || y == nullptr) return x == y;
    return same_bytes(a, *x, b, *y);
  };
  if ((a.q == nullptr) != (b.q == nullptr)) return false;
  if (!same_bytes(a, *a.t, b, *b.t)) return false;
  if (a.q == nullptr) return true;
  return a.q->group == b.q->group && both(a.q->scale, b.q->scale) &&
         both(a.q->second, b.q->second) &&
         (a.q->second == nullptr || a.q->family->use == b.q->family->use);
}

/// A tile of a common grid as one of a side, whose matrices may be folded.
tile on_side(const matrices& m, const tile& t, count_t rows) {
  if (m.outer > 1) return t;
  return {0, t.outer * rows + t.i, t.j, t.m, t.n};
}

/// Tiles that both sides can read.
matrices common_tiles(const matrices& a, const matrices& b) {
  matrices m = a.outer > 1 ? a : b;
  m.height = std::lcm(a.height, b.height);
  m.width = std::lcm(a.width, b.width);
  return m;
}

/// How codes may have become numbers of another format.
struct rounding_rule {
  const char* name;
  bool via_fp32;
  bool scaled;
};
constexpr rounding_rule rounding_rules[] = {
    {"dequantized by one rounding", false, true},
    {"dequantized by two roundings, the first to fp32", true, true},
    {"codes without their scales", false, false},
};
using rule_counts = std::array<count_t, std::size(rounding_rules)>;

class comparer {
 public:
  comparer(const operand& a, const operand& b, tensor_diff& d)
      : a_(a), b_(b), d_(d) {
    // Numbers of one plain format have its ulps.
    const bool one = a.q == nullptr && b.q == nullptr && a.t->type == b.t->type;
    unit_ = one ? row_of(a.t->type).holds.value() : fp32;
    const bool mixed = (a.q == nullptr) != (b.q == nullptr);
    codes_ = a.q != nullptr ? &a : &b;
    plain_ = a.q != nullptr ? &b : &a;
    judges_rules_ = mixed && row_of(plain_->t->type).bits <= 16;
  }

  void add_jobs(std::vector<job>& jobs) {
    const matrices m = common_tiles(a_.tiles(), b_.tiles());
    for_each_tile(m, [&](const tile& t) {
      jobs.push_back({static_cast<double>(t.count()),
                      [this, t, rows = m.rows] { compare(t, rows); }});
    });
  }

  void finish() {
    d_.unit = zeroulp::name_of(unit_);
    if (d_.different == 0) {
      d_.like = likeness::same_values;
      return;
    }
    d_.like = likeness::different;
    for (std::size_t r = 0; judges_rules_ && r < wrong_.size(); ++r) {
      if (wrong_[r] != 0) continue;
      // Codes without scales are no numbers of the weight.
      d_.like =
          rounding_rules[r].scaled ? likeness::by_rule : likeness::different;
      d_.rule = fmt::format("{} is {} {}", plain_ == &a_ ? "A" : "B",
                            plain_ == &a_ ? "B" : "A", rounding_rules[r].name);
      return;
    }
  }

 private:
  void compare(const tile& t, count_t rows) {
    std::vector<std::uint32_t> x;
    std::vector<std::uint32_t> y;
    const tile at_a = on_side(a_.tiles(), t, rows);
    const tile at_b = on_side(b_.tiles(), t, rows);
    read_fp32(a_.side->files, *a_.t, a_.q, at_a, {}, x);
    read_fp32(b_.side->files, *b_.t, b_.q, at_b, {}, y);
    tensor_diff part;
    change numbers;
    const code_order order = order_of(unit_);
    for (count_t k = 0; k < x.size(); ++k) {
      if (x[k] == y[k]) continue;
      const auto as_unit = [&](std::uint32_t word) {
        return unit_ == fp32 ? word : recode(fp32, word, unit_);
      };
      const auto apart = difference_of(as_unit(x[k]), as_unit(y[k]), order);
      const bool both_nan = (x[k] & 0x7fffffff) > fp32_infinity &&
                            (y[k] & 0x7fffffff) > fp32_infinity;
      if (both_nan) continue;
      if (apart.distance) {
        part.max_ulps = std::max(part.max_ulps, *apart.distance);
      } else {
        ++part.nans;
      }
      numbers.add({t.outer * rows + t.i + k / t.n, t.j + k % t.n,
                   static_cast<double>(std::bit_cast<float>(x[k])),
                   static_cast<double>(std::bit_cast<float>(y[k]))});
    }
    rule_counts wrong{};
    if (judges_rules_ && numbers.values != 0) {
      wrong = judge(plain_ == &a_ ? at_b : at_a, plain_ == &a_ ? at_a : at_b);
    }
    const std::lock_guard lock(guard_);
    d_.max_ulps = std::max(d_.max_ulps, part.max_ulps);
    d_.nans += part.nans;
    for (std::size_t r = 0; r < wrong.size(); ++r) wrong_[r] += wrong[r];
    sum_.merge(numbers);
    d_.different = sum_.values;
    d_.first = sum_.first;
    d_.largest = sum_.largest;
  }

  /// By each rule: how many elements of the plain side it does not give.
  rule_counts judge(const tile& codes, const tile& plain) const {
    rule_counts wrong{};
    const format to = row_of(plain_->t->type).holds.value();
    std::vector<std::byte> given;
    read_elements(plain_->side->files, *plain_->t, plain, given);
    std::vector<std::byte> made(given.size());
    const auto bytes = static_cast<count_t>(storage_bytes(to));
    for (std::size_t r = 0; r < std::size(rounding_rules); ++r) {
      const auto& rule = rounding_rules[r];
      quantized q = *codes_->q;
      if (!rule.scaled) q.scale = q.second = nullptr;
      dequantize_tile(codes_->side->files, q, codes, to,
                      {rule.via_fp32, product_order::scales}, made.data());
      for (count_t k = 0; k < given.size(); k += bytes) {
        wrong[r] += std::memcmp(&given[k], &made[k], bytes) != 0 ? 1 : 0;
      }
    }
    return wrong;
  }

  const operand& a_;
  const operand& b_;
  tensor_diff& d_;
  const operand* codes_ = nullptr;
  const operand* plain_ = nullptr;
  format unit_{};
  bool judges_rules_ = false;
  std::mutex guard_;
  change sum_;
  rule_counts wrong_{};
};

tensor_diff compare_pair(const std::string& name, const operand& a,
                         const operand& b, const work_options& options,
                         work_state& state) {
  tensor_diff d;
  d.name = name;
  d.a = a.text();
  d.b = b.text();
  if (a.shape() != b.shape()) {
    d.like = likeness::other_shape;
    d.a += " " + text_of(a.shape());
    d.b += " " + text_of(b.shape());
    return d;
  }
  d.count = a.q != nullptr ? a.q->count() : a.t->count();
  if (same_bytes(a, b)) return d;
  if (!a.is_number() || !b.is_number()) {
    d.like = likeness::different;
    return d;
  }
  comparer c(a, b, d);
  std::vector<job> jobs;
  c.add_jobs(jobs);
  run_jobs(jobs, options, state);
  c.finish();
  return d;
}

}  // namespace

const char* name_of(likeness l) {
  constexpr const char* names[] = {"same bytes", "same values", "by rule",
                                   "different",  "only in A",   "only in B",
                                   "other shape"};
  return names[static_cast<std::size_t>(l)];
}

std::vector<tensor_diff> diff(const diff_side& a, const diff_side& b,
                              const work_options& options) {
  const auto of_a = operands_of(a);
  const auto of_b = operands_of(b);
  std::vector<tensor_diff> all;
  work_state state;
  for (const auto& [name, x] : of_a) {
    if (of_b.contains(name)) {
      state.total += static_cast<double>(x.q ? x.q->count() : x.t->count());
    }
  }
  for (const auto& [name, x] : of_a) {
    const auto y = of_b.find(name);
    if (y != of_b.end()) {
      all.push_back(compare_pair(name, x, y->second, options, state));
      continue;
    }
    tensor_diff d;
    d.name = name;
    d.like = likeness::only_in_a;
    d.a = x.text();
    all.push_back(d);
  }
  end_progress(options, state);
  for (const auto& [name, y] : of_b) {
    if (of_a.contains(name)) continue;
    tensor_diff d;
    d.name = name;
    d.like = likeness::only_in_b;
    d.b = y.text();
    all.push_back(d);
  }
  return all;
}

}  // namespace zeroulp::checkpoint
