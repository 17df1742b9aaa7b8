// Defines what the subcommands of `zeroulp checkpoint` share.

#ifndef ZEROULP_TOOLS_ZEROULP_CHECKPOINT_CHECKPOINT_HPP_
#define ZEROULP_TOOLS_ZEROULP_CHECKPOINT_CHECKPOINT_HPP_

#include <memory>
#include <string>

#include "tools/checkpoint/weights/convert.hpp"
#include "tools/checkpoint/weights/pairing.hpp"
#include "tools/checkpoint/weights/work.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {

/// A checkpoint that a subcommand is about, and how it works.
struct checkpoint_request {
  std::string path;
  bool allow_unscaled = false;
  int threads = 0;  ///< 0: all cores
  bool as_json = false;
};

/// Adds the path, --allow-unscaled, --threads and --json.
void add_common(cli::app* command, checkpoint_request& q,
                const std::string& name = "CHECKPOINT");
void add_threads(cli::app* command, checkpoint_request& q);

/// An open checkpoint whose weights have found their scales.
struct opened {
  checkpoint::checkpoint files;
  checkpoint::pairs pairs;
};

/// Throws input_error; also for the first fault of the pairs and their scales,
/// if `whole`.
std::unique_ptr<opened> open_for(const std::string& path, bool allow_unscaled,
                                 bool whole);

/// Threads, and progress with GB/s on a terminal.
checkpoint::work_options work_options_of(const checkpoint_request& q);

/// Text from a file as one line, whatever it has.
std::string one_line(std::string_view text);
/// "1.5 GB".
std::string bytes_text(double bytes);
/// The weight that a tensor is, or null.
const checkpoint::quantized* weight_of(const opened& o,
                                       const checkpoint::tensor& t);
/// Says what a conversion did: `what` as JSON, or `text`.
void print_outcome(const checkpoint_request& q, const checkpoint::converted& r,
                   json what, const std::string& text);
json shape_json(const checkpoint::shape_t& shape);

void add_checkpoint_list(cli::app& sub, outcome& out);
void add_checkpoint_verify(cli::app& sub, outcome& out);
void add_checkpoint_hash(cli::app& sub, outcome& out);
void add_checkpoint_dequantize(cli::app& sub, outcome& out);
void add_checkpoint_requantize(cli::app& sub, outcome& out);
void add_checkpoint_rescale(cli::app& sub, outcome& out);
void add_checkpoint_diff(cli::app& sub, outcome& out);
void add_checkpoint_identify(cli::app& sub, outcome& out);

}  // namespace zeroulp::program

#endif  // ZEROULP_TOOLS_ZEROULP_CHECKPOINT_CHECKPOINT_HPP_
