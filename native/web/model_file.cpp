#include "web/model_file.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace arcwise::web {
namespace {

size_t bytes_of(const std::string& type) {
  if (type == "U8" || type == "I8") return 1;
  if (type == "U16" || type == "F16") return 2;
  if (type == "U32" || type == "F32") return 4;
  if (type == "U64") return 8;
  fail("the model has an array of the unknown type " + type);
}

float from_half(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const float size = exponent == 0    ? std::ldexp(static_cast<float>(fraction), -24)
                     : exponent == 31 ? (fraction ? NAN : INFINITY)
                                      : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return half >> 15 ? -size : size;
}

template <typename Stored, typename Number>
void convert(const StoredArray& array, std::vector<Number>& out) {
  for (size_t i = 0; i < array.count; ++i) {
    Stored value;
    std::memcpy(&value, array.data + i * sizeof value, sizeof value);
    out[i] = static_cast<Number>(value);
  }
}

}  // namespace

ModelFile::ModelFile(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t length = 0;
  if (bytes.size() >= sizeof length) std::memcpy(&length, bytes.data(), sizeof length);
  if (length == 0 || length > bytes.size() - sizeof length) fail("the file is not an arcwise model");
  const Json outer = Json::read(bytes.substr(sizeof length, length));
  header_ = Json::read(outer["__metadata__"]["arcwise"].text());
  const std::string_view data = bytes.substr(sizeof length + length);
  for (const auto& [name, entry] : outer.object()) {
    if (name == "__metadata__") continue;
    StoredArray& array = arrays_[name];
    array.type = entry["dtype"].text();
    array.count = 1;
    for (const Json& side : entry["shape"].list()) {
      array.shape.push_back(static_cast<size_t>(side.number()));
      array.count *= array.shape.back();
    }
    const double first = entry["data_offsets"][0].number(), last = entry["data_offsets"][1].number();
    if (!(0 <= first && first <= last && last <= static_cast<double>(data.size())) ||
        static_cast<double>(array.count) * static_cast<double>(bytes_of(array.type)) != last - first)
      fail("the model file is truncated or damaged at the array " + name);
    array.data = data.data() + static_cast<size_t>(first);
  }
}

const StoredArray& ModelFile::array(const std::string& name) const {
  const auto place = arrays_.find(name);
  if (place == arrays_.end()) fail("the model lacks the array " + name);
  return place->second;
}

template <typename Number>
std::vector<Number> ModelFile::numbers(const StoredArray& array) {
  std::vector<Number> out(array.count);
  if (array.type == "U8") convert<uint8_t>(array, out);
  if (array.type == "I8") convert<int8_t>(array, out);
  if (array.type == "U16") convert<uint16_t>(array, out);
  if (array.type == "U32") convert<uint32_t>(array, out);
  if (array.type == "U64") convert<uint64_t>(array, out);
  if (array.type == "F32") convert<float>(array, out);
  if (array.type == "F16")
    for (size_t i = 0; i < array.count; ++i) {
      uint16_t half;
      std::memcpy(&half, array.data + i * sizeof half, sizeof half);
      out[i] = static_cast<Number>(from_half(half));
    }
  return out;
}

template std::vector<uint8_t> ModelFile::numbers(const StoredArray&);
template std::vector<int8_t> ModelFile::numbers(const StoredArray&);
template std::vector<uint16_t> ModelFile::numbers(const StoredArray&);
template std::vector<uint32_t> ModelFile::numbers(const StoredArray&);
template std::vector<uint64_t> ModelFile::numbers(const StoredArray&);
template std::vector<float> ModelFile::numbers(const StoredArray&);

}  // namespace arcwise::web
