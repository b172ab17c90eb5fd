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
  EXPECT_EQ(options->train.optimizer.rate, 0.25F);
  EXPECT_EQ(options->train.model.hidden, (std::vector<std::uint32_t>{7, 8}));
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

TEST(TrainOptions, OfTheModelAndItsTraining) {
  const auto options = parse_train_options(
      {"--model=cnn", "--channels=8,16,32", "--optimizer=adamw", "--accumulate=4", "--virtual-shards=8",
       "--loaders=0", "--drop-last", "--order=file", "--momentum=0.5", "--data=synthetic"});
  ASSERT_THAT(options, Succeeds());
  const TrainSettings& train = options->train;
  EXPECT_EQ(train.model.kind, ModelSpec::Kind::cnn);
  EXPECT_EQ(train.model.channels, (std::vector<std::uint32_t>{8, 16, 32}));
  EXPECT_EQ(train.optimizer.kind, OptimizerSettings::Kind::adamw);
  EXPECT_EQ(train.accumulate, 4U);
  EXPECT_EQ(train.shards, 8U);
  EXPECT_EQ(train.loaders, 0U);
  EXPECT_EQ(train.tail, Tail::drop);
  EXPECT_EQ(options->order, "file");
  EXPECT_EQ(train.optimizer.momentum, 0.5F);
  EXPECT_EQ(options->data, "synthetic");
}

TEST(TrainOptions, DefaultsDependOnModelAndOptimizer) {
  using Words = std::vector<std::string>;
  const struct {
    Words words;
    float rate, decay;
    std::vector<std::uint32_t> hidden;
  } cases[] = {
      {{}, 0.05F, 0, {256, 128}},
      {{"--optimizer=adamw"}, 0.001F, 0.01F, {256, 128}},
      {{"--weight-decay=0", "--optimizer=adamw", "--lr=0.5"}, 0.5F, 0, {256, 128}},
      {{"--lr=0", "--model=cnn"}, 0, 0, {128}},
      {{"--hidden=7", "--model=cnn"}, 0.05F, 0, {7}},
  };
  for (const auto& [words, rate, decay, hidden] : cases) {
    const auto options = parse_train_options(words);
    ASSERT_THAT(options, Succeeds());
    EXPECT_EQ(options->train.optimizer.rate, rate);
    EXPECT_EQ(options->train.optimizer.decay, decay);
    EXPECT_EQ(options->train.model.hidden, hidden);
  }
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
      {{"--channels=a"}, "'--channels' wants units of each layer, such as 256,128, not 'a'", ""},
      {{"--model=rnn"}, "'--model' wants mlp, cnn or synthetic:PARAMETERS[/LAYERS], not 'rnn'", ""},
      {{"--optimizer=adam"}, "'--optimizer' wants sgd or adamw, not 'adam'", ""},
      {{"--loaders=65"}, "'--loaders' wants a number from 0 to 64, not '65'", ""},
      {{"--accumulate=0"}, "'--accumulate' wants a number from 1, not '0'", ""},
      {{"--store=file"}, "'--store' wants auto, tcp or pmix, not 'file'", ""},
  };
  for (const auto& [words, cause, hint] : cases)
    EXPECT_THAT(parse_train_options(words), FailsWith(ErrorKind::usage, cause, hint));
}

}  // namespace
}  // namespace pinstep::worker
