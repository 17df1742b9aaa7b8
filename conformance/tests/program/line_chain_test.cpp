// Lines that follow from one another: which changes are found, and which is
// not.

#include "tools/zeroulp/journal/line_chain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "zeroulp/io.hpp"

namespace zeroulp::program {
namespace {

using lines = std::vector<std::string>;

lines sealed(const lines& contents, int version = journal_version) {
  line_chain chain(version);
  lines all;
  for (const auto& content : contents) all.push_back(chain.seal(content));
  return all;
}

/// The index of the first line that is refused.
std::optional<std::size_t> first_refused(const lines& all,
                                         int version = journal_version) {
  line_chain chain(version);
  for (std::size_t i = 0; i < all.size(); ++i) {
    try {
      (void)chain.open(all[i]);
    } catch (const input_error&) {
      return i;
    }
  }
  return {};
}

const lines contents = {"{\"a\":0}", "{\"a\":1}", "{\"a\":2}", "{\"a\":3}"};

TEST(LineChain, IsSha256OfTheDigestBeforeAndTheContent) {
  // printf '{"a":0}' | sha256sum, then that digest and {"a":1}
  EXPECT_EQ(
      sealed(contents)[0],
      "{\"a\":0,\"sha256\":"
      "\"45b619e97b5d9b029af4522e9ffb02fa99ff2bf226c82ee22a7cc10269a557e8\"}");
  EXPECT_EQ(
      sealed(contents)[1],
      "{\"a\":1,\"sha256\":"
      "\"7fba26ddeb74d0f8c79f6633f5a7f6f1f8f53f0b5e151a083f200d7c162ae5f1\"}");
  EXPECT_EQ(sealed({"{\"a\":0}"}, 2)[0], "{\"a\":0,\"crc32\":\"4f009dee\"}");
}

TEST(LineChain, OpensWhatItSealed) {
  for (const int version : {2, 3}) {
    line_chain chain(version);
    for (std::size_t i = 0; i < contents.size(); ++i) {
      EXPECT_EQ(chain.open(sealed(contents, version)[i]), contents[i]);
    }
  }
}

TEST(LineChain, GoesOnBehindWhatItOpened) {
  line_chain chain(journal_version);
  const auto all = sealed(contents);
  for (std::size_t i = 0; i < 3; ++i) (void)chain.open(all[i]);
  EXPECT_EQ(chain.seal(contents[3]), all[3]);
}

TEST(LineChain, FindsEveryByteThatChanged) {
  for (const int version : {2, 3}) {
    const auto all = sealed(contents, version);
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t at = 0; at < all[i].size(); ++at) {
        auto changed = all;
        changed[i][at] = static_cast<char>(changed[i][at] ^ 1);
        EXPECT_EQ(first_refused(changed, version), i);
      }
      auto cut = all;
      cut[i].pop_back();
      EXPECT_EQ(first_refused(cut, version), i);
    }
  }
}

TEST(LineChain, FindsALineThatIsMissingMovedOrPutIn) {
  const auto all = sealed(contents);
  auto missing = all;
  missing.erase(missing.begin() + 1);
  EXPECT_EQ(first_refused(missing), 1U);
  auto first_missing = all;
  first_missing.erase(first_missing.begin());
  EXPECT_EQ(first_refused(first_missing), 0U);
  auto moved = all;
  std::swap(moved[1], moved[2]);
  EXPECT_EQ(first_refused(moved), 1U);
  auto twice = all;
  twice.insert(twice.begin() + 2, all[1]);
  EXPECT_EQ(first_refused(twice), 2U);
  // By checksums alone, none of them is.
  EXPECT_EQ(first_refused(sealed({contents[0], contents[2]}, 2), 2),
            std::nullopt);
}

TEST(LineChain, FindsALineSealedAnewByTheNext) {
  auto other = contents;
  other[1] = "{\"a\":9}";
  auto all = sealed(contents);
  all[1] = sealed(other)[1];
  EXPECT_EQ(first_refused(all), 2U);
  // No signature: all of them anew are another journal.
  EXPECT_EQ(first_refused(sealed(other)), std::nullopt);
  EXPECT_NE(sealed(other).back(), sealed(contents).back());
}

TEST(LineChain, RefusesWhatHasNoDigest) {
  for (const char* text : {"", "}", "{\"a\":0}", "[]"}) {
    EXPECT_EQ(first_refused({text}), 0U);
    EXPECT_EQ(first_refused({text}, 2), 0U);
  }
}

}  // namespace
}  // namespace zeroulp::program
