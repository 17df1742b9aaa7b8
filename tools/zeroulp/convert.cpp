// encode and decode: numbers to codes and back, from the command line.

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "tools/zeroulp/cli.hpp"
#include "tools/zeroulp/program.hpp"

namespace zeroulp::program {
namespace {

struct encode_request {
  std::string format;
  std::vector<std::string> values;
  std::string round = "nearest_even";
  std::string overflow = "ocp_saturate";
  std::optional<std::uint32_t> random;
  bool as_json = false;
};

void run_encode(const encode_request& q) {
  const format f = parse_format(q.format);
  const rounder r{parse_rounding(q.round), q.random.value_or(0)};
  if (q.random && r.mode != rounding::stochastic) {
    throw input_error(fmt::format(
        "--random: rounding {} reads no random bits: add --round stochastic",
        q.round));
  }
  if (!q.random && r.mode == rounding::stochastic) {
    throw input_error(
        "--round stochastic: say which 32 random bits it takes: --random BITS, "
        "such as 0x80000000");
  }
  const policy p = parse_policy(q.overflow);
  std::string lines;
  json results = json::array();
  for (const auto& text : q.values) {
    const std::uint64_t code = encode(f, parse_number(text), r, p);
    const std::string bits = to_hex(code, f.bits());
    lines += bits + "\n";
    results.push_back({{"input", text},
                       {"bits", bits},
                       {"value", to_decimal(decode(f, code))}});
  }
  if (q.as_json) {
    print_json(json{{"format", name_of(f)},
                    {"rounding", q.round},
                    {"overflow", q.overflow},
                    {"results", results}});
  } else {
    print(lines);
  }
}

struct decode_request {
  std::string format;
  std::vector<std::string> codes;
  bool as_json = false;
};

void run_decode(const decode_request& q) {
  const format f = parse_format(q.format);
  std::string lines;
  json results = json::array();
  for (const auto& text : q.codes) {
    const auto code = parse_code(text, f.bits(), "code");
    const auto value = to_decimal(decode(f, code));
    lines += value + "\n";
    results.push_back({{"bits", to_hex(code, f.bits())}, {"value", value}});
  }
  if (q.as_json) {
    print_json(json{{"format", name_of(f)}, {"results", results}});
  } else {
    print(lines);
  }
}

}  // namespace

void add_convert(cli::app& app, outcome&) {
  auto* encode =
      add_command(app, "encode", "Round numbers to a format, print their bits",
                  "zeroulp encode e4m3 448 -1.5 0.0009765625 -inf nan");
  auto e = std::make_shared<encode_request>();
  encode->add_option("FORMAT", e->format, "see zeroulp formats")->required();
  encode->add_option("VALUE", e->values, "decimal, hexadecimal, inf, nan")
      ->required();
  encode->add_option("--round", e->round, "rounding mode")
      ->capture_default_str();
  encode->add_option("--overflow", e->overflow, "overflow and NaN policy")
      ->capture_default_str();
  encode->add_option("--random", e->random, "32 random bits, for stochastic");
  encode->add_flag("--json", e->as_json);
  encode->callback([e] { run_encode(*e); });

  auto* decode = add_command(app, "decode", "Print the exact values of codes",
                             "zeroulp decode e5m6 7bf 001 0x400");
  auto d = std::make_shared<decode_request>();
  decode->add_option("FORMAT", d->format, "see zeroulp formats")->required();
  decode->add_option("BITS", d->codes, "hexadecimal codes")->required();
  decode->add_flag("--json", d->as_json);
  decode->callback([d] { run_decode(*d); });
}

}  // namespace zeroulp::program
