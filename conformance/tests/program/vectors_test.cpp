// Vector files: written and read again, recorded with the core as fake silicon,
// and good enough to kill the mutants of the step by themselves.

#include "fuzz/cases/vectors.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "conformance/checks/step/vector_checks.hpp"
#include "conformance/mutants/mutant.hpp"
#include "fuzz/cases/record.hpp"
#include "fuzz/engine/distinguishing_inputs.hpp"
#include "src/base/sha256.hpp"
#include "src/io/gzip.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

namespace fs = std::filesystem;

/// The names of T12, once for each path.
std::vector<named_path> hopper_paths() {
  std::vector<named_path> found;
  for (const auto& p : all_paths()) {
    const bool known =
        std::any_of(found.begin(), found.end(),
                    [&p](const auto& q) { return q.value == p.value; });
    const bool measured = !p.known_by.empty() &&
                          p.known_by.front().kind == evidence_kind::measured;
    if (!known && measured) found.push_back(p);
  }
  return found;
}

vector_section section_of(const std::string& name, std::uint64_t count) {
  vector_section s;
  s.of = parse_path(name);
  s.fields = {{"device", "a device"}, {"seed", "1"}};
  for (std::uint64_t n = 0; n < count; ++n) {
    s.cases.push_back(full_step(s.of.value, -1, 1, n));
    s.d.push_back(core_step(s.of.value, s.cases.back()));
  }
  return s;
}

std::vector<std::uint64_t> core_as_silicon(
    const named_path& of, const std::vector<step_case>& cases) {
  std::vector<std::uint64_t> d;
  for (const auto& s : cases) d.push_back(core_step(of.value, s));
  return d;
}

/// Recordings in a directory of their own, with MANIFEST.
class recorded_directory {
 public:
  explicit recorded_directory(const std::vector<recording>& files) {
    static int number = 0;
    path_ = fs::path(testing::TempDir()) /
            ("zeroulp-vectors-" + std::to_string(getpid()) + "-" +
             std::to_string(++number));
    output_set set(path_);
    for (const auto& f : files) set.add(f.file, f.content);
    set.add("MANIFEST", manifest_of(files));
    set.commit();
  }
  ~recorded_directory() { fs::remove_all(path_); }
  recorded_directory(const recorded_directory&) = delete;
  recorded_directory& operator=(const recorded_directory&) = delete;

  const fs::path& where() const { return path_; }

 private:
  fs::path path_;
};

TEST(Gzip, SaysNothingOfTimeAndSystemAndIsReadAgain) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i) + "\n";
  const std::string packed = gzip(text);
  EXPECT_EQ(packed, gzip(text));
  EXPECT_LT(packed.size(), text.size() / 2);
  EXPECT_EQ(packed.substr(0, 4), std::string("\x1f\x8b\x08\0", 4));
  EXPECT_EQ(packed.substr(4, 4), std::string(4, '\0'));
  const auto name = fs::path(testing::TempDir()) /
                    ("zeroulp-gzip-" + std::to_string(getpid()));
  output_set files;
  files.add(name, packed);
  files.commit();
  EXPECT_EQ(read_text(name), text);
  fs::resize_file(name, packed.size() / 2);
  EXPECT_THROW(read_text(name), input_error);
  fs::remove(name);
  EXPECT_THROW(read_text(name), input_error);
}

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256_hex(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Vectors, EveryPathIsReadAsItWasWritten) {
  std::vector<std::string> names = {"whatif.f8.e5m2.e4m3.f32"};
  for (const auto& p : all_paths()) names.push_back(p.name);
  for (const auto& name : names) {
    const auto s = section_of(name, 30);
    std::size_t n = 0;
    read_vectors(to_text(s), 1, [&](const auto& of, const auto& x, auto d) {
      EXPECT_EQ(of.name, name);
      EXPECT_EQ(x.a, s.cases[n].a) << name;
      EXPECT_EQ(x.b, s.cases[n].b) << name;
      EXPECT_EQ(x.c, s.cases[n].c) << name;
      EXPECT_EQ(d, s.d[n]) << name;
      ++n;
      return true;
    });
    EXPECT_EQ(n, s.cases.size()) << name;
  }
}

