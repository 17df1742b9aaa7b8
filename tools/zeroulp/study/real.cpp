#include "tools/zeroulp/study/real.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tools/zeroulp/json_input.hpp"

namespace zeroulp::program {
namespace {

constexpr const char* index_name = "products.json";
constexpr const char* product_remedy = "use what capture_linears.py writes";
constexpr const char* promoted = "tensor, every 128";
constexpr const char* unpromoted = "tensor, unpromoted";

[[noreturn]] void refuse_products(const std::string& file,
                                  const std::string& what) {
  throw input_error(fmt::format("{}: {}: {}", file, what, product_remedy));
}

/// A member that is a text.
std::string text_in(const json& product, const char* member,
                    const std::string& file) {
  const auto at = product.find(member);
  if (at == product.end() || !at->is_string() ||
      at->get<std::string>().empty()) {
    refuse_products(file, fmt::format("a product has no '{}'", member));
  }
  return *at;
}

/// The path of a file; settings cannot hold what separates them.
std::string path_in(const std::string& folder, const json& product,
                    const char* member, const std::string& file) {
  auto path = folder + "/" + text_in(product, member, file);
  if (path.find_first_of(" ,()") != std::string::npos) {
    refuse_products(file,
                    fmt::format("'{}' has a space, comma or bracket", path));
  }
  return path;
}

/// The accumulator's error over all products by one recipe, beside
/// quantization's.
struct accumulation_summary {
  double largest = 0;  ///< Frobenius
  std::string where;
  double most_ratio = 0;  ///< to quantization's
  int above = 0;          ///< quantization's
  int two_percent = 0;    ///< of the mean magnitude, or more
};
accumulation_summary summary_of(const study::answer& a, const char* series) {
  accumulation_summary s;
  for (const auto& row : a.rows()) {
    const double error = a.at(row, series, "accumulation.frobenius");
    const double ratio = error / a.at(row, series, "quantization.frobenius");
    if (error > s.largest) s.where = row;
    s.largest = std::max(s.largest, error);
    s.most_ratio = std::max(s.most_ratio, ratio);
    s.above += ratio > 1 ? 1 : 0;
    s.two_percent +=
        a.at(row, series, "accumulation.max_over_mean") >= 0.02 ? 1 : 0;
  }
  return s;
}

study::verdict judge_real(const study::answer& a) {
  const auto with = summary_of(a, promoted);
  const auto without = summary_of(a, unpromoted);
  const auto all = a.rows().size();
  return {
      with.most_ratio < 1,
      fmt::format(
          "Promoted every 128, accumulation is at most {:.3g} of quantization "
          "(Frobenius; {} % at most). Unpromoted it is above quantization in "
          "{} of {} products, {} % at most ({}); its largest error is 2 % of "
          "the mean magnitude or more in {}, promoted in {}.",
          with.most_ratio, study::percent(with.largest), without.above, all,
          study::percent(without.largest), without.where, without.two_percent,
          with.two_percent)};
}

}  // namespace

study::question question_of_products(const std::string& folder) {
  const auto file = folder + "/" + index_name;
  const auto products = read_json(file, product_remedy);
  if (!products.is_array() || products.empty()) {
    refuse_products(file, "no list of products");
  }
  study::axis rows{"product", {}};
  std::set<std::string> names;
  for (const auto& p : products) {
    if (!p.is_object()) refuse_products(file, "a product is no object");
    const auto name = text_in(p, "name", file);
    if (!names.insert(name).second) {
      refuse_products(file, fmt::format("'{}' is there twice", name));
    }
    rows.arms.push_back({name, fmt::format("a.input={}:bf16 b.input={}:bf16",
                                           path_in(folder, p, "a", file),
                                           path_in(folder, p, "b", file))});
  }
  return {
      "real",
      "What accumulation costs beside quantization on real products",
      "",
      rows,
      {"recipe",
       {{"1x128 tiles", "group=1x128 interval=128"},
        {promoted, "group=tensor interval=128"},
        {unpromoted, "group=tensor interval=none"}}},
      {"accumulation.frobenius", "quantization.frobenius",
       "accumulation.max_over_mean", "accumulation.bias", "total.frobenius"},
      1,
      "E4M3 operands of a model that was trained in BF16, as a script "
      "captured them.",
      judge_real};
}

}  // namespace zeroulp::program
