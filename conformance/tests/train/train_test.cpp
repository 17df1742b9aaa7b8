// Tests of the training step. Each can fail: gradients are held against finite
// differences, arms must part, a changed bit of a checkpoint must be refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "conformance/tests/level.hpp"
#include "tools/train/audit.hpp"
#include "tools/train/engine_ops.hpp"
#include "tools/train/run_folder.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/threads.hpp"
#include "zeroulp/training.hpp"

namespace zeroulp::train {
namespace {

training_run make_run(std::string_view size, std::string_view arm,
                      std::int64_t steps, std::int64_t shards = 1) {
  run_settings s{parse_shape(size), parse_arm(arm)};
  s.shards = shards;
  s.rate = usual_rate(s.shape, steps);
  return {s, training_data(s.shape)};
}

std::string state_after(training_run run, std::int64_t steps) {
  for (std::int64_t t = 0; t < steps; ++t) run.advance();
  return run.digest();
}

/// A pass over one batch, again and again.
class fixed_batch {
 public:
  explicit fixed_batch(const training_run& run) : run_(run) {
    const batch b = run.data().training(99);
    const auto n = static_cast<std::ptrdiff_t>(b.inputs.size());
    ids_ = targets_ = index_tensor(n, 1);
    std::copy(b.inputs.begin(), b.inputs.end(), ids_.data.begin());
    std::copy(b.targets.begin(), b.targets.end(), targets_.data.begin());
  }

  double loss() const {
    const pass_inputs<engine_ops> in = run_.inputs();
    const auto mean = [&](const word_tensor& losses) {
      return engine::sum_of_losses(losses.view()) /
             static_cast<double>(ids_.rows);
    };
    if (in.shape.mtp == 0) {
      return mean(step_pass<engine_ops>(in, {}).forward(ids_, targets_));
    }
    const auto out = outputs();
    return mean(out.losses) + static_cast<double>(bit_cast<float>(mtp_weight)) *
                                  mean(out.mtp_losses);
  }
  std::vector<word_tensor> gradients() const { return outputs().gradients; }
  pass_outputs<engine_ops> outputs(const tracer& trace = {}) const {
    const pass_inputs<engine_ops> in = run_.inputs();
    const auto factor = 1 / static_cast<float>(ids_.rows);
    return step_pass<engine_ops>(in, trace)(ids_, targets_,
                                            bit_cast<std::uint32_t>(factor));
  }

