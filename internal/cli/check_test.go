package cli

import (
	"errors"
	"testing"

	"plumb/internal/advise"
	"plumb/internal/cli/shell"
	"plumb/internal/rule"
)

func TestFailOn(t *testing.T) {
	found := []advise.Finding{{Rule: &rule.Rule{Harm: rule.Slow}}}
	for _, c := range []struct {
		failOn string
		fs     []advise.Finding
		want   error
	}{
		{"", found, nil},
		{"danger", found, nil},
		{"outage", found, nil},
		{"slow", found, shell.ErrFound},
		{"note", found, shell.ErrFound},
		{"note", nil, nil},
	} {
		t.Run("on_"+c.failOn, func(t *testing.T) {
			if err := (checkFlags{failOn: c.failOn}).verdict(c.fs); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}
