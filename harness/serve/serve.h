// `assay serve`: judges tensors that a program has, in a process of its own, so that nothing which the program overwrites touches what judges it.
#pragma once

namespace assay::serve {

inline constexpr const char* kServeFormat = "assay.serve/1";

// Says which version this is, and answers requests until the other side closes the socket. An error is answered, and ends nothing. Throws
// std::system_error if the descriptor is no socket.
void serve(int socket);

}  // namespace assay::serve