 private:
  const training_run& run_;
  index_tensor ids_, targets_;
};

double norm_of(const word_tensor& x) {
  return std::sqrt(engine::sum_of_squares(x.view()));
}

/// The loss's change along the gradient of a parameter, over what the gradient
/// says.
double slope_over_gradient(training_run& run, const fixed_batch& batch,
                           std::size_t i, const word_tensor& gradient) {
  word_tensor& w = run.state().weights[i];
  const word_tensor kept = w;
  const double norm = norm_of(gradient);
  // A router's shares bend: no longer step.
  const double step = std::min(0.02 / norm, 0.25);
  double losses[2];
  for (const int side : {0, 1}) {
    for (std::size_t j = 0; j < w.data.size(); ++j) {
      const double g = bit_cast<float>(gradient.data[j]);
      const double x = bit_cast<float>(kept.data[j]);
      w.data[j] = bit_cast<std::uint32_t>(
          static_cast<float>(x + (side == 0 ? step : -step) * g / norm));
    }
    losses[side] = batch.loss();
  }
  w = kept;
  return (losses[0] - losses[1]) / (2 * step * norm);
}

void expect_gradients_of_the_loss(std::string_view size) {
  training_run run = make_run(size, "bf16", 8);
  for (int t = 0; t < 4; ++t) run.advance();
  // A choice of experts that no small change of weights changes: the loss has
  // steps where it does.
  for (word_tensor& bias : run.state().biases) {
    if (bias.cols == 0) continue;
    bias.data[0] = bias.data[2] = bit_cast<std::uint32_t>(10.0f);
  }
  const fixed_batch batch(run);
  const auto gradients = batch.gradients();
  const auto& all = run.parameters().all();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool chosen = all[i].name.find("expert1") == std::string::npos &&
                        all[i].name.find("expert3") == std::string::npos;
    EXPECT_EQ(norm_of(gradients[i]) > 0, chosen) << all[i].name;
    // Without the level, one parameter of each kind.
    if (!chosen || (test::level() == 0 && i % 5 != 2)) continue;
    // BF16's roundings are in the losses.
    EXPECT_NEAR(slope_over_gradient(run, batch, i, gradients[i]), 1, 0.05)
        << all[i].name;
  }
}

TEST(Train, GradientsAreThoseOfTheLoss) {
  expect_gradients_of_the_loss("tiny");
}

// SPEC N31.
TEST(Train, GradientsWithAModuleAreThoseOfBothLosses) {
  expect_gradients_of_the_loss("tiny+mtp:1");
}

// SPEC N31: the model's own forward pass is what it was; it shares the head,
// the last norm and the embedding with the module.
TEST(Train, AModuleReadsTheModelAndChangesSharedGradients) {
  training_run plain = make_run("tiny", "full", 8);
  training_run with = make_run("tiny+mtp:1", "full", 8);
  const auto& names = plain.parameters().all();
  const auto place = [&](const std::string& name) {
    const auto& all = with.parameters().all();
    return static_cast<std::size_t>(
        std::find_if(all.begin(), all.end(),
                     [&](const auto& p) { return p.name == name; }) -
        all.begin());
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    with.state().weights[place(names[i].name)] = plain.state().weights[i];
  }
  std::map<std::string, std::size_t> made;
  const auto alone = fixed_batch(plain).outputs();
  const auto both =
      fixed_batch(with).outputs([&](const std::string& name, const void*,
                                    std::size_t count) { made[name] = count; });
  EXPECT_EQ(alone.losses.data, both.losses.data);
  EXPECT_GT(made["mtp.joined"], 0u);
  EXPECT_EQ(made["mtp.losses"], made["losses"]);
  // The last token of each sequence has nothing to predict.
  const auto length = with.settings().shape.length;
  for (std::ptrdiff_t i = 0; i < both.mtp_losses.rows; ++i) {
    EXPECT_EQ(both.mtp_losses.view()(i, 0) == 0, (i + 1) % length == 0) << i;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_NE(alone.gradients[i].data,
              both.gradients[place(names[i].name)].data)
        << names[i].name;
  }
}

TEST(Train, EveryArmHasItsOwnBits) {
  std::set<std::string> states;
  for (const arm& a : named_arms) {
    states.insert(state_after(make_run("tiny", a.name, 1), 1));
  }
  EXPECT_EQ(states.size(), std::size(named_arms));
}

/// Groups that are as high as wide are the same of a tensor and its transpose.
TEST(Train, ColumnwiseOperandsOfSquareGroupsAreTheCodesTransposed) {
  const auto state = [](const char* arm) {
    return state_after(make_run("tiny", arm, 1), 1);
  };
  EXPECT_EQ(state("full+linear.w.columnwise:true"), state("full"));
  EXPECT_EQ(state("tensor+linear.x.columnwise:true"), state("tensor"));
  EXPECT_NE(state("full+linear.x.columnwise:true"), state("full"));
}

/// What check_arm lets pass, a step follows.
TEST(Train, ArmsOfOnesOwnRun) {
  for (const char* const arm :
       {"full+linear.x.scale:none+linear.x.group:tensor+linear.x.format:bf16",
        "full+linear.x.group:64x64+interval:64",
        "full+linear.dy.group:1x32+interval:32+splits:2",
        "tensor+accumulator:exact.e4m3.e4m3.f32+interval:0",
        "mx+head.w.format:e4m3+head.w.scale:pow2_nearest",
        "full+attention_cache.group:1x64+swiglu_cache.group:32x32",
        "bf16+linear.dy.format:fp16+dispatched:ocp"}) {
    training_run run = make_run("tiny", arm, 1);
    EXPECT_NEAR(run.advance().loss, 6, 0.3) << arm;
    EXPECT_NEAR(run.held_out_loss(1), 5, 1) << arm;
  }
}

/// Steps of one arm, then of another, are a run whose arm changes on the way.
TEST(Train, FirstStepsAreOfTheirArm) {
  training_run first = make_run("tiny", "bf16", 4);
  first.advance();
  first.advance();
  const auto rest = first.under(parse_arm("full"));
  rest->advance();
  const double held_out = rest->held_out_loss(1);
  rest->advance();
  run_settings s = make_run("tiny", "full", 4).settings();
  s.first = {parse_arm("bf16"), 2};
  training_run run(s, training_data(s.shape));
  for (int t = 0; t < 3; ++t) run.advance();
  EXPECT_EQ(run.held_out_loss(1), held_out);
  run.advance();
  EXPECT_EQ(run.digest(), rest->digest());
  EXPECT_EQ(settings_of_first(s).how.name, std::string("bf16"));
  EXPECT_FALSE(settings_of_first(s).first);
}

TEST(Train, ThreadsChangeNothing) {
  const int steps = test::level() > 0 ? 5 : 1;
  std::string first;
  for (const int threads : {1, 2, 8}) {
    engine::use_threads(threads);
    const std::string state = state_after(make_run("tiny", "full", 5), steps);
    if (first.empty()) first = state;
    EXPECT_EQ(state, first) << threads;
  }
  engine::use_threads(0);
}

/// Two shards are another run: K of a Wgrad is a shard's tokens.
TEST(Train, ShardsAreAddedAndAreARunOfTheirOwn) {
  training_run one = make_run("tiny", "full", 4);
  training_run two = make_run("tiny", "full", 4, 2);
  const double loss = one.advance().loss;
  EXPECT_NEAR(two.advance().loss, loss, 1e-6);
  EXPECT_NE(one.digest(), two.digest());
}

/// Powers of two and E5M6 keep what E4M3 needs: one rounding, the same codes.
TEST(Train, ARetiledCacheIsTheQuantizedTranspose) {
  half_tensor x(256, 128);
  counter_rng rng(3, 0);
  for (auto& v : x.data) {
    const float number = static_cast<float>(rng.between(-64, 64)) / 64;
    v = static_cast<std::uint16_t>(bit_cast<std::uint32_t>(number) >> 16);
  }
  const arm full = parse_arm("full");
  storage target = full.linear.x;
  target.scale = scale_kind::pow2;
  const auto cached = engine_ops::store(full.attention_cache, x.view());
  const auto t = engine_ops::transpose(full.linear.x, cached);
  const auto direct = engine_ops::store_transposed(target, x.view());
  EXPECT_EQ(t.codes.data, direct.codes.data);
  EXPECT_EQ(t.scales.data, direct.scales.data);
}

class RunFolder : public testing::Test {
 protected:
  RunFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("zeroulp_train_" + std::to_string(::getpid()))) {}
  ~RunFolder() override { std::filesystem::remove_all(path_); }

