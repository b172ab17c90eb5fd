#include "launcher/worker/cli/train_options.h"

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
  --data=DIR           MNIST's four files; Debian's dataset-fashion-mnist by default
  --images=N           train on the first N images only
  --test-images=N      and test on the first N
training
  --epochs=N           passes over the data (3)
  --steps=N            end after this many steps
  --batch=N            images per rank and step (64)
  --hidden=N,N,...     units of the hidden layers (256,128)
  --lr=X               learning rate (0.05)
  --momentum=X         (0.9)
  --weight-decay=X     (0)
  --seed=N             of the initial weights and the order of the images (1)
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

Result<TrainOptions> parse_train_options(const std::vector<std::string>& words) {
  TrainOptions o;
  std::vector<Option> rows{
      text_option("--data", "a directory", o.data),
      count_option("--images", o.images),
      count_option("--test-images", o.test_images),
      count_option("--epochs", o.train.epochs),
      count_option("--steps", o.train.most_steps),
      rows_option("--batch", o.train.batch),
      layers_option("--hidden", o.train.hidden),
      real_option("--lr", o.train.rate),
      real_option("--momentum", o.train.momentum),
      real_option("--weight-decay", o.train.decay),
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
  const bool keeps = !o.keep.directory.empty();
  if (!keeps && (o.keep.every > 0 || o.keep.signal || o.requeue))
    return fail(ErrorKind::usage,
                "--checkpoint-steps, --signal and --requeue are of no use without --checkpoint",
                "--checkpoint=DIR");
  return o;
}

}  // namespace pinstep::worker
