package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// tool is one that is run, and how its answer is read.
type tool struct {
	name      string
	args      []string
	foundSome int    // how it exits with findings
	offline   string // what it says when its data cannot be reached
	parse     func([]byte) ([]string, error)
}

func tools(database string) []tool {
	vulnerabilities := []string{"-format", "json"}
	if database != "" {
		vulnerabilities = append(vulnerabilities, "-db", database)
	}
	return []tool{
		{name: "deadcode", args: []string{"-test", "-filter", `^(plumb|packaging)\b`}, parse: nonEmpty},
		{name: "staticcheck", foundSome: 1, parse: nonEmpty},
		{name: "govulncheck", args: vulnerabilities, offline: "fetching vulnerabilities", parse: called},
	}
}

func nonEmpty(out []byte) (lines []string, err error) {
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// called gives the vulnerabilities whose code is reached from ours: those with
// a function in the first place of their trace.
func called(out []byte) ([]string, error) {
	var lines []string
	seen := map[string]bool{}
	scanned := false
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var message struct {
			Config  *struct{}
			Finding *struct {
				OSV          string
				FixedVersion string `json:"fixed_version"`
				Trace        []struct{ Module, Version, Package, Function string }
			}
		}
		err := decoder.Decode(&message)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("govulncheck's answer: %w", err)
		}
		scanned = scanned || message.Config != nil
		f := message.Finding
		if f == nil || len(f.Trace) == 0 || f.Trace[0].Function == "" || seen[f.OSV] {
			continue
		}
		seen[f.OSV] = true
		at := f.Trace[0]
		lines = append(lines, fmt.Sprintf("%s: %s.%s of %s %s is called; mended in %s", f.OSV, at.Package, at.Function, at.Module, at.Version, f.FixedVersion))
	}
	if !scanned {
		return nil, errors.New("govulncheck said nothing of its scan")
	}
	return lines, nil
}
