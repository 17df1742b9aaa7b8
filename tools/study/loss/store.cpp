#include "tools/study/loss/store.hpp"

#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "src/base/sha256.hpp"
#include "src/io/temporary_file.hpp"
#include "tools/study/loss/training.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::loss {
namespace {

constexpr std::string_view magic = "zeroulp loss part 1\n";
constexpr std::size_t digest_length = 64;

template <class T>
std::string_view bytes_of(const std::vector<T>& x) {
  return {reinterpret_cast<const char*>(x.data()), x.size() * sizeof(T)};
}

/// Calls use(vector) for everything of a state that has a fixed length, then
/// for the histories.
template <class State, class Use>
void for_arrays(State& state, Use use) {
  for (auto& w : state.model.weights) use(w.data);
  for (auto& m : state.m) use(m);
  for (auto& v : state.v) use(v);
  for (auto& b : state.model.biases) use(b);
}
template <class State, class Use>
void for_histories(State& state, Use use) {
  for (auto& h : state.model.history) {
    use(h.x.last);
    use(h.w.last);
    use(h.dy.last);
  }
}

/// Takes numbers from the front of bytes; `good` turns false where they end.
struct reader {
  std::string_view bytes;
  bool good = true;

  void take(void* to, std::size_t size) {
    good = good && size <= bytes.size();
    if (!good) return;
    if (size > 0) std::memcpy(to, bytes.data(), size);
    bytes.remove_prefix(size);
  }
};

}  // namespace

store_folder::store_folder(std::filesystem::path folder, std::string options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  if (!folder_.empty()) remove_stale_temporaries(folder_);
}

void store_folder::refuse(const std::string& part, const char* why) const {
  throw input_error((folder_ / part).string() + ": " + why);
}

std::optional<std::string> store_folder::find(const std::string& part) const {
  std::error_code ignored;
  if (folder_.empty() || !std::filesystem::exists(folder_ / part, ignored)) {
    return std::nullopt;
  }
  const auto bytes = read_file(folder_ / part);
  std::string_view all = as_text(bytes);
  constexpr const char* damaged =
      "damaged: this is not what was written here; delete the file and run "
      "again";
  const std::size_t head = magic.size() + digest_length + 1;
  if (all.size() < head || all.substr(0, magic.size()) != magic ||
      all[head - 1] != '\n') {
    refuse(part, damaged);
  }
  const std::string_view digest = all.substr(magic.size(), digest_length);
  all.remove_prefix(head);
  if (sha256_hex(all) != digest) refuse(part, damaged);
  const std::size_t line = all.find('\n');
  if (line == std::string_view::npos) refuse(part, damaged);
  if (all.substr(0, line) != options_) {
    refuse(part,
           "of a run with other options or of another version; name another "
           "folder or delete this one");
  }
  return std::string(all.substr(line + 1));
}

void store_folder::keep(const std::string& part, std::string_view bytes) const {
  if (folder_.empty()) return;
  std::string sealed = options_ + "\n";
  sealed += bytes;
  const std::string digest = sha256_hex(sealed);
  output_set files(folder_);
  files.add(part, std::string(magic) + digest + "\n" + sealed);
  files.commit();
}

void store_folder::remove(const std::string& part) const {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove(folder_ / part, ignored);
}

std::optional<std::vector<double>> store_folder::find_numbers(
    const std::string& part, std::size_t count) const {
  const auto bytes = find(part);
  if (!bytes) return std::nullopt;
  std::vector<double> numbers(count);
  reader from{*bytes};
  from.take(numbers.data(), count * sizeof(double));
  if (!from.good || !from.bytes.empty()) refuse(part, "of another length");
  return numbers;
}

void store_folder::keep_numbers(const std::string& part,
                                const std::vector<double>& numbers) const {
  keep(part, bytes_of(numbers));
}

std::optional<training_state> store_folder::find_state(
    const std::string& part, const training_settings& s) const {
  const auto bytes = find(part);
  if (!bytes) return std::nullopt;
  training_state state = start(s);
  reader from{*bytes};
  from.take(&state.steps, sizeof state.steps);
  for_arrays(state,
             [&](auto& x) { from.take(x.data(), x.size() * sizeof x[0]); });
  for_histories(state, [&](std::vector<float>& x) {
    std::uint8_t length = 0;
    from.take(&length, 1);
    x.resize(length);
    from.take(x.data(), x.size() * sizeof x[0]);
  });
  if (!from.good || !from.bytes.empty()) refuse(part, "of another length");
  return state;
}

void store_folder::keep_state(const std::string& part,
                              const training_state& state) const {
  std::string bytes(sizeof state.steps, '\0');
  std::memcpy(bytes.data(), &state.steps, sizeof state.steps);
  for_arrays(state, [&](const auto& x) { bytes += bytes_of(x); });
  for_histories(state, [&](const std::vector<float>& x) {
    bytes += static_cast<char>(x.size());
    bytes += bytes_of(x);
  });
  keep(part, bytes);
}

}  // namespace zeroulp::loss