TEST(Vectors, ARecordHasTheWidthsThatTheCommentsSay) {
  auto s = section_of("hopper.wgmma.tf32.tf32.f32", 1);
  s.cases[0] = {{0x1fc00, 1}, {0x3ffff, 2}, 2, 0x12};
  fill_up(s.of.value, s.cases[0]);
  s.d = {0xabcdef01};
  EXPECT_EQ(to_text(s),
            "# zeroulp-vectors 1 path=hopper.wgmma.tf32.tf32.f32 "
            "device=a_device seed=1\n"
            "3f80000000002000" +
                std::string(48, '0') + " 7fffe00000004000" +
                std::string(48, '0') + " 00000012 abcdef01\n");
  const auto lines = comments_on(s.of.value, s.cases);
  EXPECT_EQ(lines[1],
            "A: 8 operands of 32 bits (tf32), 8 hex digits each, k ascending; "
            "the low 13 bits are ignored");
  EXPECT_EQ(lines[3], "C and D: 32 bits (fp32), 8 hex digits");
}

TEST(Vectors, CommentsCountEveryBinThatIsHit) {
  const auto s = section_of("hopper.wgmma.e4m3.e4m3.f32", 2000);
  const auto lines = comments_on(s.of.value, s.cases);
  const auto bins = info_of(target::step).bins();
  ASSERT_TRUE(lines[4].starts_with("bins " + std::to_string(lines.size() - 5) +
                                   " of " + std::to_string(bins.size())))
      << lines[4];
  EXPECT_GT(lines.size(), 250u);
  EXPECT_NE(std::find(lines.begin(), lines.end(),
                      "2000 path=hopper.wgmma.e4m3.e4m3.f32"),
            lines.end());
}

TEST(Vectors, DamagedTextIsRefused) {
  const auto s = section_of("hopper.mma.fp16.fp16.f16", 2);
  const std::string good = to_text(s);
  const auto read = [](const std::string& text) {
    read_vectors(text, 1, [](const auto&, const auto&, auto) { return true; });
  };
  const auto first = good.find('\n') + 1;
  const std::string record = good.substr(first, good.find('\n', first) - first);
  EXPECT_NO_THROW(read(good));
  EXPECT_THROW(read(record), input_error);  // no header
  EXPECT_THROW(read("# zeroulp-vectors 1 path=nowhere\n"), input_error);
  const std::string head = good.substr(0, first);
  EXPECT_NO_THROW(read(head + record));
  EXPECT_THROW(read(head + record.substr(1)), input_error);
  EXPECT_THROW(read(head + record.substr(4)), input_error);
  EXPECT_THROW(read(head + record + "0"), input_error);
  EXPECT_THROW(read(head + record + "0000"), input_error);
  EXPECT_THROW(read(head + record + " 0000"), input_error);
  EXPECT_THROW(read(head + record.substr(0, record.size() - 5)), input_error);
  EXPECT_THROW(read(head + "z" + record.substr(1)), input_error);
  EXPECT_THROW(read(head + "\n"), input_error);
}

class Separate : public testing::TestWithParam<named_path> {};

