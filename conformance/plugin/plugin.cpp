// A plug-in under test: its claims, its workers and its calls.

#include "conformance/plugin/plugin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "src/base/whole_number.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::conformance::plugin {
namespace {

[[noreturn]] void refuse(const std::string& file, std::string_view what) {
  throw input_error(fmt::format("{}: {}", file, what));
}

std::ptrdiff_t parse_whole(const std::string& file, std::string_view word) {
  const auto value = whole_number<std::ptrdiff_t>(word);
  if (!value) refuse(file, "it does not speak the protocol of plug-ins");
  return *value;
}

std::string text_of(std::string_view word) {
  return word == "-" ? "" : from_word(word);
}

kind kind_called(const std::string& file, std::string_view name) {
  const auto& all = operations();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (name == all[i].name) return static_cast<kind>(i);
  }
  refuse(file,
         fmt::format("it claims the operation '{}', which is none", name));
}

constexpr int refused = 1;  // ZEROULP_PLUGIN_REFUSED

fuzz::request_size size_of(const request& r) {
  fuzz::request_size most;
  for (const argument& x : r.matrices) {
    const auto& [rows, cols] = std::pair(x.words.rows, x.words.cols);
    most.elements = std::max(most.elements, rows * cols);
    most.rows = std::max(most.rows, rows);
    most.cols = std::max(most.cols, cols);
  }
  return most;
}

std::string line_of(const operation_spec& spec, const request& r,
                    const arena& matrices) {
  std::string line = fmt::format("call {}", spec.name);
  for (std::size_t i = 0; i < spec.fields.size(); ++i) {
    if (r.fields[i].empty()) continue;
    line += fmt::format(" {}={}", spec.fields[i].name, to_word(r.fields[i]));
  }
  return line + " " + matrices.words();
}

/// The same request with inputs and updates of zeros.
request zeroed(const operation_spec& spec, request r) {
  for (std::size_t i = 0; i < r.matrices.size(); ++i) {
    auto& words = r.matrices[i].words.words;
    if (spec.matrices[i].as != role::output) {
      std::fill(words.begin(), words.end(), 0);
    }
  }
  return r;
}

/// A request in flight: its worker, its matrices and the line to send.
struct exchange {
  worker& w;
  arena matrices;
  std::string line;

  /// Makes one call with the fillings of `pass`. Returns DONE or REFUSED.
  /// Throws call_failure.
  int call(int pass) {
    matrices.fill(pass);
    const auto [status, stray, at] = w.call(line);
    if (!stray.empty()) matrices.accuse(at, stray);
    if (status == refused) return refused;
    if (status != 0) {
      throw call_failure(fault::failed, fmt::format("returned {}", status));
    }
    matrices.take(pass);
    return status;
  }
};

/// Returns true iff each call returns the results of the call before it. Makes
/// two requests in turn: the same shapes, different numbers.
bool answers_late(exchange& x, exchange& y) try {
  for (exchange* e : {&y, &x}) {
    if (e->call(0) == refused || e->call(1) == refused) return false;
  }
  const auto of_y = x.matrices.results(0);
  const auto of_x = x.matrices.results(1);
  if (y.call(0) == refused || y.call(1) == refused) return false;
  return of_y != of_x && y.matrices.results(0) == of_x &&
         y.matrices.results(1) == of_y;
} catch (const call_failure&) {
  return false;
}

}  // namespace

plugin_code::plugin_code(command_line command, const worker_options& options)
    : command_(std::move(command)), options_(options) {
  auto first = std::make_unique<worker>(command_, options_);
  read_claims(first->start());
  seal_lacks_ = first->seal_lacks();
  idle_.push_back(std::move(first));
}

