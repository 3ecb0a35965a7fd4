package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plumb/internal/await"
	"plumb/internal/backup/manifest"
	"plumb/internal/hint"
	"plumb/internal/host/reach"
)

// Service archives what servers hand over, and follows the logs of others.
type Service struct {
	Keeper *Keeper
	Board  *Board
	Every  time.Duration // between two looks at a log that is followed
	Within time.Duration // the longest that one file may take: its server is told then that it failed
	Pulse  time.Duration // between two signs of life; 0: Beat
	Say    func(string)  // tells a person what happened

	turn chan struct{} // of who keeps
}

// Follower follows a log.
type Follower interface {
	Name() string
	// Turn keeps what was written since the last one.
	Turn(ctx context.Context, k *Keeper) (Turn, error)
	// Knows tells whether a backup is a base of the product whose log it is.
	Knows(m manifest.Manifest) bool
}

// Turn is what came of a look at a log.
type Turn struct {
	Last  string // where the archive is: FILE:PLACE
	Bytes int64  // that were kept now
	Whole bool   // it has all that was there when the turn began
	More  bool   // there is more to be kept at once
	Break string // why the log could not be gone on with

	Breaks []Break // all that the archive has of the log, oldest first
}

// Inlet is where servers hand over, and of which user they must be.
type Inlet struct {
	*reach.Inlet
	UID    int
	Name   string // in the status
	Accept func(o Offer, head []byte) (Piece, error)
	Gaps   Gaps // nil where nobody looks for any

	torn chan struct{} // a piece did not join on
}

// atOnce is how many may be handing over at a time. A server does one after the other.
const atOnce = 8

// Run archives until the context ends. What cannot be written down of it is said, and does not end it: on a disk that is full the
// server's log must go on leaving. A socket that is gone does end it: servers would wait in vain, and whoever asks how the service is
// would hear that it is well. The next one makes another.
func (s *Service) Run(ctx context.Context, in *Inlet, follow []Follower) error {
	s.turn = make(chan struct{}, 1)
	ctx, end := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer end(nil) // before the wait
	for _, f := range follow {
		s.tell(ctx, f.Name(), nil, func(one *Source) { one.Follows = true })
		all.Go(func() { s.follow(ctx, f) })
	}
	all.Go(func() { end(s.beat(ctx, in)) })
	if in == nil {
		<-ctx.Done()
		return nil
	}
	all.Go(func() {
		<-ctx.Done()
		_ = in.Close() // which ends Accept
	})
	if in.Gaps != nil {
		in.torn = make(chan struct{}, 1)
		all.Go(func() { s.gaps(ctx, in) })
	}
	places := make(chan struct{}, atOnce)
	for {
		c, err := in.Inlet.Accept()
		if gone := context.Cause(ctx); errors.Is(gone, reach.ErrGone) {
			_ = s.Board.Tell(context.WithoutCancel(ctx), in.Name, func(one *Source) { one.Ill(gone, s.Board.Now()) })
			return hint.With(gone, "somebody removed it, or another service took its place; when this one is restarted, it makes a new one")
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listen for servers: %w", err)
		}
		if c.UID != in.UID && c.UID != 0 {
			refuse(c) // before he takes a place, or changes anything of what is said
			continue
		}
		select {
		case places <- struct{}{}:
			all.Go(func() {
				defer func() { <-places }()
				s.receive(ctx, in, c)
			})
		default:
			_ = c.Close() // its command says that it failed
		}
	}
}

// receive takes one file.
func (s *Service) receive(ctx context.Context, in *Inlet, c *reach.Caller) {
	ctx, cancel := context.WithTimeout(ctx, s.Within)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	defer c.Close()
	held := false
	p, n, err := s.Keeper.Receive(ctx, c, s.Within, func(o Offer, head []byte) (Piece, error) {
		p, err := in.Accept(o, head)
		if err == nil {
			err = s.wait(ctx)
		}
		held = err == nil
		return p, err
	})
	if err == nil {
		in.joined(p)
	}
	if held {
		<-s.turn
	}
	if errors.Is(err, errSilent) {
		return
	}
	s.tell(ctx, in.Name, err, func(one *Source) { one.well(p.File, n, s.Board.Now()) })
}

// refuse sends a user away who is not the server's.
func refuse(c *reach.Caller) {
	_ = c.SetDeadline(time.Now().Add(time.Second))
	_ = tell(c, hint.With(fmt.Errorf("user %d may not archive here", c.UID), "plumb archive run --wal-user names the user of the server"))
	_ = c.Close()
}

// wait waits until nobody else keeps: what hangs then is told by those who wait too long.
func (s *Service) wait(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errors.New("the files before it take too long to archive: the store does not answer, or is slow")
	}
}

// follow looks at a log again and again.
func (s *Service) follow(ctx context.Context, f Follower) {
	var b breaks
	for ctx.Err() == nil {
		began := s.Board.Now()
		t, err := s.once(ctx, f)
		if ctx.Err() != nil {
			return
		}
		if t.Break != "" {
			s.Say(f.Name() + ": the log broke off: " + t.Break)
		}
		left := s.broken(ctx, f.Name(), f.Knows, &b, t.Breaks)
		s.tell(ctx, f.Name(), err, func(one *Source) {
			kept := one.Kept
			one.well(t.Last, t.Bytes, s.Board.Now())
			if t.Bytes == 0 {
				one.Kept = kept
			}
			if t.Whole {
				one.Whole = began.UTC()
			}
			one.broke(left)
		})
		if err == nil && t.More {
			continue
		}
		_ = await.Pause(ctx, s.Every)
	}
}

// broken gives the breaks of a log that still matter.
func (s *Service) broken(ctx context.Context, name string, isBase func(manifest.Manifest) bool, b *breaks, all []Break) []Break {
	ctx, cancel := context.WithTimeout(ctx, s.Within)
	defer cancel()
	left, err := b.matter(all, s.Board.Now(), func(since time.Time) (time.Time, error) {
		shelf, err := s.Keeper.OwnShelf()
		if err != nil {
			return time.Time{}, err
		}
		return shelf.Newest(ctx, isBase, since)
	})
	if err != nil && ctx.Err() == nil {
		s.Say(name + ": whether a base backup was taken since its log broke off: " + err.Error())
	}
	return left
}

func (s *Service) once(ctx context.Context, f Follower) (Turn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Within)
	defer cancel()
	return f.Turn(ctx, s.Keeper)
}

// tell says how it went.
func (s *Service) tell(ctx context.Context, name string, err error, well func(*Source)) {
	if err != nil {
		s.Say(name + ": " + err.Error())
	}
	bad := s.Board.Tell(context.WithoutCancel(ctx), name, func(one *Source) {
		if err != nil {
			one.Ill(err, s.Board.Now())
			return
		}
		well(one)
	})
	if bad != nil {
		s.Say(bad.Error())
	}
}

// beat says again and again that the service is alive, until the context ends or nobody reaches the inlet any more.
func (s *Service) beat(ctx context.Context, in *Inlet) error {
	for await.Pause(ctx, cmp.Or(s.Pulse, Beat)) == nil {
		if in != nil {
			if err := in.There(); err != nil {
				return err
			}
		}
		if err := s.Board.Tell(ctx, "", nil); err != nil {
			s.Say(err.Error())
		}
	}
	return nil
}
