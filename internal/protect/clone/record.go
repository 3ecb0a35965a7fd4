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
	"strconv"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/observe"
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
	// Ended is a clone that a start of the machine, or somebody, has ended: its server does not run, its files are not mounted. It is
	// written down nowhere.
	Ended State = "ended"
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
	// Process is by what its process is known again, so that another of its number is not taken for it.
	Process map[string]string `json:"process,omitempty"`
	Memory  int64             `json:"memory"`           // that was asked for
	Limits  []protect.Limit   `json:"limits,omitempty"` // of what its server can take from all else
	Number  int               `json:"number"`
	Masks   []string          `json:"masks,omitempty"`         // statements that ran before it listened
	Ready   time.Duration     `json:"ready_ns"`                // from the request to its first answer
	Follows string            `json:"follows,omitempty"`       // how a replica followed its source when it was made
	Astray  bool              `json:"not_following,omitempty"` // it did not follow it
}

// owner is whom the inventory names for what a clone is made of.
func owner(name string) string { return "clone " + name }

// ErrNoClone says that there is no clone of a name.
var ErrNoClone = hint.With(errors.New("there is no such clone"), "plumb clone list shows them")

const cloneFiles = "*.json"

func (m Maker) file(name string) string { return path.Join(m.Dir, name+".json") }

// List gives all clones, the oldest first. The error names files that could not be
// read; the others are given with it.
func (m Maker) List(ctx context.Context, h host.Reader) (all []Clone, err error) {
	files, err := h.Glob(ctx, path.Join(host.Verbatim(m.Dir), cloneFiles))
	if err != nil {
		return nil, err
	}
	var bad []error
	for _, file := range files {
		c, err := read(ctx, h, file)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b Clone) int { return a.Since.Compare(b.Since) })
	return all, errors.Join(bad...)
}

// Now tells which of some clones have ended. Of a server that an older Plumb started nobody knows.
func Now(ctx context.Context, h host.Reader, all []Clone) []Clone {
	all = slices.Clone(all)
	for i, c := range all {
		there, err := true, error(nil)
		switch {
		case c.State != Made:
		case c.Purpose == protect.ForBrowse:
			there, err = mountedBelow(ctx, h, c.Dir)
		case c.Process != nil:
			there, err = kinds.Runs(ctx, h, inventory.Thing{Kind: inventory.Process, Name: strconv.Itoa(c.PID), Proof: c.Process})
		}
		if err == nil && !there {
			all[i].State = Ended
		}
	}
	return all
}

// mountedBelow tells whether anything is mounted below a directory.
func mountedBelow(ctx context.Context, h host.Reader, dir string) (bool, error) {
	all, err := observe.MountTable(ctx, h, "self")
	return slices.ContainsFunc(all, func(m observe.Mount) bool { return paths.Within(m.Point, dir) }), err
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
	if err = protect.ReadKept(ctx, h, file, "it is a clone", Form, &c); err == nil {
		err = odd(c, file)
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", file, hint.Cause(err))
	}
	return c, err
}

// odd is an error for what no Plumb wrote into the file of a clone. Somebody may have edited it: nothing is taken away for it.
func odd(c Clone, file string) (err error) {
	switch {
	case c.Form < 1 || c.Name+".json" != path.Base(file):
		err = errors.New("it is not a clone of this name")
	case !slices.Contains([]State{Making, Made, Dropping, Refreshing}, c.State):
		err = fmt.Errorf("%q is not a state of a clone", c.State)
	}
	return hint.With(err, "repair the file, or move it away: plumb inventory shows what was made of the clone")
}

func (m Maker) put(ctx context.Context, c Clone) error {
	c.Form = Form
	return protect.WriteKept(ctx, m.Maker.Keeper.Do, m.file(c.Name), c, 0o600)
}
