#include "launcher/worker/data/images.h"

#include <unistd.h>

#include <algorithm>

#include "launcher/worker/data/idx.h"
#include "launcher/worker/data/random.h"

namespace pinstep::worker {
namespace {

Result<Idx> read_either(const std::string& path) {
  auto idx = read_idx(path + ".gz");
  if (idx || idx.error().kind != ErrorKind::not_found) return idx;
  auto plain = read_idx(path);
  if (plain || plain.error().kind != ErrorKind::not_found) return plain;
  return fail(ErrorKind::not_found, "neither '" + path + ".gz' nor the file without .gz is there",
              "Debian has the data in dataset-fashion-mnist; --data=DIR names another place");
}

Result<Images> read_part(const std::string& stem) {
  auto images = read_either(stem + "-images-idx3-ubyte");
  if (!images) return tl::unexpected(images.error());
  auto labels = read_either(stem + "-labels-idx1-ubyte");
  if (!labels) return tl::unexpected(labels.error());
  return match(std::move(*images), std::move(*labels), stem);
}

// `part` tells the two sets apart.
Images synthetic_images(std::uint32_t count, std::uint64_t seed, std::uint64_t part) {
  Images images{count, 28, 28, 10, {}, std::string(count, '\0')};
  images.values.resize(count * images.pixels());
  CounterRandom random(seed, part);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::uint32_t>(random.below(images.classes));
    images.labels[i] = static_cast<char>(label);
    std::uint64_t noise = 0;
    for (std::size_t j = 0; j < images.pixels(); ++j) {
      noise = j % 8 == 0 ? random.next() : noise >> 8;
      const std::uint32_t base = (j / 28 / 7 * 4 + j % 28 / 7) % images.classes == label ? 96 : 32;
      images.values[i * images.pixels() + j] = static_cast<char>(base + (noise & 127));
    }
  }
  return images;
}

}  // namespace

DataSet synthetic_data(std::uint32_t train, std::uint32_t test, std::uint64_t seed) {
  constexpr std::uint64_t kPart = std::uint64_t{3}
                                  << 62;  // beyond epochs and weights, which have the same seed
  return {synthetic_images(train, seed, kPart), synthetic_images(test, seed, kPart + 1)};
}

void Images::shorten(std::uint32_t most) {
  if (count <= most) return;
  count = most;
  values.resize(count * pixels());
  labels.resize(count);
}

Result<Images> match(Idx images, Idx labels, const std::string& subject) {
  if (images.sizes.size() != 3 || labels.sizes.size() != 1)
    return fail(ErrorKind::corrupt, "'" + subject + "': images need 3 dimensions and labels 1");
  if (images.sizes[0] != labels.sizes[0])
    return fail(ErrorKind::corrupt, "'" + subject + "': " + std::to_string(images.sizes[0]) + " images and " +
                                        std::to_string(labels.sizes[0]) + " labels");
  Images set;
  set.count = images.sizes[0];
  set.rows = images.sizes[1];
  set.columns = images.sizes[2];
  set.values = std::move(images.elements);
  set.labels = std::move(labels.elements);
  const auto is_less = [](char a, char b) {
    return static_cast<unsigned char>(a) < static_cast<unsigned char>(b);
  };
  set.classes =
      static_cast<unsigned char>(*std::max_element(set.labels.begin(), set.labels.end(), is_less)) + 1U;
  return set;
}

Result<DataSet> read_data_set(const std::string& directory) {
  auto train = read_part(directory + "/train");
  if (!train) return tl::unexpected(train.error());
  auto test = read_part(directory + "/t10k");
  if (!test) return tl::unexpected(test.error());
  if (train->rows != test->rows || train->columns != test->columns || test->classes > train->classes)
    return fail(ErrorKind::corrupt, "'" + directory + "': training and test images do not belong together");
  return DataSet{std::move(*train), std::move(*test)};
}

}  // namespace pinstep::worker
