package lab

import (
	"fmt"

	"plumb/internal/hint"
)

// socketMost is the longest path a socket can have, in bytes: sun_path holds
// 108 with the one that ends it.
const socketMost = 107

// SocketFits refuses a path that is too long for a Unix socket, before a server
// is started that could not be reached.
func SocketFits(path string) error {
	if len(path) <= socketMost {
		return nil
	}
	return hint.With(fmt.Errorf("the path of the socket has %d bytes, and %d is the most: %s", len(path), socketMost, path),
		"run the lab in a directory with a shorter path")
}
