#include "tools/checkpoint/weights/pairing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "zeroulp/names.hpp"

namespace zeroulp::checkpoint {
namespace {

using count_t = std::uint64_t;

bool ends_with(const std::string& name, const char* ending) {
  return name.ends_with(ending);
}

/// The name with one ending in place of another.
std::string renamed(const std::string& name, const char* from, const char* to) {
  return name.substr(0, name.size() - std::string_view(from).size()) + to;
}

bool takes(const family_row& row, const tensor& t) {
  return row.weights.has(t.type) && ends_with(t.name, row.weight);
}

/// The shape of the numbers, or nothing where the weight's does not fit.
std::optional<shape_t> numbers_shape(const family_row& row, const tensor& t) {
  shape_t s = t.shape;
  if (row.packed == packing::blocks) {
    if (s.size() < 3) return {};
    const count_t bytes = s.back();
    s.pop_back();
    if (bytes * 2 != static_cast<count_t>(row.group.cols)) return {};
    s.back() *= bytes * 2;
  } else if (row.packed == packing::pairs && t.type != element::f4) {
    if (s.empty()) return {};
    s.back() *= 2;
  }
  return s;
}

/// A scale that is one number, in a tensor of any rank that has none besides.
bool is_single(const tensor& t) { return t.count() == 1 && t.shape.size() < 2; }

count_t product(const shape_t& s, std::size_t begin, std::size_t end) {
  count_t p = 1;
  for (std::size_t i = begin; i < end; ++i) p *= s[i];
  return p;
}

/// Gives the weight its matrices for groups of this shape.
void set_matrices(quantized& q, group_shape group) {
  q.group = group;
  const std::size_t rank = q.shape.size();
  q.cols = rank > 0 ? q.shape.back() : 1;
  q.rows = rank > 1 ? q.shape[rank - 2] : 1;
  q.outer = rank > 2 ? product(q.shape, 0, rank - 2) : 1;
  // Groups that lie in a row do not see where a matrix ends.
  if (group.rows == 1) {
    q.rows *= q.outer;
    q.outer = 1;
  }
}

/// Gives the weight its groups, where a family leaves them to a declaration.
void set_declared_groups(const checkpoint& c, quantized& q) {
  const shape_t& s = q.scale->shape;
  const std::size_t rank = q.shape.size();
  const auto& declared = c.config.group;
  const bool is_channel =
      rank >= 2 && !s.empty() && (s.size() == rank - 1 || s.back() == 1) &&
      q.scale->count() > 1 && q.scale->count() == product(q.shape, 0, rank - 1);
  const bool is_expert = rank > 2 && q.shape[0] > 1 && !s.empty() &&
                         s[0] == q.shape[0] && q.scale->count() == s[0];
  if (!declared && is_single(*q.scale)) {
    set_matrices(q, {0, 0});
    q.rows *= q.outer;
    q.outer = 1;
  } else if (!declared && is_expert) {
    set_matrices(q, {0, 0});
  } else if (!declared && is_channel) {
    set_matrices(q, {1, 0});
  } else {
    set_matrices(q, declared.value_or(group_shape{128, 128}));
    if (q.group == group_shape{0, 0} && is_single(*q.scale)) {
      q.rows *= q.outer;
      q.outer = 1;
    }
  }
}

/// Whether the scale has the shape that the groups need.
bool fits(const quantized& q) {
  const count_t wanted = q.outer * q.grid_rows() * q.grid_cols();
  if (q.scale->count() != wanted) return false;
  shape_t s = q.scale->shape;
  // Dimensions of one besides, as [m, 1] for [m].
  std::erase(s, count_t{1});
  shape_t grid;
  const std::size_t rank = q.shape.size();
  if (q.group.rows == 1 && rank > 2) {
    grid.assign(q.shape.begin(), q.shape.end() - 1);
  } else {
    if (q.outer > 1) grid.assign(q.shape.begin(), q.shape.end() - 2);
    grid.push_back(q.grid_rows());
  }
  grid.push_back(q.grid_cols());
  std::erase(grid, count_t{1});
  return s == grid;
}

std::string grid_text(const quantized& q) {
  if (q.group.rows == 0 && q.group.cols == 0 && q.outer == 1) {
    return "one number";
  }
  return fmt::format("{}{} x {} for groups of {}",
                     q.outer > 1 ? fmt::format("{} x ", q.outer) : "",
                     q.grid_rows(), q.grid_cols(), name_of(q.group));
}

class pairer {
 public:
  pairer(const checkpoint& c, bool allow_unscaled)
      : c_(c), allow_unscaled_(allow_unscaled) {
    out_.scale_of.assign(c.tensors.size(), -1);
    out_.weight_at.assign(c.tensors.size(), -1);
  }

