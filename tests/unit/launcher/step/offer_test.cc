#include "launcher/step/offer.h"

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {

inline void PrintTo(const Offer& offer, std::ostream* out) { *out << offer.text(); }

namespace {

using testing::Optional;
using testing_support::Random;
using testing_support::shown;

TEST(OfferText, IsWhatItsHeaderShows) {
  EXPECT_EQ((Offer{"n1", {"10.0.0.1", "fe80::1%eth0"}, 4711, true, "n2"}.text()),
            "1;node=n1;addr=10.0.0.1|fe80::1%25eth0;port=4711;entry=1;first=n2");
  EXPECT_EQ((Offer{"login", {}, 0, false, ""}.text()), "1;node=login;addr=;port=0;entry=0;first=");
}

TEST(OfferParse, GivesTheOfferBack) {
  EXPECT_THAT(Offer::parse("1;node=n1;addr=10.0.0.1|fe80::1%25eth0;port=4711;entry=1;first=n2"),
              Optional(Offer{"n1", {"10.0.0.1", "fe80::1%eth0"}, 4711, true, "n2"}));
  EXPECT_THAT(Offer::parse("1;node=login;addr=;port=0;entry=0;first="),
              Optional(Offer{"login", {}, 0, false, ""}));
}

TEST(OfferParse, RefusesEverythingElse) {
  for (const std::string_view text : {
           "",
           "1",
           "2;node=n1;addr=;port=0;entry=0;first=",
           "1;node=n1;addr=;port=0;entry=0",
           "1;node=n1;addr=;port=0;entry=0;first=;",
           "1;node=n1;addr=;port=0;entry=0;first=;more=1",
           "1;node=;addr=;port=0;entry=0;first=",
           "1;node=%;addr=;port=0;entry=0;first=",
           "1;addr=;node=n1;port=0;entry=0;first=",
           "1;node=n1;addr=|;port=0;entry=0;first=",
           "1;node=n1;addr=a||b;port=0;entry=0;first=",
           "1;node=n1;addr=a|%2;port=0;entry=0;first=",
           "1;node=n1;addr=;port=;entry=0;first=",
           "1;node=n1;addr=;port=65536;entry=0;first=",
           "1;node=n1;addr=;port=-1;entry=0;first=",
           "1;node=n1;addr=;port=0x1;entry=0;first=",
           "1;node=n1;addr=;port=0;entry=;first=",
           "1;node=n1;addr=;port=0;entry=2;first=",
           "1;node=n1;addr=;port=0;entry=0;first=%g0",
       })
    EXPECT_EQ(Offer::parse(text), std::nullopt) << shown(text);
}

TEST(Offer, IsTheSameAfterItsTextWasParsed) {
  Random random;
  for (int i = 0; i < 1000; ++i) {
    Offer offer;
    offer.node = random.bytes(1, 8);
    for (std::size_t n = random.below(4); n > 0; --n) offer.addresses.push_back(random.bytes(1, 8));
    offer.port = static_cast<std::uint16_t>(random.below(65536));
    offer.entry = random.one_in(2);
    offer.first = random.bytes(0, 8);
    ASSERT_THAT(Offer::parse(offer.text()), Optional(offer)) << random << shown(offer.text());
  }
}

}  // namespace
}  // namespace pinstep
