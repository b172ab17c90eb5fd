// Made-up images that a small network can learn: each class has a pattern, and there is noise.
#pragma once

#include "launcher/worker/data/images.h"
#include "launcher/worker/data/random.h"

namespace pinstep::testing_support {

inline worker::Images made_up_images(std::uint32_t count, std::uint64_t part) {
  worker::Images images{count, 4, 4, 4, std::string(std::size_t{count} * 16, '\0'), std::string(count, '\0')};
  worker::CounterRandom random(7, part);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::uint32_t>(random.below(4));
    images.labels[i] = static_cast<char>(label);
    for (std::uint32_t j = 0; j < 16; ++j)
      images.values[i * 16 + j] = static_cast<char>((j % 4 == label ? 120 : 40) + random.below(80));
  }
  return images;
}

inline worker::DataSet made_up_data(std::uint32_t count) {
  return {made_up_images(count, 1), made_up_images(101, 2)};
}

}  // namespace pinstep::testing_support
