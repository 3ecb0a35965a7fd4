package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// flaky fails as it is told, and has nothing but names.
type flaky struct {
	Store
	calls atomic.Int64
	fail  func(call int64) error
}

func (f *flaky) Put(context.Context, string, []byte, Put) (string, error) {
	return "tag", f.fail(f.calls.Add(1))
}

func (f *flaky) List(_ context.Context, _ string, each func(Info) error) error {
	err := f.fail(f.calls.Add(1))
	for i := range 10 {
		if i == 5 && err != nil {
			return err
		}
		if err := each(Info{Name: fmt.Sprint(i)}); err != nil {
			return err
		}
	}
	return nil
}

var soon = Patience{For: 5 * time.Second, First: time.Millisecond, Most: 2 * time.Millisecond}

func TestTriesAgain(t *testing.T) {
	f := &flaky{fail: func(call int64) error {
		if call < 5 {
			return &Trouble{Err: errors.New("cut off"), Slow: call == 1}
		}
		return nil
	}}
	told := 0
	s := Patiently(f, soon, 2, func(error) { told++ })
	if tag, err := s.Put(t.Context(), "a", nil, Put{}); err != nil || tag != "tag" || told != 4 {
		t.Errorf("%q, %v, told %d times", tag, err, told)
	}
}

func TestGivesUp(t *testing.T) {
	f := &flaky{fail: func(int64) error { return &Trouble{Err: errors.New("cut off")} }}
	s := Patiently(f, Patience{For: 20 * time.Millisecond, First: time.Millisecond, Most: time.Millisecond}, 2, nil)
	if _, err := s.Put(t.Context(), "a", nil, Put{}); err == nil || !strings.Contains(err.Error(), "given up") {
		t.Error(err)
	}
	f.calls.Store(0)
	f.fail = func(int64) error { return ErrFull }
	if _, err := s.Put(t.Context(), "a", nil, Put{}); !errors.Is(err, ErrFull) || f.calls.Load() != 1 {
		t.Errorf("%v after %d calls", err, f.calls.Load())
	}
	ended, end := context.WithCancel(t.Context())
	end()
	f.fail = func(int64) error { return &Trouble{Err: errors.New("cut off")} }
	if _, err := s.Put(ended, "a", nil, Put{}); err == nil {
		t.Error("it goes on after it was ended")
	}
}

// A list that broke off gives every name once.
func TestListGoesOn(t *testing.T) {
	f := &flaky{fail: func(call int64) error {
		if call < 3 {
			return &Trouble{Err: errors.New("cut off")}
		}
		return nil
	}}
	var got []string
	err := Patiently(f, soon, 1, nil).List(t.Context(), "", func(i Info) error { got = append(got, i.Name); return nil })
	if err != nil || !slices.Equal(got, strings.Split("0123456789", "")) {
		t.Errorf("%q, %v", got, err)
	}
}

// rounds lists some names, again and again.
type rounds struct {
	flaky
	names []string
}

func (r *rounds) URL() string { return "s3://backups" }

func (r *rounds) List(_ context.Context, _ string, each func(Info) error) error {
	for range 1000 {
		for _, name := range r.names {
			if err := each(Info{Name: name}); err != nil {
				return err
			}
		}
	}
	return nil
}

// A list that repeats itself, or is not in order, is no list.
func TestListIsInOrder(t *testing.T) {
	for _, names := range [][]string{{"a", "b"}, {"b", "a"}, {"a", "a"}} {
		n := 0
		err := Patiently(&rounds{names: names}, soon, 1, nil).List(t.Context(), "", func(Info) error { n++; return nil })
		if err == nil || !strings.Contains(err.Error(), "list s3://backups: it has a after ") || n > 2 {
			t.Errorf("%q: %d names, %v", names, n, err)
		}
	}
}

// A store that says that it is asked too often is asked by half as many.
func TestCrowd(t *testing.T) {
	c := newCrowd(8)
	c.tell(true)
	c.tell(true)
	if c.most != 2 {
		t.Errorf("%d", c.most)
	}
	for range 200 {
		c.tell(false)
	}
	if c.most != 8 {
		t.Errorf("%d", c.most)
	}
	for range 10 {
		c.tell(true)
	}
	if c.most != 1 {
		t.Errorf("%d", c.most)
	}
}

// A store that bears one request at a time is asked by who is told of an object of a list, as a prune does in a storm of 503.
func TestAsksWhileItLists(t *testing.T) {
	s := Patiently(&flaky{fail: func(int64) error { return nil }}, soon, 1, nil)
	done := make(chan error, 1)
	go func() {
		done <- s.List(t.Context(), "", func(i Info) error {
			_, err := s.Put(t.Context(), i.Name, nil, Put{})
			return err
		})
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it waits for itself")
	}
}

// What goes wrong with who is told of an object is not the fault of the list, which is not asked for anew.
func TestListIsStopped(t *testing.T) {
	f := &flaky{fail: func(int64) error { return nil }}
	bad := &Trouble{Err: errors.New("given up")}
	if err := Patiently(f, soon, 1, nil).List(t.Context(), "", func(Info) error { return bad }); !errors.Is(err, bad) || f.calls.Load() != 1 {
		t.Errorf("%v, after %d lists", err, f.calls.Load())
	}
}
