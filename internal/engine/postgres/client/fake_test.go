package client_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/engine/postgres/client"
	"plumb/internal/load"
)

func fake(t *testing.T, o client.FakeOptions) (*client.FakeServer, client.Config) {
	t.Helper()
	f, err := client.Fake(o)
	ok(t, err)
	t.Cleanup(func() { f.Close() })
	return f, f.Config()
}

func TestFakeAnswers(t *testing.T) {
	for _, tcp := range []bool{false, true} {
		f, c := fake(t, client.FakeOptions{TCP: tcp, Row: []string{"7", "seven"}, Rows: 3})
		s := open(t, c)
		n := prepare(t, s, "SELECT a, b FROM t WHERE id = ? AND k < ?")
		ok(t, s.Run(n, []load.Arg{load.Int(1), load.Str([]byte("x"))}))
		if got := rowsOf(s, 2); got != "\"7\" \"seven\" \n\"7\" \"seven\" \n\"7\" \"seven\" \n" || !s.HadRows() {
			t.Errorf("got %s", got)
		}
		ok(t, s.Run(prepare(t, s, "UPDATE t SET k = ?"), []load.Arg{load.Int(1)}))
		if s.Affected() != 1 || s.HadRows() {
			t.Errorf("%d rows changed", s.Affected())
		}
		text(t, s, "BEGIN")
		text(t, s, "SELECT 1")
		if !s.Next() || s.Int(0) != 7 {
			t.Error("no row by the text protocol")
		}
		if got := f.Statements(); got != 4 {
			t.Errorf("the server counted %d statements", got)
		}
		ok(t, client.New(c).Room(t.Context(), 64, 10))
		about, err := client.New(c).About(t.Context())
		if ok(t, err); about.Version != "18.0 (fake)" {
			t.Errorf("got %+v", about)
		}
	}
}

func TestFakeGivesLargeAnswers(t *testing.T) {
	_, c := fake(t, client.FakeOptions{Row: []string{strings.Repeat("x", 1000)}, Rows: 5000})
	s := open(t, c)
	for range 3 {
		text(t, s, "SELECT x")
		rows := 0
		for s.Next() {
			rows += len(s.Bytes(0)) / 1000
		}
		if rows != 5000 {
			t.Errorf("%d rows", rows)
		}
	}
}

func TestCallsDoNotAllocate(t *testing.T) {
	_, c := fake(t, client.FakeOptions{Row: []string{"7", "seven"}, Rows: 10})
	for _, asText := range []bool{false, true} {
		c.Text = asText
		s := open(t, c)
		n := prepare(t, s, "SELECT a, b FROM t WHERE id = ? AND k < ?")
		args := []load.Arg{{}, {}}
		word, begin := []byte("it's"), []byte("BEGIN")
		sum := int64(0)
		allocations := testing.AllocsPerRun(1000, func() {
			args[0], args[1] = load.Int(123456), load.Str(word)
			ok(t, s.Run(n, args))
			for s.Next() {
				sum += s.Int(0) + int64(len(s.Bytes(1)))
			}
			ok(t, s.Text(begin))
		})
		if allocations > 0 || sum != 1001*10*12 {
			t.Errorf("text %t: %.2f allocations a call, sum %d", asText, allocations, sum)
		}
	}
}

func TestFakeStallsAndCloses(t *testing.T) {
	_, c := fake(t, client.FakeOptions{Stall: 60 * time.Millisecond, StallEvery: 100 * time.Millisecond, CloseAfter: 20000})
	s := open(t, c)
	n := prepare(t, s, "SELECT 1")
	var longest time.Duration
	for {
		start := time.Now()
		err := s.Run(n, nil)
		longest = max(longest, time.Since(start))
		if err != nil {
			fails(t, err, load.Lost, "")
			break
		}
	}
	if longest < 30*time.Millisecond || longest > 20*time.Second {
		t.Errorf("the longest answer took %v", longest)
	}
}

// A server that answers something else, and one that no longer exists.
func TestFakeGoesAway(t *testing.T) {
	f, c := fake(t, client.FakeOptions{Delay: time.Hour})
	s := open(t, c)
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.Text([]byte("SELECT 1"))
		if f, isFailure := errors.AsType[*load.Failure](err); !isFailure || f.Class != load.Lost {
			t.Errorf("got %v", err)
		}
	})
	time.Sleep(50 * time.Millisecond)
	f.Close()
	wg.Wait()
	_, err := client.New(c).Open(t.Context())
	fails(t, err, load.Lost, "")
}

func BenchmarkFake(b *testing.B) {
	f, err := client.Fake(client.FakeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	s, err := client.New(f.Config()).Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	n, err := s.Prepare("SELECT c FROM t WHERE id = ?")
	if err != nil {
		b.Fatal(err)
	}
	args := []load.Arg{load.Int(1)}
	for b.Loop() {
		if err := s.Run(n, args); err != nil {
			b.Fatal(err)
		}
	}
}
