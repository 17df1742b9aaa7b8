// Arms and sizes as text: every field is read as it is printed, and bad ones
// are refused by name.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "src/base/fields.hpp"
#include "tools/train/shape.hpp"
#include "tools/train/spec_tables.hpp"
#include "zeroulp/io.hpp"
#include "zeroulp/model_arm.hpp"

namespace zeroulp::train {
namespace {

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const input_error& e) {
    return e.what();
  }
  return "no error";
}
std::string arm_error(const char* text) {
  return error_of([text] { parse_arm(text); });
}
std::string shape_error(const char* text) {
  return error_of([text] { parse_shape(text); });
}
bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// `from` with every field set to its text in `to`.
template <class T>
T copied(T from, const T& to, const std::vector<value_field<T>>& fields) {
  for (const auto& f : fields) set_field(from, fields, f.name, f.text(to));
  return from;
}

TEST(Settings, FieldsAreReadAsTheyArePrinted) {
  std::set<std::string> arms;
  for (const arm& a : named_arms) {
    EXPECT_NO_THROW(check_arm(a)) << a.name;
    const std::string fields = fields_json(a);
    arms.insert(fields);
    for (const arm& other : named_arms) {
      EXPECT_EQ(fields_json(copied(other, a, arm_fields())), fields)
          << other.name << " to " << a.name;
    }
    EXPECT_STREQ(parse_arm(a.name).name, a.name);
    EXPECT_STREQ(arm_called("mine", a).name, a.name);
  }
  EXPECT_EQ(arms.size(), std::size(named_arms));
  std::set<std::string> shapes;
  for (const model_shape& s : named_shapes) {
    EXPECT_NO_THROW(check_shape(s)) << s.name;
    shapes.insert(fields_json(s));
    EXPECT_EQ(fields_json(copied(named_shapes[0], s, shape_fields())),
              fields_json(s));
    EXPECT_STREQ(shape_called("mine", s).name, s.name);
  }
  EXPECT_EQ(shapes.size(), std::size(named_shapes));
}

/// Each field decides what fields_json says.
TEST(Settings, EveryFieldCounts) {
  const arm full = parse_arm("full");
  const arm bf16 = parse_arm("bf16");
  for (const auto& f : arm_fields()) {
    arm changed = full;
    const std::string kind = f.name.substr(f.name.rfind('.') + 1);
    f.set(changed, kind == "format"        ? "fp16"
                   : kind == "columnwise"  ? "true"
                   : kind == "scale"       ? "pow2_down"
                   : kind == "dispatched"  ? "ocp"
                   : kind == "group"       ? "64x64"
                   : kind == "accumulator" ? "exact.e4m3.e4m3.f32"
                                           : "3");
    EXPECT_NE(fields_json(changed), fields_json(full)) << f.name;
    EXPECT_EQ(fields_json(copied(bf16, changed, arm_fields())),
              fields_json(changed));
  }
}

TEST(Settings, AnArmIsANameAndChanges) {
  EXPECT_STREQ(parse_arm("full+linear.dy.format:e5m2").name, "hybrid");
  EXPECT_STREQ(parse_arm("tensor+interval:0").name, "tensor_unpromoted");
  EXPECT_EQ(fields_json(parse_arm("full+linear.format:e5m2+head.format:e5m6"
                                  "+head.interval:128")),
            fields_json(parse_arm("full+linear.x.format:e5m2"
                                  "+linear.w.format:e5m2+linear.dy.format:e5m2"
                                  "+head.x.format:e5m6+head.w.format:e5m6"
                                  "+head.dy.format:e5m6+head.fprop.interval:128"
                                  "+head.dgrad.interval:128"
                                  "+head.wgrad.interval:128")));
  EXPECT_STREQ(parse_arm("bf16+splits:2+head.fprop.splits:2"
                         "+head.dgrad.splits:2+head.wgrad.splits:2")
                   .name,
               "bf16_split_k");
  const arm dose = parse_arm("tensor+fraction_bits:10+interval:0");
  EXPECT_STREQ(dose.name, "tensor+fraction_bits:10+interval:0");
  EXPECT_EQ(dose.linear.wgrad.acc, what_if_fraction(10));
  EXPECT_EQ(dose.linear.dgrad.interval, 0);
  EXPECT_EQ(dose.head.fprop.acc, hopper_half_f32);
}

