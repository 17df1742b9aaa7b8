// Defines a quantizer convention as JSON: what `zeroulp conventions NAME
// --json` prints and --convention FILE reads.
//
//   {"name": "mine", "like": "vllm", "fields": {"scale_floor": 1e-7}}
//
// Fields that are absent are those of the convention in `like`, or of zeroulp's
// own.

#ifndef ZEROULP_TOOLS_ZEROULP_TENSOR_CONVENTION_JSON_HPP_
#define ZEROULP_TOOLS_ZEROULP_TENSOR_CONVENTION_JSON_HPP_

#include <string>

#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// A convention of somebody's own, or a named one.
struct any_convention {
  std::string name;
  convention value;
  bool is_own = false;
};

/// All fields of a convention, each with a value that any_convention_of reads.
json fields_of(const convention& c);

/// The convention of an object as above. Throws input_error that names `where`,
/// the field, what was found and what is taken.
any_convention any_convention_of(const json& object, const std::string& where);

/// A name of `zeroulp conventions`, or a file: text that ends in .json or has a
/// slash.
any_convention read_convention(const std::string& text);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_TENSOR_CONVENTION_JSON_HPP_
