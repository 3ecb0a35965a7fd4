package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const scan = `{"config":{"protocol_version":"v1.0.0"}}
{"osv":{"id":"GO-1"}}
{"finding":{"osv":"GO-1","fixed_version":"v1.2.0","trace":[{"module":"m","version":"v1.0.0"}]}}
{"finding":{"osv":"GO-2","fixed_version":"v1.2.0","trace":[{"module":"m","version":"v1.0.0","package":"m/p","function":"F"},{"module":"plumb","package":"plumb","function":"main"}]}}
{"finding":{"osv":"GO-2","fixed_version":"v1.2.0","trace":[{"module":"m","version":"v1.0.0","package":"m/p","function":"G"}]}}
`

func TestCalled(t *testing.T) {
	got, err := called([]byte(scan))
	if err != nil || len(got) != 1 || got[0] != "GO-2: m/p.F of m v1.0.0 is called; mended in v1.2.0" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", "{}", scan + "{", "no"} {
		if _, err := called([]byte(bad)); err == nil {
			t.Errorf("%q was taken for a scan", bad)
		}
	}
}

func excepting(t *testing.T, text string) (*exceptions, error) {
	file := filepath.Join(t.TempDir(), "except")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return readExceptions(file)
}

func TestExceptions(t *testing.T) {
	e, err := excepting(t, "# why\n\ndeadcode a.go:1 # kept for b\ngovulncheck GO-1 # not reached\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.unused(false); err == nil {
		t.Error("an exception that excepts nothing was not told")
	}
	rest := e.rest("deadcode", []string{"a.go:1: f", "b.go:2: g"})
	if len(rest) != 1 || rest[0] != "deadcode: b.go:2: g" || len(e.rest("staticcheck", []string{"a.go:1: f"})) != 1 {
		t.Errorf("left %q", rest)
	}
	if err := e.unused(false); err != nil {
		t.Error(err)
	}
	if err := e.unused(true); err == nil {
		t.Error("govulncheck ran and its exception excepts nothing")
	}
	for _, bad := range []string{"deadcode a.go\n", "deadcode # why\n", "deadcode a.go # \n"} {
		if _, err := excepting(t, bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestAsk: what findings are, what a tool that breaks is, and what lack of a network is.
func TestAsk(t *testing.T) {
	for _, c := range []struct {
		name, script string
		found        int
		skipped, bad bool
	}{
		{"nothing found", "exit 0", 0, false, false},
		{"it is told to collect less often", `[ "$GOGC" = 400 ] || exit 2`, 0, false, false},
		{"two found", "echo a; echo; echo b; exit 1", 2, false, false},
		{"it breaks", "echo oh >&2; exit 2", 0, false, true},
		{"its data is out of reach", "echo 'fetching: no such host' >&2; exit 1", 0, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := workspace{root: t.TempDir(), bin: t.TempDir()}
			if err := os.WriteFile(filepath.Join(w.bin, "x"), []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			found, err := w.ask(tool{name: "x", foundSome: 1, offline: "fetching", parse: nonEmpty})
			_, skipped := errors.AsType[unreachable](err)
			if len(found) != c.found || skipped != c.skipped || (err != nil) != (c.bad || c.skipped) {
				t.Errorf("found %q, %v", found, err)
			}
		})
	}
}

func TestGoRelease(t *testing.T) {
	got, err := goRelease("../../go.mod")
	if err != nil || !strings.HasPrefix(got, "1.") {
		t.Errorf("%q, %v", got, err)
	}
}
