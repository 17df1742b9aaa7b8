#include "plugin_worker.hpp"

#ifdef ZEROULP_HAVE_CONFORMANCE

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "conformance/plugin/protocol.hpp"
#include "plugin_map.hpp"
#include "plugin_memory.hpp"
#include "whole_number.hpp"
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
static_assert(ZEROULP_PLUGIN_VERSION == protocol_version);

/// What is wrong with the library, for its user to read.
class bad_plugin : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Ends this process when the one that started it has ended.
void end_with_parent() {
  std::thread([parent = getppid()] {
    while (getppid() == parent) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    _exit(0);
  }).detach();
}

bool has_function(const zeroulp_plugin& p, int operation) {
  switch (operation) {
    case ZEROULP_PLUGIN_QUANTIZE:
      return p.quantize != nullptr;
    case ZEROULP_PLUGIN_DEQUANTIZE:
      return p.dequantize != nullptr;
    case ZEROULP_PLUGIN_RETILE:
      return p.retile != nullptr;
    case ZEROULP_PLUGIN_GEMM:
      return p.gemm != nullptr;
    case ZEROULP_PLUGIN_SWIGLU:
      return p.swiglu != nullptr;
    case ZEROULP_PLUGIN_ADAMW:
      return p.adamw != nullptr;
    case ZEROULP_PLUGIN_COMBINE:
      return p.combine != nullptr;
    default:
      return false;
  }
}

const zeroulp_plugin& load(const char* file) {
  // A name without a slash is one of this directory, as for every other file.
  const std::string path =
      std::strchr(file, '/') == nullptr ? std::string("./") + file : file;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw bad_plugin(dlerror());
  void* const symbol = dlsym(library, "zeroulp_plugin_table");
  if (symbol == nullptr) {
    throw bad_plugin(
        "it exports no zeroulp_plugin_table: see "
        "zeroulp/plugin.h");
  }
  const auto table = reinterpret_cast<decltype(&zeroulp_plugin_table)>(symbol);
  const zeroulp_plugin* const p = table();
  if (p == nullptr) throw bad_plugin("zeroulp_plugin_table returned NULL");
  if (p->version != ZEROULP_PLUGIN_VERSION) {
    throw bad_plugin(fmt::format(
        "it was built for version {} of plugin.h, this is version {}",
        p->version, ZEROULP_PLUGIN_VERSION));
  }
  if (p->size != static_cast<std::int32_t>(sizeof *p)) {
    throw bad_plugin(
        fmt::format("its table has {} bytes, where version {} has {}", p->size,
                    ZEROULP_PLUGIN_VERSION, sizeof *p));
  }
  if (p->name == nullptr || *p->name == '\0') {
    throw bad_plugin("its name is NULL or empty");
  }
  if (p->memory != ZEROULP_PLUGIN_ON_HOST &&
      p->memory != ZEROULP_PLUGIN_ON_DEVICE) {
    throw bad_plugin(
        fmt::format("its memory is {}: use one of "
                    "zeroulp_plugin_memory",
                    p->memory));
  }
  constexpr int most_claims = 1024;
  if (p->claims == nullptr || p->claim_count < 1 ||
      p->claim_count > most_claims) {
    throw bad_plugin(
        fmt::format("it has {} claims{}: use 1 to {}", p->claim_count,
                    p->claims == nullptr ? " at NULL" : "", most_claims));
  }
  for (int i = 0; i < p->claim_count; ++i) {
    const int operation = p->claims[i].operation;
    if (operation < 0 || operation >= static_cast<int>(operations().size())) {
      throw bad_plugin(
          fmt::format("claim {}: {} is no operation", i, operation));
    }
    if (!has_function(*p, operation)) {
      throw bad_plugin(
          fmt::format("claim {}: it claims {}, but its function is NULL", i,
                      operations()[static_cast<std::size_t>(operation)].name));
    }
  }
  return *p;
}

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
    default:
      return r.give(p.combine);
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

/// Answers one call; returns the line to send.
std::string answer(const zeroulp_plugin& p, plugin_map& map,
                   plugin_memory& memory, const std::string& line) {
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
  if (p.memory == ZEROULP_PLUGIN_ON_HOST &&
      !map.open_only(pages_of(all[operation], words, map.data()))) {
    return "bad " + to_word(fmt::format("its memory cannot be guarded: {}",
                                        std::strerror(errno)));
  }
  auto fault = memory.enter(bytes);
  if (!fault.empty()) return "bad " + to_word(fault);
  const request_bytes r(all[operation], words, memory.data());
  const std::int32_t status = serve(p, operation, r);
  fault = memory.leave();
  if (!fault.empty()) return "bad " + to_word(fault);
  return fmt::format("done {}", status);
}

}  // namespace

int run_plugin_worker(const char* file) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  end_with_parent();
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
    const zeroulp_plugin& p = load(file);
    map.watch();
    plugin_memory memory(map.data(), p.memory == ZEROULP_PLUGIN_ON_DEVICE);
    const auto fault = memory.enter(1);
    if (!fault.empty()) throw bad_plugin(fault);
    introduce(p, socket);
    for (std::string line;
         socket.receive(line, -1) == line_socket::result::line;) {
      if (!socket.send(answer(p, map, memory, line))) break;
    }
  } catch (const bad_plugin& e) {
    socket.send("bad " + to_word(e.what()));
  }
  // What the plug-in does at the end is no part of it.
  std::fflush(nullptr);
  _exit(0);
}

}  // namespace zeroulp::program

#else

namespace zeroulp::program {
int run_plugin_worker(const char*) { return 2; }
}  // namespace zeroulp::program

#endif
