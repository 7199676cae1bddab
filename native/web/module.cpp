// The functions of the WebAssembly module, which arcwise.js calls.
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <string>

#include "web/pipeline.hpp"

#define ARCWISE_EXPORT(name) extern "C" __attribute__((export_name(#name), used))

// Throws an Error in JavaScript, and does not return.
extern "C" __attribute__((import_module("arcwise"), import_name("fail"), noreturn)) void arcwise_fail(
    const char* message, size_t size);

namespace arcwise::web {

void fail(const std::string& message) { arcwise_fail(message.data(), message.size()); }

}  // namespace arcwise::web

// The module is built without exceptions: a throwing kernel, always with a std::exception, raises an Error.
extern "C" void* __cxa_allocate_exception(size_t size) noexcept { return std::malloc(size); }
extern "C" [[noreturn]] void __cxa_throw(void* exception, void*, void (*)(void*)) {
  arcwise::web::fail(static_cast<std::exception*>(exception)->what());
}

namespace {

struct OpenPipeline {
  arcwise::web::WebPipeline pipeline;
  std::string answer;
};

// Takes ownership of memory from arcwise_allocate.
std::string taken(char* bytes, size_t size) {
  std::string text(bytes, size);
  std::free(bytes);
  return text;
}

}  // namespace

ARCWISE_EXPORT(arcwise_allocate) char* arcwise_allocate(size_t size) {
  return static_cast<char*>(std::malloc(size));
}

ARCWISE_EXPORT(arcwise_open) OpenPipeline* arcwise_open(char* file, size_t size) {
  return new OpenPipeline{arcwise::web::WebPipeline(taken(file, size)), {}};
}

ARCWISE_EXPORT(arcwise_close) void arcwise_close(OpenPipeline* open) { delete open; }

// Parses a text; returns the length of the answer, which stays at arcwise_answer until the next call.
ARCWISE_EXPORT(arcwise_parse) size_t arcwise_parse(OpenPipeline* open, char* text, size_t size) {
  open->answer = open->pipeline.parse(taken(text, size));
  return open->answer.size();
}

ARCWISE_EXPORT(arcwise_answer) const char* arcwise_answer(const OpenPipeline* open) {
  return open->answer.data();
}
