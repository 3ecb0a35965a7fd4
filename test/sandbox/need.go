package sandbox

import (
	"errors"
	"testing"
)

// Need skips a test for what the machine does not offer, and fails it for any
// other error.
func Need(t testing.TB, err error) {
	t.Helper()
	if missing, ok := errors.AsType[Missing](err); ok {
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
}
