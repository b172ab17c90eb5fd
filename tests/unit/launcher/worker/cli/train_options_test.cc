#include "launcher/worker/cli/train_options.h"

#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing_support::FailsWith;
using testing_support::Succeeds;

TEST(TrainOptions, AreRead) {
  const auto options = parse_train_options(
      {"--epochs=2", "--batch", "32", "--lr=0.25", "--hidden=7,8", "--store", "pmix", "--timeout=2.5",
       "--bucket=3K", "--first-bucket=2M", "--json", "--save", "out", "--seed=0", "--steps=9", "--images=10"});
  ASSERT_THAT(options, Succeeds());
  EXPECT_EQ(options->train.epochs, 2U);
  EXPECT_EQ(options->train.batch, 32U);
  EXPECT_EQ(options->train.rate, 0.25F);
  EXPECT_EQ(options->train.hidden, (std::vector<std::uint32_t>{7, 8}));
  EXPECT_EQ(options->session.store, StoreKind::pmix);
  EXPECT_EQ(options->session.deadline, Milliseconds(2500));
  EXPECT_EQ(options->train.buckets.other, 3072U);
  EXPECT_EQ(options->train.buckets.first, 2U << 20);
  EXPECT_TRUE(options->json);
  EXPECT_EQ(options->save, "out");
  EXPECT_EQ(options->train.seed, 0U);
  EXPECT_EQ(options->train.most_steps, 9U);
  EXPECT_EQ(options->images, 10U);
}

TEST(TrainOptions, TellWhatIsWrong) {
  const struct {
    std::vector<std::string> words;
    const char* cause;
    const char* hint;
  } cases[] = {
      {{"train"}, "'train' is no option", "--help lists the options"},
      {{"--epoch=2"}, "there is no option '--epoch'", "did you mean '--epochs'?"},
      {{"--batch=0"}, "'--batch' wants a number from 1 to 65536, not '0'", ""},
      {{"--batch=70000"}, "'--batch' wants a number from 1 to 65536, not '70000'", ""},
      {{"--hidden=5,"}, "'--hidden' wants units of each layer, such as 256,128, not '5,'", ""},
      {{"--store=file"}, "'--store' wants auto, tcp or pmix, not 'file'", ""},
  };
  for (const auto& [words, cause, hint] : cases)
    EXPECT_THAT(parse_train_options(words), FailsWith(ErrorKind::usage, cause, hint));
}

}  // namespace
}  // namespace pinstep::worker
