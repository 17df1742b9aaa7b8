// Defines the names of values: formats, roundings, policies, scale kinds,
// layouts, conventions, recipes, paths. Each has one table, which the program,
// meta.json and reports use.

#ifndef ZEROULP_NAMES_HPP_
#define ZEROULP_NAMES_HPP_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "zeroulp/core/convention.hpp"
#include "zeroulp/core/quantize.hpp"
#include "zeroulp/core/retile.hpp"
#include "zeroulp/evidence.hpp"

#pragma GCC visibility push(default)
namespace zeroulp {

/// A path with its full name, such as hopper.wgmma.e4m3.e5m2.f16.
struct named_path {
  std::string name;
  path value;
  std::vector<evidence> known_by;  ///< the strongest first
};

/// Returns every path: each family with each pair of operand formats.
const std::vector<named_path>& all_paths();

/// Returns every recipe of SPEC G10: named_recipes, then those of cuBLASLt that
/// it lacks.
const std::vector<named_recipe>& all_recipes();

// Each parser throws input_error naming the text, what was expected and the
// known names.

/// A name of format.hpp, or eXmY for an IEEE-like format with X exponent and Y
/// fraction bits, such as e6m9. `:bB` after it is another bias, `:fn`, `:fnuz`
/// and `:finite` are other special codes: e4m3:b11:finite.
format parse_format(std::string_view text);
rounding parse_rounding(std::string_view text);
policy parse_policy(std::string_view text);
scale_kind parse_scale_kind(std::string_view text);
scale_layout parse_scale_layout(std::string_view text);
retile_rule parse_retile_rule(std::string_view text);
/// A name of convention.hpp, or that with other fields:
/// vllm+scale_floor:1e-7+amax:keep_nan.
named_convention parse_convention(std::string_view text);
/// A name of all_recipes().
named_recipe parse_recipe(std::string_view text);
/// The accumulator of a path to f32 of which an instruction is one step.
accumulator parse_accumulator(std::string_view path);
/// A name of all_paths(), or whatif.fN.A.B.f32 with 8 <= N <= 34.
named_path parse_path(std::string_view text);
/// RxC, each at most 2^20 and 0 for the whole dimension, or `tensor`: 0x0.
group_shape parse_group(std::string_view text);

/// What the text of a field is: a number, a whole number, true or false, or a
/// word.
enum class field_kind : std::uint8_t { number, count, flag, word };

/// A field of a T as text.
template <class T>
struct value_field {
  std::string name;
  field_kind of;
  std::function<std::string(const T&)> text;
  /// Throws input_error that says what is taken.
  std::function<void(T&, std::string_view)> set;
};

using convention_field = value_field<convention>;
/// All of them.
const std::vector<convention_field>& convention_fields();

/// The name of a convention, or a name with the fewest fields that differ.
std::string name_of(const convention& c);
/// The first path that has this accumulator, or the name of a what-if.
std::string name_of(const accumulator& a);
/// The name of a format, or its eXmY[:bB][:SPECIALS] form.
std::string name_of(format f);
std::string name_of(group_shape g);
std::string_view name_of(rounding r);
std::string_view name_of(scale_kind k);
std::string_view name_of(scale_layout l);
std::string_view name_of(retile_rule r);

}  // namespace zeroulp
#pragma GCC visibility pop

#endif  // ZEROULP_NAMES_HPP_
