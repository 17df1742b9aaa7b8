// Fuzzes what parses files of checkpoints: headers of safetensors, .npy and
// .npz files, JSON of configs; and the pairing of what they say.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/libfuzzer/contract.hpp"
#include "tools/checkpoint/files/arrays.hpp"
#include "tools/checkpoint/files/json.hpp"
#include "tools/checkpoint/weights/pairing.hpp"

namespace zeroulp::fuzz {
namespace {

namespace ck = zeroulp::checkpoint;

const std::string file = "fuzzed.safetensors";

/// A header that was taken can be written, and then reads back the same.
void check_again(const ck::file_header& h) {
  auto entries = h.entries;
  std::uint64_t data = 0;
  for (const auto& e : entries) data += e.bytes;
  const std::string text = ck::make_header(entries, h.metadata);
  const auto size = text.size() + data;
  const auto length = ck::header_length(text.substr(0, 8), size, file);
  const auto again = ck::parse_header(text.substr(8, length), size, file);
  demand(again.entries.size() == entries.size(), "no tensor is lost");
  std::uint64_t end = text.size();
  for (const auto& e : again.entries) {
    demand(e.offset == end, "the data have no holes");
    end += e.bytes;
  }
  demand(end == size && again.metadata == h.metadata,
         "a header is read back as it was written");
}

/// Weights find their scales, or there are faults of one line.
void check_pairs(ck::file_header&& h) {
  ck::checkpoint c;
  c.shards.push_back({file, file, 0, {}, 0});
  for (auto& e : h.entries) {
    ck::tensor t;
    static_cast<ck::entry&>(t) = std::move(e);
    c.by_name.push_back(c.tensors.size());
    c.tensors.push_back(std::move(t));
  }
  std::sort(c.by_name.begin(), c.by_name.end(), [&](auto a, auto b) {
    return c.tensors[a].name < c.tensors[b].name;
  });
  for (const bool unscaled : {false, true}) {
    const auto p = ck::pair_scales(c, unscaled);
    for (const auto& f : p.faults) {
      demand_one_line(input_error(f.text()).what());
    }
  }
}

void check(std::string_view text) {
  ck::file_header h;
  if (accepts([&] {
        const auto length =
            ck::header_length(text.substr(0, 8), text.size(), file);
        h = ck::parse_header(text.substr(8, length), text.size(), file);
      })) {
    check_again(h);
    check_pairs(std::move(h));
  }
  accepts([&] {
    const auto e = ck::entry_of_npy(text, text.size(), file);
    demand(e.offset + e.bytes == text.size(), "an array ends with its file");
  });
  accepts([&] {
    for (const auto& m : ck::members_of_npz(text, file)) {
      demand(m.offset <= text.size() && m.bytes <= text.size() - m.offset,
             "a member lies within its file");
      (void)ck::entry_of_npy(text.substr(m.offset, m.bytes), m.bytes, m.name);
    }
  });
  accepts([&] { (void)ck::parse_strict_json(text, file); });
}

}  // namespace
}  // namespace zeroulp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  zeroulp::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
