// The evidence of tensor-core paths, as a table.

#include "zeroulp/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace zeroulp {
namespace {

/// `paths` are names with ? for any character and * for any word.
struct fact {
  std::string_view paths;
  evidence of;
};

using enum evidence_kind;

/// measured: gpu_random.json of conformance/records. public_vectors: half of
/// the records of Khattak and Mikaitis, arXiv 2512.07004. two_models: the model
/// named and the core. If several rows of a kind match a name, the first holds.
constexpr fact facts[] = {
    {"hopper.wgmma.e?m?.e?m?.f32", {measured, 250'268'483'584, "H100"}},
    {"hopper.wgmma.*.*.*", {measured, 10'268'442'624, "H100"}},
    {"hopper.mma.*.*.*", {measured, 10'268'442'624, "H100"}},

    {"hopper.wgmma.e4m3.e4m3.f32", {public_vectors, 5000, "H100, H200"}},
    {"hopper.wgmma.e5m2.e5m2.f32", {public_vectors, 5000, "H100, H200"}},
    {"hopper.mma.e4m3.e4m3.*", {public_vectors, 5000, "H100, H200"}},
    {"hopper.mma.e5m2.e5m2.*", {public_vectors, 5000, "H100, H200"}},
    {"hopper.mma.?f??.*.*", {public_vectors, 5000, "H100, H200"}},
    {"hopper.mma.fp16.*.*", {public_vectors, 5000, "H100, H200"}},
    {"ampere.mma.*.*.*", {public_vectors, 5000, "A100, A2"}},
    {"ada.mma.?f??.*.*", {public_vectors, 5000, "RTX 1000 Ada, L40S"}},
    {"ada.mma.fp16.*.*", {public_vectors, 5000, "RTX 1000 Ada, L40S"}},
    {"ada.mma.e4m3.e4m3.f32", {public_vectors, 5000, "RTX 1000 Ada, L40S"}},
    {"ada.mma.e5m2.e5m2.f32", {public_vectors, 5000, "RTX 1000 Ada, L40S"}},
    {"ada.mma.e4m3.e4m3.f16", {public_vectors, 2500, "RTX 1000 Ada"}},
    {"ada.mma.e5m2.e5m2.f16", {public_vectors, 2500, "RTX 1000 Ada"}},
    {"blackwell.mma.e4m3.e4m3.*", {public_vectors, 2500, "B200"}},
    {"blackwell.mma.e5m2.e5m2.*", {public_vectors, 2500, "B200"}},
    {"blackwell.mma.?f??.*.*", {public_vectors, 2500, "B200"}},
    {"blackwell.mma.fp16.*.*", {public_vectors, 2500, "B200"}},
    {"volta.mma.*.*.*", {public_vectors, 2500, "V100"}},

    {"hopper.wgmma.*.*.*", {two_models, 11'264, "MMA-Sim 2.1.1"}},
    {"hopper.mma.?f??.*.*", {two_models, 11'520, "MMA-Sim 2.1.1"}},
    {"hopper.mma.fp16.*.*", {two_models, 11'520, "MMA-Sim 2.1.1"}},
    {"ampere.mma.*.*.*", {two_models, 11'520, "MMA-Sim 2.1.1"}},
    {"ada.mma.*.*.*", {two_models, 11'520, "MMA-Sim 2.1.1"}},
    {"blackwell.mma.?f??.*.*", {two_models, 11'520, "MMA-Sim 2.1.1"}},
    {"blackwell.mma.fp16.*.*", {two_models, 11'520, "MMA-Sim 2.1.1"}},
    {"blackwell.tcgen05.*.*.*", {two_models, 11'264, "MMA-Sim 2.1.1"}},
    {"rtx_blackwell.mma.*.*.*", {two_models, 11'520, "MMA-Sim 2.1.1"}},
    {"turing.mma.*.*.*", {two_models, 11'520, "MMA-Sim 2.1.1"}},
    {"volta.mma.*.*.*", {two_models, 11'520, "MMA-Sim 2.1.1"}},

    {"blackwell.mma.e4m3.e5m2.*", {inferred, 0, "its pairs of one format"}},
    {"blackwell.mma.e5m2.e4m3.*", {inferred, 0, "its pairs of one format"}},
    {"hopper.mma_zero.*.*.f32", {published, 0, "nvcc 12.4.131"}},
    {"blackwell.tcgen05.mx*.*.*.*", {two_models, 5120, "MMA-Sim 2.1.1"}},
    {"rtx_blackwell.mma.mx*.*.*.*", {two_models, 5120, "MMA-Sim 2.1.1"}},
    {"blackwell.tcgen05.mxf4*.*.*.*", {published, 13'000'000, "sm_100"}},
    {"rtx_blackwell.mma.mxf4*.*.*.*", {published, 13'000'000, "sm_120"}},
    {"whatif.block_scaled_f??.*.*.*", {definition, 0, "T20"}},
    {"whatif.block_scaled_f?.*.*.*", {definition, 0, "T20"}},
    {"rtx_blackwell.mma.e4m3.e4m3.f32", {published, 25'000'000, "sm_120"}},
    {"rtx_blackwell.mma.e5m2.e5m2.f32", {published, 25'000'000, "sm_120"}},

    {"whatif.sign_fill.*.*.*", {refuted, 0, "H200"}},
    {"whatif.top14.*.*.*", {refuted, 0, "H200"}},
    {"whatif.c_last.*.*.*", {refuted, 0, "H200"}},
    {"whatif.*.*.*.*", {definition, 0, "T13"}},
    {"sequential.*.*.*", {definition, 0, "T14"}},
    {"exact.*.*.*", {definition, 0, "T14"}},
};

bool matches(std::string_view pattern, std::string_view name) {
  while (!pattern.empty()) {
    if (pattern[0] == '*') {
      pattern.remove_prefix(1);
      name.remove_prefix(std::min(name.find('.'), name.size()));
      continue;
    }
    if (name.empty() || (pattern[0] != '?' && pattern[0] != name[0])) {
      return false;
    }
    pattern.remove_prefix(1);
    name.remove_prefix(1);
  }
  return name.empty();
}

/// What `cases` counts.
std::string_view unit_of(evidence_kind k) {
  switch (k) {
    case public_vectors:
      return "records";
    case two_models:
      return "steps";
    default:
      return "outputs";
  }
}

}  // namespace

std::vector<evidence> evidence_of(std::string_view path) {
  std::vector<evidence> all;
  for (const fact& f : facts) {
    const auto same_kind = [&f](const evidence& e) {
      return e.kind == f.of.kind;
    };
    if (std::any_of(all.begin(), all.end(), same_kind)) continue;
    if (matches(f.paths, path)) all.push_back(f.of);
  }
  return all;
}

std::string_view name_of(evidence_kind k) {
  constexpr std::string_view names[] = {
      "measured", "public_vectors", "two_models", "published",
      "refuted",  "definition",     "inferred"};
  return names[static_cast<std::size_t>(k)];
}

std::string text_of(const evidence& e) {
  if (e.cases == 0) return fmt::format("{} ({})", name_of(e.kind), e.of);
  const auto cases = e.cases < 100'000
                         ? std::to_string(e.cases)
                         : fmt::format("{:.2g}", static_cast<double>(e.cases));
  return fmt::format("{} {} {} ({})", name_of(e.kind), cases, unit_of(e.kind),
                     e.of);
}

}  // namespace zeroulp
