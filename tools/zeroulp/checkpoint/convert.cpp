// checkpoint dequantize: what writes a checkpoint.

#include <fmt/format.h>

#include "src/base/near_names.hpp"
#include "tools/checkpoint/weights/dequantize.hpp"
#include "tools/zeroulp/checkpoint/checkpoint.hpp"
#include "tools/zeroulp/cli.hpp"

namespace zeroulp::program {
namespace {

struct dequantize_options {
  checkpoint_request common;
  std::string out;
  std::string to = "bf16";
  std::string via;
  std::string order = "scales";
  std::string only;
};

checkpoint::element target_of(const std::string& name) {
  using enum checkpoint::element;
  const format f = parse_format(name);
  for (const auto each : {bf16, f16, f32}) {
    if (checkpoint::row_of(each).holds == f) return each;
  }
  throw input_error(
      fmt::format("--to {}: weights become bf16, fp16 or fp32", name));
}

std::string nan_text(const checkpoint::nan_count& nans) {
  if (nans.numbers == 0) return "";
  return fmt::format(
      "\nnote: {} numbers are NaN, the first in {}: zeroulp checkpoint verify "
      "says where",
      nans.numbers, one_line(nans.first));
}

void run_dequantize(const dequantize_options& o) {
  checkpoint::dequantize_request q;
  q.to = target_of(o.to);
  q.only = o.only;
  q.how.via_fp32 = o.via == "fp32";
  q.how.order = o.order == "codes" ? checkpoint::product_order::codes
                                   : checkpoint::product_order::scales;
  const auto c = open_for(o.common.path, o.common.allow_unscaled, true);
  checkpoint::nan_count nans;
  const auto how = dequantization(c->files, c->pairs, q, nans);
  const auto r = convert(c->files, how, o.out, work_options_of(o.common));
  std::uint64_t numbers = 0;
  std::size_t weights = 0;
  const auto wanted = checkpoint::matcher(o.only, "--only");
  for (const auto& w : c->pairs.weights) {
    if (!wanted(w.weight->name)) continue;
    numbers += w.count();
    ++weights;
  }
  const std::string rounded = q.to == checkpoint::element::f32 ? "one rounding"
                              : q.how.via_fp32
                                  ? "two roundings, the first to fp32"
                                  : "one rounding";
  print_outcome(o.common, r,
                {{"weights", weights},
                 {"numbers", numbers},
                 {"to", o.to},
                 {"rounding", rounded},
                 {"order", o.order},
                 {"nan", nans.numbers}},
                fmt::format("{} weights, {} numbers to {} by {}{}", weights,
                            numbers, o.to, rounded, nan_text(nans)));
}

}  // namespace

void print_outcome(const checkpoint_request& q, const checkpoint::converted& r,
                   json what, const std::string& text) {
  if (q.as_json) {
    what["shards_written"] = r.written;
    what["shards_kept"] = r.kept;
    what["bytes_read"] = r.bytes;
    what["seconds"] = r.seconds;
    return print_json(what);
  }
  if (r.written == 0) {
    return print(fmt::format("{}\nall is there: {} shards of an earlier run\n",
                             text, r.kept));
  }
  print(fmt::format("{}\n{} shards written{}, {} read in {:.1f} s\n", text,
                    r.written,
                    r.kept > 0 ? fmt::format(", {} kept", r.kept) : "",
                    bytes_text(r.bytes), r.seconds));
}

void add_checkpoint_dequantize(cli::app& sub, outcome&) {
  auto* c = add_command(
      sub, "dequantize",
      "Write a checkpoint with quantized weights as numbers; goes on where an "
      "earlier run of the same request ended",
      "zeroulp checkpoint dequantize DeepSeek-V3 --to bf16 --out V3-bf16");
  auto o = std::make_shared<dequantize_options>();
  add_common(c, o->common);
  c->add_option("--out", o->out, "a new folder, or one to go on with")
      ->required();
  c->add_option("--to", o->to, "bf16, fp16 or fp32")->capture_default_str();
  c->add_option("--via", o->via,
                "fp32: round to FP32 first, then again; without it once")
      ->check(cli::is_member({"fp32"}));
  c->add_option("--order", o->order,
                "of two scales: scales (their product first) or codes (code "
                "times scale first)")
      ->check(cli::is_member({"scales", "codes"}))
      ->capture_default_str();
  c->add_option("--only", o->only, "weights whose names have this expression");
  c->callback([o] { run_dequantize(*o); });
}

}  // namespace zeroulp::program
