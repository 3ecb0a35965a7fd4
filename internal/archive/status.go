package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/units"
)

// Status is what a service says of itself. It writes it down again and again, so that one that hangs is told from one
// that has nothing to do.
type Status struct {
	Form    int       `json:"form"`
	Name    string    `json:"name"` // of the service
	PID     int       `json:"pid"`
	To      string    `json:"to"`    // URL of the store
	Since   time.Time `json:"since"` // it runs
	Alive   time.Time `json:"alive"` // it wrote this
	Sources []Source  `json:"sources"`
}

// Source is one log that is archived.
type Source struct {
	Name    string    `json:"name"`                    // of the server in the archive, or of what hands over
	Follows bool      `json:"follows,omitempty"`       // the service looks at it by itself
	Last    string    `json:"last,omitempty"`          // what was kept last: FILE or FILE:PLACE
	Kept    time.Time `json:"kept,omitzero"`           // and when
	Whole   time.Time `json:"whole,omitzero"`          // all that was in the log then is kept; of what is handed over nobody knows
	Pieces  int64     `json:"pieces"`                  // that this run of the service kept
	Bytes   int64     `json:"bytes"`                   // of the log in them
	Wrong   string    `json:"wrong,omitempty"`         // what failed last, and has not gone well since
	From    time.Time `json:"from,omitzero"`           // when that began
	Failed  int       `json:"failed"`                  // how often in a row
	Breaks  []string  `json:"breaks,omitempty"`        // when and why the log broke off, the last times behind which no base backup begins
	Before  int       `json:"breaks_before,omitempty"` // how often it broke off before those
}

// Board is where a service says how it is.
type Board struct {
	Do   host.Doer
	File string
	Now  func() time.Time

	mu      sync.Mutex
	head    Status
	sources map[string]*Source
}

// StatusFile is where a service of this name says how it is.
func StatusFile(dir, name string) string { return path.Join(dir, "archive", name+".json") }

// Begin writes down that a service runs.
func (b *Board) Begin(ctx context.Context, s Status) error {
	b.mu.Lock()
	b.head, b.sources = s, map[string]*Source{}
	b.head.Form, b.head.Since = Form, b.Now().UTC()
	b.mu.Unlock()
	return b.Tell(ctx, "", nil)
}

// Tell changes what is said of a source, and writes it down; "" only says that the service is alive.
func (b *Board) Tell(ctx context.Context, name string, change func(*Source)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if name != "" {
		s := b.sources[name]
		if s == nil {
			s = &Source{Name: name}
			b.sources[name] = s
		}
		change(s)
	}
	b.head.Alive, b.head.Sources = b.Now().UTC(), []Source{}
	for _, of := range slices.Sorted(maps.Keys(b.sources)) {
		b.head.Sources = append(b.head.Sources, *b.sources[of])
	}
	text, err := json.MarshalIndent(b.head, "", " ")
	if err == nil {
		err = b.Do.Replace(ctx, b.File, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("record the state of the archive service: %w", err)
	}
	return nil
}

// well notes that something was kept.
func (s *Source) well(last string, bytes int64, at time.Time) {
	s.Wrong, s.From, s.Failed = "", time.Time{}, 0
	if last != "" {
		s.Last, s.Kept = last, at.UTC()
	}
	if bytes > 0 {
		s.Pieces, s.Bytes = s.Pieces+1, s.Bytes+bytes
	}
}

// Ill notes that something failed.
func (s *Source) Ill(err error, at time.Time) {
	if s.Failed == 0 {
		s.From = at.UTC()
	}
	s.Wrong, s.Failed = err.Error(), s.Failed+1
}

// Old is how long a service that is well may say nothing.
const Old = 90 * time.Second

// LongestLag is longer than a service may wait between two looks at a log: one that is so far behind is in trouble, however it was set.
const LongestLag = 2 * time.Hour

// Beat is how often it says something.
const Beat = 15 * time.Second

// Trouble says what is wrong with a service, each in a sentence; nothing where all is well. lag is how long what was
// written may be without being kept.
func (s Status) Trouble(now time.Time, lag time.Duration) (all []string) {
	switch age := now.Sub(s.Alive); {
	case age > Old:
		all = append(all, fmt.Sprintf("the service has reported nothing for %s: it has ended, hangs, or cannot write to the disk", units.Span(age.Round(time.Second))))
	case age < -Old: // one that runs would have said something since
		all = append(all, fmt.Sprintf("the service last reported at %s, which is in the future: a clock was set back, and whether it runs is not known", s.Alive.Format(time.RFC3339)))
	}
	for _, one := range s.Sources {
		if one.Wrong != "" {
			all = append(all, fmt.Sprintf("%s: failed %s since %s: %s", one.Name, units.Count(one.Failed, "time"), one.From.Format(time.RFC3339), one.Wrong))
		}
		if age := now.Sub(s.Since); one.Follows && one.Whole.IsZero() && one.Wrong == "" && age > lag {
			all = append(all, fmt.Sprintf("%s: %s after the service started its log is not completely archived yet: a disk or the store hangs, or there is much of it", one.Name, units.Span(age.Round(time.Second))))
		}
		switch age := now.Sub(one.Whole); {
		case one.Whole.IsZero():
		case age > lag:
			all = append(all, fmt.Sprintf("%s: what was written in the last %s is not in the archive", one.Name, units.Span(age.Round(time.Second))))
		case age < -Old:
			all = append(all, fmt.Sprintf("%s: its log was last completely archived at %s, which is in the future: a clock was set back, and how much is missing is not known", one.Name, one.Whole.Format(time.RFC3339)))
		}
		if one.Before > 0 {
			all = append(all, fmt.Sprintf("%s: the log broke off %s before the last %d", one.Name, units.Count(one.Before, "time"), len(one.Breaks)))
		}
		for _, why := range one.Breaks {
			all = append(all, fmt.Sprintf("%s: the log broke off at %s; earlier base backups cannot be recovered beyond that: take a new one", one.Name, why))
		}
	}
	return all
}

// Statuses reads what the services of this host say. The error names what could not be read; the others are given with it.
func Statuses(ctx context.Context, h host.Reader, dir string) (all []Status, err error) {
	files, err := h.Glob(ctx, StatusFile(host.Verbatim(dir), "*"))
	if err != nil {
		return nil, err
	}
	var bad []error
	for _, file := range files {
		s, err := readStatus(ctx, h, file)
		switch {
		case errors.Is(err, fs.ErrNotExist): // just removed
		case err != nil:
			bad = append(bad, fmt.Errorf("read %s: %w", file, err))
		default:
			all = append(all, s)
		}
	}
	return all, errors.Join(bad...)
}

func readStatus(ctx context.Context, h host.Reader, file string) (s Status, err error) {
	text, err := h.ReadFile(ctx, file)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, err
	}
	if s.Form > Form {
		return s, hint.Newer("it", s.Form, Form)
	}
	if want := strings.TrimSuffix(path.Base(file), ".json"); s.Name != want {
		return s, fmt.Errorf("it is of %q", s.Name)
	}
	return s, nil
}