  pairs run() {
    for (const auto& t : c_.tensors) pair(t);
    for (const auto& t : c_.tensors) check_alone(t);
    check_config();
    return std::move(out_);
  }

 private:
  std::size_t place(const tensor& t) const {
    return static_cast<std::size_t>(&t - c_.tensors.data());
  }
  bool is_scale(const tensor& t) const { return out_.scale_of[place(t)] >= 0; }

  void wrong(const char* check, const tensor& t, std::string expected,
             std::string found) {
    out_.faults.push_back(
        {check, c_.file_of(t), t.name, std::move(expected), std::move(found)});
  }

  /// The rows that take the weight and whose scale is there.
  std::vector<const family_row*> rows_of(const tensor& t) const {
    std::vector<const family_row*> found;
    for (const auto& row : families()) {
      if (!takes(row, t)) continue;
      const auto* s = c_.find(renamed(t.name, row.weight, row.scale));
      if (s != nullptr && s != &t) found.push_back(&row);
    }
    return found;
  }

  const tensor* scale_by(const family_row& row, const tensor& t) const {
    return c_.find(renamed(t.name, row.weight, row.scale));
  }

  void pair(const tensor& t) {
    const auto rows = rows_of(t);
    if (rows.empty()) return;
    const tensor* scale = scale_by(*rows.front(), t);
    for (const auto* row : rows) {
      const auto* other = scale_by(*row, t);
      if (other == scale) continue;
      wrong("scales", t, "one scale",
            "two: " + scale->name + " and " + other->name);
      // Each is what it is, and no fault of its own.
      known_.insert({&t, scale, other});
      return;
    }
    const family_row* taken = nullptr;
    element_set expected;
    for (const auto* row : rows) {
      expected = expected | row->scales;
      if (taken == nullptr && row->scales.has(scale->type)) taken = row;
    }
    const auto index = static_cast<std::ptrdiff_t>(out_.weights.size());
    out_.scale_of[place(*scale)] = index;
    out_.weight_at[place(t)] = index;
    quantized q;
    q.weight = &t;
    q.scale = scale;
    q.family = taken != nullptr ? taken : rows.front();
    if (taken == nullptr) {
      wrong("type", *scale, "a scale of " + expected.text(),
            name_of(scale->type));
    } else {
      complete(q);
    }
    ++used_[{q.family, t.type}];
    out_.weights.push_back(q);
  }

  /// Shape, groups and second scale of a weight.
  void complete(quantized& q) {
    const tensor& t = *q.weight;
    const family_row& row = *q.family;
    q.packed = row.packed;
    q.code = row.packed == packing::none ? row_of(t.type).holds.value() : e2m1;
    const auto shape = numbers_shape(row, t);
    if (!shape) {
      wrong("shape", t,
            fmt::format("blocks of {} bytes",
                        row.packed == packing::blocks ? row.group.cols / 2 : 1),
            text_of(t.shape));
      return;
    }
    q.shape = *shape;
    if (row.is_declared()) {
      set_declared_groups(c_, q);
    } else {
      set_matrices(q, row.group);
      if (row.group == group_shape{0, 0}) {
        q.rows *= q.outer;
        q.outer = 1;
      }
    }
    if (!fits(q)) {
      wrong("grid", *q.scale,
            fmt::format("{} of {}", grid_text(q), text_of(q.shape)),
            text_of(q.scale->shape));
    }
    if (row.use != second_use::none) take_second(q);
  }

