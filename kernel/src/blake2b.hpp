// BLAKE2b (RFC 7693) with digests of 16 bytes and no key, as hashlib.blake2b(digest_size=16).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace nar {

using Digest = std::array<std::uint8_t, 16>;

namespace blake2b {

constexpr std::size_t kBlock = 128;
constexpr std::array<std::uint64_t, 8> kStart = {
    0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu, 0x3C6EF372FE94F82Bu, 0xA54FF53A5F1D36F1u,
    0x510E527FADE682D1u, 0x9B05688C2B3E6C1Fu, 0x1F83D9ABFB41BD6Bu, 0x5BE0CD19137E2179u};
// Rounds 11 and 12 repeat the first two.
constexpr std::uint8_t kOrders[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

inline std::uint64_t rotated(std::uint64_t value, int bits) {
  return (value >> bits) | (value << (64 - bits));
}

inline std::uint64_t little_endian(const std::uint8_t* bytes) {
  std::uint64_t value = 0;
  for (int byte = 7; byte >= 0; --byte) value = (value << 8) | bytes[byte];
  return value;
}

inline void stir(std::uint64_t& a, std::uint64_t& b, std::uint64_t& c, std::uint64_t& d,
                 std::uint64_t one, std::uint64_t other) {
  a += b + one;
  d = rotated(d ^ a, 32);
  c += d;
  b = rotated(b ^ c, 24);
  a += b + other;
  d = rotated(d ^ a, 16);
  c += d;
  b = rotated(b ^ c, 63);
}

// Take in one block; `read` counts the bytes so far, those of the block included.
inline void take_in(std::array<std::uint64_t, 8>& state, const std::uint8_t* block,
                    std::uint64_t read, bool is_last) {
  std::uint64_t words[16], v[16];
  for (int word = 0; word < 16; ++word) words[word] = little_endian(block + 8 * word);
  std::copy(state.begin(), state.end(), v);
  std::copy(kStart.begin(), kStart.end(), v + 8);
  v[12] ^= read;  // fewer than 2^64 bytes
  if (is_last) v[14] = ~v[14];
#ifdef __GNUC__
#pragma GCC unroll 12  // so that the order of words is known: a quarter less time
#endif
  for (int round = 0; round < 12; ++round) {
    const std::uint8_t* order = kOrders[round % 10];
    stir(v[0], v[4], v[8], v[12], words[order[0]], words[order[1]]);
    stir(v[1], v[5], v[9], v[13], words[order[2]], words[order[3]]);
    stir(v[2], v[6], v[10], v[14], words[order[4]], words[order[5]]);
    stir(v[3], v[7], v[11], v[15], words[order[6]], words[order[7]]);
    stir(v[0], v[5], v[10], v[15], words[order[8]], words[order[9]]);
    stir(v[1], v[6], v[11], v[12], words[order[10]], words[order[11]]);
    stir(v[2], v[7], v[8], v[13], words[order[12]], words[order[13]]);
    stir(v[3], v[4], v[9], v[14], words[order[14]], words[order[15]]);
  }
  for (int word = 0; word < 8; ++word) state[word] ^= v[word] ^ v[word + 8];
}

}  // namespace blake2b

inline Digest blake2b_128(const std::vector<std::uint8_t>& content) {
  std::array<std::uint64_t, 8> state = blake2b::kStart;
  state[0] ^= 0x01010000u ^ sizeof(Digest);
  std::size_t read = 0;
  for (; content.size() - read > blake2b::kBlock; read += blake2b::kBlock)
    blake2b::take_in(state, content.data() + read, read + blake2b::kBlock, false);
  std::uint8_t last[blake2b::kBlock] = {};
  std::copy(content.begin() + static_cast<std::ptrdiff_t>(read), content.end(), last);
  blake2b::take_in(state, last, content.size(), true);
  Digest digest;
  for (std::size_t byte = 0; byte < digest.size(); ++byte)
    digest[byte] = static_cast<std::uint8_t>(state[byte / 8] >> (8 * (byte % 8)));
  return digest;
}

}  // namespace nar
