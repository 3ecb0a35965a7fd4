package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/units"
)

// Still is what must hold for an act to be undone, even by force: a state, or that a directory is empty.
type Still struct {
	Inspect Inspection `json:"look,omitzero"`
	State   string     `json:"state,omitempty"`
	Empty   string     `json:"empty,omitempty"` // the directory; lost+found does not count
	Hint    string     `json:"hint,omitempty"`  // what a person can do when it is not
	And     *Still     `json:"and,omitempty"`   // must hold as well
}

// way says what keeps a place from being undone; nil for nothing.
func (s *Still) way(ctx context.Context, k *Executor, place string) (*Drift, error) {
	if s == nil {
		return nil, nil
	}
	if s.Empty != "" {
		in, err := inside(ctx, k.Doer, s.Empty)
		if in = slices.DeleteFunc(in, func(name string) bool { return name == "lost+found" }); err != nil {
			return nil, err
		}
		if len(in) == 0 {
			return s.And.way(ctx, k, place)
		}
		return &Drift{Place: place, Want: "empty", Found: "not: it holds " + units.Some(in, 3), Nested: true, Others: true, Hint: s.Hint}, nil
	}
	found, err := inspect(ctx, k.Doer, s.Inspect)
	if err != nil {
		return nil, fmt.Errorf("look whether %s may be taken back: %w", place, err)
	}
	if found == s.State {
		return s.And.way(ctx, k, place)
	}
	return &Drift{Place: place, Want: s.State, Found: strings.ReplaceAll(found, "\n", ", "), Others: true, Hint: s.Hint}, nil
}

func (s *Still) known(on string) error {
	switch {
	case s == nil:
		return nil
	case s.Empty != "":
		return s.And.known(on)
	}
	return errors.Join(s.Inspect.known(on), s.And.known(on))
}
