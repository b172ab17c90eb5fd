#include "launcher/allowed/visible.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing_support::FailsWith;
using testing_support::Holds;

using Gpus = std::vector<std::size_t>;

const std::vector<NamedGpu> kGpus{
    {"GPU-aa11", {"MIG-1-0", "MIG-1-1"}}, {"GPU-aa22", {}}, {"GPU-bb33", {"MIG-3"}}, {}};
const Gpus kAll{0, 1, 2, 3};

TEST(Visible, IsReadAsCudaReadsIt) {
  const struct {
    const char* list;
    Gpus gpus;
    const char* unknown;
  } cases[] = {
      {"0,1", {0, 1}, ""},
      {"3,1", {3, 1}, ""},
      {" 2 , 0", {2, 0}, ""},
      {"GPU-aa11,GPU-bb33", {0, 2}, ""},
      {"GPU-aa2", {1}, ""},      // a beginning that is unique
      {"GPU-aa", {}, "GPU-aa"},  // one that is not
      {"GPU-", {}, "GPU-"},
      {"GPU-cc", {}, "GPU-cc"},
      {"MIG-3", {2}, ""},
      {"MIG-1-1,MIG-1-0", {0, 0}, ""},
      {"MIG-9", {}, "MIG-9"},
      {"MIG-GPU-aa22/0/1", {1}, ""},
      {"MIG-GPU-cc/0/1", {}, "MIG-GPU-cc/0/1"},
      {"NoDevFiles", {}, ""},
      {"", {}, ""},
      {"-1", {}, ""},
      {"1,-1,0", {1}, ""},
      {"1,,0", {1}, ""},
      {"1,4,0", {1}, "4"},
      {"1,x", {1}, "x"},
      {"99999999999999999999", {}, "99999999999999999999"},
  };
  for (const auto& [list, gpus, unknown] : cases) {
    const VisibleGpus visible = find_visible(list, kGpus, kAll);
    EXPECT_EQ(visible.gpus, gpus) << list;
    EXPECT_EQ(visible.unknown, unknown) << list;
  }
}

TEST(Visible, IndicesCountWhatCanBeOpened) {
  EXPECT_EQ(find_visible("0,1", kGpus, {1, 3}).gpus, (Gpus{1, 3}));
  EXPECT_EQ(find_visible("2", kGpus, {1, 3}).unknown, "2");
  EXPECT_EQ(find_visible("GPU-aa", kGpus, {1, 3}).gpus, (Gpus{1}));
}

TEST(VisibleOfRanks, OneListIsDealtInItsOrder) {
  EXPECT_THAT(visible_gpus_of_ranks({"3,1", "3,1"}, {}, kGpus, kAll), Holds(ElementsAre(Gpus{3}, Gpus{1})));
  EXPECT_THAT(visible_gpus_of_ranks({"2,0"}, {}, kGpus, kAll), Holds(ElementsAre(Gpus{2, 0})));
  EXPECT_THAT(visible_gpus_of_ranks({"1", "1"}, {}, kGpus, kAll), Holds(ElementsAre(Gpus{1}, Gpus{1})));
  EXPECT_THAT(visible_gpus_of_ranks({"3,2,1,0", "3,2,1,0"}, 2, kGpus, kAll),
              Holds(ElementsAre(Gpus{3, 2}, Gpus{1, 0})));
}

TEST(VisibleOfRanks, DifferentListsAreTheRanksOwn) {
  EXPECT_THAT(visible_gpus_of_ranks({"1", "0", ""}, {}, kGpus, kAll),
              Holds(ElementsAre(Gpus{1}, Gpus{0}, Gpus{})));
}

TEST(VisibleOfRanks, WhatIsNotThereIsNamed) {
  EXPECT_THAT(visible_gpus_of_ranks({"0", "9"}, {}, kGpus, kAll),
              FailsWith(ErrorKind::invalid, "'9' of CUDA_VISIBLE_DEVICES=9 is none of this node's GPUs",
                        "unset it, and the ranks get the GPUs that Slurm gave the step"));
  EXPECT_FALSE(visible_gpus_of_ranks({"0,1", "0,1"}, 2, kGpus, kAll));
}

}  // namespace
}  // namespace pinstep
