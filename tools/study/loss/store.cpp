#include "tools/study/loss/store.hpp"

#include <cstring>
#include <system_error>
#include <utility>

#include "src/base/sha256.hpp"
#include "src/io/temporary_file.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::loss {

store_folder::store_folder(std::filesystem::path folder, std::string options)
    : folder_(std::move(folder)),
      lines_{"zeroulp loss part 2", std::move(options)} {
  if (!folder_.empty()) remove_stale_temporaries(folder_);
}

std::filesystem::path store_folder::file_of(const std::string& part) const {
  constexpr std::size_t most = 120;  // a file system allows 255
  if (part.size() <= most) return folder_ / part;
  return folder_ / (part.substr(0, most / 2) + "." + sha256_hex(part));
}

std::optional<std::string> store_folder::find(const std::string& part) const {
  if (folder_.empty()) return std::nullopt;
  return train::unseal(file_of(part), lines_);
}

void store_folder::keep(const std::string& part, std::string_view bytes) const {
  if (!folder_.empty()) train::seal(file_of(part), lines_, bytes);
}

void store_folder::remove(const std::string& part) const {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove(file_of(part), ignored);
}

std::optional<std::vector<double>> store_folder::find_numbers(
    const std::string& part, std::size_t count) const {
  const auto bytes = find(part);
  if (!bytes) return std::nullopt;
  std::vector<double> numbers(count);
  if (bytes->size() != count * sizeof(double)) {
    throw input_error(file_of(part).string() + ": of another length");
  }
  std::memcpy(numbers.data(), bytes->data(), bytes->size());
  return numbers;
}

void store_folder::keep_numbers(const std::string& part,
                                const std::vector<double>& numbers) const {
  keep(part, {reinterpret_cast<const char*>(numbers.data()),
              numbers.size() * sizeof(double)});
}

}  // namespace zeroulp::loss
