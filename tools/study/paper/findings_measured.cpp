// What a step, a GEMM, or a committed record says.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/study/error/questions.hpp"
#include "tools/study/paper/findings.hpp"
#include "zeroulp/core/accumulate.hpp"

namespace zeroulp::study::paper {
namespace {

/// E4M3 code of 2^n, -9 <= n <= 8.
std::uint64_t power_of_two(int n) {
  return encode(e4m3, unpacked{1, n, kind::finite, false});
}

/// D of one step over x[i] y[i], of E4M3 codes; FP32 bits.
std::uint64_t sum_of(const accumulator& acc,
                     std::initializer_list<std::uint64_t> x,
                     std::initializer_list<std::uint64_t> y) {
  std::vector<unpacked> a, b;
  for (const auto code : x) a.push_back(decode(e4m3, code));
  for (const auto code : y) b.push_back(decode(e4m3, code));
  return step(path{e4m3, e4m3, acc}, a.data(), b.data(),
              static_cast<int>(a.size()), 0);
}

/// Cells of a question for the rows that `wanted` has, run.
answer answer_of(const char* name, std::span<const char* const> wanted,
                 const evidence& e) {
  answer a{cells_of(find_question(name), find_preset("full"), e.settings), {}};
  std::erase_if(a.cells, [&](const answer_cell& c) {
    return std::find(wanted.begin(), wanted.end(), c.row) == wanted.end();
  });
  runner run;
  for (auto& c : a.cells) {
    if (!c.impossible) c.given = run.run(c.value);
  }
  return a;
}

std::string files_of(const evidence& e) {
  std::string all;
  for (const auto& record : e.bench) {
    all += fmt::format("{}{}", all.empty() ? "" : ", ", record.file);
  }
  return all;
}

/// The ratios of our GEMM to cuBLASLt's BF16, where both stand in a record.
std::vector<double> speeds_beside_bf16(const bench_record& record) {
  std::vector<double> all;
  for (const auto& r : record.rows) {
    if (r.name != "gemm.fprop" || r.who != "ours") continue;
    const double bf16 = record.at(r.name, r.size, "cuBLASLt BF16");
    if (bf16 > 0) all.push_back(r.tflops / bf16);
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// What promotion costs at the first size of a record.
struct promotion_cost {
  double at_64, at_128, at_256;  ///< of the time without promotion, beyond it
  double tiles;                  ///< our GEMM with tile scales
};
constexpr const char* interval_size = "4096x4096x7168";
promotion_cost cost_of_promotion(const bench_record& record) {
  const auto at = [&](const char* who) {
    return record.at("gemm.interval", interval_size, who);
  };
  const double none = at("never promoted");
  return {none / at("promoted every 64") - 1,
          none / at("promoted every 128") - 1,
          none / at("promoted every 256") - 1,
          none / record.at("gemm.fprop", interval_size, "ours") - 1};
}

}  // namespace

int fraction_bits_kept(const accumulator& acc) {
  // E4M3 has no 2^-10: a product of two powers reaches 2^-18.
  const auto one = power_of_two(0);
  const auto minus_one = one | e4m3.sign_mask();
  for (int n = 18; n > 0; --n) {
    const auto d = sum_of(acc, {one, minus_one, power_of_two(-n / 2)},
                          {one, one, power_of_two(n / 2 - n)});
    if (d != 0) return n;
  }
  return 0;
}

int fraction_bits_of_exact_e4m3() {
  const auto largest = e4m3.max_code();
  const auto minus_largest = largest | e4m3.sign_mask();
  const std::uint64_t least = 1;
  accumulator acc = hopper_fp8_f32;
  for (acc.fraction_bits = 1;; ++acc.fraction_bits) {
    if (sum_of(acc, {largest, minus_largest, least},
               {largest, largest, least}) != 0) {
      return acc.fraction_bits;
    }
  }
}

finding find_accumulator(const evidence&) {
  const int bits = fraction_bits_kept(hopper_fp8_f32);
  return {fmt::format("{} fraction bits and the one before them", bits),
          computed, holds_if(bits + 1 == 14),
          "One step of 1, -1 and 2^-n: 2^-13 is kept, 2^-14 is lost. The row "
          "was measured on an H200 (SPEC T12)."};
}

finding find_exact_sum(const evidence&) {
  const int bits = fraction_bits_of_exact_e4m3();
  const bool agrees = bits == 34;
  return {fmt::format("{} fraction bits of E4M3", bits), computed,
          agrees ? standing::partly : standing::differs,
          "A step of 448^2, -448^2 and 2^-18 keeps 2^-18. With the bit before "
          "them, as the 14 bits are counted, these are 35."};
}

finding find_two_percent(const evidence& e) {
  constexpr const char* inputs[] = {"N(0,1)", "U(-1,1)"};
  const auto a = answer_of("two_percent", inputs, e);
  const auto largest = [&](const char* input) {
    return a.at(input, "unpromoted", "accumulation.max_over_mean");
  };
  const auto near = [](double x) { return x >= 0.015 && x < 0.0275; };
  const double frobenius =
      a.at("N(0,1)", "unpromoted", "accumulation.frobenius");
  const bool holds = near(largest("N(0,1)")) && near(largest("U(-1,1)"));
  return {
      fmt::format("{} % of N(0,1), {} % of U(-1,1)", percent(largest("N(0,1)")),
                  percent(largest("U(-1,1)"))),
      computed, holds ? standing::partly : standing::differs,
      fmt::format(
          "{} x {} outputs, the largest error over the mean magnitude. "
          "Inputs and metric are not in the report: the Frobenius error "
          "of N(0,1) is {} %. Promoted every 128: {} %.",
          a.cells.at(0).value.m, a.cells.at(0).value.n, percent(frobenius),
          percent(a.at("N(0,1)", "every 128", "accumulation.max_over_mean")))};
}

finding find_wgmmas(const evidence&) {
  const int count = 128 / hopper_fp8_f32.length;
  return {fmt::format("128 / {} = {}", hopper_fp8_f32.length, count), computed,
          holds_if(count == 4),
          "An FP8 wgmma adds 32 products to an output (SPEC T12)."};
}

finding find_interval(const evidence& e) {
  constexpr const char* rows[] = {"64", "128", "none"};
  const auto a = answer_of("interval", rows, e);
  const auto error = [&](const char* row) {
    return a.at(row, "N(0,1)", "accumulation.frobenius");
  };
  std::string ours;
  bool knee = error("128") < 0.2 * error("none");
  int measured = 0;
  for (const auto& record : e.bench) {
    const auto cost = cost_of_promotion(record);
    if (std::isnan(cost.at_128) || std::isnan(cost.at_64)) continue;
    ++measured;
    knee = knee && cost.at_128 < 0.25 && cost.at_64 > 2 * cost.at_128;
    ours += fmt::format("{}{}: 64 costs {:.0f} %, 128 {:.0f} %, 256 {:.0f} %",
                        ours.empty() ? "" : "; ", record.device,
                        100 * cost.at_64, 100 * cost.at_128, 100 * cost.at_256);
    if (!std::isnan(cost.tiles)) {
      ours +=
          fmt::format(", our GEMM with tile scales {:.0f} %", 100 * cost.tiles);
    }
  }
  auto why = fmt::format(
      "More time than without promotion. The Frobenius error of N(0,1) at K "
      "= 4096: {} % at 64, {} % at 128, {} % without.",
      percent(error("64")), percent(error("128")), percent(error("none")));
  if (measured == 0) {
    return {"no row of gemm.interval", files_of(e), standing::absent, why};
  }
  return {ours, files_of(e) + "; errors " + computed, holds_if(knee), why};
}

finding find_speed(const evidence& e) {
  const bool twice = hopper_fp8_f32.length == 2 * hopper_half_f32.length;
  std::string measured;
  for (const auto& record : e.bench) {
    const auto all = speeds_beside_bf16(record);
    if (all.empty()) continue;
    measured +=
        fmt::format("{}{}: {:.2f} to {:.2f}, median {:.2f}, {} sizes",
                    measured.empty() ? "" : "; ", record.device, all.front(),
                    all.back(), all[all.size() / 2], all.size());
  }
  return {
      fmt::format("{} products a wgmma for {}{}{}", hopper_fp8_f32.length,
                  hopper_half_f32.length, measured.empty() ? "" : "; ",
                  measured),
      measured.empty() ? computed : files_of(e), holds_if(twice),
      measured.empty()
          ? "By the instruction. Measured: no record has both."
          : "By the instruction. Measured: Fprop beside cuBLASLt's BF16. No "
            "record has BF16 for Wgrad or grouped GEMMs, or an H800."};
}

namespace {

/// The campaign with a verdict on arm full, and that arm.
std::optional<std::pair<campaign_record, campaign_arm>> campaign_of_full(
    const evidence& e) {
  for (const auto& c : e.campaigns) {
    for (const auto& arm : c.arms) {
      if (arm.arm == "full" && !arm.verdict.empty()) return {{c, arm}};
    }
  }
  return {};
}

/// Returns true iff a positive control is beyond, in `c` or in another plan of
/// the same steps on the same data.
bool is_sensitive(const evidence& e, const campaign_record& c) {
  return std::any_of(e.campaigns.begin(), e.campaigns.end(),
                     [&](const campaign_record& other) {
                       return other.is_sensitive.value_or(false) &&
                              other.size == c.size && other.data == c.data &&
                              other.steps == c.steps &&
                              other.shared == c.shared;
                     });
}

}  // namespace

finding find_loss(const evidence& e) {
  const auto found = campaign_of_full(e);
  if (!found) {
    return {"-", "nothing in " + e.campaign_folder, standing::absent,
            "No record of a campaign has a verdict on arm full."};
  }
  const auto& [c, full] = *found;
  const bool sensitive = is_sensitive(e, c);
  const bool within = full.verdict == "within";
  const auto said = full.verdict == "beyond" ? standing::differs
                    : within && sensitive    ? standing::holds
                                             : standing::partly;
  return {fmt::format("{:+.3f} % ({:+.3f} to {:+.3f})", 100 * full.mean,
                      100 * full.low, 100 * full.high),
          c.file, said,
          fmt::format(
              "{} +-{} %, {} steps of {}{}. {} The report's models "
              "have 16 and 230 billion parameters and about 10^12 "
              "tokens.",
              full.verdict, 100 * c.bound, c.steps - c.shared, c.size,
              c.shared == 0 ? "" : fmt::format(" after {} of BF16", c.shared),
              sensitive ? "A positive control is beyond."
                        : "No positive control is beyond: a gap might not be "
                          "seen.")};
}

}  // namespace zeroulp::study::paper
