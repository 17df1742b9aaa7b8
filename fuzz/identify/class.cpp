// Builds classes of definitions from their members.

#include "fuzz/identify/class.hpp"

#include <bit>

namespace zeroulp::fuzz {

definition_class class_builder::result() const {
  definition_class c;
  c.members = members_;
  std::uint64_t combinations = 1;
  for (std::size_t f = 0; f < all_.size(); ++f) {
    fitting_field field{all_[f].name, {}};
    for (std::size_t v = 0; v < all_[f].values.size(); ++v) {
      if ((seen_[f] >> v & 1) != 0) field.values.push_back(all_[f].values[v]);
    }
    combinations *= static_cast<std::uint64_t>(std::popcount(seen_[f]));
    c.fields.push_back(std::move(field));
  }
  c.any_combination = combinations == members_;
  return c;
}

std::uint64_t class_builder::combinations() const {
  std::uint64_t product = 1;
  for (const auto& f : all_) product *= f.values.size();
  return product;
}

}  // namespace zeroulp::fuzz
