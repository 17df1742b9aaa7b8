#ifdef ZEROULP_HAVE_CONFORMANCE
#include "tools/zeroulp/conform/plugin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "conformance/checks/model/model_functions.hpp"
#include "conformance/checks/training/training_functions.hpp"
#include "fuzz/cases/options.hpp"
#include "tools/zeroulp/fuzz/report.hpp"
#include "tools/zeroulp/identify/plugin.hpp"

namespace zeroulp::program {
namespace {

using namespace conformance;
using conformance::plugin::claim;
using conformance::plugin::kind;
using conformance::plugin::plugin_code;
using shared_code = std::shared_ptr<plugin_code>;

const char* clauses_of(kind k) {
  switch (k) {
    case kind::quantize:
      return "Q1 Q2 Q3 Q4 Q5 Q6 Q12 Q13";
    case kind::dequantize:
      return "Q10";
    case kind::retile:
      return "W1 W2 W3 W4 W5 W7";
    case kind::gemm:
      return "G1 G2 G3 G4 G5 G6 G7 G8 G9";
    case kind::swiglu:
      return "S1 S2 E1 E2 E3";
    case kind::adamw:
      return "S6 S8";
    case kind::combine:
      return "S9 S10";
    case kind::rms_norm_backward:
      return "N1 N2 N3";
    case kind::route:
      return "N8 N9 N10";
    case kind::route_backward:
      return "N11";
    case kind::attention_forward:
      return "N5 N6";
    case kind::attention_backward:
      break;
  }
  return "N5 N7";
}

constexpr std::array model_kinds = {
    kind::rms_norm_backward, kind::route, kind::route_backward,
    kind::attention_forward, kind::attention_backward};

/// At least a standard run: it reaches the bins.
std::uint64_t cases_at(int level) {
  constexpr std::uint64_t counts[] = {fuzz::covered, fuzz::covered, 400000,
                                      20000000};
  return counts[level];
}

/// "case 12: codes(0, 5) is 0x7e, not 0x7d: 2/quantize/..."
std::string text_of(const fuzz::finding& f) {
  const auto& d = f.where;
  return d.failure.empty()
             ? fmt::format("case {}: {}({}, {}) is {:#x}, not {:#x}: {}",
                           f.index, d.output, d.row, d.col, d.right, d.left,
                           f.token)
             : fmt::format("case {}: it {}: {}", f.index, d.failure, f.token);
}

/// Runs the case again as it was found: shrunk, it has hardly an element.
std::optional<failure_picture> picture_again(const fuzz::campaign& all,
                                             const fuzz::finding& f) {
  if (!f.where.failure.empty()) return {};
  auto picture = picture_of(fuzz::run(all.left, f.found),
                            fuzz::run(all.right, f.found), {"core", "plug-in"});
  if (picture) {
    picture->map_caption = fmt::format("Case {} before it was shrunk. {}",
                                       f.index, picture->map_caption);
  }
  return picture;
}

/// The cases of the engine under one claim. What differs is shrunk, named and
/// can be replayed, of each kind the first.
verdict hold_claim(const std::string& file, std::size_t i,
                   const shared_code& code, const model_implementation& held,
                   const effort& e, std::optional<failure_picture>& picture) {
  verdict v;
  const claim& c = code->claims()[i];
  if (plugin::lacks_name(c)) {
    v.skipped = "there is no name to hold it to";
    return v;
  }
  fuzz::campaign all;
  all.what = plugin::target_of(c.what);
  all.seed = e.seed;
  all.cases = cases_at(e.level);
  all.left = fuzz::core_opponent();
  all.right = {file, held, "", {}, true};
  all.pinned = [&c](fuzz::settings& s) {
    for (const auto& [name, text] : c.fixed)
      fuzz::option_of(name).read(s, text);
  };
  const auto r = run(all);
  const auto answers =
      i < r.claims.size() ? r.claims[i] : fuzz::claim_answers{};
  v.cases = answers.answered;
  if (answers.answered + answers.refused == 0) {
    v.vacuous = "no case of the engine is one that it claims";
  } else {
    v.vacuous = fuzz::why_vacuous(answers, fuzz::info_of(all.what).bins(),
                                  all.cases, fuzz::covered);
  }
  if (answers.refused > 0 && v.vacuous.empty()) {
    v.notes.push_back(fmt::format("{} requests refused", answers.refused));
  }
  const sides names{"core", file, code->is_trusted()};
  for (const auto& f : fuzz::investigate(all, r)) {
    if (v.first_failure.empty()) {
      v.first_failure = text_of(f);
      if (!code->has_hung()) picture = picture_again(all, f);
    }
    v.notes.push_back(finding_text(f, names, at(r.seen, f.kind).cases - 1));
  }
  v.failures = r.mismatches;
  v.cases = std::max(v.cases, v.failures);
  return v;
}

/// Says what a claim without a name follows, and holds it to that.
verdict identify(const shared_code& code, std::size_t i) {
  const auto found = identify_claim(code, code->claims()[i]);
  verdict v;
  v.cases = found.words;
  v.notes.push_back(found.text);
  if (!found.exact) {
    v.failures = 1;
    v.first_failure = "no definition gives every bit";
  }
  if (!found.names.empty()) code->adopt(i, found.names[0]);
  return v;
}

/// A check of the registry, if it asks anything that is claimed. What is
/// refused it holds of the core alone.
template <class Run>
verdict count_calls(const shared_code& code, Run check) {
  const std::uint64_t before = code->calls();
  const std::uint64_t refused_before = code->refusals();
  verdict v;
  // What follows nothing by name would be asked to follow everything.
  const auto& claims = code->claims();
  if (std::none_of(claims.begin(), claims.end(), plugin::lacks_name)) {
    v = check();
  }
  const std::uint64_t answered = code->calls() - before;
  const std::uint64_t refused = code->refusals() - refused_before;
  if (answered + refused == 0 && v.failures == 0) {
    v = {};
    v.skipped = asks_nothing;
  } else if (refused > 0) {
    v.exhaustive = false;
    v.notes.push_back(
        fmt::format("{} of {} requests refused", refused, answered + refused));
    if (answered < refused) v.vacuous = v.notes.back();
  }
  // Its other cases are of what is not claimed, or was refused.
  if (v.failures == 0) v.cases = std::min(v.cases, answered);
  return v;
}

}  // namespace

check_list plugin_checks(const std::string& file, const shared_code& code,
                         const std::shared_ptr<picture_album>& album) {
  check_list all;
  const auto plugged = plugin::implementation_of(code);
  std::vector<bool> claimed(plugin::operations().size());
  for (std::size_t i = 0; i < code->claims().size(); ++i) {
    const claim& c = code->claims()[i];
    claimed[static_cast<std::size_t>(c.what)] = true;
    const auto* const name =
        plugin::operations()[static_cast<std::size_t>(c.what)].name;
    if (plugin::lacks_name(c)) {
      all.push_back({fmt::format("Identity{}.{}", i, name), clauses_of(c.what),
                     "identify", 0,
                     [code, i](const implementation&, const effort&) {
                       return identify(code, i);
                     }});
    }
    const auto claim_name =
        fmt::format("Claim{}.{}{}{}", i, name, c.as.empty() ? "" : ".", c.as);
    all.push_back({claim_name, clauses_of(c.what), "the core", 0,
                   [=](const implementation&, const effort& e) {
                     std::optional<failure_picture> picture;
                     auto v = hold_claim(file, i, code, plugged, e, picture);
                     if (picture) album->emplace(claim_name, *picture);
                     return v;
                   }});
  }
  const auto has = [&claimed](kind k) {
    return claimed[static_cast<std::size_t>(k)];
  };
  const auto add = [&](const check_list& list) {
    for (const check& c : list) {
      check counted = c;
      counted.run = [code, run = c.run](const implementation& i,
                                        const effort& e) {
        return count_calls(code, [&] { return run(i, e); });
      };
      all.push_back(counted);
    }
  };
  if (has(kind::quantize) || has(kind::dequantize)) add(quantize_checks());
  if (has(kind::retile)) add(retile_checks());
  if (has(kind::gemm)) add(gemm_checks());
  if (has(kind::swiglu) || has(kind::adamw) || has(kind::combine)) {
    check_list training;
    for (const training_check& c : training_check_list()) {
      training.push_back(
          {c.name, c.clauses, c.oracle, c.level,
           [run = c.run](const implementation& i, const effort& e) {
             return run(training_of(i), e);
           }});
    }
    add(training);
  }
  if (std::any_of(model_kinds.begin(), model_kinds.end(), has)) {
    check_list model;
    for (const model_check& c : model_check_list()) {
      model.push_back(
          {c.name, c.clauses, c.oracle, c.level,
           [plugged, run = c.run](const implementation&, const effort& e) {
             return run(model_of(plugged.model), e);
           }});
    }
    add(model);
  }
  for (check& c : all) {
    c.run = [code, run = c.run](const implementation& held, const effort& e) {
      verdict v;
      v.skipped = "it hung, and is not asked again";
      return code->has_hung() ? v : run(held, e);
    };
  }
  return all;
}

}  // namespace zeroulp::program
#endif
