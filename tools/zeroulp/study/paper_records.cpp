#include "tools/zeroulp/study/paper_records.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/zeroulp/json_input.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

[[noreturn]] void refuse_record(const std::filesystem::path& file,
                                std::string_view what) {
  throw input_error(
      fmt::format("{}: {}: use the committed record", file.string(), what));
}

/// A file of the records, or null where it is not there.
json read_if_there(const std::filesystem::path& file) {
  std::error_code none;
  if (!std::filesystem::exists(file, none)) return nullptr;
  auto value = read_json(file, "use the committed record");
  if (!value.is_object()) refuse_record(file, "no JSON object");
  return value;
}

study::paper::bench_record read_bench(const std::filesystem::path& file,
                                      const json& value) {
  study::paper::bench_record record{file.string(), "", {}};
  record.device = value.at("platform").at("device").get<std::string>();
  for (const auto& row : value.at("rows")) {
    if (row.value("unit", "") != "TFLOP/s" || !row.contains("value")) continue;
    record.rows.push_back(
        {row.at("name").get<std::string>(), row.at("size").get<std::string>(),
         row.at("who").get<std::string>(), row.at("value").get<double>()});
  }
  return record;
}

/// The reports of campaigns in `folder`, by name.
std::vector<std::filesystem::path> parity_files(
    const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (entry.path().string().ends_with("parity.json")) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

study::paper::campaign_record read_campaign(const std::filesystem::path& file,
                                            const json& value) {
  study::paper::campaign_record record;
  record.file = file.string();
  record.size = value.at("size").get<std::string>();
  record.data = value.value("data", "");
  record.steps = value.at("steps").get<std::int64_t>();
  record.shared = value.value("shared", std::int64_t{0});
  record.bound = value.at("bound").get<double>();
  for (const auto& row : value.at("own")) {
    study::paper::campaign_arm arm;
    arm.arm = row.at("arm").get<std::string>();
    if (row.contains("verdict")) {
      arm.verdict = row.at("verdict").get<std::string>();
      arm.mean = row.at("mean").get<double>();
      arm.low = row.at("low").get<double>();
      arm.high = row.at("high").get<double>();
    }
    record.arms.push_back(std::move(arm));
  }
  const auto& sensitive = value.at("is_sensitive");
  if (sensitive.is_boolean()) record.is_sensitive = sensitive.get<bool>();
  return record;
}

}  // namespace

study::paper::evidence read_evidence(const std::filesystem::path& records) {
  study::paper::evidence e;
  auto file = records;
  try {
    for (const char* name : {"perf_h200.json", "perf_h100.json"}) {
      file = records / name;
      const auto value = read_if_there(file);
      if (!value.is_null()) e.bench.push_back(read_bench(file, value));
    }
    file = records / "train/campaign";
    e.campaign_folder = file.string();
    for (const auto& report : parity_files(file)) {
      file = report;
      e.campaigns.push_back(read_campaign(file, read_if_there(file)));
    }
  } catch (const json::exception& bad) {
    refuse_record(file, bad.what());
  }
  return e;
}

}  // namespace zeroulp::program
