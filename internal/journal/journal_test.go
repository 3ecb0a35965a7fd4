package journal

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func at() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// written makes a file of n records.
func written(t *testing.T, n int) string {
	t.Helper()
	var log Log
	var text strings.Builder
	for i := range n {
		b, err := log.Append(at(), "intent", map[string]int{"step": i})
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	return text.String()
}

// Whatever part of the last line a dying machine wrote, the records before it
// are read, and the file goes on.
func TestTornAnywhere(t *testing.T) {
	whole := written(t, 3)
	last := strings.LastIndex(strings.TrimSuffix(whole, "\n"), "\n") + 1
	for end := last; end < len(whole); end++ {
		log, err := Read([]byte(whole[:end]))
		want := 2
		if end == len(whole)-1 { // only the newline is missing
			want = 3
		}
		if err != nil || len(log.Records) != want || log.Torn != (end > last) {
			t.Fatalf("cut at %d: %d records, torn %v, %v", end, len(log.Records), log.Torn, err)
		}
		more, err := log.Append(at(), "again", nil)
		if err != nil {
			t.Fatal(err)
		}
		log, err = Read([]byte(whole[:end] + string(more)))
		if err != nil || len(log.Records) != want+1 || log.Torn || log.Records[want].Kind != "again" {
			t.Fatalf("cut at %d and gone on: %+v, %v", end, log, err)
		}
	}
}

// One changed bit anywhere before the last record is found.
func TestDamage(t *testing.T) {
	text := written(t, 3)
	last := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n") + 1
	for i := range last {
		b := []byte(text)
		b[i] ^= 1
		if log, err := Read(b); err == nil && len(log.Records) == 3 && fmt.Sprint(log.Records) == fmt.Sprint(mustRead(t, text).Records) {
			t.Errorf("byte %d was changed, and nobody saw it", i)
		} else if err == nil && len(log.Records) == 3 {
			t.Errorf("byte %d: other records were read", i)
		}
	}
}

// A record whose writing failed may be on the disk all the same, whole or in
// part: the next one takes its place.
func TestDrop(t *testing.T) {
	for _, kept := range []float64{0, 0.5, 1} {
		var log Log
		first, err := log.Append(at(), "begin", nil)
		if err != nil {
			t.Fatal(err)
		}
		lost, _ := log.Append(at(), "lost", nil)
		log.Drop()
		next, _ := log.Append(at(), "next", nil)
		text := string(first) + string(lost[:int(kept*float64(len(lost)))]) + string(next)
		if got := mustRead(t, text); len(got.Records) != 2 || got.Records[1].Kind != "next" {
			t.Errorf("with %g of it on the disk: %+v", kept, got.Records)
		}
	}
}

func mustRead(t *testing.T, text string) Log {
	t.Helper()
	log, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("00000000 {}\n"))
	var log Log
	b, _ := log.Append(at(), "begin", "x")
	f.Add(b)
	f.Fuzz(func(t *testing.T, text []byte) {
		log, err := Read(text)
		for i, r := range log.Records {
			if r.N != i+1 {
				t.Fatalf("record %d is numbered %d", i, r.N)
			}
		}
		if err != nil {
			return
		}
		more, err := log.Append(at(), "next", nil)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Read(append(text[:len(text):len(text)], more...)); err != nil || len(again.Records) != len(log.Records) {
			t.Fatalf("%q cannot go on: %v", text, err)
		}
	})
}