  run_folder folder(const any_run& run) const {
    return {path_, settings_json(run, "")};
  }
  /// A step, and its row.
  static void take_step(any_run& run, receipt& rows) {
    const step_report r = run.advance();
    rows.add(r, run.digest());
  }

  std::filesystem::path path_;
};

TEST_F(RunFolder, ARunGoesOnByteForByte) {
  training_run whole = make_run("tiny", "full", 4);
  training_run first = make_run("tiny", "full", 4);
  receipt rows = folder(first).go_on(first);
  EXPECT_TRUE(rows.rows().empty());
  for (int t = 0; t < 2; ++t) {
    whole.advance();
    take_step(first, rows);
  }
  folder(first).save(first, rows, false);
  training_run second = make_run("tiny", "full", 4);
  EXPECT_EQ(folder(second).go_on(second).lines(), rows.lines());
  EXPECT_EQ(folder(second).read_receipt().lines(), rows.lines());
  EXPECT_EQ(second.state().steps, 2);
  whole.advance();
  second.advance();
  EXPECT_EQ(second.digest(), whole.digest());
}

TEST_F(RunFolder, ACheckpointStays) {
  training_run run = make_run("tiny", "full", 4);
  receipt rows(settings_json(run, ""));
  take_step(run, rows);
  folder(run).save(run, rows, true);
  const std::string first = run.digest();
  take_step(run, rows);
  folder(run).save(run, rows, false);
  training_run other = make_run("tiny", "full", 4);
  folder(other).load(1, other);
  EXPECT_EQ(other.digest(), first);
  EXPECT_THROW(folder(other).load(2, other), input_error);
}

TEST_F(RunFolder, AnyChangedBitIsRefused) {
  training_run run = make_run("tiny", "full", 4);
  const std::string before = run.digest();
  receipt rows(settings_json(run, ""));
  take_step(run, rows);
  folder(run).save(run, rows, false);
  const auto file = path_ / "run.zeroulp";
  const auto good = read_file(file);
  const std::string lines(as_text(good));
  const auto header = static_cast<std::uint32_t>(lines.find("\n\n")) + 2;
  counter_rng rng(1, 0);
  for (int n = 0; n < 40; ++n) {
    auto bytes = good;
    // Most of all where the lines are; also short by a byte, long by one.
    const auto at = rng.below(
        n % 2 == 0 ? header : static_cast<std::uint32_t>(bytes.size()));
    bytes[at] ^= static_cast<std::byte>(1 << rng.below(8));
    if (n >= 38) bytes = good;
    if (n == 38) bytes.pop_back();
    if (n == 39) bytes.push_back(std::byte{0});
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    training_run other = make_run("tiny", "full", 4);
    EXPECT_THROW(folder(other).go_on(other), input_error) << at;
    EXPECT_EQ(other.digest(), before);
  }
}

