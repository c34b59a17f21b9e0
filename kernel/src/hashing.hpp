// 64-bit codes, as `nar.graphs.hashing` defines them, and the numbering of equal codes.
#pragma once

#include <random>
#include <utility>

#include "arrays.hpp"

namespace nar {

// The finaliser of splitmix64.
inline Code mix(Code value) {
  value += 0x9E3779B97F4A7C15u;
  value ^= value >> 30;
  value *= 0xBF58476D1CE4E5B9u;
  value ^= value >> 27;
  value *= 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

inline Code salted(Code code, Code number, Code salt) { return mix(code + number * salt); }

// Gives equal keys equal numbers, 0, 1, 2 in the order in which they come.
class Numbering {
 public:
  explicit Numbering(std::size_t most) {
    std::size_t size = 16;
    while (size < 2 * most) size *= 2;  // at most half full, so that searches are short
    mask_ = size - 1;
    numbers_.assign(size, -1);
    keys_.resize(size);
  }

  // The number of a key, and whether it is new. At most as many keys as were announced may come.
  std::pair<Index, bool> of(Code key) {
    std::size_t place = mix(key + seed()) & mask_;
    while (numbers_[place] >= 0) {
      if (keys_[place] == key) return {numbers_[place], false};
      place = (place + 1) & mask_;
    }
    keys_[place] = key;
    numbers_[place] = count_;
    return {count_++, true};
  }

  Index count() const { return count_; }

 private:
  // Drawn once a process, so that nobody can send a graph whose codes all meet at one place. No
  // result depends on it.
  static Code seed() {
    static const Code drawn = (Code{std::random_device{}()} << 32) ^ std::random_device{}();
    return drawn;
  }

  std::size_t mask_;
  Index count_ = 0;
  Indices numbers_;
  Codes keys_;
};

}  // namespace nar
