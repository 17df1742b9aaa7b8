// The C ABI of the suite: whose bits these are.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "fuzz/c_abi/suite_text.hpp"
#include "fuzz/explain/identity.hpp"
#include "fuzz/explain/settings_text.hpp"
#include "src/c_abi/c_abi.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

using c_abi::const_code_view;
using c_abi::guarded;
using c_abi::needed;
using c_abi::refuse;
using oracle::grid;

/// The matrices of a call, by their names.
class evidence_matrices {
 public:
  evidence_matrices(const zeroulp_named_matrix* all, std::int64_t count,
                    const std::vector<std::string>& known)
      : all_(all), count_(count) {
    check_names(all, count, "matrices", known);
  }

  bool has(const std::string& name) const { return find(name) != nullptr; }
  /// Throws input_error if it is not there.
  const_code_view view(const std::string& name) const {
    const auto* found = find(name);
    if (found == nullptr) refuse("matrices: there is no '{}'", name);
    const auto v = c_abi::view_of(&found->matrix, name.c_str());
    c_abi::need_bytes(v, 1, 4, name.c_str());
    return v;
  }

 private:
  const zeroulp_named_matrix* find(const std::string& name) const {
    const auto* end = all_ + count_;
    const auto* at = std::find_if(
        all_, end, [&](const auto& entry) { return name == entry.name; });
    return at == end ? nullptr : at;
  }

  const zeroulp_named_matrix* all_;
  std::int64_t count_;
};

grid grid_of(const const_code_view& v) {
  grid g(v.rows, v.cols);
  c_abi::in_order(v, [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    g(i, j) = static_cast<std::uint32_t>(c_abi::read(v, i, j));
  });
  return g;
}

/// Elements of `f`: no bits above its own.
grid codes_of(const const_code_view& v, format f, const std::string& name) {
  c_abi::need_room(f, v, name.c_str());
  grid g = grid_of(v);
  const std::uint64_t mask = low_bits(f.bits());
  for (std::ptrdiff_t i = 0; i < g.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < g.cols; ++j) {
      if ((g(i, j) & ~mask) == 0) continue;
      refuse("{}: element ({}, {}) is {:#x}, no code of {}", name, i, j,
             g(i, j), name_of(f));
    }
  }
  return g;
}

/// One of the formats that a setting may have.
format one_of(std::string_view name, std::string_view text,
              std::initializer_list<format> formats) {
  std::string known;
  for (const format f : formats) {
    if (text == name_of(f)) return f;
    known += (known.empty() ? "" : ", ") + name_of(f);
  }
  refuse("settings: {}={}: use {}", name, text, known);
}

scale_words words_of(std::string_view name, std::string_view text) {
  using enum scale_words;
  if (text == "fp32") return numbers;
  if (text == "ue8m0") return exponents;
  if (text == "packed_ue8m0") return packed;
  refuse("settings: {}={}: use fp32, ue8m0, packed_ue8m0", name, text);
}

/// Elements of 4 bytes, or of 1 where they are exponents.
grid scales_of(const const_code_view& v, scale_words words,
               const std::string& name) {
  const int bytes = words == scale_words::exponents ? 1 : 4;
  c_abi::need_bytes(v, bytes, bytes, name.c_str());
  return grid_of(v);
}

[[noreturn]] void refuse_setting(const char* target, std::string_view name,
                                 const char* known) {
  refuse("settings: {} has no '{}': use {}", target, name, known);
}

quantizer_evidence quantizer_of(const char* settings,
                                const evidence_matrices& held) {
  quantizer_evidence e;
  e.x_name = "x";
  e.codes_name = "codes";
  e.scales_name = "scales";
  e.from = bf16;
  for_each_setting(or_empty(settings), [&](auto name, auto value) {
    if (name == "from") {
      e.from = one_of(name, value, {fp32, fp16, bf16});
    } else if (name == "to") {
      e.to = parse_format(value);
    } else if (name == "group") {
      e.group = parse_group(value);
    } else if (name == "layout") {
      e.layout = parse_scale_layout(value);
    } else if (name == "scales") {
      e.words = words_of(name, value);
    } else {
      refuse_setting("quantizer", name, "from, to, group, layout, scales");
    }
  });
  if (e.to && !is_quantizable(*e.to)) {
    refuse("settings: to={}: nothing is quantized to it", name_of(*e.to));
  }
  e.x = codes_of(held.view("x"), e.from, "x");
  const auto codes = held.view("codes");
  e.code_bits = 8 * codes.bytes;
  e.codes = e.to ? codes_of(codes, *e.to, "codes") : grid_of(codes);
  e.scales = scales_of(held.view("scales"), e.words, "scales");
  return e;
}

operand_evidence operand_of(const evidence_matrices& held,
                            const std::string& name, format f,
                            scale_words words) {
  const std::string scales = name + "_scales";
  operand_evidence x{f,    codes_of(held.view(name), f, name), {}, name, scales,
                     words};
  if (held.has(scales)) x.scales = scales_of(held.view(scales), words, scales);
  return x;
}

gemm_evidence gemm_of(const char* settings, const evidence_matrices& held) {
  gemm_evidence e;
  e.c_name = "c";
  e.d_name = "d";
  format a = e4m3;
  format b = e4m3;
  scale_words a_scales = scale_words::numbers;
  scale_words b_scales = scale_words::numbers;
  for_each_setting(or_empty(settings), [&](auto name, auto value) {
    if (name == "a") {
      a = parse_format(value);
    } else if (name == "b") {
      b = parse_format(value);
    } else if (name == "a_scales") {
      a_scales = words_of(name, value);
    } else if (name == "b_scales") {
      b_scales = words_of(name, value);
    } else if (name == "output") {
      e.output = one_of(name, value, {fp32, bf16});
    } else {
      refuse_setting("gemm", name, "a, b, a_scales, b_scales, output");
    }
  });
  e.a = operand_of(held, "a", a, a_scales);
  e.b = operand_of(held, "b", b, b_scales);
  e.d = codes_of(held.view("d"), e.output, "d");
  if (held.has("c")) e.c = codes_of(held.view("c"), fp32, "c");
  return e;
}

second_evidence second_level_of(const evidence_matrices& held) {
  const auto read = [&](const char* name) -> std::optional<grid> {
    if (!held.has(name)) return {};
    return scales_of(held.view(name), scale_words::numbers, name);
  };
  return {read("a_second"), read("b_second"), "a_second", "b_second"};
}

}  // namespace
}  // namespace zeroulp::fuzz

using namespace zeroulp::fuzz;

zeroulp_status zeroulp_suite_identify(const char* target, const char* settings,
                                      const zeroulp_named_matrix* matrices,
                                      int64_t count) {
  return zeroulp::c_abi::guarded("zeroulp_suite_identify", [&] {
    const std::string name = &needed(target, "target");
    nlohmann::ordered_json found;
    if (name == "quantizer") {
      const auto e =
          quantizer_of(settings, {matrices, count, {"x", "codes", "scales"}});
      found = answer_json(e, identify_quantizer(e));
    } else if (name == "gemm") {
      const evidence_matrices held(
          matrices, count,
          {"a", "b", "a_scales", "b_scales", "a_second", "b_second", "c", "d"});
      const auto e = gemm_of(settings, held);
      std::visit([&](const auto& a) { found = answer_json(e, a); },
                 identify_product(e, second_level_of(held)));
    } else {
      refuse("target: '{}': use quantizer or gemm", name);
    }
    suite_text() =
        found.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  });
}