TEST(Settings, BadArmsAreNamed) {
  const std::pair<const char*, const char*> bad[] = {
      {"ful", "unknown arm 'ful': did you mean 'full'?"},
      {"full+interva:0", "unknown field 'interva': did you mean 'interval'?"},
      {"full+interval:x", "interval is 'x': use a whole number from 0"},
      {"full+interval:0", "linear.fprop.interval is 0: scales cover 128"},
      {"full+interval:100", "linear.fprop.interval is 100: "},
      {"full+splits:0", "splits is '0': use a whole number from 1"},
      {"full+fraction_bits:7", "fraction_bits is '7': "},
      {"full+linear.x.format:fp32", "linear.x.format is fp32: "},
      {"full+linear.w.format:ue8m0", "linear.w.format is ue8m0: "},
      {"full+linear.w.group:1x128", "linear.w.group is 1x128: Dgrad"},
      {"full+linear.x.group:1x64+interval:64", "linear.x.group is 1x64: "},
      {"full+linear.dy.group:2x128", "linear.dy.group is 2x128: "},
      {"full+linear.x.scale:none", "linear.x.group is 1x128: without a scale"},
      {"full+head.x.scale:e8", "head.x.scale is 'e8': unknown kind of scale"},
      {"full+head.fprop.accumulator:hopper.wgmma.e4m3.e4m3.f16",
       "use a path to f32"},
      {"full+swiglu_cache.scale:none+swiglu_cache.group:tensor",
       "swiglu_cache.scale is none"},
  };
  for (const auto& [text, part] : bad) {
    EXPECT_TRUE(has(arm_error(text), part)) << text << ": " << arm_error(text);
  }
}

TEST(Settings, TheSpecHasTheTablesOfTensors) {
  const auto bytes =
      read_file(ZEROULP_SOURCE_DIR "/conformance/SPEC_TRAINING.md");
  const std::string spec(as_text(bytes));
  const std::string begin = "<!-- zeroulp tensors --markdown -->\n";
  const auto from = spec.find(begin) + begin.size();
  const auto end = spec.find("<!-- end -->", from);
  ASSERT_LT(end, spec.size());
  EXPECT_EQ(spec.substr(from, end - from), tensor_tables());
}

TEST(Settings, TensorsAreThoseOfTheReport) {
  const auto stored = [](const char* arm, const char* tensor) {
    for (const tensor_row& r : tensor_table(parse_arm(arm))) {
      if (r.tensor != tensor) continue;
      return name_of(r.how.to) + " " + group_text(r.how) + " " +
             scale_text(r.how);
    }
    return std::string("none");
  };
  // Section 3.3: tiles of activations, blocks of weights; powers of two where
  // they are dispatched; E5M6 after attention.
  EXPECT_EQ(stored("full", "X"), "e4m3 1x128 fp32");
  EXPECT_EQ(stored("full", "W"), "e4m3 128x128 fp32");
  EXPECT_EQ(stored("full", "W^T"), "none");
  EXPECT_EQ(stored("full", "X of experts' up"), "e4m3 1x128 pow2");
  EXPECT_EQ(stored("full", "dY of experts' down"), "e4m3 1x128 pow2");
  EXPECT_EQ(stored("full", "attention's output, kept"), "e5m6 1x128 pow2");
  EXPECT_EQ(stored("full", "attention's output^T"), "e4m3 1x128 pow2");
  EXPECT_EQ(stored("full", "moments"), "bf16 - -");
  EXPECT_EQ(stored("hybrid", "dY"), "e5m2 1x128 fp32");
  EXPECT_EQ(stored("mx", "W^T"), "e4m3 1x32 pow2");
}

TEST(Settings, BadSizesAreNamed) {
  EXPECT_STREQ(parse_shape("tiny+sequences:4").name, "tiny+sequences:4");
  EXPECT_EQ(parse_shape("tiny+sequences:4").sequences, 4);
  const std::pair<const char*, const char*> bad[] = {
      {"X", "unknown size 'X': use one of tiny, T"},
      {"tiny+width:192", "width is 192: use a multiple of 128"},
      {"tiny+hidden:0", "hidden is '0': use a whole number from 1"},
      {"tiny+rank:64", "rank is 64: "},
      {"tiny+dense:3", "dense is 3, more than layers, 2: "},
      {"tiny+experts:1", "top is 2, more than experts, 1: "},
      {"tiny+layers:1000",
       "layers is '1000': use a whole number from 1 to 256"},
      {"tiny+depth:64", "unknown field 'depth': "},
  };
  for (const auto& [text, part] : bad) {
    EXPECT_TRUE(has(shape_error(text), part))
        << text << ": " << shape_error(text);
  }
}

}  // namespace
}  // namespace zeroulp::train
