// A model file (safetensors with a JSON header, as arcwise.learning.model_file writes it) in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "web/json_reader.hpp"

namespace arcwise::web {

// The numbers of an array as they are stored.
struct StoredArray {
  std::string type;  // U8, I8, U16, F16, U32, F32, U64
  std::vector<size_t> shape;
  const char* data = nullptr;
  size_t count = 0;
};

class ModelFile {
 public:
  // Reads the header; the bytes must stay where they are.
  explicit ModelFile(std::string_view bytes);

  // The header: kind, version, and the headers of the model's parts.
  const Json& header() const { return header_; }
  const std::map<std::string, StoredArray>& arrays() const { return arrays_; }
  bool has(const std::string& name) const { return arrays_.count(name) > 0; }
  const StoredArray& array(const std::string& name) const;

  // The numbers of an array, converted.
  template <typename Number>
  std::vector<Number> numbers(const std::string& name) const {
    return numbers<Number>(array(name));
  }
  template <typename Number>
  static std::vector<Number> numbers(const StoredArray& array);

 private:
  Json header_;
  std::map<std::string, StoredArray> arrays_;
};

}  // namespace arcwise::web
