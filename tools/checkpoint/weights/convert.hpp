// Defines how one checkpoint becomes another, shard by shard: each tensor
// becomes some tensors, or none, of the same shard.
//
// A shard is whole or absent. A journal in the output folder says what was
// asked for and of which input; the same request goes on from there, another
// one is refused. The index and config.json are written last, and the journal
// is removed.

#ifndef ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_CONVERT_HPP_
#define ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_CONVERT_HPP_

#include <functional>
#include <string>
#include <vector>

#include "tools/checkpoint/files/json.hpp"
#include "tools/checkpoint/files/writer.hpp"
#include "tools/checkpoint/weights/numbers.hpp"
#include "tools/checkpoint/weights/work.hpp"

namespace zeroulp::checkpoint {

/// The outputs of a tensor in the shard being written: their places there.
using places = std::vector<std::size_t>;

struct conversion {
  std::string request;  ///< all that decides the bits, as one line
  /// The tensors that come of this one.
  std::function<std::vector<entry>(const tensor&)> outputs;
  /// Adds the jobs that write them.
  std::function<void(const tensor&, const places&, const shard_writer&,
                     std::vector<job>&)>
      add_jobs;
  /// Changes what config.json says.
  std::function<void(json& config)> change_config;
  bool needs_config = false;  ///< one is written even if there was none
};

struct converted {
  std::size_t written = 0;  ///< shards
  std::size_t kept = 0;     ///< that an earlier run wrote
  double bytes = 0;         ///< read
  double seconds = 0;
};

/// Adds the jobs that copy a tensor.
void add_copy(const checkpoint& c, const tensor& t, std::size_t place,
              const shard_writer& out, std::vector<job>& jobs);

/// Writes a tile of a tensor of `cols` columns and elements of `bytes` bytes.
void write_tile(const shard_writer& out, std::size_t place, const tile& t,
                std::uint64_t row, std::uint64_t cols, std::uint64_t bytes,
                const std::byte* data);

/// Throws input_error; before anything is written where names clash or the
/// folder is not free.
converted convert(const checkpoint& c, const conversion& how,
                  const std::filesystem::path& folder,
                  const work_options& options);

}  // namespace zeroulp::checkpoint

#endif  // ZEROULP_TOOLS_CHECKPOINT_WEIGHTS_CONVERT_HPP_
