package host

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
)

// TestFull tells a disk that is full, also from what a tape keeps of an error.
func TestFull(t *testing.T) {
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		if err := changeError("append to", "/x", fmt.Errorf("write: %w", full)); !errors.Is(err, full) || !errors.Is(ErrorOf(KindOf(err), err.Error()), full) {
			t.Errorf("%v is another error now: %v", full, err)
		}
	}
}
