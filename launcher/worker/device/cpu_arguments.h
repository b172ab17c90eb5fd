// From a launch's checked arguments to a function's parameters: In<float>, Out<float>, InOut<float>,
// std::uint32_t, float.
#pragma once

#include <span>
#include <tuple>

#include "launcher/worker/device/device.h"

namespace pinstep::worker {

template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, float>) return Type::f32;
  if constexpr (std::is_same_v<T, double>) return Type::f64;
  if constexpr (std::is_same_v<T, std::int32_t>) return Type::i32;
  if constexpr (std::is_same_v<T, std::uint8_t>) return Type::u8;
}

template <class T, class How, class Element>
struct View {
  Element* data = nullptr;
  std::size_t count = 0;

  Element& operator[](std::size_t i) const { return data[i]; }

  static bool take(const Argument& argument, View& view) {
    const How* how = std::get_if<How>(&argument);
    if (how == nullptr || how->array.type != type_of<T>()) return false;
    view = {static_cast<Element*>(how->array.data), how->array.count};
    return true;
  }
};

template <class T>
using In = View<T, Read, const T>;
template <class T>
using Out = View<T, Write, T>;
template <class T>
using InOut = View<T, Update, T>;

template <class Parameter>
bool take(const Argument& argument, Parameter& parameter) {
  if constexpr (std::is_arithmetic_v<Parameter>) {
    const Parameter* value = std::get_if<Parameter>(&argument);
    if (value != nullptr) parameter = *value;
    return value != nullptr;
  } else {
    return Parameter::take(argument, parameter);
  }
}

// Calls function(parameters…), which says whether they fit together; false too where the arguments are of other
// kinds.
template <class... Parameters, class Function>
bool call_with(std::span<const Argument> arguments, const Function& function) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::tuple<Parameters...> values;
    return arguments.size() == sizeof...(Parameters) && (take(arguments[I], std::get<I>(values)) && ...) &&
           function(std::get<I>(values)...);
  }
  (std::index_sequence_for<Parameters...>());
}

}  // namespace pinstep::worker
