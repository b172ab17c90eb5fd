#include "launcher/worker/cli/train_output.h"

#include <gtest/gtest.h>

#include <csignal>

namespace pinstep::worker {
namespace {

EpochReport epoch() {
  EpochReport report;
  report.epoch = 2;
  report.steps = 10;
  report.loss = 0.5;
  report.train_accuracy = 0.75;
  report.test_loss = 0.25;
  report.accuracy = 0.8765;
  report.samples = 640;
  report.seconds = 0.5;
  return report;
}

TEST(TrainOutput, LinesForPeople) {
  EXPECT_EQ(line_of(Start{1, "none", "cpu", 0, "mlp", "784-10", "sgd", 0, 7850, 1, 1}, Form::text),
            "1 rank on cpu, transport none: mlp 784-10, 7850 parameters in 1 bucket, 1 image\n");
  EXPECT_EQ(
      line_of(Start{2, "gloo", "cpu", 0, "cnn", "2x2-c1-3", "sgd", 4, 25, 1, 8}, Form::text),
      "2 ranks on cpu, transport gloo: cnn 2x2-c1-3, 25 parameters in 1 bucket, 8 images, 4 virtual shards\n");
  EXPECT_EQ(line_of(epoch(), Form::text), "epoch 2  loss 0.5000  accuracy 0.8765  1280 samples/s\n");
  EXPECT_EQ(line_of_end("abc", "", Form::text), "weights abc\n");
  EXPECT_EQ(line_of_end("abc", "out", Form::text), "weights abc, saved in out\n");
}

TEST(TrainOutput, CheckpointsForPeople) {
  EXPECT_EQ(line_of(Resumed{"c/step-1", {2, 640, 1940}, 4, {"'c/step-2' is damaged"}, {}}, Form::text),
            "'c/step-2' is damaged; the one before is used\n"
            "goes on from c/step-1, written by 4 ranks: epoch 2, 640 images done\n");
  EXPECT_EQ(line_of(Resumed{"c/step-1", {2, 640, 1}, 4, {}, {"batch 8 instead of 4", "lr 1 instead of 2"}},
                    Form::text),
            "goes on from c/step-1, written by 4 ranks: epoch 2, 640 images done; "
            "with batch 8 instead of 4, lr 1 instead of 2\n");
  EXPECT_EQ(line_of(Kept{"c/step-1", {2, 640, 1}, 0.5, 0}, Form::text), "checkpoint c/step-1\n");
  EXPECT_EQ(line_of(Kept{"c/step-1", {2, 640, 1}, 0.5, SIGUSR1}, Form::text),
            "stopped by USR1 after 1 step, checkpoint c/step-1\n");
}

TEST(TrainOutput, LinesForPrograms) {
  EXPECT_EQ(
      line_of(Start{2, "gloo", "cpu", 1, "mlp", "784-10", "adamw", 4, 7850, 3, 600}, Form::json),
      R"({"event":"start","ranks":2,"transport":"gloo","device":"cpu","threads":1,"model":"mlp",)"
      R"("layers":"784-10","optimizer":"adamw","virtual_shards":4,"parameters":7850,"buckets":3,"images":600,)"
      R"("restart":0})"
      "\n");
  EXPECT_EQ(line_of(epoch(), Form::json),
            R"({"event":"epoch","epoch":2,"steps":10,"loss":0.5,"train_accuracy":0.75,"test_loss":0.25,)"
            R"("accuracy":0.8765,"samples":640,"seconds":0.5,"samples_per_second":1280.0})"
            "\n");
  EXPECT_EQ(line_of_end("abc", "out", Form::json), R"({"event":"end","weights":"abc","saved":"out"})"
                                                   "\n");
}

}  // namespace
}  // namespace pinstep::worker
