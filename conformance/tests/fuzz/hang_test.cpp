// Code of others that hangs, or alters its process, is not asked again and
// again: a campaign ends there, and shrinking has a budget.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "fuzz/engine/finding.hpp"

namespace zeroulp::fuzz {
namespace {

using conformance::call_failure;
using conformance::fault;

std::atomic<int> asked = 0;

template <fault Kind>
std::uint64_t fail(format, std::uint64_t, format, rounder, policy) {
  ++asked;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  throw call_failure(Kind, "failed so");
}

template <fault Kind>
campaign against() {
  campaign c;
  c.what = target::encode;
  c.cases = 1000;
  c.threads = 2;
  c.left = core_opponent();
  c.right = core_opponent();
  c.right.table.recode = fail<Kind>;
  asked = 0;
  return c;
}

class CampaignThat : public testing::TestWithParam<bool> {};

TEST_P(CampaignThat, HangsEndsThere) {
  campaign c = against<fault::hung>();
  c.keep_going = GetParam();
  const auto r = run(c);
  EXPECT_TRUE(r.broke_off);
  EXPECT_EQ(r.first_mismatch, 0u);
  EXPECT_EQ(r.failure, "failed so");
  EXPECT_EQ(r.cases, 1u);
  EXPECT_LE(asked, 2);
}

TEST_P(CampaignThat, AltersItsProcessEndsThere) {
  campaign c = against<fault::altered>();
  c.keep_going = GetParam();
  EXPECT_EQ(run(c).cases, 1u);
  EXPECT_LE(asked, 2);
}

INSTANTIATE_TEST_SUITE_P(EvenIfItKeepsGoing, CampaignThat, testing::Bool());

/// What a campaign says of a call that failed in case 0.
campaign_result failed_so(const std::string& how) {
  campaign_result r;
  at(r.seen, mismatch_kind::failure) = {1, 1, 0};
  r.failure = how;
  return r;
}

TEST(Shrinking, OfWhatHangsTakesOneTry) {
  const campaign c = against<fault::hung>();
  const auto found = investigate(c, failed_so(""), mismatch_kind::failure);
  EXPECT_EQ(found.where.failure, "failed so");
  EXPECT_LE(asked, 2);
}

TEST(Shrinking, OfWhatDoesNotFailAgainSaysHowItDid) {
  campaign c;
  c.what = target::encode;
  c.left = c.right = core_opponent();
  const auto found = investigate(c, failed_so("left 3 threads running"),
                                 mismatch_kind::failure);
  EXPECT_EQ(found.where.failure,
            "left 3 threads running, and did not when it was asked the same "
            "again");
}

}  // namespace
}  // namespace zeroulp::fuzz
