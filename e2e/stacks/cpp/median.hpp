#pragma once
#include <algorithm>
#include <expected>
#include <ranges>
#include <string>
#include <vector>

inline std::expected<double, std::string> median(std::vector<double> values) {
  if (values.empty()) return std::unexpected("no values");
  std::ranges::sort(values);
  const auto middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}
