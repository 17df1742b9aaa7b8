// Defines `whole_number`: whole numbers from text.
// Internal.

#ifndef ZEROULP_SRC_BASE_WHOLE_NUMBER_HPP_
#define ZEROULP_SRC_BASE_WHOLE_NUMBER_HPP_

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace zeroulp {

/// Returns the number that all of `text` is, digits of `base` (and a minus if T
/// has a sign); nothing if it is none, or does not fit.
template <class T>
std::optional<T> whole_number(std::string_view text, int base = 10) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || rest != end) return {};
  return value;
}

}  // namespace zeroulp

#endif  // ZEROULP_SRC_BASE_WHOLE_NUMBER_HPP_
