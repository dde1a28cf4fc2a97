// SPDX-License-Identifier: Apache-2.0
// Frames of the board link as a host makes and reads them (docs/reference/link.md). This code is
// independent of the driver's and tests the RTL.
#ifndef UFP4_TESTS_FRAME_H
#define UFP4_TESTS_FRAME_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace link_test {

using Bytes = std::vector<uint8_t>;

enum Command : uint8_t {
  kHello,
  kPing,
  kRegisterRead,
  kRegisterWrite,
  kMemoryRead,
  kMemoryWrite,
  kMemoryChecksum,
  kWait,
  kBoardRead,
  kBoardWrite,
};

enum Status : uint8_t { kOk, kUnknown, kRefused, kBus, kNoSession, kOutOfOrder };

constexpr unsigned kMostData = 1008, kWindow = 8;

struct Request {
  uint8_t sequence;
  uint8_t command;
  uint8_t round;
  uint16_t length;
  uint32_t address;
  Bytes data;
};

struct Answer {
  uint8_t sequence;
  uint8_t status;
  uint8_t round;
  bool irq;
  Bytes data;
};

/** Four bytes, least significant first. */
Bytes word(uint32_t value);
uint32_t word_of(const Bytes &data, std::size_t offset = 0);
/** The CRC-32 of zlib. */
uint32_t crc32_of(const Bytes &data);

/** Returns a frame with its END bytes and escapes, as it goes over the line. */
Bytes slip(const Bytes &frame);

/** The host's end: makes frames, takes the board's frames, and keeps the state of the session. */
class Peer {
 public:
  /** Returns the frame of @p request, whose length field is sent as it is. After a HELLO the caller
   * must wait for its answer. */
  Bytes line(const Request &request);
  /** @return whether @p byte completed a valid answer, which is then in answer. */
  bool take(uint8_t byte);
  Answer answer{};
  unsigned wrong = 0;  // frames that were invalid

 private:
  bool parse();
  void keep();
  uint32_t count_of(uint8_t number) const;
  uint32_t key_of(uint8_t number) const;
  Bytes frame_;
  bool escaped_ = false, bad_ = false;
  bool greets_ = false, in_session_ = false;  // the answer to HELLO is awaited; it has come
  uint32_t nonce_ = 0, expected_ = 0;         // the session's nonce; the count after the latest
                                              // answer
};

}  // namespace link_test

#endif
