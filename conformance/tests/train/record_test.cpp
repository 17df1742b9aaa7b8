// Training runs give the states that conformance/records/train holds, in every
// arm; and what a memory-saving backward pass would compute again is what the
// forward pass computed.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "conformance/tests/level.hpp"
#include "tools/train/engine_ops.hpp"
#include "tools/train/run.hpp"

namespace zeroulp::train {
namespace {

/// A row of states.csv.
struct recorded {
  std::string size, arm;
  std::int64_t steps;
  std::string state;
  double held_out;  ///< loss of one batch that no step sees
};

std::vector<recorded> records() {
  std::ifstream file(ZEROULP_SOURCE_DIR
                     "/conformance/records/train/states.csv");
  std::vector<recorded> all;
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "size,arm,steps,sha256,held_out");
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    recorded r;
    std::string steps, loss;
    std::getline(fields, r.size, ',');
    std::getline(fields, r.arm, ',');
    std::getline(fields, steps, ',');
    std::getline(fields, r.state, ',');
    std::getline(fields, loss);
    r.steps = std::stoll(steps);
    r.held_out = std::stod(loss);
    all.push_back(r);
  }
  return all;
}

training_run run_of(std::string_view size, std::string_view arm,
                    std::int64_t steps) {
  run_settings s{parse_shape(size), parse_arm(arm)};
  s.rate = usual_rate(s.shape, std::max<std::int64_t>(steps, 1));
  return {s, training_data(s.shape)};
}

/// The same bits by every compiler, processor and day. Who changes them changes
/// a clause.
TEST(TrainingRecord, StatesAndLossesAreThoseOfEachRow) {
  const std::int64_t most[] = {2, 5, 50, 50};
  for (const recorded& r : records()) {
    if (r.steps > most[std::clamp(test::level(), 0, 3)]) continue;
    if (test::level() == 0 && r.size != "tiny") continue;
    training_run run = run_of(r.size, r.arm, r.steps);
    for (std::int64_t t = 0; t < r.steps; ++t) run.advance();
    EXPECT_EQ(run.digest(), r.state)
        << r.size << ", " << r.arm << ", " << r.steps << " steps";
    EXPECT_NEAR(run.held_out_loss(1), r.held_out, 5e-7) << r.arm;
  }
}

/// Of the size T: a byte of the source has an entropy below 2 nats, and bytes
/// that are drawn alike 5.5.
TEST(TrainingRecord, HeldOutLossFallsInEveryArm) {
  std::map<std::string, std::map<std::int64_t, double>> losses;
  for (const recorded& r : records()) {
    if (r.size == "T") losses[r.arm][r.steps] = r.held_out;
  }
  EXPECT_EQ(losses.size(), std::size(named_arms));
  for (const arm& a : named_arms) {
    const auto& of_arm = losses[a.name];
    ASSERT_TRUE(of_arm.count(0) == 1 && of_arm.count(50) == 1) << a.name;
    EXPECT_LT(of_arm.at(50), of_arm.at(0) - 3) << a.name;
  }
}

/// What the passes of a run made, by name.
struct traced {
  std::map<std::string, std::vector<std::uint16_t>> halves;

  half_tensor of(const std::string& name, std::ptrdiff_t cols) const {
    const auto& data = halves.at(name);
    half_tensor x(static_cast<std::ptrdiff_t>(data.size()) / cols, cols);
    x.data = data;
    return x;
  }
};

half_tensor rows_of(const half_tensor& x, std::ptrdiff_t first,
                    std::ptrdiff_t count) {
  half_tensor out(count, x.cols);
  std::copy_n(x.data.begin() + first * x.cols, count * x.cols,
              out.data.begin());
  return out;
}

/// RMSNorm and MLA's up-projection, again for each sequence by itself: no bit
/// depends on the tokens beside them. Scales of a whole tensor would.
TEST(Recomputation, OfNormsAndOfTheUpProjectionIsTheFirstPass) {
  for (const char* const name : {"bf16", "full", "block_gradients"}) {
    training_run run = run_of("tiny", name, 2);
    run.advance();
    const auto weights = run.state().weights;
    traced t;
    run.advance(
        [&](const std::string& tensor, const void* bytes, std::size_t count) {
          const auto* const first = static_cast<const std::uint16_t*>(bytes);
          t.halves.try_emplace(tensor, first, first + count / 2);
        });
    const model_shape& s = run.settings().shape;
    const linear_rule& rule = run.settings().how.linear;
    for (const std::ptrdiff_t l : {0, 1}) {
      const std::string layer = "layer" + std::to_string(l) + ".";
      const std::string before = l == 0 ? "x" : "layer0.x";
      const layer_parameters& p = run.parameters().layer(l);
      const auto w = [&](std::size_t i) { return weights[i].view(); };
      const half_tensor x = t.of(before, s.width);
      const half_tensor middle = t.of(layer + "middle", s.width);
      const half_tensor first = t.of(layer + "qkv_a", s.first_rows());
      const half_tensor second = t.of(layer + "kv_b", w(p.second).rows);
      const auto up = engine_ops::store(rule.w, w(p.second));
      for (std::ptrdiff_t at = 0; at < x.rows; at += s.length) {
        const auto same = [&](const half_tensor& again, const half_tensor& all,
                              const char* what) {
          EXPECT_EQ(again.data, rows_of(all, at, s.length).data)
              << name << ", " << layer << what << ", from token " << at;
        };
        const auto norm = [&](const half_tensor& of, std::size_t i) {
          return engine_ops::rms_norm(of.view(), w(i)).y;
        };
        same(norm(rows_of(x, at, s.length), p.norm1),
             t.of(layer + "norm1", s.width), "norm1");
        same(norm(rows_of(middle, at, s.length), p.norm2),
             t.of(layer + "norm2", s.width), "norm2");
        const half_tensor latent =
            norm(engine_ops::columns(rows_of(first, at, s.length).view(),
                                     s.heads * s.depth(), s.rank),
                 p.latent_norm);
        half_tensor again(s.length, second.cols);
        engine_ops::product(rule.fprop,
                            engine_ops::store(rule.x, latent.view()), up, false,
                            again.view());
        same(again, second, "kv_b");
      }
    }
  }
}

}  // namespace
}  // namespace zeroulp::train
