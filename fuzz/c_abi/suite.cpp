// The C ABI of the suite.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "fuzz/c_abi/suite_text.hpp"
#include "fuzz/cases/options.hpp"
#include "fuzz/cases/token.hpp"
#include "fuzz/engine/shrink.hpp"
#include "fuzz/explain/report.hpp"
#include "fuzz/explain/settings_text.hpp"
#include "fuzz/explain/window.hpp"
#include "src/c_abi/c_abi.hpp"
#include "zeroulp/engine.hpp"
#include "zeroulp/names.hpp"

namespace zeroulp::fuzz {
namespace {

using c_abi::guarded;
using c_abi::needed;
using c_abi::refuse;
using json = nlohmann::ordered_json;

target target_of(const char* name) {
  return parse_target(std::string_view(&needed(name, "target")));
}

/// The matrix called `name`; one without elements if it is not among them.
matrix find(const zeroulp_named_matrix* all, std::int64_t count,
            const char* name, format type) {
  for (std::int64_t n = 0; n < count; ++n) {
    if (std::string_view(all[n].name) != name) continue;
    const auto view = c_abi::view_of(&all[n].matrix, name);
    matrix m(name, type, view.rows, view.cols);
    const std::uint64_t mask =
        type == integer ? ~std::uint64_t{0} : low_bits(type.bits());
    for (std::ptrdiff_t i = 0; i < m.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < m.cols; ++j) {
        m(i, j) = c_abi::read(view, i, j);
        if ((m(i, j) & ~mask) == 0) continue;
        refuse("{}: element ({}, {}) is {:#x}, no code of {}", name, i, j,
               m(i, j), name_of(type));
      }
    }
    return m;
  }
  return {name, type, 0, 0};
}

kind_set ignored_kinds(const char* text) {
  kind_set kinds;
  for_each_part(or_empty(text), [&kinds](std::string_view name) {
    bool known = false;
    for (const mismatch_kind k : all_mismatch_kinds) {
      if (k == mismatch_kind::failure || name != name_of(k)) continue;
      kinds |= only(k);
      known = true;
    }
    if (!known) {
      refuse("ignored: there is no '{}': use {}", name,
             fmt::join(difference_names, ", "));
    }
  });
  return kinds;
}

problem problem_of(target t, const char* text,
                   const zeroulp_named_matrix* operands, std::int64_t count) {
  problem p;
  p.what = t;
  p.with = settings_of(t, or_empty(text));
  const auto specs = info_of(t).operands(p.with);
  std::vector<std::string> names;
  for (const auto& spec : specs) names.emplace_back(spec.name);
  check_names(operands, count, "operands", names);
  for (const auto& spec : specs) {
    p.in.push_back(find(operands, count, spec.name, spec.type));
  }
  // Operands that were not given: zeros, of the shape that the others have.
  const auto m = length_of(p, 'm');
  const auto n = length_of(p, 'n');
  const auto k = length_of(p, 'k');
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (p.in[i].rows > 0 || specs[i].optional) continue;
    p.in[i] = make_operand(specs[i], m, n, k);
  }
  return p;
}

json matrix_json(const matrix& x) {
  return {{"name", x.name},
          {"format", x.type == integer ? "integer" : name_of(x.type)},
          {"rows", x.rows},
          {"cols", x.cols},
          {"words", x.words}};
}

}  // namespace

std::string& suite_text() {
  thread_local std::string text;
  return text;
}

void check_names(const zeroulp_named_matrix* all, std::int64_t count,
                 const char* what, const std::vector<std::string>& known) {
  if (count < 0) refuse("{}: there are {}", what, count);
  if (count > 0) needed(all, what);
  for (std::int64_t n = 0; n < count; ++n) {
    const std::string name = &needed(all[n].name, what);
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    refuse("{}: there is no '{}': use {}", what, name, fmt::join(known, ", "));
  }
}

}  // namespace zeroulp::fuzz

using namespace zeroulp;
using namespace zeroulp::fuzz;

const char* zeroulp_suite_text() { return suite_text().c_str(); }

zeroulp_status zeroulp_suite_explain(const char* target, const char* settings,
                                     const zeroulp_named_matrix* operands,
                                     int64_t operand_count,
                                     const zeroulp_named_matrix* made,
                                     int64_t made_count, const char* ignored) {
  return guarded("zeroulp_suite_explain", [&] {
    const problem p =
        problem_of(target_of(target), settings, operands, operand_count);
    const auto why = refuse_operands(p);
    if (!why.empty()) refuse("operands: {}", why);
    explain_options how;
    how.ignored = ignored_kinds(ignored);
    // The names and formats of the outputs, from as few elements as possible.
    const outputs few = claimed_outputs(part_of(p, windows_of(p, 1)[0]));
    std::vector<std::string> names;
    for (const matrix& x : few) names.emplace_back(x.name);
    check_names(made, made_count, "made", names);
    outputs given;
    for (const matrix& x : few) {
      matrix mine = find(made, made_count, x.name, x.type);
      if (!mine.words.empty()) given.push_back(std::move(mine));
    }
    const auto found = explain(p, given, how);
    const std::string claim = settings == nullptr ? "" : settings;
    json result = fuzz::to_json(found, claim);
    result["text"] = to_text(found, "the claim");
    suite_text() = result.dump(-1, ' ', false, json::error_handler_t::replace);
  });
}

zeroulp_status zeroulp_suite_case(const char* target, const char* profile,
                                  const char* settings, uint64_t seed,
                                  uint64_t number) {
  return guarded("zeroulp_suite_case", [&] {
    const auto t = target_of(target);
    for_each_setting(or_empty(settings), [&](auto name, auto value) {
      fuzz::settings tried;
      set(tried, t, name, value);  // throws before anything is drawn
    });
    const auto pinned = [&](fuzz::settings& s) {
      for_each_setting(or_empty(settings),
                       [&](auto name, auto value) { set(s, t, name, value); });
    };
    const int which = profile == nullptr ? -1 : parse_profile(t, profile);
    suite_text() = to_token(generate(t, which, seed, number, pinned));
  });
}

zeroulp_status zeroulp_suite_replay(const char* token) {
  return guarded("zeroulp_suite_replay", [&] {
    const problem p = parse_token(&needed(token, "token"));
    json result{{"target", info_of(p.what).name},
                {"settings", json::object()},
                {"operands", json::array()},
                {"outputs", json::array()}};
    for (const char* name : info_of(p.what).options) {
      result["settings"][name] = option_of(name).write(p.with);
    }
    for (const matrix& x : p.in) result["operands"].push_back(matrix_json(x));
    for (const matrix& x : claimed_outputs(p)) {
      if (x.name == std::string_view("guards")) continue;
      result["outputs"].push_back(matrix_json(x));
    }
    suite_text() = result.dump();
  });
}

zeroulp_status zeroulp_suite_shrink(const char* token,
                                    zeroulp_suite_predicate fails,
                                    void* context) {
  return guarded("zeroulp_suite_shrink", [&] {
    const problem p = parse_token(&needed(token, "token"));
    if (fails == nullptr) refuse("fails is NULL");
    const auto asks = [&](const problem& q) {
      return fails(context, to_token(q).c_str()) != 0;
    };
    if (!asks(p)) refuse("token: this case does not fail");
    suite_text() = to_token(shrink(p, asks));
  });
}
