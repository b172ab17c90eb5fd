#include "launcher/worker/checkpoint/checkpoint.h"

#include <algorithm>
#include <array>
#include <optional>

#include "envtools/base/text.h"
#include "envtools/hash/hash.h"
#include "envtools/json/json.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

constexpr std::string_view kFormat = "pinstep-checkpoint ";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kMetadata = "__metadata__";
constexpr std::string_view kSetting = "setting.";
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kDigest = 64;  // hex digits
constexpr std::size_t kHeadLimit = std::size_t{16} << 20;

struct TypeName {
  Type type;
  std::string_view name;
};
constexpr std::array<TypeName, 6> kTypes{{{Type::f32, "F32"},
                                          {Type::f64, "F64"},
                                          {Type::bf16, "BF16"},
                                          {Type::i32, "I32"},
                                          {Type::i64, "I64"},
                                          {Type::u8, "U8"}}};

std::string_view name_of(Type type) {
  return std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& t) { return t.type == type; })->name;
}

std::optional<Type> type_named(std::string_view name) {
  const auto found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& t) { return t.name == name; });
  if (found == kTypes.end()) return std::nullopt;
  return found->type;
}

std::string length_of(std::uint64_t length) {
  std::string bytes;
  for (std::size_t i = 0; i < kLengthBytes; ++i) bytes += static_cast<char>(length >> 8 * i & 0xff);
  return bytes;
}

// The head up to the digest, the same in all files: so it is known where the digest is.
std::string head_start(std::string_view version) {
  return R"({"__metadata__":{"format":")" + std::string(kFormat) + std::string(version) + R"(","sha256":")";
}

std::string digest_of(std::string_view length, std::string_view head, std::string_view data) {
  const std::size_t at = head_start(kVersion).size();
  Hasher hasher;
  hasher.update(length);
  hasher.update(head.substr(0, at));
  hasher.update(std::string(kDigest, '0'));
  hasher.update(head.substr(at + kDigest));
  hasher.update(data);
  return hasher.hex();
}

// Reads one file's head.
class Reader {
 public:
  Reader(const Json& head, std::string_view subject) : head_(head), subject_(subject) {}

  Result<Checkpoint> read(std::string_view data) {
    PINSTEP_TRY(read_metadata(head_.at(kMetadata)));
    for (const auto& [name, entry] : head_.items())
      if (name != kMetadata) PINSTEP_TRY(read_array(name, entry));
    if (end_ != data.size())
      return corrupt("it has " + std::to_string(data.size()) + " bytes of data, not " + std::to_string(end_));
    checkpoint_.data = data;
    return std::move(checkpoint_);
  }

 private:
  tl::unexpected<Error> corrupt(const std::string& why) const {
    return fail(ErrorKind::corrupt, "checkpoint '" + std::string(subject_) + "' is damaged: " + why);
  }

  template <class Unsigned>
  Result<void> read_number(const Json& metadata, const char* key, Unsigned& value) {
    const auto number = parse_number<Unsigned>(text_of(metadata, key));
    if (!number) return corrupt("'" + std::string(key) + "' is no number");
    value = *number;
    return {};
  }

  Result<void> read_metadata(const Json& metadata) {
    PINSTEP_TRY(read_number(metadata, "epoch", checkpoint_.position.epoch));
    PINSTEP_TRY(read_number(metadata, "consumed", checkpoint_.position.consumed));
    PINSTEP_TRY(read_number(metadata, "steps", checkpoint_.position.steps));
    PINSTEP_TRY(read_number(metadata, "ranks", checkpoint_.ranks));
    if (checkpoint_.position.epoch == 0 || checkpoint_.ranks == 0) return corrupt("a number is 0");
    for (const auto& [key, value] : metadata.items())
      if (key.starts_with(kSetting) && value.is_string())
        checkpoint_.settings[key.substr(kSetting.size())] = value.get<std::string>();
    return {};
  }

  Result<void> read_array(const std::string& name, const Json& entry) {
    const auto type = type_named(text_of(entry, "dtype"));
    const auto shape = sizes(entry, "shape");
    const auto range = sizes(entry, "data_offsets");
    if (!type || !shape || !range || range->size() != 2)
      return corrupt("what it says of '" + printable(name) + "' cannot be read");
    const std::optional<std::size_t> bytes = bytes_in(*type, *shape);
    if (!bytes || (*range)[0] != end_ || (*range)[1] - end_ != *bytes || (*range)[1] < end_)
      return corrupt("'" + printable(name) + "' has another size than it says");
    checkpoint_.arrays.push_back({name, *type, *shape, end_, *bytes});
    end_ += *bytes;
    return {};
  }

