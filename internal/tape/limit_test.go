package tape

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// hostile makes a small tape that unpacks to much: the same line again and again.
func hostile(t *testing.T, line string, times int) []byte {
	t.Helper()
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	out := io.MultiWriter(z, sum)
	_, err = io.WriteString(out, `{"plumb_tape":1}`+"\n")
	together := max(1, min(times, 64<<10/len(line)))
	block := strings.Repeat(line, together)
	for range times / together {
		if err == nil {
			_, err = io.WriteString(out, block)
		}
	}
	_, err2 := fmt.Fprintf(z, `{"plumb_tape_end":1,"entries":%d,"sha256":"%s"}`+"\n", times, hex.EncodeToString(sum.Sum(nil)))
	if err := errors.Join(err, err2, z.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// A small tape of a great many tiny entries, or of one call with a great many
// arguments, is given up before it fills the memory.
func TestAHostileTapeStaysSmall(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`"",`, 2_000_000), ",")
	for _, c := range []struct {
		name, line string
		times      int
		want       string
	}{
		{"entries", `{"op":"a","of":["b"]}` + "\n", 2_000_000, "more entries than the limit of 500000"},
		{"entries in another form", `{ "op":"a","of":["b"]}` + "\n", 600_000, "more entries than the limit of 500000"},
		{"arguments", `{"op":"a","of":[` + many + `]}` + "\n", 1, "arguments of over"},
		{"arguments in another form", `{ "op":"a", "of":[` + many + `]}` + "\n", 1, "arguments of over"},
	} {
		packed := hostile(t, c.line, c.times)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read(bytes.NewReader(packed), "x")
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		// What was allocated in all: the most that was ever held is less.
		if took := after.TotalAlloc - before.TotalAlloc; took > 600<<20 {
			t.Errorf("%s: %d bytes of tape took %d MiB", c.name, len(packed), took>>20)
		}
	}
}
