// What of a campaign counts: the kinds of differences, one finding each, and
// the requests that are answered.

#include "fuzz/engine/answers.hpp"

#include <gtest/gtest.h>

#include "conformance/tests/fuzz/any_case.hpp"
#include "fuzz/engine/campaign.hpp"
#include "fuzz/engine/finding.hpp"
#include "zeroulp/io.hpp"

namespace zeroulp::fuzz {
namespace {

using conformance::codes_in;
using conformance::codes_out;

constexpr const char* codes_alone[] = {"codes"};

request of_size(std::ptrdiff_t elements, bool answered = true) {
  return {0, answered, {elements, elements, 1}, codes_alone};
}

claim_answers answers_of(const std::vector<request>& requests) {
  claim_answers a;
  for (const request& r : requests) a.add(r);
  return a;
}

const std::vector<std::string> bins = {"zero", "one", "nan"};

/// Of a standard run.
std::string why_vacuous(const claim_answers& a,
                        const std::vector<std::string>& of) {
  return fuzz::why_vacuous(a, of, covered, covered);
}

TEST(WhyVacuous, HalfOfTheRequestsAreEnough) {
  EXPECT_EQ(why_vacuous({}, bins), "");
  EXPECT_EQ(why_vacuous(answers_of({of_size(1)}), bins), "");
  EXPECT_EQ(why_vacuous(answers_of({of_size(8), of_size(8, false)}), bins), "");
  EXPECT_EQ(
      why_vacuous(
          answers_of({of_size(8), of_size(8, false), of_size(8, false)}), bins),
      "2 of 3 requests refused");
  EXPECT_EQ(why_vacuous(answers_of({of_size(8, false)}), bins),
            "1 of 1 requests refused");
}

TEST(WhyVacuous, EveryBinThatWasAskedIsReached) {
  claim_answers a = answers_of({of_size(8), of_size(8)});
  a.cover(std::vector<std::uint64_t>{3, 0, 1}, false);
  a.cover(std::vector<std::uint64_t>{1, 0, 0}, true);
  EXPECT_EQ(why_vacuous(a, bins), "1 of 2 bins not reached: nan");
  a.cover(std::vector<std::uint64_t>{0, 0, 1}, true);
  EXPECT_EQ(why_vacuous(a, bins), "");
}

TEST(WhyVacuous, FewerCasesThanAStandardRunReachNotEveryBin) {
  const auto a = answers_of({of_size(8), of_size(8)});
  EXPECT_EQ(fuzz::why_vacuous(a, bins, 19, 20),
            "19 of the 20 cases of a standard run, which reach all bins");
  EXPECT_EQ(fuzz::why_vacuous(a, bins, 20, 20), "");
  EXPECT_EQ(fuzz::why_vacuous(a, bins, 21, 20), "");
  EXPECT_EQ(fuzz::why_vacuous({}, bins, 1, 20), "");  // nothing was asked
}

TEST(WhyVacuous, SizeDoesNotDecideWhatIsAnswered) {
  // Four answered, up to 64 elements, and so many refused.
  const auto why = [](const std::vector<std::ptrdiff_t>& refused) {
    std::vector<request> all(3, of_size(1));
    all.push_back(of_size(64));
    for (const auto size : refused) all.push_back(of_size(size, false));
    return why_vacuous(answers_of(all), bins);
  };
  EXPECT_EQ(why({63, 65, 65}), "");
  EXPECT_EQ(why({65, 65}), "");  // by chance
  EXPECT_EQ(why({65, 65, 65}),
            "3 of 7 requests refused; it answers only small sizes: up to 64 "
            "elements, of up to 65 asked");
  EXPECT_EQ(why({8, 8, 900}),
            "3 of 7 requests refused; it answers only small sizes: up to 64 "
            "elements, of up to 900 asked");
}

TEST(ClaimAnswers, OfPartsAreThoseOfTheWhole) {
  const std::vector<request> all = {of_size(4), of_size(9, false), of_size(7),
                                    of_size(3, false), of_size(5)};
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(cut);
    all_answers sum;
    join(sum, {answers_of({all.begin(), at})});
    join(sum, {answers_of({at, all.end()})});
    const claim_answers whole = answers_of(all);
    EXPECT_EQ(sum[0].answered, whole.answered);
    EXPECT_EQ(sum[0].refused, whole.refused);
    for (std::size_t i = 0; i < whole.sizes.size(); ++i) {
      EXPECT_EQ(sum[0].sizes[i].most_asked, whole.sizes[i].most_asked);
      EXPECT_EQ(sum[0].sizes[i].most_answered, whole.sizes[i].most_answered);
      EXPECT_EQ(sum[0].sizes[i].least_refused, whole.sizes[i].least_refused);
    }
  }
}

/// An opponent that makes codes of quantize as the core does, but refuses every
/// other request, by its first element.
void half_quantize(const quantizer& q, codes_in x, codes_out codes,
                   codes_out scales) {
  core_opponent().table.quantize(q, x, codes, scales);
  if (x.rows == 0 || x.cols == 0) return;
  request_log::tell({0, true, {x.rows * x.cols, x.rows, x.cols}, codes_alone});
  if (x(0, 0) % 2 == 0) request_log::refuse_last();
}

campaign half_of_quantize() {
  campaign c;
  c.what = target::quantize;
  c.cases = 500;
  c.left = core_opponent();
  c.right = core_opponent();
  c.right.table.quantize = half_quantize;
  c.right.may_refuse = true;
  return c;
}

TEST(Campaign, CountsWhatBothComputed) {
  campaign c = half_of_quantize();
  const auto r = run(c);
  std::uint64_t elements = 0;
  std::uint64_t answered = 0;
  for (std::uint64_t n = 0; n < c.cases; ++n) {
    const auto p = case_of(c, n);
    const auto& x = p.in[0].words;
    if (x.empty() || x[0] % 2 == 0) continue;
    ++answered;
    elements += x.size();
  }
  EXPECT_EQ(r.elements, elements);
  ASSERT_EQ(r.claims.size(), 1u);
  EXPECT_EQ(r.claims[0].answered, answered);
  EXPECT_EQ(r.cases, c.cases);
  EXPECT_GT(r.claims[0].refused, 0u);
  EXPECT_EQ(r.mismatches, 0u);
  // All of it is of other cases than those of somebody who answers the others.
  c.right.table.quantize = [](const quantizer& q, codes_in x, codes_out codes,
                              codes_out scales) {
    core_opponent().table.quantize(q, x, codes, scales);
    if (x.rows == 0 || x.cols == 0) return;
    request_log::tell({0, x(0, 0) % 2 == 0, {}, codes_alone});
  };
  EXPECT_NE(run(c).digest, r.digest);
}

TEST(Campaign, CountsNothingOfWhatIsRefused) {
  campaign c = half_of_quantize();
  c.right.table.quantize = [](const quantizer& q, codes_in x, codes_out codes,
                              codes_out scales) {
    core_opponent().table.quantize(q, x, codes, scales);
    request_log::tell({0, false, {}, codes_alone});
  };
  const auto r = run(c);
  EXPECT_EQ(r.elements, 0u);
  EXPECT_EQ(r.digest, 0u);
  EXPECT_EQ(r.claims.at(0).refused, c.cases);
  for (const auto hits : r.bins) EXPECT_EQ(hits, 0u);
}

using step_function = std::uint64_t (*)(const path&, const std::uint64_t*,
                                        const std::uint64_t*, int,
                                        std::uint64_t);

std::uint64_t core_step(const path& p, const std::uint64_t* a,
                        const std::uint64_t* b, int count, std::uint64_t c) {
  return core_opponent().table.step(p, a, b, count, c);
}

std::uint64_t adding_c_last(const path& p, const std::uint64_t* a,
                            const std::uint64_t* b, int count,
                            std::uint64_t c) {
  static const auto last = parse_opponent("mutant:step.c_last", target::step);
  return last.table.step(p, a, b, count, c);
}

/// What another step makes, but that NaN is negative.
template <step_function Step>
std::uint64_t with_minus_nan(const path& p, const std::uint64_t* a,
                             const std::uint64_t* b, int count,
                             std::uint64_t c) {
  const auto d = Step(p, a, b, count, c);
  const format f = p.acc.stored;
  return decode(f, d).is_nan() ? d | f.sign_mask() : d;
}

/// Two faults in one.
campaign two_faults() {
  campaign c;
  c.what = target::step;
  c.left = core_opponent();
  c.right = core_opponent();
  c.right.name = "two_faults";
  c.right.table.step = with_minus_nan<adding_c_last>;
  return c;
}

TEST(Campaign, GoesOnForOtherKindsOfDifferences) {
  const campaign c = two_faults();
  const auto r = run(c);
  const auto& values = at(r.seen, mismatch_kind::values);
  const auto& nans = at(r.seen, mismatch_kind::nan_bits);
  ASSERT_TRUE(values.first && nans.first);
  EXPECT_EQ(*r.first_mismatch, std::min(*values.first, *nans.first));
  EXPECT_LE(r.cases, *r.first_mismatch + c.further + 64);
  const auto found = investigate(c, r);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, mismatch_kind::values);
  EXPECT_EQ(found[1].kind, mismatch_kind::nan_bits);
  for (const finding& f : found) {
    const auto kind =
        kind_at(run(c.left, f.shrunk), run(c.right, f.shrunk), 0, 0);
    EXPECT_EQ(kind, f.kind);
  }
}

