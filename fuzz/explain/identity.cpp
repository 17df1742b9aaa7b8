// What an identification found, as JSON.

#include "fuzz/explain/identity.hpp"

#include <fmt/format.h>

#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

using json = nlohmann::ordered_json;

std::string to_hex(std::uint64_t code, int bits) {
  return fmt::format("{:0{}x}", code, (bits + 3) / 4);
}

json fields_json(const std::vector<fitting_field>& fields) {
  json all = json::object();
  for (const auto& f : fields) all[f.name] = f.values;
  return all;
}

json agreement_json(const agreement& a) {
  return {{"agree", a.agree}, {"count", a.count}, {"share", a.share()}};
}

/// What every answer has.
template <class Answer>
json common_json(const Answer& a) {
  return {{"exact", a.exact},
          {"found", a.is_near},
          {"tried", a.tried},
          {"grid", fields_json(a.grid)},
          {"seconds", a.seconds},
          {"names", a.found.names},
          {"members", a.found.members},
          {"any_combination", a.found.any_combination},
          {"fields", fields_json(a.found.fields)}};
}

json word_json(const wrong_word& w, int bits) {
  return {{"row", w.i},
          {"col", w.j},
          {"given", to_hex(w.given, bits)},
          {"expected", to_hex(w.expected, bits)}};
}

}  // namespace

format stored_scale(const quantizer_evidence& e) {
  return e.words == scale_words::numbers ? fp32 : ue8m0;
}

nlohmann::ordered_json answer_json(const quantizer_evidence& e,
                                   const quantizer_answer& a) {
  auto result = common_json(a);
  const auto part = [](const agreement& found, const agreement& chance) {
    return json{{"count", found.count},
                {"differ", found.differ()},
                {"share", found.share()},
                {"chance", agreement_json(chance)}};
  };
  result["scales"] = part(a.scales, a.chance_of_scales);
  result["codes"] = part(a.codes, a.chance_of_codes);
  result["scales"]["above_chance"] = a.scales_tell;
  result["codes"]["above_chance"] = a.codes_tell;
  if (a.first_scale) {
    result["first_scale"] =
        word_json(a.first_scale->at, stored_scale(e).bits());
    result["first_scale"]["amax"] = to_hex(a.first_scale->amax, 32);
    if (e.words == scale_words::packed) {
      result["first_scale"]["byte"] = a.first_scale->byte;
    }
  }
  if (a.first_code) {
    result["first_code"] = word_json(a.first_code->at, a.how.to.bits());
    result["first_code"]["x"] = to_hex(a.first_code->x, 32);
  }
  return result;
}

nlohmann::ordered_json answer_json(const gemm_evidence& e,
                                   const gemm_answer& a) {
  auto result = common_json(a);
  result["outputs"] = {{"count", e.d.words.size()},
                       {"looked_at", a.best.count},
                       {"differ", a.best.differ()},
                       {"share", a.best.share()},
                       {"chance", agreement_json(a.chance)}};
  result["above_chance"] = a.tells;
  result["fp32_sum"] = nullptr;
  if (a.fp32_sum) {
    result["fp32_sum"] = {{"says", fp32_sentence},
                          {"rounded_once", agreement_json(a.fp32_sum->exact)},
                          {"hopper", agreement_json(a.fp32_sum->hopper)}};
  }
  if (a.first) result["first"] = word_json(*a.first, e.output.bits());
  return result;
}

std::variant<gemm_answer, block_gemm_answer> identify_product(
    const gemm_evidence& e, const second_evidence& second,
    const identify_progress& tell) {
  const bool has_second = second.a || second.b;
  if (!has_block_scales(e)) {
    if (!has_second) return identify_gemm(e, tell);
    throw input_error(
        fmt::format("{}: a second level goes with scales that are a byte for "
                    "every 16 or 32 elements of K",
                    second.a ? second.a_name : second.b_name));
  }
  auto in_blocks = identify_block_gemm(e, second);
  const bool in_groups =
      !has_second &&
      e.a.scales->cols == oracle::groups_along(e.a.codes.cols, 32);
  if (in_blocks.tells || !in_groups) return in_blocks;
  auto promoted = identify_gemm(e, tell);
  if (!promoted.tells && in_blocks.best.share() >= promoted.best.share()) {
    return in_blocks;
  }
  return promoted;
}

nlohmann::ordered_json answer_json(const gemm_evidence& e,
                                   const block_gemm_answer& a) {
  auto result = answer_json(e, static_cast<const gemm_answer&>(a));
  result["outputs"].erase("chance");  // nobody asked for it
  if (!a.nearest.empty()) result["nearest"] = a.nearest;
  return result;
}

}  // namespace zeroulp::fuzz
