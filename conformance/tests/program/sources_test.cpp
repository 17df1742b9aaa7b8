// What the sources of the program may say in one file alone, so that there is
// one place where it is done right.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "zeroulp/io.hpp"

namespace zeroulp {
namespace {

namespace fs = std::filesystem;

struct source {
  std::string path;  ///< from the root of the repository
  std::string text;
};

/// Everything that the program is made of, but what runs on a device.
const std::vector<source>& sources() {
  static const std::vector<source> all = [] {
    const fs::path root = ZEROULP_SOURCE_DIR;
    std::vector<source> found;
    for (const char* folder :
         {"src", "fuzz", "tools/zeroulp", "tools/checkpoint",
          "conformance/checks", "conformance/plugin"}) {
      for (const auto& file : fs::recursive_directory_iterator(root / folder)) {
        const auto kind = file.path().extension();
        if (kind != ".cpp" && kind != ".hpp") continue;
        const auto bytes = read_file(file.path());
        found.push_back(
            {fs::relative(file.path(), root).string(),
             {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
      }
    }
    return found;
  }();
  return all;
}

/// The files with `words` in them, `allowed` ones apart.
std::vector<std::string> files_with(std::string_view words,
                                    const std::vector<std::string>& allowed) {
  std::vector<std::string> found;
  for (const auto& s : sources()) {
    if (s.text.find(words) == std::string::npos) continue;
    if (std::count(allowed.begin(), allowed.end(), s.path) == 0) {
      found.push_back(s.path);
    }
  }
  return found;
}

using nobody = std::vector<std::string>;

TEST(Sources, AreThere) {
  EXPECT_GT(sources().size(), 200U);
  EXPECT_EQ(files_with("int main(", {}),
            (std::vector<std::string>{"tools/zeroulp/main.cpp"}));
}

TEST(Sources, ReadJsonWithALimitOfItsDepth) {
  const std::vector<std::string> reader = {"tools/zeroulp/json_input.cpp",
                                           "tools/checkpoint/files/json.cpp"};
  for (const char* way :
       {"json::parse(", "sax_parse(", "json::from_", "json::accept("}) {
    EXPECT_EQ(files_with(way, reader), nobody()) << way;
  }
}

TEST(Sources, DoNotThrowWhereStandardErrorIsClosed) {
  EXPECT_EQ(files_with("print(stderr", {}), nobody());
}

TEST(Sources, StartThreadsWhereFewerWillDo) {
  // The worker of a plug-in ends without its thread.
  const std::vector<std::string> starters = {"src/base/threads.hpp",
                                             "tools/zeroulp/plugin/worker.cpp"};
  for (const char* way : {"std::thread(", "std::jthread(", "std::async(",
                          "vector<std::thread>", "vector<std::jthread>"}) {
    EXPECT_EQ(files_with(way, starters), nobody()) << way;
  }
  for (const auto& s : sources()) {
    for (auto at = s.text.find("omp parallel"); at != s.text.npos;
         at = s.text.find("omp parallel", at + 1)) {
      auto end = at;
      do {
        end = s.text.find('\n', end + 1);
      } while (s.text[end - 1] == '\\');
      const auto pragma = s.text.substr(at, end - at);
      EXPECT_TRUE(pragma.find("num_threads(threads_for(") != pragma.npos ||
                  pragma.find("num_threads(startable_threads(") != pragma.npos)
          << s.path << ": " << pragma;
    }
  }
}

TEST(Sources, ReadAndWriteRegularFilesAlone) {
  // read_file, open_gzip and output_set; the kernel's files are none of ours.
  const std::vector<std::string> kernel = {
      "tools/zeroulp/bench/gemm.cpp", "tools/zeroulp/doctor/doctor.cpp",
      "tools/zeroulp/journal/file_lock.cpp", "tools/zeroulp/record.cpp"};
  for (const char* way :
       {"ifstream", "ofstream", "fopen(", "gzopen(", "freopen("}) {
    auto found = files_with(way, kernel);
    std::erase_if(found, [](const std::string& path) {
      return path.starts_with("fuzz/libfuzzer/");
    });
    EXPECT_EQ(found, nobody()) << way;
  }
}

}  // namespace
}  // namespace zeroulp
