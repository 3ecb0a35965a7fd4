package hint_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"plumb/internal/hint"
)

func TestHints(t *testing.T) {
	err := fmt.Errorf("read the file: %w", hint.With(io.EOF, "copy it again"))
	if hint.Of(err) != "copy it again" || !errors.Is(err, io.EOF) || err.Error() != "read the file: EOF" {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
	if hint.With(io.EOF, "") != io.EOF || hint.With(nil, "nothing to do") != nil || hint.Of(io.EOF) != "" {
		t.Error("an error without a hint has one, or no error has become one")
	}
}

func TestMeant(t *testing.T) {
	known := []string{"--all", "--dsn", "--json", "--tape"}
	for typed, want := range map[string]string{"--tap": "--tape", "--jsn": "--json", "--dn": "--dsn", "--limit": ""} {
		if want != "" {
			want = "did you mean " + want + "?"
		}
		if got := hint.Meant(typed, known); got != want {
			t.Errorf("%s: %q, want %q", typed, got, want)
		}
	}
}

func TestUsage(t *testing.T) {
	err := fmt.Errorf("check: %w", hint.Usage("--only x is no area", "want mysql or zfs"))
	if u := hint.AsUsage(err); u == nil || u.Error() != "--only x is no area" || hint.Of(err) != "want mysql or zfs" {
		t.Errorf("%v, hint %q", u, hint.Of(err))
	}
	if hint.AsUsage(io.EOF) != nil {
		t.Error("the end of a file is a mistake on the command line")
	}
}
