// compare: two arrays bit by bit: the first difference, ulps, a histogram; or a
// result and what it claims to be.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/compare/against.hpp"
#include "tools/zeroulp/compare/where.hpp"
#include "tools/zeroulp/ignored.hpp"
#include "tools/zeroulp/program.hpp"
#include "tools/zeroulp/tensor/tensor_dir.hpp"
#include "tools/zeroulp/terminal.hpp"

namespace zeroulp::program {
namespace {

struct compare_request {
  std::string a;
  std::string b;
  std::string format;
  std::string dtype;
  std::optional<std::uint64_t> ulps;
  std::vector<std::string> ignored;
  bool as_json = false;
};

/// The format of floating-point elements; unsigned integers have none.
std::optional<format> format_of(dtype type) {
  switch (type) {
    case dtype::f16:
      return fp16;
    case dtype::f32:
      return fp32;
    case dtype::f64:
      return fp64;
    default:
      return {};
  }
}

/// The format of the elements, as the request has it.
std::optional<format> format_of(const compare_request& q, const array& a) {
  const auto own = format_of(a.type);
  if (holds_bf16(a, q.dtype, q.a) && !q.format.empty() && q.format != q.dtype) {
    throw input_error(
        fmt::format("--dtype bf16 and --format {}: use one of them", q.format));
  }
  const std::string name = q.format.empty() ? q.dtype : q.format;
  if (name.empty()) return own;
  const format f = parse_format(name);
  if (own && !(*own == f)) {
    throw input_error(fmt::format("{}: elements are {}, not codes of {}", q.a,
                                  descr_of(a.type), name));
  }
  const int width = static_cast<int>(size_of(a.type) * 8);
  if (f.bits() > width) {
    throw input_error(fmt::format("{}: elements have {} bits, {} has {}", q.a,
                                  width, name, f.bits()));
  }
  return f;
}

std::vector<std::uint64_t> bits_of(const array& a) {
  std::vector<std::uint64_t> bits;
  bits.reserve(a.size());
  visit_bits(a, [&bits](auto elements) {
    bits.insert(bits.end(), elements.begin(), elements.end());
  });
  return bits;
}

std::string index_text(std::uint64_t flat,
                       const std::vector<std::size_t>& shape) {
  std::string text;
  for (auto dim = shape.rbegin(); dim != shape.rend(); ++dim) {
    text = fmt::format("{}{}{}", flat % *dim, text.empty() ? "" : ", ", text);
    flat /= *dim;
  }
  return "(" + text + ")";
}

/// Two arrays of one type and one shape, as codes.
struct pair_of_arrays {
  std::vector<std::size_t> shape;
  std::optional<format> f;
  int width;  ///< bits of an element
  std::vector<std::uint64_t> x;
  std::vector<std::uint64_t> y;

  code_order order() const {
    return f ? order_of(*f)
             : code_order{0, low_bits(width), low_bits(width), false};
  }
  std::string show(std::uint64_t code) const {
    return f ? describe(*f, code) : to_hex(code, width);
  }
};

/// Throws input_error if an element is no code of the format.
void check_codes(const pair_of_arrays& p, const compare_request& q) {
  for (const auto* codes : {&p.x, &p.y}) {
    for (std::size_t i = 0; p.width < 64 && i < codes->size(); ++i) {
      if ((*codes)[i] >> p.width == 0) continue;
      throw input_error(fmt::format(
          "{}: element {} is {:x}: {} has {} bits", codes == &p.x ? q.a : q.b,
          index_text(i, p.shape), (*codes)[i], name_of(*p.f), p.width));
    }
  }
}

pair_of_arrays read_pair(const compare_request& q) {
  const array a = read_npy(q.a);
  const array b = read_npy(q.b);
  if (a.type != b.type) {
    throw input_error(
        fmt::format("{} holds {}, {} holds {}: compare arrays of "
                    "one type",
                    q.a, descr_of(a.type), q.b, descr_of(b.type)));
  }
  if (a.shape != b.shape) {
    throw input_error(fmt::format(
        "{} has shape ({}), {} has ({}): compare arrays of one "
        "shape",
        q.a, fmt::join(a.shape, ", "), q.b, fmt::join(b.shape, ", ")));
  }
  if (a.size() == 0) {
    throw input_error(
        fmt::format("{} and {} have shape ({}): there is no element to compare",
                    q.a, q.b, fmt::join(a.shape, ", ")));
  }
  const auto f = format_of(q, a);
  const int width = f ? f->bits() : static_cast<int>(size_of(a.type) * 8);
  pair_of_arrays p{a.shape, f, width, bits_of(a), bits_of(b)};
  check_codes(p, q);
  return p;
}

/// What is accepted of the differences, and what was found.
struct comparison {
  std::optional<format> of;  ///< what the elements are codes of
  std::optional<std::uint64_t> ulps;
  difference_set ignored;
  ulp_histogram all;
  std::uint64_t within = 0;  ///< elements of `ulps` or less; the same bits too
  std::array<std::uint64_t, difference_classes> by_class{};
  std::optional<std::uint64_t> first;  ///< index of what is not accepted

