#include "tools/zeroulp/gemm/like.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/zeroulp/json_input.hpp"

namespace zeroulp::program {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return text;
}

constexpr const char* remedy =
    "use what zeroulp identify cublaslt --record "
    "writes";

/// A member that is a text or a number; throws input_error.
template <class T>
T member(const json& object, const char* name, const std::string& where) {
  const auto at = object.find(name);
  const bool fits = at != object.end() &&
                    (std::is_same_v<T, std::string> ? at->is_string()
                                                    : at->is_number_integer());
  if (!fits) {
    throw input_error(
        fmt::format("{}: no record: '{}' is missing: {}", where, name, remedy));
  }
  return at->template get<T>();
}

struct like_record {
  std::string name;  ///< in errors
  json content;
  std::string library, device;
};

like_record record_of(std::string name, json content) {
  const auto platform = content.find("platform");
  if (!content.is_object() || platform == content.end() ||
      !platform->is_object() || !content.contains("rows") ||
      !content["rows"].is_array()) {
    throw input_error(fmt::format("{}: no record: {}", name, remedy));
  }
  const auto library = member<std::string>(*platform, "library", name);
  const auto device = member<std::string>(*platform, "device", name);
  return {std::move(name), std::move(content), library, device};
}

/// "cuBLASLt 13.1.0" and "NVIDIA H100 80GB HBM3" are cublaslt-13.1:h100, among
/// others.
bool is_called(const like_record& r, const std::string& like) {
  const auto colon = like.find(':');
  const auto library = lower(like.substr(0, colon));
  auto full = lower(r.library);
  std::replace(full.begin(), full.end(), ' ', '-');
  const bool version = full == library || full.starts_with(library + ".");
  const auto gpu = lower(like.substr(colon + 1));
  return version && !gpu.empty() &&
         (" " + lower(r.device) + " ").find(" " + gpu + " ") !=
             std::string::npos;
}

like_record find_record(const std::string& like) {
  if (like.ends_with(".json") || like.find('/') != std::string::npos) {
    return record_of(like, read_json(like, remedy));
  }
  std::vector<std::string> known;
  for (const char* text : carried_records()) {
    auto r = record_of("record", parse_json(text));
    known.push_back(fmt::format("{} on {}", r.library, r.device));
    if (like.find(':') == std::string::npos || !is_called(r, like)) continue;
    r.name = like;
    return r;
  }
  throw input_error(fmt::format(
      "--like {}: no such record: use LIBRARY-VERSION:GPU, such as "
      "cublaslt-13.1:h100, or a file that zeroulp identify cublaslt --record "
      "wrote; this program carries {}",
      like,
      known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

}  // namespace

like_answer find_like(const std::string& like, const like_problem& p) {
  const auto r = find_record(like);
  const json wanted{{"m", p.m},
                    {"n", p.n},
                    {"k", p.k},
                    {"a", name_of(p.a)},
                    {"b", name_of(p.b)},
                    {"scaling", p.scaling},
                    {"output", name_of(p.output)}};
  const auto what =
      fmt::format("{} x {} x {}, {} by {}, {}, to {}", p.m, p.n, p.k,
                  name_of(p.a), name_of(p.b), p.scaling, name_of(p.output));
  const auto is_wanted = [&wanted](const json& row) {
    return row.is_object() &&
           std::all_of(wanted.items().begin(), wanted.items().end(),
                       [&row](const auto& field) {
                         const auto at = row.find(field.key());
                         return at != row.end() && *at == field.value();
                       });
  };
  for (const auto& row : r.content["rows"]) {
    if (!is_wanted(row)) continue;
    if (row.contains("refused")) {
      throw input_error(fmt::format("--like {}: {} refuses {}: {}", like,
                                    r.library, what, row["refused"].dump()));
    }
    if (member<std::int64_t>(row, "differing", r.name) != 0) {
      throw input_error(
          fmt::format("--like {}: what {} computes for {} is not known: no "
                      "recipe gives its "
                      "bits",
                      like, r.library, what));
    }
    return {member<std::string>(row, "recipe", r.name),
            static_cast<int>(member<std::int64_t>(row, "splits", r.name)),
            fmt::format("{} on {}, {}", r.library, r.device,
                        member<std::string>(row, "algorithm", r.name))};
  }
  throw input_error(fmt::format(
      "--like {}: no record of {} for {}: zeroulp identify cublaslt --shapes "
      "makes one on such a GPU",
      like, r.library, what));
}

}  // namespace zeroulp::program
