// SPDX-License-Identifier: Apache-2.0
// The process of one device (process.h): a core, its memory and a host that executes the requests
// from the socket. It ends when the other end of the socket is closed.
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "protocol.h"
#include "ufp4/spec.h"
#include "ufp4/status.h"
#include "ufp4_systemc.h"

namespace {

const sc_core::sc_time kPeriod(1, sc_core::SC_NS);
// Longer than any wait, but within the range of the kernel's time.
constexpr uint64_t kMostCycles = uint64_t{1} << 50;
constexpr size_t kStackBytes = 1 << 20;

sc_core::sc_time time_of(uint64_t cycles) {
  return sc_core::sc_time::from_value(std::min(cycles, kMostCycles) * kPeriod.value());
}

// --- The socket ---------------------------------------------------------------------------------

template <typename Message>
bool receive(Message *message) {
  ssize_t got;
  do got = recv(SYSTEMC_SOCKET, message, sizeof *message, 0);
  while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof *message);
}

void answer(ufp4_status_t status, uint32_t value, const std::string &message) {
  systemc_reply_t reply{};
  reply.status = status;
  reply.value = value;
  reply.now = sc_core::sc_time_stamp().value() / kPeriod.value();
  std::snprintf(reply.message, sizeof reply.message, "%s", message.c_str());
  send(SYSTEMC_SOCKET, &reply, sizeof reply, MSG_NOSIGNAL);
}

// Ends the process when the host closes the socket, also while the core runs.
void watch_host() {
  pollfd host{SYSTEMC_SOCKET, 0, 0};
  while (poll(&host, 1, -1) < 0) {
  }
  _exit(0);
}

// --- The device ---------------------------------------------------------------------------------

class Device : public sc_core::sc_module {
 public:
  Device(const sc_core::sc_module_name &name, const systemc_open_t &open)
      : sc_module(name),
        memory_("memory", open.memory_base, open.memory_bytes, time_of(open.latency), open.dram),
        host_("host") {
    Ufp4CoreOptions options;
    options.configuration = open.configuration;
    options.period = kPeriod;
    options.bandwidth_bytes = open.bandwidth;
    options.latency_cycles = open.latency;
    options.dram = open.dram;
    options.sleep = false;  // time passes only during calls
    if (open.timed) {
      core_ = std::make_unique<Ufp4CoreTimed>("core", options);
    } else {
      core_ = std::make_unique<Ufp4CoreRtl>("core", options);
    }
    share(open);
    core_->mem.bind(memory_.socket);
    core_->irq(irq_);
    core_->reset(reset_);
    host_.bind(core_->regs);
    sc_core::sc_spawn_options thread;
    thread.set_stack_size(kStackBytes);
    sc_core::sc_spawn([this] { serve(); }, "serve", &thread);
  }

 private:
  // Replaces the pages that the memory has allocated by the host's.
  void share(const systemc_open_t &open) {
    void *own = memory_.at(open.memory_base, open.memory_bytes);
    if (mmap(own, open.memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, SYSTEMC_MEMORY,
             0) != own) {
      SC_REPORT_ERROR("ufp4", "the device's memory cannot be shared");
    }
  }

  void serve() {
    answer(UFP4_OK, 0, "");
    for (systemc_request_t request; receive(&request);) obey(request);
    _exit(0);
  }

  void obey(const systemc_request_t &request) {
    uint32_t value = static_cast<uint32_t>(request.value);
    switch (request.call) {
      case SYSTEMC_REGISTER_READ:
      case SYSTEMC_REGISTER_WRITE:
        access(request, &value);
        return answer(UFP4_OK, value, "");
      case SYSTEMC_WAIT_INTERRUPT:
        if (!irq_.read()) wait(time_of(request.value), irq_.posedge_event());
        if (irq_.read()) return answer(UFP4_OK, 0, "");
        return answer(UFP4_ERROR_TIMEOUT, 0,
                      "no interrupt within " + std::to_string(request.value) + " cycles");
      default:
        wait(time_of(request.value));
        return answer(UFP4_OK, 0, "");
    }
  }

  void access(const systemc_request_t &request, uint32_t *value) {
    tlm::tlm_generic_payload payload;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    payload.set_command(request.call == SYSTEMC_REGISTER_READ ? tlm::TLM_READ_COMMAND
                                                              : tlm::TLM_WRITE_COMMAND);
    payload.set_address(request.offset);
    payload.set_data_ptr(reinterpret_cast<unsigned char *>(value));
    payload.set_data_length(sizeof *value);
    payload.set_streaming_width(sizeof *value);
    host_->b_transport(payload, delay);
    if (!payload.is_response_ok()) SC_REPORT_ERROR("ufp4", payload.get_response_string().c_str());
  }

  Ufp4Memory memory_;
  std::unique_ptr<Ufp4Core> core_;
  tlm_utils::simple_initiator_socket<Device> host_;
  sc_core::sc_signal<bool> irq_, reset_;
};

// Reports an error in one line.
std::string words_of(const sc_core::sc_report &report) {
  return report.get_msg();
}

}  // namespace

int sc_main(int, char **) {
  systemc_open_t open;
  if (!receive(&open)) return 0;
  open.configuration[sizeof open.configuration - 1] = open.dram[sizeof open.dram - 1] = '\0';
  if (open.version != (UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH)) {
    answer(UFP4_ERROR_UNSUPPORTED, 0,
           "its program ufp4-systemc belongs to another version of ufp4; build it again");
    return 0;
  }
  std::thread(watch_host).detach();
  ufp4_status_t status = UFP4_ERROR_UNSUPPORTED;  // until the device exists
  try {
    Device device("device", open);
    status = UFP4_ERROR_DEVICE;
    sc_core::sc_start();
  } catch (const sc_core::sc_report &report) {
    answer(status, 0, words_of(report));
  }
  _exit(0);
}

int main(int argc, char **argv) {
  int type = 0;
  socklen_t bytes = sizeof type;
  if (getsockopt(SYSTEMC_SOCKET, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 ||
      type != SOCK_SEQPACKET) {
    std::fprintf(stderr,
                 "ufp4-systemc: this program is the backends systemc and systemc:timed of ufp4, "
                 "which start it: ufp4 gemm A B -o D.npy --backend systemc\n");
    return 2;
  }
  std::signal(SIGINT, SIG_IGN);  // the host handles it
  dup2(STDERR_FILENO, STDOUT_FILENO);
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
  return sc_core::sc_elab_and_sim(argc, argv);
}