  bool holds() const { return !first; }

  bool is_infinite(std::uint64_t code) const {
    return of && decode(*of, code).is_infinite();
  }

  void add(std::uint64_t a, std::uint64_t b, const code_order& order) {
    const auto [kind, distance] = difference_of(a, b, order);
    const bool near = ulps && distance && *distance <= *ulps &&
                      (a == b || !(is_infinite(a) || is_infinite(b)));
    if (near || !kind) ++within;
    if (kind) ++by_class[static_cast<std::size_t>(*kind)];
    if (kind && !near && !contains(ignored, *kind) && !first) first = all.count;
    all.add(a, b, order);
  }
};

/// How far A's numbers are from B's; of codes without a format nothing.
std::optional<error_metrics> errors_of(const pair_of_arrays& p) {
  if (!p.f) return {};
  constexpr std::size_t at_once = 1 << 14;
  error_accumulator sums;
  std::vector<double> computed, exact, errors;
  for (std::size_t i = 0; i < p.x.size();) {
    computed.clear();
    exact.clear();
    errors.clear();
    for (const auto end = std::min(i + at_once, p.x.size()); i < end; ++i) {
      computed.push_back(to_double(decode(*p.f, p.x[i])));
      exact.push_back(to_double(decode(*p.f, p.y[i])));
      errors.push_back(computed.back() - exact.back());
    }
    sums.add(computed, exact, errors);
  }
  return sums.result();
}

/// Distances and how often there are.
std::vector<std::pair<std::string, std::uint64_t>> rows_of(
    const ulp_histogram& h) {
  std::vector<std::pair<std::string, std::uint64_t>> rows;
  for (std::size_t i = 0; i < h.buckets.size(); ++i) {
    if (h.buckets[i] == 0) continue;
    const auto first = ulp_histogram::first_of(i);
    const auto last = ulp_histogram::last_of(i);
    rows.emplace_back(first == last ? fmt::format("{}", first)
                                    : fmt::format("{}-{}", first, last),
                      h.buckets[i]);
  }
  return rows;
}

json to_json(const error_metrics& e) {
  return {{"frobenius", json_number(e.frobenius)},
          {"mean_relative", json_number(e.mean_relative)},
          {"largest_relative", json_number(e.quantiles.back())},
          {"one_minus_cosine", json_number(e.one_minus_cosine)}};
}

std::string to_text(const error_metrics& e) {
  if (e.nonfinite_mismatches > 0) {
    return fmt::format(
        "no relative error: {} elements are infinite or NaN in one of the two "
        "alone\n",
        e.nonfinite_mismatches);
  }
  return fmt::format(
      "relative error, of B: {:.3g} by norms, {:.3g} on average, at most "
      "{:.3g}; cosine 1 - {:.3g}\n",
      e.frobenius, e.mean_relative, e.quantiles.back(), e.one_minus_cosine);
}

json to_json(const pair_of_arrays& p, const comparison& c) {
  const ulp_histogram& h = c.all;
  json buckets = json::array();
  for (const auto& [ulps, count] : rows_of(h)) {
    buckets.push_back({{"ulps", ulps}, {"count", count}});
  }
  json result{
      {"equal", h.different == 0},    {"held", c.holds()},
      {"elements", h.count},          {"different", h.different},
      {"max_ulps", h.max_distance},   {"zero_sign", h.zero_sign},
      {"nan_payload", h.nan_payload}, {"nan_mismatches", h.nan_mismatches},
      {"histogram", buckets}};
  if (c.ulps) {
    result["ulps"] = *c.ulps;
    result["within"] = c.within;
  }
  for (std::size_t i = 0; i < difference_classes; ++i) {
    if (!c.ignored[i]) continue;
    result["ignored"][difference_names[i]] = c.by_class[i];
  }
  if (h.different > 0) {
    result["where"] = to_json(places_of(p.x, p.y, p.shape));
    if (const auto e = errors_of(p)) result["errors"] = to_json(*e);
  }
  if (c.first) {
    const auto i = *c.first;
    result["first"] = {{"index", index_text(i, p.shape)},
                       {"a", to_hex(p.x[i], p.width)},
                       {"b", to_hex(p.y[i], p.width)}};
  }
  return result;
}

std::string to_text(const pair_of_arrays& p, const comparison& c) {
  const ulp_histogram& h = c.all;
  if (h.different == 0) {
    return fmt::format("equal: {} elements, bit for bit\n", h.count);
  }
  std::string text = fmt::format("{} of {} elements differ; at most {} ulps\n",
                                 h.different, h.count, h.max_distance);
  if (c.ulps) {
    text += fmt::format("{} of {} elements are within {} ulps\n", c.within,
                        h.count, *c.ulps);
  }
  for (std::size_t i = 0; i < difference_classes; ++i) {
    if (!c.ignored[i]) continue;
    text += fmt::format("ignored: {} elements that differ in {}\n",
                        c.by_class[i], difference_names[i]);
  }
  if (c.holds()) {
    text += "held: no other difference\n";
  } else {
    const auto i = *c.first;
    text += fmt::format("first at {}: {} against {}\n", index_text(i, p.shape),
                        p.show(p.x[i]), p.show(p.y[i]));
  }
  text += fmt::format("where: {}\n", to_text(places_of(p.x, p.y, p.shape)));
  if (const auto e = errors_of(p)) text += to_text(*e);
  table t{{"ulps", "elements"}, {}};
  for (const auto& [ulps, count] : rows_of(h)) {
    t.rows.push_back({ulps, std::to_string(count)});
  }
  text += zeroulp::to_text(t, terminal_width());
  if (h.zero_sign + h.nan_payload + h.nan_mismatches > 0) {
    text += fmt::format(
        "zeros of another sign: {}; NaN against a number: {}; NaNs of other "
        "bits: {}\n",
        h.zero_sign, h.nan_mismatches, h.nan_payload);
  }
  return text;
}

void run_compare(const compare_request& q, outcome& out) {
  const pair_of_arrays p = read_pair(q);
  comparison c{p.f, q.ulps, parse_ignored(q.ignored), {}, 0, {}, {}};
  const code_order order = p.order();
  for (std::size_t i = 0; i < p.x.size(); ++i) c.add(p.x[i], p.y[i], order);
  out.status = c.holds() ? 0 : 1;
  q.as_json ? print_json(to_json(p, c)) : print(to_text(p, c));
}

}  // namespace

void add_compare(cli::app& app, outcome& out) {
  auto* sub = add_command(
      app, "compare",
      "Compare two arrays bit by bit, or a kernel's result with what it claims "
      "to be (exit status 1 if they differ)",
      "zeroulp compare mine.npy d.npy --dtype bf16\n"
      "  zeroulp compare codes.npy --scales scales.npy --against vllm --input "
      "x.npy");
  auto q = std::make_shared<compare_request>();
  auto claim = std::make_shared<against_request>();
  sub->add_option("A", q->a, ".npy; with --against also a tensor directory")
      ->required();
  auto* b = sub->add_option("B", q->b, ".npy");
  sub->add_option("--format", q->format,
                  "what unsigned elements are codes of: ulps are its codes");
  sub->add_option("--dtype", q->dtype, "bf16: uint16 elements hold BF16");
  auto* ulps =
      sub->add_option("--ulps", q->ulps,
                      "accept numbers up to so many ulps apart (SPEC M5): "
                      "never NaN or infinity against a number")
          ->check(cli::range(std::uint64_t{0}, std::uint64_t{1} << 63));
  auto* against = sub->add_option(
      "--against", claim->claim,
      "a convention (of the codes A) or a recipe (of the product A): says "
      "where they part, and what may be the cause");
  against->excludes(b)->excludes(ulps);
  const auto with_claim = [&](const char* name, std::string& value,
                              const char* what) {
    sub->add_option(name, value, what)->needs(against);
  };
  with_claim("--input", claim->input,
             "what was quantized: float32, float16, or uint16 with --dtype");
  with_claim("--scales", claim->scales, "of the codes: float32, or uint8");
  with_claim("--group", claim->group, "RxC or tensor [1x128]");
  with_claim("--scale", claim->scale, "kind of scale [fp32]");
  with_claim("--a", claim->a, "tensor directory, of a recipe");
  with_claim("--b", claim->b, "tensor directory, of a recipe");
  with_claim("--c", claim->c, "float32, of a recipe: fl(acc + C)");
  add_ignore(sub, q->ignored);
  sub->add_flag("--json", q->as_json);
  sub->callback([q, claim, &out] {
    if (claim->claim.empty()) {
      if (q->b.empty()) {
        throw input_error(
            "compare: one array: give another, or --against what it claims");
      }
      return run_compare(*q, out);
    }
    claim->result = q->a;
    claim->format = q->format;
    claim->dtype = q->dtype;
    claim->ignored = q->ignored;
    claim->as_json = q->as_json;
    run_against(*claim, out);
  });
}

}  // namespace zeroulp::program
