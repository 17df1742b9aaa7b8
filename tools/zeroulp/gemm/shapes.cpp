#include "tools/zeroulp/gemm/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "src/base/whole_number.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {

std::vector<product_shape> read_shapes(const std::string& file) {
  constexpr std::ptrdiff_t most = 1 << 20;
  const auto bytes = read_file(file);
  std::istringstream lines{std::string(as_text(bytes))};
  std::vector<product_shape> all;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::string text = line.substr(0, line.find('#'));
    std::replace(text.begin(), text.end(), 'x', ' ');
    std::istringstream words(text);
    std::vector<std::ptrdiff_t> sizes;
    bool valid = true;
    for (std::string word; words >> word;) {
      const auto size = whole_number<std::ptrdiff_t>(word);
      valid = valid && size && *size >= 1 && *size <= most;
      sizes.push_back(size.value_or(0));
    }
    if (sizes.empty()) continue;
    if (!valid || sizes.size() != 3) {
      throw input_error(
          fmt::format("{}: line {}: '{}': use M N K, each from 1 to {}", file,
                      number, line, most));
    }
    all.push_back({sizes[0], sizes[1], sizes[2]});
  }
  if (all.empty()) {
    throw input_error(fmt::format("{}: no shape: use a line M N K each", file));
  }
  return all;
}

}  // namespace zeroulp::program
