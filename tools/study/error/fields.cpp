// The table of fields.

#include "src/base/near_names.hpp"
#include "tools/study/error/choices.hpp"
#include "tools/study/error/matrix.hpp"
#include "tools/study/error/shapes.hpp"
#include "tools/study/error/text.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::study {
namespace {

constexpr choice<scaling> scalings[] = {
    {"raw", scaling::raw},
    {"fp32", scaling::float32},
    {"pow2", scaling::pow2},
    {"pow2_down", scaling::pow2_down},
    {"pow2_nearest", scaling::pow2_nearest},
    {"ocp", scaling::ocp},
};
constexpr choice<passage> passages[] = {
    {"direct", passage::direct},
    {"e5m6", passage::e5m6},
    {"retile", passage::retiled},
    {"e5m6.retile", passage::retiled_e5m6},
};
constexpr choice<bool> answers[] = {{"no", false}, {"yes", true}};
constexpr choice<std::uint32_t> floors[] = {{"0", 0},
                                            {"1e-12", floor_1e_12},
                                            {"1e-10", floor_1e_10},
                                            {"1e-4", floor_1e_4}};

constexpr std::ptrdiff_t most_k = 1 << 20;
constexpr std::ptrdiff_t most_outputs = 1 << 14;

std::string name_of_scaling(scaling s) { return name_in(scalings, s); }
scaling parse_scaling(std::string_view text) { return find(scalings, text); }

std::string name_of_passage(passage p) { return name_in(passages, p); }
passage parse_passage(std::string_view text) { return find(passages, text); }

/// A field of one operand.
template <operand cell::*Side, auto Member, auto Name, auto Parse>
constexpr field of(const char* name, const char* means) {
  return {
      name, means, [](const cell& c) { return Name(c.*Side.*Member); },
      [](cell& c, std::string_view text) { c.*Side.*Member = Parse(text); }};
}

template <operand cell::*Side, std::ptrdiff_t cell::*Rows>
void set_input(cell& c, std::string_view text) {
  input& x = (c.*Side).from;
  x = parse_input(text);
  if (x.matrix == nullptr) return;
  c.*Rows = x.matrix->rows;
  c.k = x.matrix->cols;
}

/// Throws input_error unless a cell's matrices fit each other and the rest.
void check_matrices(const cell& c) {
  const user_matrix* a = c.a.from.matrix.get();
  const user_matrix* b = c.b.from.matrix.get();
  if (a != nullptr && b != nullptr && a->cols != b->cols) {
    throw input_error(fmt::format("{} has {} columns, {} has {}: both need K",
                                  a->file, a->cols, b->file, b->cols));
  }
  if ((a != nullptr || b != nullptr) && c.shape != free_shape) {
    throw input_error(fmt::format("{} decides the shape: leave out shape={}",
                                  (a != nullptr ? a : b)->file, c.shape));
  }
  const double most = to_double(decode(c.values, c.values.max_code()));
  const auto check = [&](const user_matrix* x, std::ptrdiff_t rows,
                         const char* decides) {
    if (x == nullptr) return;
    if (x->rows != rows || x->cols != c.k) {
      throw input_error(fmt::format("{} is {} x {} and decides {} and k",
                                    x->file, x->rows, x->cols, decides));
    }
    if (x->largest > most) {
      throw input_error(
          fmt::format("{}: {:g} is beyond {}, which inputs are "
                      "rounded to first",
                      x->file, x->largest, name_of(c.values)));
    }
  };
  check(a, c.m, "m");
  check(b, c.n, "n");
}

const field all_fields[] = {
    {"shape", "a Linear of DeepSeek-V3 and a pass, or free",
     [](const cell& c) { return c.shape; }, set_shape},
    {"pass", "fprop, dgrad or wgrad (K runs along tokens)",
     [](const cell& c) { return name_in(passes, c.pass); },
     [](cell& c, std::string_view t) { c.pass = find(passes, t); }},
    {"m", "rows of outputs", [](const cell& c) { return std::to_string(c.m); },
     [](cell& c, std::string_view t) {
       c.m = number<std::ptrdiff_t>(t, 1, most_outputs);
     }},
    {"n", "columns of outputs",
     [](const cell& c) { return std::to_string(c.n); },
     [](cell& c, std::string_view t) {
       c.n = number<std::ptrdiff_t>(t, 1, most_outputs);
     }},
    {"sample", "outputs that are measured: the first N x N, or all",
     [](const cell& c) {
       return c.sample == 0 ? "all" : std::to_string(c.sample);
     },
     [](cell& c, std::string_view t) {
       c.sample = t == "all" ? 0 : number<std::ptrdiff_t>(t, 1, most_outputs);
     }},
    {"k", "products of an output",
     [](const cell& c) { return std::to_string(c.k); },
     [](cell& c, std::string_view t) {
       c.k = number<std::ptrdiff_t>(t, 1, most_k);
     }},
    {"values", "what inputs are before they are quantized",
     [](const cell& c) { return name_of(c.values); },
     [](cell& c, std::string_view t) {
       const format f = parse_format(t);
       if (!(f == bf16 || f == fp32)) {
         throw input_error(fmt::format("'{}': use bf16 or fp32", t));
       }
       c.values = f;
     }},
    {"a.input", "law of its elements, or a file: FILE.npy, FILE.npy:bf16",
     [](const cell& c) { return name_of_input(c.a.from); },
     set_input<&cell::a, &cell::m>},
    of<&cell::a, &operand::element, name_of_element, parse_element>(
        "a.format", "of its codes"),
    of<&cell::a, &operand::group, name_of_group, parse_granularity>(
        "a.group", "elements of a scale, along M or N by K"),
    of<&cell::a, &operand::scale, name_of_scaling, parse_scaling>(
        "a.scale", "how a scale follows from amax"),
    of<&cell::a, &operand::when, name_of_timing, parse_timing>("a.timing",
                                                               "whose amax"),
    of<&cell::a, &operand::via, name_of_passage, parse_passage>(
        "a.via", "what it was stored as before"),
    {"b.input", "law of its elements, or a file: FILE.npy, FILE.npy:bf16",
     [](const cell& c) { return name_of_input(c.b.from); },
     set_input<&cell::b, &cell::n>},
    of<&cell::b, &operand::element, name_of_element, parse_element>(
        "b.format", "of its codes"),
    of<&cell::b, &operand::group, name_of_group, parse_granularity>(
        "b.group", "elements of a scale, along M or N by K"),
    of<&cell::b, &operand::scale, name_of_scaling, parse_scaling>(
        "b.scale", "how a scale follows from amax"),
    of<&cell::b, &operand::when, name_of_timing, parse_timing>("b.timing",
                                                               "whose amax"),
    of<&cell::b, &operand::via, name_of_passage, parse_passage>(
        "b.via", "what it was stored as before"),
    {"amax_floor", "of both", [](const cell& c) { return c.amax_floor; },
     [](cell& c, std::string_view t) {
       (void)find(floors, t);
       c.amax_floor = t;
     }},
    {"shift", "A's magnitude over that of its history",
     [](const cell& c) { return fmt::format("{:g}", c.shift); },
     [](cell& c, std::string_view t) { c.shift = number(t, 1e-9, 1e9); }},
    {"age", "steps since the shift",
     [](const cell& c) { return std::to_string(c.age); },
     [](cell& c, std::string_view t) { c.age = number(t, 0, 4096); }},
    {"smooth", "channels of A scaled to one amax, B's by the inverse",
     [](const cell& c) { return name_in(answers, c.smooth); },
     [](cell& c, std::string_view t) { c.smooth = find(answers, t); }},
    {"acc", "hopper, fN (fraction bits), fp32 or exact",
     [](const cell& c) { return name_of_sum(c.sum); },
     [](cell& c, std::string_view t) { c.sum = parse_sum(t); }},
    {"interval", "elements of K between promotions",
     [](const cell& c) {
       return c.interval == 0 ? "none" : std::to_string(c.interval);
     },
     [](cell& c, std::string_view t) {
       c.interval = t == "none" ? 0 : number(t, 1, 1 << 20);
     }},
    {"seed", "of the inputs",
     [](const cell& c) { return std::to_string(c.seed); },
     [](cell& c, std::string_view t) {
       c.seed = number<std::uint64_t>(t, 0, std::uint64_t{1} << 32);
     }},
};

}  // namespace

