package changetest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"plumb/internal/host"
)

// TestLateJournalIsCaught is the proof of the proof: a journal written after the change would lose what a crash
// between the two did, and the suite must see that.
func TestLateJournalIsCaught(t *testing.T) {
	_, c := scratch(t)
	err := deaths(t.Context(), c, func(d host.Doer) host.Doer { return newLate(d) })
	must(t, c.clear(t.Context()))
	if !errors.Is(err, errNotRestored) {
		t.Errorf("a journal that is written after the change was not caught: %v", err)
	}
}

// late is a broken Executor's doer: what it intends reaches the disk only
// after it is done. The suite must find that.
type late struct {
	host.Hooked
	kept []func() error
}

func newLate(of host.Doer) *late {
	l := &late{}
	l.Behind = of
	l.Around = func(_ context.Context, c host.Call, do func() error) error {
		if c.Reads() || c.Op == "lock" {
			return do()
		}
		return l.flush(do())
	}
	return l
}

func (l *late) Append(ctx context.Context, name string, data []byte) error {
	if !bytes.Contains(data, []byte(`"kind":"intent"`)) {
		return l.flush(l.Behind.Append(ctx, name, data))
	}
	l.kept = append(l.kept, func() error { return l.Behind.Append(ctx, name, data) })
	return nil
}

// flush writes down what was kept back, after an effect.
func (l *late) flush(err error) error {
	if err != nil {
		return err
	}
	for _, write := range l.kept {
		err = errors.Join(err, write())
	}
	l.kept = nil
	return err
}
