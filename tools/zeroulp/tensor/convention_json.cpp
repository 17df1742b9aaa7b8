#include "tools/zeroulp/tensor/convention_json.hpp"

namespace zeroulp::program {

const json_kind<convention>& convention_json() {
  static const json_kind<convention> kind{
      "convention", "zeroulp conventions vllm --json", zeroulp_convention,
      [](const std::string& text) {
        const auto c = parse_convention(text);
        return own_or_named<convention>{c.name, c.value};
      },
      as_json(convention_fields())};
  return kind;
}

}  // namespace zeroulp::program
