// SPDX-License-Identifier: Apache-2.0
#include "frame.h"

#include <zlib.h>

namespace link_test {
namespace {
constexpr uint8_t kEnd = 0xC0, kEsc = 0xDB, kEscEnd = 0xDC, kEscEsc = 0xDD;
constexpr size_t kAnswerHeader = 4, kCrc = 4, kNonceAt = 40;  // of the answer to HELLO

uint32_t keyed_crc32(uint32_t key, const Bytes &data) {
  return static_cast<uint32_t>(crc32(key, data.data(), static_cast<uInt>(data.size())));
}

Bytes request_bytes(const Request &request, uint32_t key) {
  Bytes frame{request.sequence, static_cast<uint8_t>(request.command | request.round << 4),
              static_cast<uint8_t>(request.length), static_cast<uint8_t>(request.length >> 8)};
  for (uint8_t byte : word(request.address)) frame.push_back(byte);
  frame.insert(frame.end(), request.data.begin(), request.data.end());
  for (uint8_t byte : word(keyed_crc32(key, frame))) frame.push_back(byte);
  return frame;
}

}  // namespace

Bytes word(uint32_t value) {
  Bytes bytes;
  for (int i = 0; i < 4; i++) bytes.push_back(static_cast<uint8_t>(value >> 8 * i));
  return bytes;
}

uint32_t word_of(const Bytes &data, size_t offset) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4 && offset + i < data.size(); i++)
    value |= static_cast<uint32_t>(data[offset + i]) << 8 * i;
  return value;
}

uint32_t crc32_of(const Bytes &data) {
  return keyed_crc32(0, data);
}

Bytes slip(const Bytes &frame) {
  Bytes line{kEnd};
  for (uint8_t byte : frame) {
    if (byte == kEnd || byte == kEsc) {
      line.push_back(kEsc);
      line.push_back(byte == kEnd ? kEscEnd : kEscEsc);
    } else {
      line.push_back(byte);
    }
  }
  line.push_back(kEnd);
  return line;
}

// Expands a number to the count nearest to expected_: one of the last 128 requests or the next 127.
uint32_t Peer::count_of(uint8_t number) const {
  uint32_t count = (expected_ & ~0xFFu) | number;
  if (static_cast<int32_t>(count - expected_) < -128) count += 256;
  if (static_cast<int32_t>(count - expected_) > 127) count -= 256;
  return count;
}

uint32_t Peer::key_of(uint8_t number) const {
  return in_session_ ? nonce_ ^ (count_of(number) & ~0xFFu) : 0;
}

Bytes Peer::line(const Request &request) {
  greets_ = request.command == kHello;
  return slip(request_bytes(request, greets_ ? 0 : key_of(request.sequence)));
}

bool Peer::take(uint8_t byte) {
  if (byte == kEnd) {
    const bool right = !bad_ && !escaped_ && parse();
    if (!right && (bad_ || !frame_.empty())) wrong++;
    frame_.clear();
    escaped_ = bad_ = false;
    return right;
  }
  if (escaped_) {
    bad_ = bad_ || (byte != kEscEnd && byte != kEscEsc);
    frame_.push_back(byte == kEscEnd ? kEnd : kEsc);
    escaped_ = false;
  } else if (byte == kEsc) {
    escaped_ = true;
  } else {
    frame_.push_back(byte);
  }
  return false;
}

bool Peer::parse() {
  if (frame_.size() < kAnswerHeader + kCrc) return false;
  const unsigned status = frame_[1] & 15;
  const bool plain = greets_ || status == kNoSession || status == kOutOfOrder;
  const uint32_t key = plain ? 0 : key_of(frame_[0]);
  const Bytes body(frame_.begin(), frame_.end() - kCrc);
  const size_t length = static_cast<size_t>(body[2]) | static_cast<size_t>(body[3]) << 8;
  if (keyed_crc32(key, body) != word_of(frame_, body.size()) ||
      length != body.size() - kAnswerHeader)
    return false;
  answer = {body[0], static_cast<uint8_t>(body[1] & 15), static_cast<uint8_t>(body[1] >> 4 & 7),
            (body[1] & 0x80) != 0, Bytes(body.begin() + kAnswerHeader, body.end())};
  keep();
  return true;
}

// Takes over the state of the session from the answer.
void Peer::keep() {
  if (greets_ && answer.status == kOk) {
    in_session_ = true;
    nonce_ = word_of(answer.data, kNonceAt);
    expected_ = answer.sequence + 1u;
  } else if (!greets_ && answer.status != kNoSession && answer.status != kOutOfOrder) {
    const uint32_t next = count_of(answer.sequence) + 1;
    if (static_cast<int32_t>(next - expected_) > 0) expected_ = next;
  }
  greets_ = false;
}

}  // namespace link_test