std::span<const field> fields() { return all_fields; }

void set(cell& c, std::string_view name, std::string_view value) {
  bool found = false;
  for (const auto& f : fields()) {
    const std::string_view full = f.name;
    const bool side = full.size() > 2 && full[1] == '.';
    if (full != name && !(side && full.substr(2) == name)) continue;
    found = true;
    try {
      f.set(c, value);
      check_matrices(c);
    } catch (const input_error& e) {
      throw input_error(fmt::format("{}={}: {}", name, value, e.what()));
    }
  }
  if (found) return;
  std::string known;
  for (const auto& f : fields()) known += std::string(" ") + f.name;
  throw input_error(
      fmt::format("'{}' is no field of a cell: {}use one of{}, or an "
                  "operand's without a. and b.",
                  name, did_you_mean(name, names_in(fields())), known));
}

void set(cell& c, std::string_view settings) {
  for (const auto& part : split(settings, ' ')) {
    const auto equals = part.find('=');
    if (equals == std::string::npos) {
      throw input_error(fmt::format("'{}': use FIELD=VALUE", part));
    }
    set(c, std::string_view(part).substr(0, equals),
        std::string_view(part).substr(equals + 1));
  }
}

std::vector<std::string> values_of(const cell& c) {
  std::vector<std::string> values;
  for (const auto& f : fields()) values.push_back(f.get(c));
  return values;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == separator && depth == 0) {
      if (!part.empty()) parts.push_back(part);
      part.clear();
    } else {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

std::uint32_t floor_of(const cell& c) { return find(floors, c.amax_floor); }

}  // namespace zeroulp::study
