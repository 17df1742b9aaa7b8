#include "tools/zeroulp/plugin/worker.hpp"

#ifdef ZEROULP_HAVE_CONFORMANCE

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "conformance/plugin/process/keeper.hpp"
#include "conformance/plugin/process/protocol.hpp"
#include "src/base/whole_number.hpp"
#include "tools/zeroulp/plugin/library.hpp"
#include "tools/zeroulp/plugin/map.hpp"
#include "tools/zeroulp/plugin/memory.hpp"
#include "tools/zeroulp/plugin/state.hpp"
#include "zeroulp/plugin.h"

namespace zeroulp::program {
namespace {

using namespace conformance::plugin;

// A request is its size, its fields and its matrices, each without padding.
static_assert(sizeof(void*) == 8 && sizeof(zeroulp_plugin_matrix) == 48);
static_assert(sizeof(zeroulp_plugin_quantize) == 8 + 6 * 8 + 3 * 48);
static_assert(sizeof(zeroulp_plugin_dequantize) == 8 + 3 * 8 + 3 * 48);
static_assert(sizeof(zeroulp_plugin_retile) == 8 + 5 * 8 + 4 * 48);
static_assert(sizeof(zeroulp_plugin_gemm) == 8 + 10 * 8 + 6 * 48);
static_assert(sizeof(zeroulp_plugin_swiglu) == 8 + 2 * 8 + 3 * 48);
static_assert(sizeof(zeroulp_plugin_adamw) == 8 + 11 * 8 + 5 * 48);
static_assert(sizeof(zeroulp_plugin_combine) == 8 + 1 * 8 + 4 * 48);
static_assert(sizeof(zeroulp_plugin_rms_norm_backward) == 8 + 7 * 48);
static_assert(sizeof(zeroulp_plugin_route) == 8 + 7 * 8 + 5 * 48);
static_assert(sizeof(zeroulp_plugin_route_backward) == 8 + 7 * 8 + 4 * 48);
static_assert(sizeof(zeroulp_plugin_attention_forward) == 8 + 3 * 8 + 6 * 48);
static_assert(sizeof(zeroulp_plugin_attention_backward) == 8 + 3 * 8 + 10 * 48);

std::string word_of(const char* text) {
  return text == nullptr || *text == '\0' ? "-" : to_word(text);
}

void introduce(const zeroulp_plugin& p, line_socket& out) {
  out.send(
      fmt::format("plugin {} {} {}", protocol_version, to_word(p.name),
                  p.memory == ZEROULP_PLUGIN_ON_DEVICE ? "device" : "host"));
  for (int i = 0; i < p.claim_count; ++i) {
    const auto& c = p.claims[i];
    out.send(fmt::format(
        "claim {} {} {} {} {} {}",
        operations()[static_cast<std::size_t>(c.operation)].name, word_of(c.as),
        word_of(c.settings), c.multiple[0], c.multiple[1], c.multiple[2]));
  }
  out.send("ready");
}

std::int64_t number(std::string_view text) {
  return whole_number<std::int64_t>(text).value_or(0);
}

/// The value of `name` in the words of a call.
std::optional<std::string_view> value_of(
    const std::vector<std::string_view>& words, std::string_view name) {
  for (const auto word : words) {
    if (word.size() > name.size() && word.starts_with(name) &&
        word[name.size()] == '=') {
      return word.substr(name.size() + 1);
    }
  }
  return {};
}

/// `text`: OFFSET:ROWS:COLS:ROW_STRIDE:COL_STRIDE:BYTES, of `data`.
zeroulp_plugin_matrix matrix_at(std::string_view text, unsigned char* data) {
  std::array<std::int64_t, 6> numbers{};
  for (auto& n : numbers) {
    const auto end = text.find(':');
    n = number(text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return {data + numbers[0], numbers[1], numbers[2],
          numbers[3],        numbers[4], numbers[5]};
}

/// A request as it lies in memory; the texts that it points to.
struct request_bytes {
  std::vector<std::uint64_t> words;
  std::deque<std::string> texts;

  request_bytes(const operation_spec& of,
                const std::vector<std::string_view>& call,
                unsigned char* data) {
    words.push_back(0);
    for (const auto& field : of.fields) {
      const auto value = value_of(call, field.name);
      if (!field.is_text) {
        words.push_back(
            static_cast<std::uint64_t>(number(value.value_or("0"))));
      } else if (value) {
        texts.push_back(from_word(*value));
        words.push_back(reinterpret_cast<std::uint64_t>(texts.back().c_str()));
      } else {
        words.push_back(0);
      }
    }
    for (const auto& m : of.matrices) {
      const auto value = value_of(call, m.name);
      const auto matrix =
          value ? matrix_at(*value, data) : zeroulp_plugin_matrix{};
      const auto at = words.size();
      words.resize(at + sizeof matrix / 8);
      std::memcpy(&words[at], &matrix, sizeof matrix);
    }
    words[0] = words.size() * 8;
  }

  template <class Request>
  std::int32_t give(std::int32_t (*to)(const Request*)) const {
    return to(reinterpret_cast<const Request*>(words.data()));
  }
};

std::int32_t serve(const zeroulp_plugin& p, std::size_t operation,
                   const request_bytes& r) {
  switch (operation) {
    case ZEROULP_PLUGIN_QUANTIZE:
      return r.give(p.quantize);
    case ZEROULP_PLUGIN_DEQUANTIZE:
      return r.give(p.dequantize);
    case ZEROULP_PLUGIN_RETILE:
      return r.give(p.retile);
    case ZEROULP_PLUGIN_GEMM:
      return r.give(p.gemm);
    case ZEROULP_PLUGIN_SWIGLU:
      return r.give(p.swiglu);
    case ZEROULP_PLUGIN_ADAMW:
      return r.give(p.adamw);
    case ZEROULP_PLUGIN_COMBINE:
      return r.give(p.combine);
    case ZEROULP_PLUGIN_RMS_NORM_BACKWARD:
      return r.give(p.rms_norm_backward);
    case ZEROULP_PLUGIN_ROUTE:
      return r.give(p.route);
    case ZEROULP_PLUGIN_ROUTE_BACKWARD:
      return r.give(p.route_backward);
    case ZEROULP_PLUGIN_ATTENTION_FORWARD:
      return r.give(p.attention_forward);
    default:
      return r.give(p.attention_backward);
  }
}

/// The pages on which the matrices of a call lie, guards included.
std::vector<page_range> pages_of(const operation_spec& of,
                                 const std::vector<std::string_view>& call,
                                 unsigned char* data) {
  std::vector<page_range> pages;
  for (const auto& m : of.matrices) {
    const auto value = value_of(call, m.name);
    if (!value) continue;
    const auto x = matrix_at(*value, data);
    const auto first =
        static_cast<std::size_t>(static_cast<unsigned char*>(x.data) - data);
    const auto length =
        ((x.rows - 1) * x.row_stride + (x.cols - 1) * x.col_stride + 1) *
        x.element_bytes;
    const auto page = page_bytes();
    const auto behind = first + static_cast<std::size_t>(length) + guard_bytes;
    pages.push_back({(first - guard_bytes) / page * page,
                     (behind + page - 1) / page * page});
  }
  return pages;
}

/// Answers one call; returns the line to send. `before`: the state that the
/// call has to leave.
std::string answer(const zeroulp_plugin& p, plugin_map& map,
                   plugin_memory& memory, const process_state& before,
                   const std::string& line) {
  const auto words = words_of(line);
  const auto& all = operations();
  std::size_t operation = 0;
  while (operation < all.size() &&
         (words.size() < 3 || words[1] != all[operation].name)) {
    ++operation;
  }
  if (operation == all.size()) return "bad " + to_word("no such call");
  const auto bytes =
      static_cast<std::size_t>(number(value_of(words, "bytes").value_or("0")));
  const auto unguarded = [] {
    return "bad " + to_word(fmt::format("its memory cannot be guarded: {}",
                                        std::strerror(errno)));
  };
  const bool on_host = p.memory == ZEROULP_PLUGIN_ON_HOST;
  if (on_host && !map.open_only(pages_of(all[operation], words, map.data()))) {
    return unguarded();
  }
  auto fault = memory.enter(bytes);
  if (!fault.empty()) return "bad " + to_word(fault);
  const request_bytes r(all[operation], words, memory.data());
  const std::int32_t status = serve(p, operation, r);
  if (on_host && !map.open_only({})) return unguarded();
  fault = memory.leave();
  if (!fault.empty()) return "bad " + to_word(fault);
  const auto change = difference(before, current_state());
  if (!change.empty()) return "changed " + to_word(change);
  return fmt::format("done {}", status);
}

/// Returns the exit status.
int run_plugin_worker(const char* file) {
  line_socket socket(socket_fd);
  plugin_map map;
  if (map.data() == nullptr) {
    if (errno == EBADF) {
      std::fputs("zeroulp: plugin-worker is started by zeroulp alone\n",
                 stderr);
    } else {
      socket.send("bad " + to_word(fmt::format("no memory to share with it: {}",
                                               std::strerror(errno))));
    }
    return 2;
  }
  try {
    // Loading may not change how the processor rounds, either.
    process_state before = current_state();
    const zeroulp_plugin p = load_plugin(file);
    map.watch();
    const auto loaded = current_state();
    before.handlers = loaded.handlers;
    before.children = loaded.children;
    plugin_memory memory(map.data(), p.memory == ZEROULP_PLUGIN_ON_DEVICE);
    const auto fault = memory.enter(1);
    if (!fault.empty()) throw bad_plugin(fault);
    introduce(p, socket);
    for (std::string line;
         socket.receive(line, -1) == line_socket::result::line;) {
      if (!socket.send(answer(p, map, memory, before, line))) break;
    }
  } catch (const bad_plugin& e) {
    socket.send("bad " + to_word(e.what()));
  }
  // What the plug-in does at the end is no part of it.
  std::fflush(nullptr);
  _exit(0);
}

}  // namespace

bool is_plugin_process(int count, char** arguments) {
  const std::string_view command = count > 1 ? arguments[1] : "";
  return command == plugin_keeper_command ||
         (command == plugin_worker_command && count == 3);
}

int run_plugin_process(int count, char** arguments) {
  return arguments[1] == std::string_view(plugin_keeper_command)
             ? run_plugin_keeper(count, arguments)
             : run_plugin_worker(arguments[2]);
}

}  // namespace zeroulp::program

#else

namespace zeroulp::program {
bool is_plugin_process(int, char**) { return false; }
int run_plugin_process(int, char**) { return 2; }
}  // namespace zeroulp::program

#endif