  static std::optional<std::vector<std::size_t>> sizes(const Json& entry, const char* key) {
    if (!entry.is_object() || !entry.contains(key) || !entry[key].is_array()) return std::nullopt;
    std::vector<std::size_t> sizes;
    for (const Json& size : entry[key]) {
      if (!size.is_number_unsigned()) return std::nullopt;
      sizes.push_back(size.get<std::size_t>());
    }
    return sizes;
  }

  // Nothing where the product is too large for a number.
  static std::optional<std::size_t> bytes_in(Type type, const std::vector<std::size_t>& shape) {
    std::size_t bytes = size_of(type);
    for (const std::size_t size : shape)
      if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
    return bytes;
  }

  const Json& head_;
  const std::string_view subject_;
  Checkpoint checkpoint_;
  std::size_t end_ = 0;  // of the arrays so far
};

}  // namespace

void Checkpoint::add(std::string name, Type type, std::vector<std::size_t> shape, std::string_view bytes) {
  arrays.push_back({std::move(name), type, std::move(shape), data.size(), bytes.size()});
  data += bytes;
}

const SavedArray* Checkpoint::find(std::string_view name) const {
  const auto found =
      std::find_if(arrays.begin(), arrays.end(), [&](const SavedArray& array) { return array.name == name; });
  return found == arrays.end() ? nullptr : &*found;
}

std::string head_of(const Checkpoint& checkpoint) {
  Json metadata{{"format", std::string(kFormat) + std::string(kVersion)},
                {"sha256", std::string(kDigest, '0')},
                {"epoch", std::to_string(checkpoint.position.epoch)},
                {"consumed", std::to_string(checkpoint.position.consumed)},
                {"steps", std::to_string(checkpoint.position.steps)},
                {"ranks", std::to_string(checkpoint.ranks)}};
  for (const auto& [name, value] : checkpoint.settings) metadata[std::string(kSetting) + name] = value;
  Json head{{kMetadata, metadata}};
  for (const SavedArray& array : checkpoint.arrays)
    head[array.name] = {{"dtype", name_of(array.type)},
                        {"shape", array.shape},
                        {"data_offsets", {array.offset, array.offset + array.bytes}}};
  std::string text = dump_json(head);
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');  // the data is then aligned
  const std::string length = length_of(text.size());
  text.replace(head_start(kVersion).size(), kDigest, digest_of(length, text, checkpoint.data));
  return length + text;
}

Result<Checkpoint> parse_checkpoint(std::string_view bytes, std::string_view subject) {
  const std::string file = "checkpoint '" + std::string(subject) + "' ";
  const auto damaged = [&](const std::string& why) {
    return fail(ErrorKind::corrupt, file + "is damaged: " + why);
  };
  if (bytes.size() < kLengthBytes) return damaged("it is too short");
  const std::string_view length = bytes.substr(0, kLengthBytes);
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    size |= std::uint64_t{static_cast<unsigned char>(length[i])} << 8 * i;
  if (size > kHeadLimit || size > bytes.size() - kLengthBytes) return damaged("it ends too soon");
  const std::string_view head = bytes.substr(kLengthBytes, size);
  const std::string_view data = bytes.substr(kLengthBytes + size);
  const std::string start = head_start(kVersion);
  const std::string_view any_version = std::string_view(start).substr(0, start.find(kFormat) + kFormat.size());
  if (!head.starts_with(any_version)) return damaged("it is none of pinstep's");
  if (!head.starts_with(start))
    return fail(ErrorKind::unsupported, file + "was written by another version of pinstep",
                "continue with that version, or begin anew in another directory");
  if (head.size() < start.size() + kDigest ||
      head.substr(start.size(), kDigest) != digest_of(length, head, data))
    return damaged("its checksum is wrong");
  const auto json = parse_json(head, subject);
  if (!json) return damaged("its head is no JSON");
  return Reader(*json, subject).read(data);
}

}  // namespace pinstep::worker
