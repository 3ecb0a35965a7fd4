package watch

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plumb/internal/cli/shell"
)

// Half a minute without a sign looks like a program that hangs.
func TestCountdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 31500*time.Millisecond)
		defer cancel()
		var out bytes.Buffer
		countdown(ctx, &out, 30*time.Second)
		said := out.String()
		for _, want := range []string{"\rwatching this host for 30 s · 30 s left\x1b[K", "· 1 s left\x1b[K", "preparing the answer\x1b[K"} {
			if !strings.Contains(said, want) {
				t.Errorf("it never said %q: %q", want, said)
			}
		}
		if !strings.HasSuffix(said, "\r\x1b[K") || strings.Count(said, " left") != 30 {
			t.Errorf("it is not wiped, or not said each second: %q", said)
		}
	})
}

// Into a pipe nothing of it is written.
func TestNoCountdownIntoAPipe(t *testing.T) {
	var out, errs bytes.Buffer
	s := shell.New(strings.NewReader(""), &out, &errs)
	waiting(t.Context(), &s, time.Minute)()
	if errs.Len() > 0 || out.Len() > 0 {
		t.Errorf("it said %q %q", out.String(), errs.String())
	}
}
