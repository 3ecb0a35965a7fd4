package hosttest

import (
	"testing"

	"plumb/internal/host"
)

// Hands gives this machine to a test, to be read and changed; it is closed
// with the test.
func Hands(t *testing.T) *host.Hands {
	t.Helper()
	h := host.NewHands(host.NewLive(host.LiveOptions{}))
	t.Cleanup(func() { h.Close() })
	return h
}
