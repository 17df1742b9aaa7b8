#include "tools/zeroulp/record.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>

#include "src/base/sha256.hpp"
#include "tools/zeroulp/cli.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

constexpr const char* this_program = "/proc/self/exe";

}  // namespace

json to_json(const platform_text& platform) {
  json j = json::object();
  for (const auto& [name, value] : platform) j[name] = value;
  return j;
}

record_file::record_file(const std::string& file) : file_(file) {
  if (wanted()) set_.expect({file_});
}

void record_file::write(const std::string& record) {
  if (!wanted()) return;
  set_.add(file_, record);
  set_.commit();
}

json sources_as_json(std::string_view set) {
  std::map<std::string, std::string> sources;
  std::istringstream names{std::string(set)};
  for (std::string name; names >> name;) {
    std::istringstream lines(sources_of(name));
    for (std::string hash, path; lines >> hash >> path;) sources[path] = hash;
  }
  return sources;
}

std::string digest_of_program() {
  return sha256_hex(as_text(read_file(this_program)));
}

std::string to_record(const std::string& command, const std::string& set,
                      const platform_text& platform, const json& results) {
  json record{{"command", command},
              {"depends_on", set},
              {"platform", to_json(platform)},
              {"commit", commit_of_sources()},
              {"program", digest_of_program()}};
  record.update(results);
  record["sources"] = sources_as_json(set);
  std::string text;
  for (const auto& [key, value] : record.items()) {
    text += fmt::format("{}\"{}\": ", text.empty() ? "{\n  " : ",\n  ", key);
    const bool is_named = key == "sources";
    if (!is_named && !value.is_array()) {
      text += value.dump();
      continue;
    }
    std::string inner;
    for (const auto& [name, element] : value.items()) {
      inner += inner.empty() ? "\n    " : ",\n    ";
      if (is_named) inner += json(name).dump() + ": ";
      inner += element.dump();
    }
    text += fmt::format("{}{}\n  {}", is_named ? '{' : '[', inner,
                        is_named ? '}' : ']');
  }
  return text + "\n}\n";
}

cli::option* add_record(cli::app* command, std::string& file) {
  return command->add_option(
      "--record", file, "file for what conformance/records/ keeps of the run");
}

platform_text host_platform() {
  platform_text platform;
#ifdef __clang__
  platform.emplace_back("compiler", __VERSION__);
#else
  platform.emplace_back("compiler", "g++ " __VERSION__);
#endif
  std::ifstream processors("/proc/cpuinfo");
  for (std::string line; std::getline(processors, line);) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) != 0 || colon == std::string::npos)
      continue;
    platform.emplace_back("processor", line.substr(colon + 2));
    break;
  }
  return platform;
}

}  // namespace zeroulp::program