void plugin_code::read_claims(const std::vector<std::string>& lines) {
  const std::string& file = command_.file();
  for (const auto& line : lines) {
    const auto words = words_of(line);
    if (words.size() == 4 && words[0] == "plugin") {
      const auto version = parse_whole(file, words[1]);
      if (version != protocol_version) {
        refuse(file, fmt::format("it speaks version {} of the protocol, not {}",
                                 version, protocol_version));
      }
      name_ = one_line(from_word(words[2]));
      on_device_ = words[3] == "device";
    } else if (words.size() == 7 && words[0] == "claim") {
      const kind k = kind_called(file, words[1]);
      try {
        claims_.push_back(parse_claim(
            k, text_of(words[2]), text_of(words[3]),
            {parse_whole(file, words[4]), parse_whole(file, words[5]),
             parse_whole(file, words[6])}));
      } catch (const input_error& e) {
        refuse(file, fmt::format("claim {}, {}: {}", claims_.size(), words[1],
                                 e.what()));
      }
    } else {
      refuse(file, "it does not speak the protocol of plug-ins");
    }
  }
  if (claims_.empty()) refuse(file, "it claims nothing");
}

bool plugin_code::claims_any(fuzz::target t) const {
  return std::any_of(claims_.begin(), claims_.end(),
                     [t](const claim& c) { return target_of(c.what) == t; });
}

const claim* plugin_code::claim_of(kind k, const fuzz::settings& s,
                                   std::ptrdiff_t rows,
                                   std::ptrdiff_t cols) const {
  std::vector<const claim*> mine;
  for (const claim& c : claims_) {
    if (c.what == k && holds(c, s)) mine.push_back(&c);
  }
  if (mine.empty()) return nullptr;
  const auto key = static_cast<std::uint64_t>(rows) * 0x10001 +
                   static_cast<std::uint64_t>(cols);
  return mine[mix64(key) % mine.size()];
}

std::unique_ptr<worker> plugin_code::acquire() {
  const int cores =
      static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::unique_lock hold(lock_);
  freed_.wait(hold, [&] { return busy_ < (on_device_ ? 1 : cores); });
  ++busy_;
  if (idle_.empty()) return std::make_unique<worker>(command_, options_);
  auto w = std::move(idle_.back());
  idle_.pop_back();
  return w;
}

void plugin_code::release(std::unique_ptr<worker> w) {
  const std::scoped_lock hold(lock_);
  --busy_;
  if (w->has_hung()) has_hung_ = true;
  idle_.push_back(std::move(w));
  freed_.notify_one();
}

int plugin_code::finish() {
  const std::scoped_lock hold(lock_);
  for (const auto& w : idle_) w->ask_to_end();
  for (const auto& w : idle_) left_ += w->finish();
  return left_;
}

bool plugin_code::call(const claim& c, request& r) {
  auto w = acquire();
  // Release the worker however the call ends.
  struct release_at_end {
    plugin_code& code;
    std::unique_ptr<worker>& w;
    ~release_at_end() { code.release(std::move(w)); }
  } end{*this, w};
  w->start();
  ++calls_;
  fuzz::request_log::tell({static_cast<std::size_t>(&c - claims_.data()), true,
                           size_of(r), outputs_of(c.what)});
  if (make(*w, c, r)) return true;
  ++refusals_;
  --calls_;
  fuzz::request_log::refuse_last();
  return false;
}

bool plugin_code::make(worker& w, const claim& c, request& r) {
  const auto& spec = operations()[static_cast<std::size_t>(c.what)];
  exchange x{w, {w.memory(), memory_bytes, spec, r.matrices, !on_device_}, {}};
  x.line = line_of(spec, r, x.matrices);
  if (x.call(0) == refused) return false;
  if (x.call(1) == refused) {
    throw call_failure(fault::unsteady,
                       "refused the request that it had just served");
  }
  try {
    x.matrices.finish();
  } catch (const call_failure& failure) {
    if (failure.kind != fault::unsteady) throw;
    request other = zeroed(spec, r);
    exchange y{w,
               {w.memory(), memory_bytes, spec, other.matrices, !on_device_},
               x.line};
    if (!answers_late(x, y)) throw;
    throw call_failure(fault::unsteady,
                       fmt::format("answers the outputs of the call before: {}",
                                   failure.what()));
  }
  return true;
}

}  // namespace zeroulp::conformance::plugin
