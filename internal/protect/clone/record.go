// Package clone makes servers of points, in seconds: for development, or as replicas of
// the source. Each is written down in a file of its own before anything is made, so that
// one whose making was killed is taken away by the next run.
package clone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// Directory is where clones are written down.
const Directory = "/var/lib/plumb/clones"

// Form is the version of the file of a clone. A newer one is refused.
const Form = 1

// State is where the life of a clone is.
type State string

// States of a clone.
const (
	Making   State = "making"
	Made     State = "made"
	Dropping State = "dropping"
	// Refreshing is a clone that is gone, and is to be made anew of another point: how is written down.
	Refreshing State = "refreshing"
)

// Clone is what is written down of one.
type Clone struct {
	Form    int             `json:"form"`
	Name    string          `json:"name"`
	State   State           `json:"state"`
	Point   string          `json:"point"` // ID
	Purpose protect.Purpose `json:"purpose"`
	Product string          `json:"product"`
	Since   time.Time       `json:"since"`
	Dir     string          `json:"dir"`
	Run     string          `json:"run"` // with its socket, configuration and log; "" when no server runs on it
	Port    int             `json:"port,omitempty"`
	PID     int             `json:"pid,omitempty"`
	Memory  int64           `json:"memory"`
	Number  int             `json:"number"`
	Masks   []string        `json:"masks,omitempty"` // statements that ran before it listened
	Ready   time.Duration   `json:"ready_ns"`        // from the request to its first answer
}

// owner is whom the inventory names for what a clone is made of.
func owner(name string) string { return "clone " + name }

// ErrNoClone says that there is no clone of a name.
var ErrNoClone = hint.With(errors.New("there is no such clone"), "plumb clone list shows them")

func (m Maker) file(name string) string { return path.Join(m.Dir, name+".json") }

// List gives all clones, the oldest first. The error names files that could not be
// read; the others are given with it.
func (m Maker) List(ctx context.Context, h host.Reader) (all []Clone, err error) {
	files, err := h.Glob(ctx, path.Join(m.Dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var bad []error
	for _, file := range files {
		c, err := read(ctx, h, file)
		if err != nil {
			bad = append(bad, fmt.Errorf("read %s: %w", file, err))
			continue
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b Clone) int { return a.Since.Compare(b.Since) })
	return all, errors.Join(bad...)
}

// Get gives the clone of a name.
func (m Maker) Get(ctx context.Context, h host.Reader, name string) (Clone, error) {
	if strings.ContainsAny(name, "/*?[\\") {
		return Clone{}, fmt.Errorf("look for clone %q: %w", name, ErrNoClone)
	}
	c, err := read(ctx, h, m.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNoClone
	}
	if err != nil {
		err = fmt.Errorf("look for clone %q: %w", name, err)
	}
	return c, err
}

func read(ctx context.Context, h host.Reader, file string) (c Clone, err error) {
	err = protect.ReadKept(ctx, h, file, "it is a clone", Form, &c)
	return c, err
}

func (m Maker) put(ctx context.Context, c Clone) error {
	c.Form = Form
	return protect.WriteKept(ctx, m.Maker.Keeper.Do, m.file(c.Name), c, 0o600)
}