INSTANTIATE_TEST_SUITE_P(Hopper, Separate, testing::ValuesIn(hopper_paths()),
                         [](const auto& of) {
                           std::string name = of.param.name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST_P(Separate, FindsInputsForEveryParameter) {
  const path& p = GetParam().value;
  const auto parameters = parameters_of(p);
  constexpr std::size_t wanted = 5;
  const auto found = separate(p, parameters, wanted, 3);
  std::set<std::string> names;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& q = parameters[i];
    names.insert(q.name);
    ASSERT_FALSE(q.others.empty()) << q.name;
    const auto count = static_cast<std::size_t>(
        std::count_if(found.cases.begin(), found.cases.end(),
                      [&](const auto& s) { return refutes(p, q, s); }));
    EXPECT_GE(count, found.refuting[i]) << q.name;
    EXPECT_GE(found.refuting[i], wanted) << q.name;
  }
  EXPECT_EQ(names.size(), parameters.size());
  for (const auto& s : found.cases) {
    EXPECT_EQ(s.count, p.length());
    EXPECT_EQ(s.a.size(), s.b.size());
  }
  EXPECT_EQ(separate(p, parameters, wanted, 3).cases.size(),
            found.cases.size());
}

TEST(Neighbours, AFloorBelowTheLowestThatCutsChangesNothing) {
  for (const auto& named : hopper_paths()) {
    path p = named.value;
    if (p.acc.exponent_floor >= lowest_floor_that_cuts(p)) continue;
    path q = p;
    q.acc.exponent_floor =
        static_cast<std::int16_t>(lowest_floor_that_cuts(p) - 1);
    for (std::uint64_t n = 0; n < 3000; ++n) {
      const auto s = full_step(p, -1, 5, n);
      EXPECT_EQ(core_step(p, s), core_step(q, s)) << named.name;
    }
  }
}

recording_request small_request() {
  recording_request q;
  q.paths = {parse_path("hopper.wgmma.e4m3.e5m2.f16"),
             parse_path("hopper.wgmma.tf32.tf32.f32")};
  q.from = {{"device", "core as fake"}};
  q.cases_a_profile = 20;
  q.cases_a_parameter = 5;
  return q;
}

TEST(Recording, HoldsWhatTheSiliconSaid) {
  const auto files = record_steps(small_request(), core_as_silicon);
  ASSERT_EQ(files.size(), 2u);
  for (const auto& f : files) {
    EXPECT_EQ(f.file, f.path + ".txt.gz");
    EXPECT_GT(f.records, 160u);
    EXPECT_GE(f.fewest, 5u);
    EXPECT_EQ(f.mismatches, 0u) << f.first_mismatch;
    EXPECT_NE(manifest_of(files).find(sha256_hex(f.content) + "  " + f.file),
              std::string::npos);
  }
  EXPECT_EQ(manifest_of(files),
            manifest_of(record_steps(small_request(), core_as_silicon)));
  const recorded_directory d(files);
  const auto v = conformance::check_vectors_in(
      d.where(), conformance::core_implementation(), {1, 1, false});
  EXPECT_EQ(v.failures, 0u) << v.first_failure;
  EXPECT_EQ(v.cases, files[0].records + files[1].records);
}

TEST(Recording, ShowsSiliconThatIsNotAsTheCore) {
  const auto files = record_steps(small_request(),
                                  [](const named_path& of, const auto& cases) {
                                    named_path other = of;
                                    ++other.value.acc.fraction_bits;
                                    return core_as_silicon(other, cases);
                                  });
  for (const auto& f : files) EXPECT_GE(f.mismatches, 5u) << f.path;
  const recorded_directory d(files);
  const auto v = conformance::check_vectors_in(
      d.where(), conformance::core_implementation(), {1, 1, false});
  EXPECT_EQ(v.failures, files[0].mismatches + files[1].mismatches);
  EXPECT_NE(v.first_failure, "");
}

TEST(Recording, OtherBytesThanTheManifestHasFail) {
  auto files = record_steps(small_request(), core_as_silicon);
  const recorded_directory d(files);
  files[0].content += '\n';
  output_set set(d.where());
  set.add(files[0].file, files[0].content);
  set.commit();
  const auto v = conformance::check_vectors_in(
      d.where(), conformance::core_implementation(), {0, 1, false});
  EXPECT_EQ(v.failures, 1u);
  EXPECT_NE(v.first_failure.find("MANIFEST"), std::string::npos);
}

TEST(Recording, NoneIsSkippedNotHeld) {
  const auto v = conformance::check_vectors_in(
      "nowhere", conformance::core_implementation(), {0, 1, false});
  EXPECT_EQ(v.cases, 0u);
  EXPECT_NE(v.skipped, "");
}

/// What is recorded, or where nothing is, the core as silicon.
TEST(Recording, KillsTheMutantsOfTheStepByItself) {
  const fs::path real = ZEROULP_SOURCE_DIR "/conformance/vectors";
  std::unique_ptr<recorded_directory> fake;
  const bool recorded = fs::exists(real / "MANIFEST");
  if (!recorded) {
    recording_request q;
    q.paths = hopper_paths();
    q.from = {{"device", "core as fake"}};
    q.cases_a_profile = 30;
    q.cases_a_parameter = 5;
    fake =
        std::make_unique<recorded_directory>(record_steps(q, core_as_silicon));
  }
  // They change paths that no instruction follows.
  const std::set<std::string> elsewhere = {"lowered_chained",
                                           "multiply_then_add"};
  int killed = 0;
  int all = 0;
  for (const auto& m : conformance::step_mutants()) {
    if (elsewhere.count(m.name) > 0) continue;
    ++all;
    const auto v = conformance::check_vectors_in(
        recorded ? real : fake->where(), m.table, {1, 1, true});
    EXPECT_EQ(v.failures, 1u) << m.name << ": " << m.what;
    killed += v.failures > 0 ? 1 : 0;
  }
  std::cout << "step mutants killed by the vectors alone"
            << (recorded ? "" : " (the core as silicon)") << ": " << killed
            << " of " << all << "\n";
}

}  // namespace
}  // namespace zeroulp::fuzz
