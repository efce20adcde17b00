// <print> needs GCC 14.
#include <print>
#include "median.hpp"

int failures = 0;

void check(bool holds, const char *what) {
  std::println("{} {}", holds ? "ok" : "FAILED", what);
  failures += !holds;
}

int main() {
  check(median({3, 1, 2}) == 2.0, "the middle value");
  check(median({4, 1, 3, 2}) == 2.5, "the mean of the two middle values");
  check(median({}).error() == "no values", "no values");
  return failures != 0;
}
