package hosttest

import (
	"testing"

	"plumb/internal/host"
)

// LiveDoer gives this machine to a test, to be read and changed; it is closed
// with the test.
func LiveDoer(t testing.TB) *host.LiveDoer {
	t.Helper()
	h := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	t.Cleanup(func() { h.Close() })
	return h
}
