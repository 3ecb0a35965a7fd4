package vm

import (
	"bytes"
	"strings"
	"testing"
)

func TestWire(t *testing.T) {
	for _, c := range []struct {
		name, sent, output string
		code               int
		ended              bool
	}{
		{"whole", lead + "up\nhello\n" + lead + "exit 3\n", "hello\n", 3, true},
		{"well", lead + "up\n" + lead + "exit 0\n", "", 0, true},
		{"cut off", lead + "up\nhel", "hel", -1, false},
		{"cut off in a mark", "x" + lead + "exit", "x" + lead + "exit", -1, false},
		{"no number", lead + "exit x\n", "", -1, false},
		{"too large", lead + "exit 256\n", "", -1, false},
		{"the first counts", lead + "exit 1\n" + lead + "exit 0\n", "", 1, true},
		{"not ours", "a\x1eb\x1eplumb\n\x1e\x1e", "a\x1eb\x1eplumb\n\x1e\x1e", -1, false},
		{"too long for a mark", lead + strings.Repeat("x", markBytes) + "\n", lead + strings.Repeat("x", markBytes) + "\n", -1, false},
		{"after the end", lead + "exit 0\nlate", "late", 0, true},
	} {
		var ends int
		var live bytes.Buffer
		w := &wire{live: &live, onEnd: func() { ends++ }}
		w.Write([]byte(c.sent))
		r, ended := w.finish()
		if string(r.Output) != c.output || r.Code != c.code || ended != c.ended {
			t.Errorf("%s: %q, code %d, ended %v; want %q, %d, %v", c.name, r.Output, r.Code, ended, c.output, c.code, c.ended)
		}
		if live.String() != c.output {
			t.Errorf("%s: who watched saw %q", c.name, live.String())
		}
		if (ends == 1) != c.ended {
			t.Errorf("%s: the end was told %d times", c.name, ends)
		}
	}
}

func TestWireKeepsOnlySoMuch(t *testing.T) {
	w := &wire{}
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range 6 {
		w.Write(chunk)
	}
	r, _ := w.finish()
	if len(r.Output) != keptBytes || r.Lost != 2<<20 {
		t.Errorf("kept %d bytes and lost %d", len(r.Output), r.Lost)
	}
}

// FuzzWire wants the same of whatever comes, however it comes in pieces.
func FuzzWire(f *testing.F) {
	f.Add([]byte(lead+"up\nhello\n"+lead+"exit 3\n"), 5)
	f.Add([]byte("\x1e\x1eplumb-vm exit 12"), 1)
	f.Add([]byte(lead+strings.Repeat("x", 100)), 63)
	f.Fuzz(func(t *testing.T, sent []byte, size int) {
		whole := &wire{}
		whole.Write(sent)
		want, wantEnded := whole.finish()
		size = max(1, size)
		pieces := &wire{}
		for rest := sent; len(rest) > 0; {
			n := min(size, len(rest))
			pieces.Write(rest[:n])
			rest = rest[n:]
		}
		got, ended := pieces.finish()
		if !bytes.Equal(got.Output, want.Output) || got.Code != want.Code || ended != wantEnded {
			t.Errorf("in pieces of %d: %q %d %v, whole: %q %d %v", size, got.Output, got.Code, ended, want.Output, want.Code, wantEnded)
		}
		if len(want.Output) > len(sent) {
			t.Error("more came out than in")
		}
	})
}
