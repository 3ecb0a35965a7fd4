package await

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// program ends some time after it was asked to, or never.
type program struct {
	ends time.Duration // after end; 0 for never
	done chan struct{}
	err  error
}

func (p *program) Done() <-chan struct{} { return p.done }
func (p *program) Err() error            { return p.err }
func (p *program) end() error {
	if p.ends > 0 {
		time.AfterFunc(p.ends, func() { close(p.done) })
	}
	return nil
}

var errNotYet = errors.New("not yet")

func TestAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		answers, ends time.Duration // after the start; 0 for never
		err           error         // of the program
		want          string
		takes         time.Duration
	}{
		"answers":          {answers: 2 * time.Second, takes: 2 * time.Second},
		"never":            {want: "no answer within 60 s: not yet", takes: time.Minute},
		"ends well":        {ends: time.Second, want: "it ended at once", takes: time.Second},
		"ends in an error": {ends: time.Second, err: errors.New("exit status 1"), want: "exit status 1", takes: time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, p := time.Now(), &program{done: make(chan struct{}), err: c.err}
			if c.ends > 0 {
				time.AfterFunc(c.ends, func() { close(p.done) })
			}
			err := Answer(t.Context(), p, time.Minute, func(context.Context) error {
				if c.answers > 0 && time.Since(began) >= c.answers {
					return nil
				}
				return errNotYet
			})
			if err == nil != (c.want == "") || err != nil && err.Error() != c.want {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			if took := time.Since(began); took < c.takes || took > c.takes+step {
				t.Errorf("%s: it took %s, want %s", name, took, c.takes)
			}
		})
	}
}

func TestEnd(t *testing.T) {
	for name, c := range map[string]struct {
		ends time.Duration
		want string
	}{
		"ends":     {time.Second, ""},
		"goes on":  {0, "had not ended 60 s after"},
		"too late": {2 * time.Minute, "had not ended 60 s after"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &program{ends: c.ends, done: make(chan struct{})}
			err := End(t.Context(), p, time.Minute, p.end)
			if err == nil != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			synctest.Wait()
			time.Sleep(3 * time.Minute) // whoever ends later does
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &program{done: make(chan struct{})}
	if err := End(ctx, p, time.Minute, p.end); !errors.Is(err, context.Canceled) {
		t.Errorf("who is told to stop gets %v", err)
	}
	if err := End(t.Context(), p, time.Minute, func() error { return errNotYet }); err != errNotYet {
		t.Errorf("what cannot be asked gives %v", err)
	}
}

func TestWhileBusy(t *testing.T) {
	busy, kernel := errors.New("cannot rename 'tank/db': dataset is busy"), errors.New("cannot unmount '/srv/db': Device or resource busy")
	called := errors.New("run zfs mount tank/busy: cannot mount 'tank/busy': encryption key not loaded")
	for name, c := range map[string]struct {
		answers []error // one for each try, and the last one for all later ones
		want    error
		takes   time.Duration
	}{
		"free":             {[]error{nil}, nil, 0},
		"busy at first":    {[]error{busy, busy, nil}, nil, 2 * step},
		"in other words":   {[]error{kernel, nil}, nil, step},
		"called busy":      {[]error{called}, called, 0},
		"always busy":      {[]error{busy}, busy, time.Minute},
		"something else":   {[]error{errNotYet}, errNotYet, 0},
		"then it is other": {[]error{busy, errNotYet}, errNotYet, step},
	} {
		synctest.Test(t, func(t *testing.T) {
			began, tries := time.Now(), 0
			err := WhileBusy(t.Context(), time.Minute, func() error {
				tries++
				return c.answers[min(tries, len(c.answers))-1]
			})
			if took := time.Since(began); err != c.want || took != c.takes {
				t.Errorf("%s: %v after %s, want %v after %s", name, err, took, c.want, c.takes)
			}
		})
	}
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		third := func(err error) func() (bool, error) {
			return func() (bool, error) { tries++; return tries == 3, err }
		}
		if err := Until(t.Context(), time.Minute, third(nil)); err != nil || tries != 3 {
			t.Errorf("%v after %d tries", err, tries)
		}
		if err := Until(t.Context(), time.Minute, func() (bool, error) { return true, errNotYet }); err != errNotYet {
			t.Errorf("what is done with an error gives %v", err)
		}
		if err := Until(t.Context(), time.Minute, third(nil)); !errors.Is(err, errStill) {
			t.Errorf("what is never done gives %v", err)
		}
		if err := Until(t.Context(), time.Minute, third(errNotYet)); !errors.Is(err, errNotYet) {
			t.Errorf("what always fails gives %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := Until(ctx, time.Minute, third(errNotYet)); !errors.Is(err, errNotYet) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who is told to stop gets %v", err)
		}
	})
}
