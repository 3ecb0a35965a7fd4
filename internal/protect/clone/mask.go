package clone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/load"
	"plumb/internal/protect"
)

// Mask is SQL that is run before a clone listens.
type Mask struct {
	File string // in which it is; "" when it was typed
	Text string
}

// Masker is an engine whose masks are more than statements that are typed as they are.
type Masker interface {
	// Statements divides a mask as the product's own client does. An error names the line.
	Statements(mask string) ([]string, error)
	// ForMasks makes a session for looking, which meets none of the settings and triggers of what it looks at, one that meets them.
	ForMasks(ctx context.Context, a load.Admin) error
}

// Statements divides masks into what is run one after the other.
func (m Maker) Statements(sv protect.Server, masks []Mask) (all []string, err error) {
	e, err := m.Maker.Keeper.EngineOf(sv)
	if err != nil {
		return nil, err
	}
	divide := Mask.divide
	if masker, ok := e.(Masker); ok {
		divide = func(m Mask) ([]string, error) { return masker.Statements(m.Text) }
	}
	for _, mask := range masks {
		statements, err := divide(mask)
		if err == nil && len(statements) == 0 { // who gives a mask must not get a clone without
			err = hint.With(errors.New("it holds no statement"), "leave it out, or check what should be in it")
		}
		if err != nil {
			return nil, hint.Usage(fmt.Sprintf("--mask %s: %v", cmp.Or(mask.File, "SQL"), err), hint.Of(err))
		}
		all = append(all, statements...)
	}
	return all, nil
}

// divide divides a mask where the engine does not say how: what was typed is one statement, and those of a file end with a ; and
// their line.
func (m Mask) divide() (all []string, err error) {
	parts := []string{m.Text}
	if m.File != "" {
		parts = strings.Split(strings.ReplaceAll(m.Text, "\r\n", "\n")+"\n", ";\n")
	}
	for _, s := range parts {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all, nil
}
