#include "launcher/worker/cli/options.h"

#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing_support::FailsWith;
using testing_support::Succeeds;

TEST(WorkerOptions, AreReadInBothForms) {
  const auto options = parse_worker_options(
      {"train", "--epochs=2", "--batch", "32", "--lr=0.25", "--hidden=7,8", "--store", "pmix", "--timeout=2.5",
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

TEST(WorkerOptions, TellWhatIsWrong) {
  const struct {
    std::vector<std::string> arguments;
    const char* cause;
    const char* hint;
  } cases[] = {
      {{}, "nothing to do", "pinstep-worker train"},
      {{"run"}, "'run' is neither a verb nor an option", "the verb is train"},
      {{"train", "train"}, "'train' is neither a verb nor an option", "the verb is train"},
      {{"train", "--epoch=2"}, "there is no option '--epoch'", "did you mean '--epochs'?"},
      {{"train", "--nonsense"}, "there is no option '--nonsense'", "pinstep-worker --help"},
      {{"train", "--batch"}, "option '--batch' needs a value", ""},
      {{"train", "--batch=0"}, "'--batch' wants a number from 1 to 65536, not '0'", ""},
      {{"train", "--batch=70000"}, "'--batch' wants a number from 1 to 65536, not '70000'", ""},
      {{"train", "--lr=-1"}, "'--lr' wants a number such as 0.05, not '-1'", ""},
      {{"train", "--lr=nan"}, "'--lr' wants a number such as 0.05, not 'nan'", ""},
      {{"train", "--hidden=5,"}, "'--hidden' wants units of each layer, such as 256,128, not '5,'", ""},
      {{"train", "--timeout=0"}, "'--timeout' wants seconds, from 0.1, not '0'", ""},
      {{"train", "--bucket=1G"}, "'--bucket' wants bytes, such as 25M, not '1G'", ""},
      {{"train", "--store=file"}, "'--store' wants auto, tcp or pmix, not 'file'", ""},
      {{"train", "--data="}, "'--data' wants a directory, not ''", ""},
  };
  for (const auto& [arguments, cause, hint] : cases)
    EXPECT_THAT(parse_worker_options(arguments), FailsWith(ErrorKind::usage, cause, hint));
}

TEST(WorkerOptions, HelpAndVersionWinOverTheRest) {
  EXPECT_EQ(parse_worker_options({"--help"})->action, WorkerOptions::Action::help);
  EXPECT_EQ(parse_worker_options({"train", "--version", "--nonsense"})->action, WorkerOptions::Action::version);
}

}  // namespace
}  // namespace pinstep::worker
