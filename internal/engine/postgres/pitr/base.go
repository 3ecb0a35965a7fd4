package pitr

import (
	"archive/tar"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"

	"plumb/internal/engine/postgres/wal"
)

// The facts that a backup has of a base.
const (
	factSystem   = "postgres_system"
	factVersion  = "postgres_version"
	factStart    = "base_start_lsn"
	factEnd      = "base_end_lsn"
	factTimeline = "base_timeline"
)

var (
	startsAt   = regexp.MustCompile(`(?m)^START WAL LOCATION: ([0-9A-F]{1,8}/[0-9A-F]{1,8}) `)
	startsOn   = regexp.MustCompile(`(?m)^START TIMELINE: ([0-9]{1,10})$`)
	endsAt     = regexp.MustCompile(`"End-LSN": "([0-9A-F]{1,8}/[0-9A-F]{1,8})" *\}`)
	versionTxt = regexp.MustCompile(`^([0-9]{1,3})\n?$`)
)

// Base watches what is backed up, and finds out whether it is a base backup: what pg_basebackup gives with -D - -Ft.
type Base struct {
	in    *io.PipeWriter
	done  chan struct{}
	facts map[string]string
}

// NewBase begins to watch. Facts ends it.
func NewBase() *Base {
	out, in := io.Pipe()
	b := &Base{in: in, done: make(chan struct{}), facts: map[string]string{}}
	go func() {
		defer close(b.done)
		if err := b.read(tar.NewReader(out)); err != nil {
			clear(b.facts) // it is something else, or was cut
		}
		_, _ = io.Copy(io.Discard, out) // what it is does not end the backup
	}()
	return b
}

// Write implements io.Writer. It takes everything.
func (b *Base) Write(p []byte) (int, error) { return b.in.Write(p) }

// Facts gives what was found; nothing where it was no base.
func (b *Base) Facts() map[string]string {
	_ = b.in.Close()
	<-b.done
	for _, name := range []string{factSystem, factVersion, factStart, factTimeline} {
		if b.facts[name] == "" {
			return nil
		}
	}
	return b.facts
}

func (b *Base) read(t *tar.Reader) error {
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := b.file(path.Clean(h.Name), t); err != nil {
			return err
		}
	}
}

func (b *Base) file(name string, r io.Reader) error {
	switch name {
	case "backup_label":
		text, err := io.ReadAll(io.LimitReader(r, mostText))
		b.find(factStart, startsAt, text)
		b.find(factTimeline, startsOn, text)
		return err
	case "PG_VERSION":
		text, err := io.ReadAll(io.LimitReader(r, 64))
		b.find(factVersion, versionTxt, text)
		return err
	case "global/pg_control":
		text, err := io.ReadAll(io.LimitReader(r, 64))
		if system, bad := wal.System(text); bad == nil {
			b.facts[factSystem] = strconv.FormatUint(system, 10)
		}
		return err
	case "backup_manifest":
		end, err := lastOf(r)
		b.find(factEnd, endsAt, end)
		return err
	}
	return nil
}

func (b *Base) find(fact string, at *regexp.Regexp, text []byte) {
	if m := at.FindSubmatch(text); m != nil {
		b.facts[fact] = strings.TrimSpace(string(m[1]))
	}
}

// lastOf gives the end of what is read: what the manifest says of the log comes behind all files.
func lastOf(r io.Reader) (end []byte, err error) {
	const keep = 4 << 10
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		end = append(end, buf[:n]...)
		end = end[max(0, len(end)-keep):]
		if err == io.EOF {
			return end, nil
		}
		if err != nil {
			return end, err
		}
	}
}