  void take_second(quantized& q) {
    const std::string name =
        renamed(q.weight->name, q.family->weight, q.family->second);
    q.second = c_.find(name);
    if (q.second == nullptr) {
      wrong("scale", *q.weight, "a second scale " + name, "none");
      return;
    }
    out_.scale_of[place(*q.second)] =
        static_cast<std::ptrdiff_t>(out_.weights.size());
    if (q.second->type != element::f32 || q.second->count() != 1) {
      wrong("type", *q.second, "one number of F32",
            fmt::format("{} of {}", text_of(q.second->shape),
                        name_of(q.second->type)));
    }
  }

  /// The row that a weight without a scale is most likely of.
  const family_row* likely_row(const tensor& t) const {
    const family_row* best = nullptr;
    std::ptrdiff_t most = -1;
    for (const auto& row : families()) {
      if (!takes(row, t)) continue;
      const auto at = used_.find({&row, t.type});
      const std::ptrdiff_t n = at == used_.end() ? 0 : at->second;
      if (n > most) {
        most = n;
        best = &row;
      }
    }
    // Bytes are codes only where others of their type are.
    return fp8_types.has(t.type) || t.type == element::f4 || most > 0 ? best
                                                                      : nullptr;
  }

  void check_alone(const tensor& t) {
    if (is_scale(t) || out_.weight_at[place(t)] >= 0) return;
    if (is_companion(t.name) || known_.contains(&t)) return;
    if (check_lonely(t)) return;
    const auto* row = likely_row(t);
    if (row == nullptr) return;
    if (allow_unscaled_ && fp8_types.has(t.type)) return add_unscaled(t);
    wrong("scale", t, "a scale " + renamed(t.name, row->weight, row->scale),
          "none");
  }

  /// A scale without a weight.
  bool check_lonely(const tensor& t) {
    for (const auto& row : families()) {
      if (!row.lonely.has(t.type) || !ends_with(t.name, row.scale)) continue;
      const auto name = renamed(t.name, row.scale, row.weight);
      const auto* w = c_.find(name);
      wrong("weight", t,
            fmt::format("a weight {} of {}", name, row.weights.text()),
            w == nullptr ? "none" : "one of " + name_of(w->type));
      return true;
    }
    return false;
  }

  void add_unscaled(const tensor& t) {
    quantized q;
    q.weight = &t;
    q.code = row_of(t.type).holds.value();
    q.shape = t.shape;
    set_matrices(q, {1, 0});
    out_.weight_at[place(t)] = static_cast<std::ptrdiff_t>(out_.weights.size());
    out_.weights.push_back(q);
  }

  void check_config() {
    for (const auto& q : out_.weights) {
      const auto rule = c_.config.kept_by(q.weight->name);
      if (!rule) continue;
      wrong("config", *q.weight,
            fmt::format("it unquantized, as '{}' of {} says", *rule,
                        c_.config.file),
            name_of(q.weight->type) + " with a scale");
    }
    if (out_.weights.empty() && !c_.config.method.empty() &&
        out_.faults.empty() && !c_.index.empty()) {
      out_.faults.push_back(
          {"config", c_.config.file, "",
           "quantized weights, as quant_method " + c_.config.method + " says",
           "none"});
    }
  }

  const checkpoint& c_;
  bool allow_unscaled_;
  pairs out_;
  /// How many weights of a type each family has.
  std::map<std::pair<const family_row*, element>, std::ptrdiff_t> used_;
  std::set<const tensor*> known_;  ///< whose fault is told
};

}  // namespace

pairs pair_scales(const checkpoint& c, bool allow_unscaled) {
  return pairer(c, allow_unscaled).run();
}

}  // namespace zeroulp::checkpoint
