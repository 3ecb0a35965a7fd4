package client_test

import (
	"errors"
	"testing"
	"time"

	"plumb/internal/engine/mysql/client"
	"plumb/internal/load"
)

func fake(t *testing.T, o client.FakeOptions, text bool) load.Session {
	t.Helper()
	f, err := client.Fake(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	c := f.Config()
	c.Text = text
	s, err := client.New(c).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestFakeAnswersBothProtocols(t *testing.T) {
	for _, text := range []bool{false, true} {
		s := fake(t, client.FakeOptions{Row: []string{"abc", "42"}, Rows: 3}, text)
		st, err := s.Prepare("SELECT a, b FROM t WHERE id = ? AND c = ?")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Run(st, []load.Arg{load.Int(1), load.Str([]byte("x'y"))}); err != nil {
			t.Fatal(err)
		}
		rows := 0
		for s.Next() {
			rows++
			if string(s.Bytes(0)) != "abc" || s.Int(1) != 42 {
				t.Errorf("row %q %d", s.Bytes(0), s.Int(1))
			}
		}
		if rows != 3 || !s.HadRows() {
			t.Errorf("%d rows", rows)
		}
		if err := s.Text([]byte("UPDATE t SET a = 1")); err != nil || s.Affected() != 1 || s.HadRows() {
			t.Errorf("affected %d, %v", s.Affected(), err)
		}
		if err := s.Run(st, nil); err == nil {
			t.Error("too few parameters are accepted")
		}
	}
}

func TestNoAllocationsPerCall(t *testing.T) {
	for _, text := range []bool{false, true} {
		s := fake(t, client.FakeOptions{Row: []string{"abc", "42"}}, text)
		st, err := s.Prepare("SELECT a FROM t WHERE id = ? AND c = ?")
		if err != nil {
			t.Fatal(err)
		}
		args := []load.Arg{load.Int(7), load.Str([]byte("text"))}
		call := func() {
			if err := s.Run(st, args); err != nil {
				t.Fatal(err)
			}
			for s.Next() {
				_, _ = s.Bytes(0), s.Int(1)
			}
		}
		call()
		if n := testing.AllocsPerRun(2000, call); n > 0 { // the server's half is counted too
			t.Errorf("text %v: %v allocations a call", text, n)
		}
	}
}

func TestClosedByTheServerIsLost(t *testing.T) {
	s := fake(t, client.FakeOptions{CloseAfter: 1}, false)
	if err := s.Text([]byte("SELECT 1")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // also when asked again
		f, ok := errors.AsType[*load.Failure](s.Text([]byte("SELECT 1")))
		if !ok || f.Class != load.Lost {
			t.Fatalf("got %v", f)
		}
	}
}

func TestCloseEndsACallThatHangs(t *testing.T) {
	s := fake(t, client.FakeOptions{Delay: time.Hour}, false)
	done := make(chan error, 1)
	go func() { done <- s.Text([]byte("SELECT 1")) }()
	time.Sleep(50 * time.Millisecond)
	if err := s.Close(); err != nil {
		t.Log(err)
	}
	select {
	case err := <-done:
		if f, ok := errors.AsType[*load.Failure](err); !ok || f.Class != load.Lost {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the call still hangs")
	}
}
