// Defines what is counted from DeepSeek-V3's shape: parameters, operations of
// a token, bytes of activations with their scales, copies that dispatch makes.
//
// Source: the report, 3.2.2, 3.3.3 and 4.2; vocabulary and dense hidden width:
// DeepSeek-V3, inference/configs/config_671B.json. Internal.

#ifndef ZEROULP_TOOLS_STUDY_PAPER_COUNTS_HPP_
#define ZEROULP_TOOLS_STUDY_PAPER_COUNTS_HPP_

#include <cstddef>
#include <cstdint>

namespace zeroulp::study::paper {

struct v3_shape {
  std::int64_t width = 7168, layers = 61, dense_layers = 3;
  std::int64_t vocabulary = 129280, dense_hidden = 18432;
  std::int64_t heads = 128, plain = 128, rope = 64, values = 128;
  std::int64_t query_rank = 1536, latent = 512;
  std::int64_t experts = 256, top = 8, shared = 1, expert_hidden = 2048;
  std::int64_t length = 4096;  ///< of a sequence in pre-training

  constexpr std::int64_t embedding() const { return vocabulary * width; }
  /// With its norms, those before attention and the feed-forward part too.
  constexpr std::int64_t attention() const {
    const std::int64_t query =
        width * query_rank + query_rank + query_rank * heads * (plain + rope);
    const std::int64_t key =
        width * (latent + rope) + latent + latent * heads * (plain + values);
    return query + key + heads * values * width + 2 * width;
  }
  constexpr std::int64_t feed(std::int64_t hidden) const {
    return 3 * width * hidden;
  }
  /// Of a layer that has so many routed experts, beside the shared one; the
  /// router has a bias for each of its own.
  constexpr std::int64_t mixture(std::int64_t routed) const {
    return (routed + shared) * feed(expert_hidden) + experts * (width + 1);
  }
  /// Embedding, head and last norm included.
  constexpr std::int64_t parameters(std::int64_t routed) const {
    return 2 * embedding() + width + layers * attention() +
           dense_layers * feed(dense_hidden) +
           (layers - dense_layers) * mixture(routed);
  }
  constexpr std::int64_t total() const { return parameters(experts); }
  constexpr std::int64_t activated() const { return parameters(top); }

  /// Floating-point operations of training on a token, three forward passes'
  /// worth: two a parameter but the embedding's, and causal attention.
  constexpr double operations() const {
    const auto products = 2.0 * static_cast<double>(activated() - embedding());
    const double seen = static_cast<double>(length + 1) / 2;
    const auto each = static_cast<double>(2 * heads * (plain + rope + values));
    return 3 * (products + static_cast<double>(layers) * each * seen);
  }
};
static_assert(v3_shape{}.total() == 671'026'419'200);
static_assert(v3_shape{}.activated() == 37'552'297'472);

/// Bytes of `elements` (a multiple of 128) of so many bits, with a scale for
/// each tile of 128.
constexpr std::int64_t tile_bytes(std::int64_t elements, int bits,
                                  int scale_bytes) {
  return elements * bits / 8 + elements / 128 * scale_bytes;
}
static_assert(tile_bytes(128, 8, 4) == 132 && tile_bytes(128, 12, 1) == 193);

/// Experts over nodes, and what they are joined by.
struct v3_cluster {
  int nodes = 8, gpus_of_node = 8, most_nodes = 4;
  double nvlink = 160e9, infiniband = 50e9;  ///< bytes a second
};

/// Copies of a token's activation, means over tokens.
struct dispatch_copies {
  double nodes = 0;  ///< over InfiniBand, to nodes that have its experts
  double gpus = 0;   ///< over NVLink, one for each GPU
  double rows = 0;   ///< over NVLink, one for each expert
  int most_nodes = 0;

  /// The time of NVLink in that of InfiniBand.
  constexpr double nvlink_share(double copies, const v3_cluster& c) const {
    return copies / c.nvlink / (nodes / c.infiniband);
  }
};

/// Routes random tokens by N8 to N10, at most `most_nodes` groups of experts a
/// token, plans by N13, and counts the plan's rows.
dispatch_copies count_dispatch(const v3_shape& s, const v3_cluster& c,
                               std::ptrdiff_t top, std::ptrdiff_t tokens);

}  // namespace zeroulp::study::paper

#endif  // ZEROULP_TOOLS_STUDY_PAPER_COUNTS_HPP_