TEST_F(RunFolder, AReceiptIsRefusedUnlessEachRowFollows) {
  training_run run = make_run("tiny", "full", 4);
  receipt rows(settings_json(run, ""));
  rows.add({1.5, 2, 1e-3}, "");
  rows.add({1.25, 0x1p-1074, 1e-3}, std::string(64, 'a'));
  const std::string text = rows.lines();
  const auto read = [&](const std::string& settings, std::string lines) {
    receipt again(settings);
    for (auto end = lines.find('\n'); end != lines.npos;
         end = lines.find('\n')) {
      again.read(lines.substr(0, end), "receipt.csv");
      lines.erase(0, end + 1);
    }
    return again.lines();
  };
  EXPECT_EQ(read(settings_json(run, ""), text), text);
  EXPECT_THROW(read(settings_json(run, "a plan"), text), input_error);
  EXPECT_THROW(read(settings_json(run, ""), text.substr(text.find('\n') + 1)),
               input_error);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n') continue;
    std::string other = text;
    other[at] ^= 1;
    EXPECT_THROW(read(settings_json(run, ""), other), input_error) << at;
  }
}

TEST_F(RunFolder, AnotherRunIsRefused) {
  training_run run = make_run("tiny", "full", 4);
  receipt rows(settings_json(run, ""));
  take_step(run, rows);
  folder(run).save(run, rows, false);
  for (const char* const arm : {"tensor", "full+splits:2"}) {
    training_run other = make_run("tiny", arm, 4);
    EXPECT_THROW(folder(other).go_on(other), input_error) << arm;
  }
  // The name of an arm says less than its fields.
  training_run same_name = make_run("tiny", "full", 4);
  run_settings s = same_name.settings();
  s.how.linear.wgrad.splits = 2;
  training_run other(s, training_data(s.shape));
  EXPECT_THROW(folder(other).go_on(other), input_error);
  EXPECT_NO_THROW(folder(same_name).go_on(same_name));
}

TEST_F(RunFolder, AnAuditGoesOnFromItsResults) {
  training_run run = make_run("tiny", "full", 4);
  run.advance();
  const std::string after = run.digest();
  for (const std::int64_t left : {0, 7}) {
    operator_results results(path_, "a step");
    const auto again = make_audited_run(
        run.settings(), training_data(run.settings().shape), results);
    again->advance();
    EXPECT_EQ(again->digest(), after);
    EXPECT_EQ(results.found(), left);
    for (std::int64_t i = 7; i < results.calls(); ++i) {
      std::filesystem::remove(path_ /
                              ("operator." + std::to_string(i) + ".zeroulp"));
    }
  }
  const auto refused = [&](const std::string& of) {
    operator_results results(path_, of);
    const auto again = make_audited_run(
        run.settings(), training_data(run.settings().shape), results);
    EXPECT_THROW(again->advance(), input_error) << of;
  };
  refused("another step");
  std::ofstream(path_ / "operator.3.zeroulp", std::ios::app) << 'x';
  refused("a step");
}

TEST(Train, BadSettingsAreNamed) {
  const auto refused = [](auto change) {
    run_settings s{parse_shape("tiny"), parse_arm("full")};
    s.rate = {3e-3, 1, 2, 4, 0.1};
    EXPECT_NO_THROW(check(s));
    change(s);
    EXPECT_THROW(check(s), input_error);
  };
  refused([](auto& s) { s.shape.width = 192; });
  refused([](auto& s) { s.shape.hidden = 0; });
  refused([](auto& s) { s.shape.rank = 64; });
  refused([](auto& s) { s.shape.experts = 1; });
  refused([](auto& s) { s.shape.top = 0; });
  refused([](auto& s) { s.how.linear.fprop.interval = 64 + 1; });
  refused([](auto& s) { s.shards = 3; });
  refused([](auto& s) { s.shards = 0; });
  refused([](auto& s) { s.clip = 0; });
  refused([](auto& s) { s.rate.rate = 0; });
  refused([](auto& s) { s.rate.hold = 0; });
  refused([](auto& s) { s.rate.last = 2; });
  refused([](auto& s) { s.first = {s.how, 0}; });
  refused([](auto& s) { s.first = {s.how, 4}; });
  refused([](auto& s) {
    s.first = {s.how, 1};
    s.first->how.linear.fprop.interval = 65;
  });
}

TEST(Train, ATooShortCorpusIsRefused) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("zeroulp_corpus_" + std::to_string(::getpid()));
  std::ofstream(file) << std::string(300, 'a');
  EXPECT_THROW(training_data(file.string(), parse_shape("tiny"), 1),
               input_error);
  std::ofstream(file) << std::string(3000, 'a');
  EXPECT_NO_THROW(training_data(file.string(), parse_shape("tiny"), 1));
  std::filesystem::remove(file);
}

TEST(Train, LossFalls) {
  if (test::level() == 0) GTEST_SKIP() << "level 1";
  for (const char* const name : {"bf16", "full"}) {
    training_run run = make_run("tiny", name, 40);
    const double before = run.held_out_loss(4);
    for (int t = 0; t < 40; ++t) run.advance();
    EXPECT_LT(run.held_out_loss(4), before - 1.5) << name;
  }
}

}  // namespace
}  // namespace zeroulp::train
