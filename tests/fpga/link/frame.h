// SPDX-License-Identifier: Apache-2.0
// Frames of the board link, as a host makes and reads them (docs/reference/link.md). Independent of
// the driver's: what the RTL is tested against.
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

/** Four bytes, lowest first. */
Bytes word(uint32_t value);
uint32_t word_of(const Bytes &data, std::size_t offset = 0);
/** zlib's. */
uint32_t crc32_of(const Bytes &data);

/** A frame with its ends and escapes: what goes over the line. */
Bytes slip(const Bytes &frame);

/** A host's end: makes frames, takes those that a board sends, and keeps the session between. */
class Peer {
 public:
  /** The frame of @p request, whose length is sent as it is; behind a HELLO wait for its answer. */
  Bytes line(const Request &request);
  /** @return whether @p byte ended an answer that is right; it is answer then. */
  bool take(uint8_t byte);
  Answer answer{};
  unsigned wrong = 0;  // frames that were not right

 private:
  bool parse();
  void keep();
  uint32_t count_of(uint8_t number) const;
  uint32_t key_of(uint8_t number) const;
  Bytes frame_;
  bool escaped_ = false, bad_ = false;
  bool greets_ = false, in_session_ = false;  // the answer to HELLO is due; one has come
  uint32_t nonce_ = 0, expected_ = 0;         // of the session; behind the latest answer
};

}  // namespace link_test

#endif