TEST(Campaign, DoesNotCountWhatIsIgnored) {
  campaign c = two_faults();
  c.cases = 1000;
  c.keep_going = true;
  const auto all = run(c);
  c.ignored.set(static_cast<std::size_t>(difference_class::nan_bits));
  const auto some = run(c);
  EXPECT_EQ(some.mismatches, at(all.seen, mismatch_kind::values).cases);
  EXPECT_EQ(at(some.seen, mismatch_kind::nan_bits).elements,
            at(all.seen, mismatch_kind::nan_bits).elements);
  const auto found = investigate(c, some);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, mismatch_kind::values);
  // The NaNs of the left side all count as one: who has others has the digest,
  // too.
  campaign turned = c;
  turned.left.table.step = with_minus_nan<core_step>;
  EXPECT_EQ(run(turned).digest, some.digest);
  turned.ignored.reset();
  EXPECT_NE(run(turned).digest, all.digest);
}

TEST(NameCauses, AnotherKindDoesNotHideAFault) {
  const campaign c = two_faults();
  const auto found = investigate(c, run(c));
  ASSERT_EQ(found.at(0).kind, mismatch_kind::values);
  ASSERT_FALSE(found[0].causes.empty());
  EXPECT_EQ(found[0].causes[0].name, "mutant:step.c_last");
}

TEST(KindAt, OfWhatIsDecodedIsThatOfTheCode) {
  const auto decoded = [](std::uint64_t code) {
    problem p;
    p.what = target::decode;
    p.with.from = e4m3;
    p.in = {matrix("x", e4m3, 1, 1, code)};
    return run(core_opponent(), p);
  };
  const auto differs = [&](std::uint64_t a, std::uint64_t b, mismatch_kind k) {
    const auto x = decoded(a);
    const auto y = decoded(b);
    EXPECT_TRUE(first_difference(x, y, only(k))) << a << " " << b;
    EXPECT_FALSE(first_difference(x, y, ~only(k))) << a << " " << b;
  };
  differs(0x38, 0x39, mismatch_kind::values);
  differs(0x38, 0xb8, mismatch_kind::values);
  differs(0x7f, 0x7e, mismatch_kind::nan);
  differs(0x7f, 0xff, mismatch_kind::nan_bits);
  differs(0x00, 0x80, mismatch_kind::zero_sign);
}

}  // namespace
}  // namespace zeroulp::fuzz
