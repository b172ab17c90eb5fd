#include "launcher/worker/cli/train_options.h"

#include "envtools/base/text.h"
#include "launcher/worker/cli/session_options.h"
#include "launcher/worker/train/interrupt.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {

const char* const kTrainUsage =
    R"(usage: pinstep-worker train [OPTION]...

Trains a small network on several ranks, each with its share of the data: a reference
for what a data-parallel rank must do, and a test of an allocation. Started once per
rank: srun pinstep-launch -- pinstep-worker train. Without a job it is alone.

data
  --data=DIR           MNIST's four files; Debian's dataset-fashion-mnist by default.
                       'synthetic' makes images up
  --images=N           train on the first N images only
  --test-images=N      and test on the first N
  --order=FILE         take the images in this order, a line per epoch
  --drop-last          leave out those that the ranks cannot share evenly
  --loaders=N          threads that put batches together ahead of time (1)
model
  --model=MODEL        mlp, cnn, or synthetic:PARAMETERS[/LAYERS], such as synthetic:25M/8 (mlp)
  --hidden=N,N,...     units of the hidden layers (mlp 256,128; cnn 128)
  --channels=N,N,...   that the cnn's convolutions make (16,32)
training
  --epochs=N           passes over the data (3)
  --steps=N            end after this many steps
  --batch=N            images per rank and step (64)
  --accumulate=N       batches of each rank to a step (1)
  --optimizer=WHICH    sgd or adamw (sgd)
  --lr=X               learning rate (sgd 0.05, adamw 0.001)
  --momentum=X         of sgd (0.9)
  --weight-decay=X     (sgd 0, adamw 0.01)
  --seed=N             of the initial weights and the order of the images (1)
  --virtual-shards=N   add up in the order of N shards: the same bits for every number of ranks that
                       divides N; --batch is that of a shard
ranks
  --store=WHICH        how ranks meet: tcp (MASTER_ADDR, MASTER_PORT), pmix, or auto (the default)
  --timeout=SECONDS    for each exchange between the ranks (60)
  --start-timeout=SECONDS  for all ranks to arrive (300)
  --bucket=BYTES       gradients are exchanged in pieces of this size (25M)
  --first-bucket=BYTES the first piece, smaller to start early (1M)
going on later
  --checkpoint=DIR     keep checkpoints in DIR, which rank 0 reaches, and go on from the newest
  --checkpoint-steps=N write one after every N steps, not only after each epoch
  --signal=NAME        a checkpoint, and the end, when this signal comes; when TERM comes in any case
  --requeue            and then rank 0 has Slurm queue the job again
output
  --save=DIR           each rank leaves its weights in DIR/rank-N
  --log=DIR            each rank leaves its events in DIR/rank-N.jsonl, for report
  --json               one JSON object per line
  --help, --version

Exit status: 0, 1 failed, 2 wrong usage, 3 another rank is gone or does not answer,
4 the ranks lost each other and nobody knows why, 5 this rank hung,
75 a signal came: run it again to go on.
)";

namespace {

bool read_loaders(std::string_view text, unsigned& value) {
  constexpr unsigned kMostLoaders = 64;
  const auto number = parse_number<unsigned>(text);
  if (!number || *number > kMostLoaders) return false;
  value = *number;
  return true;
}

bool read_optimizer(std::string_view text, OptimizerSettings::Kind& kind) {
  if (text != "sgd" && text != "adamw") return false;
  kind = text == "sgd" ? OptimizerSettings::Kind::sgd : OptimizerSettings::Kind::adamw;
  return true;
}

// What depends on model and optimizer where it is not given.
struct Given {
  std::vector<std::uint32_t> hidden;
  float rate = kNotGiven, decay = kNotGiven;

  static constexpr float kNotGiven = -1;
};

void settle(TrainSettings& train, const Given& given) {
  const bool is_sgd = train.optimizer.kind == OptimizerSettings::Kind::sgd;
  const auto or_default = [](float value, float usual) { return value == Given::kNotGiven ? usual : value; };
  // PyTorch's, but for SGD's rate, which has none.
  train.optimizer.rate = or_default(given.rate, is_sgd ? 0.05F : 0.001F);
  train.optimizer.decay = or_default(given.decay, is_sgd ? 0.0F : 0.01F);
  if (!given.hidden.empty())
    train.model.hidden = given.hidden;
  else if (train.model.kind == ModelSpec::Kind::cnn)
    train.model.hidden = {128};
}

}  // namespace

Result<TrainOptions> parse_train_options(const std::vector<std::string>& words) {
  TrainOptions o;
  Given given;
  bool drop_last = false;
  std::vector<Option> rows{
      text_option("--data", "a directory", o.data),
      count_option("--images", o.images),
      count_option("--test-images", o.test_images),
      count_option("--epochs", o.train.epochs),
      count_option("--steps", o.train.most_steps),
      rows_option("--batch", o.train.batch),
      layers_option("--hidden", given.hidden),
      layers_option("--channels", o.train.model.channels),
      choice_option("--model", "mlp, cnn or synthetic:PARAMETERS[/LAYERS]",
                    [&o](std::string_view text) { return read_model(text, o.train.model); }),
      text_option("--order", "a file", o.order),
      flag_option("--drop-last", drop_last),
      choice_option("--loaders", "a number from 0 to 64",
                    [&o](std::string_view text) { return read_loaders(text, o.train.loaders); }),
      count_option("--accumulate", o.train.accumulate),
      choice_option("--optimizer", "sgd or adamw",
                    [&o](std::string_view text) { return read_optimizer(text, o.train.optimizer.kind); }),
      real_option("--lr", given.rate),
      real_option("--momentum", o.train.optimizer.momentum),
      real_option("--weight-decay", given.decay),
      count_option("--virtual-shards", o.train.shards),
      count_option("--seed", o.train.seed, 0),
      bytes_option("--bucket", o.train.buckets.other),
      bytes_option("--first-bucket", o.train.buckets.first),
      text_option("--checkpoint", "a directory", o.keep.directory),
      count_option("--checkpoint-steps", o.keep.every),
      choice_option("--signal", "a signal's name, such as USR1",
                    [&o](std::string_view text) { return (o.keep.signal = parse_signal(text)).has_value(); }),
      flag_option("--requeue", o.requeue),
      text_option("--log", "a directory", o.log),
      text_option("--save", "a directory", o.save),
      flag_option("--json", o.json),
  };
  for (Option& row : session_options(o.session)) rows.push_back(std::move(row));
  PINSTEP_TRY(read_options(words, rows));
  o.train.tail = drop_last ? Tail::drop : Tail::repeat;
  settle(o.train, given);
  const bool keeps = !o.keep.directory.empty();
  if (!keeps && (o.keep.every > 0 || o.keep.signal || o.requeue))
    return fail(ErrorKind::usage,
                "--checkpoint-steps, --signal and --requeue are of no use without --checkpoint",
                "--checkpoint=DIR");
  return o;
}

}  // namespace pinstep::worker
