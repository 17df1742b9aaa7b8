// compare: two arrays bit by bit: the first difference, ulps, a histogram.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "program.hpp"
#include "tensor_dir.hpp"

namespace zeroulp::program {
namespace {

struct compare_request {
  std::string a;
  std::string b;
  std::string format;
  std::string dtype;
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

void run_compare(const compare_request& q, outcome& out) {
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
  const auto f = format_of(q, a);
  const int width = f ? f->bits() : static_cast<int>(size_of(a.type) * 8);
  const code_order order =
      f ? order_of(*f) : code_order{0, low_bits(width), low_bits(width), false};
  const auto x = bits_of(a);
  const auto y = bits_of(b);
  for (const auto* codes : {&x, &y}) {
    for (std::size_t i = 0; width < 64 && i < codes->size(); ++i) {
      if ((*codes)[i] >> width != 0) {
        throw input_error(fmt::format(
            "{}: element {} is {:x}: {} has {} bits", codes == &x ? q.a : q.b,
            index_text(i, a.shape), (*codes)[i], name_of(*f), width));
      }
    }
  }
  ulp_histogram h;
  h.add(x, y, order);
  out.status = h.different == 0 ? 0 : 1;
  const auto show = [&](std::uint64_t code) {
    return f ? describe(*f, code) : to_hex(code, width);
  };

  json buckets = json::array();
  table t{{"ulps", "elements"}, {}};
  for (std::size_t i = 0; i < h.buckets.size(); ++i) {
    if (h.buckets[i] == 0) continue;
    const auto first = ulp_histogram::first_of(i);
    const auto last = ulp_histogram::last_of(i);
    const auto range = first == last ? fmt::format("{}", first)
                                     : fmt::format("{}-{}", first, last);
    buckets.push_back({{"ulps", range}, {"count", h.buckets[i]}});
    t.rows.push_back({range, std::to_string(h.buckets[i])});
  }
  if (q.as_json) {
    json result{
        {"equal", h.different == 0},          {"elements", h.count},
        {"different", h.different},           {"max_ulps", h.max_distance},
        {"zero_sign", h.zero_sign},           {"nan_payload", h.nan_payload},
        {"nan_mismatches", h.nan_mismatches}, {"histogram", buckets}};
    if (h.first_difference) {
      const auto i = *h.first_difference;
      result["first"] = {{"index", index_text(i, a.shape)},
                         {"a", to_hex(x[i], width)},
                         {"b", to_hex(y[i], width)}};
    }
    print_json(result);
    return;
  }
  if (h.different == 0) {
    print(fmt::format("equal: {} elements, bit for bit\n", h.count));
    return;
  }
  const auto i = *h.first_difference;
  print(fmt::format("{} of {} elements differ; at most {} ulps\n", h.different,
                    h.count, h.max_distance));
  print(fmt::format("first at {}: {} against {}\n", index_text(i, a.shape),
                    show(x[i]), show(y[i])));
  print(to_text(t));
  if (h.zero_sign + h.nan_payload + h.nan_mismatches > 0) {
    print(fmt::format(
        "zeros of another sign: {}; NaN against a number: {}; NaNs of other "
        "bits: {}\n",
        h.zero_sign, h.nan_mismatches, h.nan_payload));
  }
}

}  // namespace

void add_compare(CLI::App& app, outcome& out) {
  auto* sub =
      add_command(app, "compare",
                  "Compare two arrays bit by bit (exit status 1 if they "
                  "differ)",
                  "zeroulp compare mine.npy d.npy --dtype bf16");
  auto q = std::make_shared<compare_request>();
  sub->add_option("A", q->a, ".npy")->required();
  sub->add_option("B", q->b, ".npy")->required();
  sub->add_option("--format", q->format,
                  "what unsigned elements are codes of: ulps are its codes");
  sub->add_option("--dtype", q->dtype, "bf16: uint16 elements hold BF16");
  sub->add_flag("--json", q->as_json);
  sub->callback([q, &out] { run_compare(*q, out); });
}

}  // namespace zeroulp::program
