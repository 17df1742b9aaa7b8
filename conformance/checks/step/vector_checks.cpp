// Holds an implementation against steps recorded on silicon: the files of
// conformance/vectors, which `zeroulp vectors record` wrote.

#include "conformance/checks/step/vector_checks.hpp"

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "fuzz/cases/token.hpp"
#include "fuzz/cases/vectors.hpp"
#include "src/base/sha256.hpp"
#include "src/io/gzip.hpp"
#include "src/io/program_folder.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::conformance {
namespace {

namespace fs = std::filesystem;

struct recorded_file {
  std::string name;
  std::string text;
  bool sound = false;  ///< as its checksum has it
};

std::vector<recorded_file> read_files(const fs::path& directory) {
  std::vector<recorded_file> files;
  if (!fs::exists(directory / "MANIFEST")) return files;
  std::istringstream manifest(read_text(directory / "MANIFEST"));
  for (std::string sum, name; manifest >> sum >> name;) {
    const fs::path path = directory / name;
    const bool sound =
        fs::exists(path) && sha256_hex(as_text(read_file(path))) == sum;
    files.push_back({name, sound ? read_text(path) : "", sound});
  }
  return files;
}

const std::vector<recorded_file>& files_in(const fs::path& directory) {
  static std::map<fs::path, std::vector<recorded_file>> known;
  const auto found = known.find(directory);
  if (found != known.end()) return found->second;
  return known[directory] = read_files(directory);
}

}  // namespace

verdict check_vectors_in(const fs::path& directory, const implementation& i,
                         const effort& e) {
  verdict v;
  const auto& files = files_in(directory);
  if (files.empty()) {
    v.skipped = "nothing recorded: no MANIFEST in conformance/vectors";
    return v;
  }
  // Odd: the profiles of the cases, which take turns, are all in the sample.
  const int stride = e.level == 0 ? 7 : 1;
  const auto over = [&] { return e.stop_early && v.failures > 0; };
  for (const auto& file : files) {
    if (over()) break;
    if (!file.sound) {
      v.count(false, [&] { return file.name + ": not what MANIFEST has"; });
      continue;
    }
    fuzz::read_vectors(
        file.text, stride, [&](const auto& of, const auto& s, std::uint64_t d) {
          const path& p = of.value;
          const auto ours = i.step(p, s.a.data(), s.b.data(), s.count, s.c);
          v.compare(ours, d, [&] {
            return fmt::format("{}: {:x}, recorded {:x}: {}", of.name, ours, d,
                               fuzz::to_token(fuzz::problem_of(p, s)));
          });
          return !over();
        });
  }
  return v;
}

check_list vector_checks() {
  return {{"RecordedStepsAreThoseOfTheSilicon",
           "T1 T2 T3 T4 T5 T6 T7 T8 T10 T12", "silicon", 0,
           [](const implementation& i, const effort& e) {
             return check_vectors_in(program_folder() / ZEROULP_VECTORS, i, e);
           }}};
}

}  // namespace zeroulp::conformance
