#include "tools/zeroulp/journal/chained_lines.hpp"

#include <fmt/format.h>

namespace zeroulp::program {

whole_lines split_lines(const std::string& text) {
  whole_lines all;
  for (auto end = text.find('\n'); end != std::string::npos;
       end = text.find('\n', all.bytes)) {
    all.lines.push_back(text.substr(all.bytes, end - all.bytes));
    all.bytes = end + 1;
  }
  return all;
}

bool begin_lines(growing_file& file, const std::string& text,
                 const json& header, line_chain& chain) {
  line_chain begun = chain;
  const std::string first = begun.seal(header.dump());
  if (text.size() > first.size() || !first.starts_with(text)) return false;
  chain = begun;
  file.cut(0);
  file.append(first + '\n');
  file.sync_folder();
  return true;
}

std::string first_change(const json& is, const json& should) {
  for (const auto& [key, value] : should.items()) {
    const auto found = is.find(key);
    if (found == is.end() || *found != value) {
      return fmt::format("{} is {}, not {}", key,
                         found == is.end() ? "absent" : found->dump(),
                         value.dump());
    }
  }
  return is.size() == should.size() ? "" : "its header has other fields";
}

}  // namespace zeroulp::program
