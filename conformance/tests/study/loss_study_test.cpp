// The loss study as a whole: threads and interruptions change no bit, damaged
// and foreign state is refused, verdicts can fail.

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

#include "conformance/tests/level.hpp"
#include "tools/study/loss/parts.hpp"
#include "tools/study/loss/study.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/random.hpp"

namespace zeroulp {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, gone at the end.
class temporary_folder {
 public:
  temporary_folder()
      : path_(fs::temp_directory_path() /
              ("zeroulp-loss-" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
  }
  ~temporary_folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Every part of a run, as small as can be.
loss_options smoke() { return loss_sizes()[0].options; }

/// All numbers of a result.
std::vector<double> flat(const loss_result& r) {
  std::vector<double> out{r.entropy};
  for (const auto& c : r.checkpoints) {
    out.insert(out.end(), {c.loss, c.ideal});
  }
  for (const auto& g : r.gaps) {
    out.insert(out.end(), {g.loss, g.gradient_l2, g.gradient_cos,
                           g.gradient_slope, g.rerouted});
  }
  for (const auto& g : r.gradients) {
    out.insert(out.end(), {g.l2, g.cos, g.slope});
  }
  for (const auto* all : {&r.same_state, &r.forks, &r.outliers}) {
    for (const auto& s : *all) {
      out.insert(out.end(), s.gaps.begin(), s.gaps.end());
      out.insert(out.end(), {s.over.mean, s.over.low, s.over.high});
    }
  }
  return out;
}

const loss_result& uninterrupted() {
  static const loss_result r = run_loss_study(smoke());
  return r;
}

const loss_verdict& verdict(const loss_result& r, const std::string& name) {
  for (const auto& v : r.verdicts) {
    if (v.name == name) return v;
  }
  throw std::out_of_range(name);
}

TEST(LossStudy, HasEveryArmInEveryPart) {
  const loss_result& r = uninterrupted();
  const std::set<std::string> arms{"bf16_split_k",      "full",   "tensor",
                                   "tensor_unpromoted", "te",     "hybrid",
                                   "block_gradients",   block_arm};
  const auto names = [](const auto& rows) {
    std::set<std::string> found;
    for (const auto& row : rows) found.insert(row.arm);
    return found;
  };
  EXPECT_EQ(names(r.gaps), arms);
  EXPECT_EQ(names(r.gradients), arms);
  EXPECT_EQ(names(r.forks), arms);
  EXPECT_EQ(names(r.outliers),
            (std::set<std::string>{"bf16", "full", block_arm, "tensor"}));
  EXPECT_EQ(r.checkpoints.size(), 4u);
  for (const auto& g : r.gaps) EXPECT_GT(g.gradient_l2, 0) << g.arm;
}

// Arms that differ in what the backward pass stores have one forward pass.
TEST(LossStudy, SaysWhichLossesAtTheSameStateAreTheSameBits) {
  std::set<std::pair<std::string, std::string>> same;
  for (const auto& s : uninterrupted().same_state) {
    if (!s.same_as.empty()) same.emplace(s.arm, s.same_as);
  }
  EXPECT_TRUE(same.count({"hybrid", "full"}));
  EXPECT_TRUE(same.count({"block_gradients", "full"}));
  EXPECT_TRUE(same.count({"te", "tensor_unpromoted"}));
  EXPECT_EQ(same.size(), 3u);
}

TEST(LossStudy, BitsDoNotDependOnThreads) {
  for (const int threads : {1, 3}) {
    loss_options o = smoke();
    o.threads = threads;
    EXPECT_EQ(flat(run_loss_study(o)), flat(uninterrupted())) << threads;
  }
}

void write(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}
std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(LossStudy, TakesTheBytesOfAFile) {
  const temporary_folder folder;
  fs::create_directories(folder.path());
  const auto file = folder.path() / "corpus";
  std::string bytes;
  counter_rng rng(1, 0);
  while (bytes.size() < 4096) bytes += static_cast<char>(97 + rng.below(3));
  write(file, bytes);
  loss_options o = smoke();
  o.data = file.string();
  const loss_result r = run_loss_study(o);
  EXPECT_EQ(r.entropy, 0);
  EXPECT_NE(flat(r), flat(uninterrupted()));
  EXPECT_GT(r.checkpoints[0].loss, 1);
  EXPECT_EQ(r.checkpoints[0].ideal, 0);
}

struct ended : std::runtime_error {
  ended() : std::runtime_error("ended") {}
};

TEST(LossStudy, GoesOnFromWhereItWasEnded) {
  const temporary_folder folder;
  loss_options o = smoke();
  o.folder = folder.path();
  o.threads = 2;
  int runs = 0;
  for (bool done = false; !done; ++runs) {
    int calls = 0;
    o.progress = [&calls](double, double) {
      if (++calls > 40) throw ended();
    };
    try {
      EXPECT_EQ(flat(run_loss_study(o)), flat(uninterrupted()));
      done = true;
    } catch (const ended&) {
    }
    ASSERT_LT(runs, 20);
  }
  EXPECT_GT(runs, 2);
  o.progress = [](double, double) { throw ended(); };
  EXPECT_EQ(flat(run_loss_study(o)), flat(uninterrupted()));
}

std::string refusal(const loss_options& o) {
  try {
    run_loss_study(o);
  } catch (const input_error& e) {
    return e.what();
  }
  return "";
}

TEST(LossStudy, RefusesDamagedAndForeignState) {
  const temporary_folder folder;
  loss_options o = smoke();
  o.folder = folder.path();
  int calls = 0;
  o.progress = [&calls](double, double) {
    if (++calls > 40) throw ended();
  };
  EXPECT_THROW(run_loss_study(o), ended);
  o.progress = nullptr;
  // Parts of the first checkpoint, and the state that the next starts from.
  ASSERT_TRUE(fs::exists(folder.path() / "trunk.0" / "step.4.zeroulp"));
  for (const char* part : {"fork.0.0.bf16", "trunk.0/step.4.zeroulp"}) {
    const fs::path file = folder.path() / part;
    const std::string whole = read(file);
    for (const std::size_t at : {std::size_t{3}, whole.size() - 1}) {
      std::string damaged = whole;
      damaged[at] ^= 1;
      write(file, damaged);
      EXPECT_NE(refusal(o).find("damaged"), std::string::npos) << part << at;
      EXPECT_NE(refusal(o).find(part), std::string::npos);
    }
    write(file, whole.substr(0, whole.size() / 2));
    EXPECT_NE(refusal(o).find("damaged"), std::string::npos) << part;
    write(file, "");
    EXPECT_NE(refusal(o).find("damaged"), std::string::npos) << part;
    write(file, whole);
  }
  loss_options other = o;
  other.seed = 2;
  EXPECT_NE(refusal(other).find("other settings"), std::string::npos);
  EXPECT_EQ(refusal(o), "");
}

TEST(LossStudy, RefusesWhatCannotBe) {
  const auto refused = [](auto change) {
    loss_options o = smoke();
    change(o);
    return !refusal(o).empty();
  };
  EXPECT_TRUE(refused([](loss_options& o) { o.model = "tinny"; }));
  EXPECT_TRUE(refused([](loss_options& o) { o.seeds = 1; }));
  EXPECT_TRUE(refused([](loss_options& o) { o.on = "tpu"; }));
  EXPECT_TRUE(refused([](loss_options& o) { o.data = "no_such_file"; }));
  EXPECT_TRUE(refused([](loss_options& o) { o.checkpoints = 0; }));
  EXPECT_TRUE(refused([](loss_options& o) { o.model = "tiny+length:0"; }));
  EXPECT_TRUE(refused([](loss_options& o) { o.outlier_steps = 3; }));
  EXPECT_TRUE(refused([](loss_options& o) { o.fork_steps = 0; }));
  EXPECT_TRUE(refused([](loss_options& o) { o.compared = {}; }));
  EXPECT_TRUE(refused([](loss_options& o) {
    o.outliers = {{outlier_kind::unit, 25}};
  }));
  EXPECT_TRUE(refused([](loss_options& o) { o.doses = {7}; }));
  EXPECT_TRUE(refused([](loss_options& o) { o.rate = -1; }));
  EXPECT_TRUE(refused([](loss_options& o) { o.warmup = 0; }));
  EXPECT_TRUE(refused([](loss_options& o) { o.state = "+width:256"; }));
  EXPECT_TRUE(
      refused([](loss_options& o) { o.under_outliers = {"full/tensor"}; }));
}

TEST(LossStudy, SaysWhatIsWrongWithAnArm) {
  const auto said = [](const std::string& text) {
    loss_options o = smoke();
    o.compared = {text};
    return refusal(o);
  };
  EXPECT_NE(said("fulll").find("unknown arm 'fulll': did you mean 'full'?"),
            std::string::npos);
  EXPECT_NE(said("bf16/full+bits:9").find("unknown field 'bits'"),
            std::string::npos);
  EXPECT_EQ(said("full/full"), "'full/full' compares an arm with itself");
}

// The same arm by other names: no gap, and the same numbers beside BF16.
TEST(LossStudy, AnArmIsWhatItsFieldsSay) {
  loss_options o = smoke();
  o.outliers.clear();
  o.compared = {"tensor_unpromoted", "tensor+interval:0",
                "tensor+interval:0/tensor_unpromoted",
                "tensor_unpromoted+fraction_bits:13/tensor_unpromoted",
                "tensor+fraction_bits:8/tensor"};
  const auto r = run_loss_study(o);
  EXPECT_EQ(r.forks[0].gaps, r.forks[1].gaps);
  EXPECT_EQ(r.same_state[1].same_as, "tensor_unpromoted");
  for (const std::size_t same : {2u, 3u}) {
    EXPECT_EQ(r.gaps[same].gradient_l2, 0);
    EXPECT_NEAR(r.gaps[same].gradient_slope, 1, 1e-12);
    EXPECT_EQ(r.forks[same].over.mean, 0);
  }
  EXPECT_GT(r.gaps[4].gradient_l2, 1e-3);
  EXPECT_NE(r.forks[4].over.mean, 0);
}

TEST(LossStudy, TheSameStateMayHaveMoreTokensThanTraining) {
  loss_options o = smoke();
  o.fork_steps = 0;
  o.outliers.clear();
  const auto small = run_loss_study(o);
  o.state = "+sequences:3+length:24";
  const auto large = run_loss_study(o);
  EXPECT_TRUE(large.forks.empty());
  EXPECT_TRUE(large.outliers.empty());
  EXPECT_EQ(large.checkpoints.size(), 4u);
  EXPECT_NE(large.checkpoints[0].loss, small.checkpoints[0].loss);
}

// A bit less, and an accumulator errs twice as much or more.
TEST(LossStudy, DosesGrow) {
  loss_options o = smoke();
  o.fork_steps = 0;
  o.outliers.clear();
  o.doses = {10, 12};
  const auto r = run_loss_study(o);
  ASSERT_EQ(r.doses.size(), 4u);
  EXPECT_GT(r.doses[0].frobenius / r.doses[1].frobenius, 3.5);
  EXPECT_LT(r.doses[0].frobenius / r.doses[1].frobenius, 8);
  EXPECT_EQ(r.doses[2].k, 4096);
  EXPECT_NEAR(r.doses[2].max_over_mean, 0.019, 0.004);
  EXPECT_LT(r.doses[3].max_over_mean, 0.001);
}

/// The losses of an arm under a name, changed by `relative`; +-spread of it
/// from seed to seed.
struct change {
  std::string part;  ///< "fork" or "outlier", perhaps with what follows
  std::string arm;
  double relative;
  double spread = 0;
};

/// The verdicts of a run whose losses are all alike but for the change.
loss_result imagined(const change& of) {
  loss_options o = smoke();
  o.seeds = 4;
  loss::part_numbers numbers;
  const auto add = [&](int n, int c) {
    for (const auto& p : loss::parts_of(o, n, c)) {
      std::vector<double> x(p.count, 2.0 - 0.1 * c);
      const auto ends_in = "." + of.arm;
      const bool hit = p.name.rfind(of.part, 0) == 0 &&
                       p.name.size() > ends_in.size() &&
                       p.name.substr(p.name.size() - ends_in.size()) == ends_in;
      for (double& loss : x) {
        if (!hit) break;
        loss *= 1 + of.relative + (n % 2 == 0 ? of.spread : -of.spread);
      }
      numbers[p.name] = x;
    }
  };
  for (int n = 0; n < o.seeds; ++n) {
    for (int c = 0; c < o.checkpoints; ++c) add(n, c);
  }
  return loss::assemble(o, numbers);
}

TEST(LossStudy, VerdictsCanFail) {
  const auto held = [](const char* name, const change& of) {
    return verdict(imagined(of), name).held;
  };
  EXPECT_TRUE(held("full_recipe_within", {"fork", "full", 0.002}));
  EXPECT_TRUE(held("full_recipe_within", {"fork", "full", -0.002}));
  EXPECT_FALSE(held("full_recipe_within", {"fork", "full", 0.003}));
  EXPECT_FALSE(held("full_recipe_within", {"fork", "full", -0.003}));
  // The interval counts, not the mean alone.
  EXPECT_FALSE(held("full_recipe_within", {"fork", "full", 0, 0.004}));
  EXPECT_FALSE(held("control_within", {"fork", "bf16_split_k", 0.003}));
  const char* exact = "injection_changes_nothing_in_bf16";
  EXPECT_TRUE(held(exact, {"outlier", "full", 1}));
  EXPECT_FALSE(held(exact, {"outlier", "bf16", 1e-15}));
  // In order: tiles, blocks, the tensor.
  const char* order = "finer_scales_bear_a_larger_unit";
  EXPECT_TRUE(held(order, {"outlier", "tensor", 0.01}));
  EXPECT_FALSE(held(order, {"outlier", "full", 0.01}));
  EXPECT_FALSE(held(order, {"outlier", block_arm, -0.01}));
  EXPECT_TRUE(held(order, {"outlier", block_arm, 0.002}));
}

/// What the study is for. Three runs cannot order the scales by the outliers
/// that they bear, but show that one scale a tensor does not bear them.
TEST(LossStudy, FullRecipeHolds) {
  if (test::level() == 0) GTEST_SKIP() << "at level 1";
  loss_options o = smoke();
  o.model = "tiny+sequences:1+length:64";
  o.seeds = 3;
  o.every = 30;
  o.fork_steps = o.outlier_steps = 6;
  o.outliers = {{outlier_kind::unit, 16}};
  const auto r = run_loss_study(o);
  for (const auto& v : r.verdicts) {
    const bool order = v.name.rfind("finer_scales", 0) == 0;
    EXPECT_TRUE(v.held || order) << v.text;
  }
  const auto& worst = r.outliers.back();
  ASSERT_EQ(worst.arm, "tensor");
  EXPECT_GT(worst.over.low, 0);
  EXPECT_LT(worst.over.high, 0.05);
}

}  // namespace
}  // namespace zeroulp
