package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// bench does trials.
type bench struct {
	machine hypervisor
	plumb   string        // the binary that goes into the guest
	self    string        // this program, which goes there too
	images  string        // directory of what all trials of a row begin with; it is kept
	dir     string        // for the rest
	seed    uint64        // of everything that is drawn
	drive   time.Duration // how long a load runs whose log is replayed
	cuts    int           // how many cuts are drawn of one log
	// The times from the first commit to a kill.
	shortest, longest time.Duration
	// drive and longest on this host, which is faster than a machine.
	driveHere, longestHere time.Duration
	say                    func(format string, args ...any)
}

// Deadlines of the three kinds of boots, generous since machines without
// hardware help are ten times slower.
const (
	prepareTime = 30 * time.Minute
	serveTime   = 15 * time.Minute
	verifyTime  = 20 * time.Minute
)

// base gives the image that the trials of a row begin with. It is made once,
// for all rows that differ only in what the server is told when it starts; its
// name has a hash of everything that made it.
func (b *bench) base(ctx context.Context, r row) (string, error) {
	r.settings = nil
	image := filepath.Join(b.images, "base", r.engine+"-"+r.storage+"-"+r.hash())
	if _, err := os.Stat(image); err == nil {
		return image, nil
	}
	if err := os.MkdirAll(filepath.Dir(image), 0o755); err != nil {
		return "", err
	}
	b.say("%s: making the server that its trials begin with", r.name)
	work, err := os.MkdirTemp(b.dir, "prepare-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	part := filepath.Join(work, "disk")
	out := filepath.Join(work, "out")
	code, output, err := b.machine.Run(ctx, guest{release: r.release, line: r.script("prepare", 0), in: []string{b.plumb}, out: out,
		disks: []disk{{name: "data", file: part, bytes: diskBytes}}, deadline: prepareTime})
	if err != nil || code != 0 {
		return "", b.wrong("prepare", r, code, output, err)
	}
	return image, os.Rename(part, image)
}

// wrong says what a guest that failed said last.
func (b *bench) wrong(what string, r row, code int, output []byte, err error) error {
	var last []string
	for line := range strings.Lines(string(output)) {
		if line = strings.TrimSpace(line); line != "" {
			last = append(last, line)
		}
	}
	last = last[max(0, len(last)-5):]
	if err == nil {
		err = fmt.Errorf("exit code %d", code)
	}
	if code == skipCode {
		err = errSkipped
	}
	return fmt.Errorf("%s %s: %w; it said last: %s", what, r.name, err, strings.Join(last, " | "))
}

// skipCode is how the guest's script ends that lacks a program.
const skipCode = 77

// hash is of all that decides what a row's image holds.
func (r row) hash() string {
	h := fnv.New64a()
	place := r.release
	if r.versions != "" {
		place += " " + r.versions
	}
	io.WriteString(h, place+"\n"+r.script("prepare", 0))
	return fmt.Sprintf("%016x", h.Sum64())
}

// draw gives a number that depends on the seed and the names alone.
func (b *bench) draw(names ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, append([]any{b.seed}, names...)...)
	return h.Sum64()
}

// copyImage copies a disk, holes as holes.
func copyImage(ctx context.Context, from, to string) error {
	cmd := exec.CommandContext(ctx, "cp", "--sparse=always", "--reflink=auto", "--", from, to)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("copy the image: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// session is a server under load whose power was cut.
type session struct {
	dir   string // disk, log and book are in it
	base  string // what the disk held before
	marks []mark
}

func (s *session) disk() string { return filepath.Join(s.dir, "disk") }
func (s *session) log() string  { return filepath.Join(s.dir, "log") }
func (s *session) book() string { return filepath.Join(s.dir, "book") }
func (s *session) close() error { return os.RemoveAll(s.dir) }

// serve puts a server under load and cuts its power some time after the first
// commit was acknowledged.
func (b *bench) serve(ctx context.Context, r row, k kind, after time.Duration) (s *session, err error) {
	s = &session{}
	if s.base, err = b.base(ctx, r); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp(b.dir, "session-"); err != nil {
		return nil, err
	}
	made := s
	defer func() {
		if err != nil {
			err = errors.Join(err, made.close())
		}
	}()
	if err := copyImage(ctx, s.base, s.disk()); err != nil {
		return nil, err
	}
	cut := disk{name: "data", file: s.disk(), cut: true}
	if k != killed {
		cut.log = s.log()
	}
	m := newMarker(cut.log)
	power, off := context.WithCancel(ctx)
	defer off()
	go func() {
		select {
		case <-m.first:
		case <-power.Done():
			return
		}
		hold(power, after, cut.log)
		off()
	}()
	code, output, err := b.machine.Run(power, guest{release: r.release, line: r.script("serve", 0), in: []string{b.plumb, b.self},
		disks: []disk{cut, {name: "book", file: s.book(), bytes: bookBytes}}, deadline: serveTime, live: m})
	s.marks = m.all()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if power.Err() == nil || len(s.marks) == 0 || errors.Is(err, errLeft) { // it ended before its power was cut, or never quite
		return nil, b.wrong("drive", r, code, output, err)
	}
	return s, nil
}

// mostLog bounds the log of a disk's writes, in bytes.
const mostLog = 3 << 30

// hold waits for so long, or until a log is too long.
func hold(ctx context.Context, after time.Duration, log string) {
	over := time.After(after)
	for {
		select {
		case <-over:
			return
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
		if st, err := os.Stat(log); log != "" && err == nil && st.Size() > mostLog {
			return
		}
	}
}

// verify boots a guest with what was left, and says what it found.
func (b *bench) verify(ctx context.Context, r row, image, book string, records int64) (outcome, error) {
	out, err := os.MkdirTemp(b.dir, "out-")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(out)
	code, output, err := b.machine.Run(ctx, guest{release: r.release, line: r.script("verify", records), in: []string{b.plumb}, out: out,
		disks: []disk{{name: "data", file: image}, {name: "book", file: book}}, deadline: verifyTime})
	if err != nil || code != 0 {
		return outcome{}, b.wrong("verify", r, code, output, err)
	}
	return found(out)
}
