package main

import (
	"fmt"
	"os"
	"strings"
)

// exception is a finding that is right as it is.
type exception struct {
	tool, text, reason string
	met                bool
}

type exceptions struct {
	file string
	list []exception
}

// readExceptions reads lines of a tool, a part of what it says, and after a #
// the reason.
func readExceptions(file string) (*exceptions, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	e := &exceptions{file: file}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		finding, reason, _ := strings.Cut(line, " # ")
		tool, part, _ := strings.Cut(strings.TrimSpace(finding), " ")
		if part == "" || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s line %d: want a tool, a part of its finding, and after ' # ' the reason", file, n)
		}
		e.list = append(e.list, exception{tool: tool, text: strings.TrimSpace(part), reason: reason})
	}
	return e, nil
}

// rest gives the findings of a tool that are not excepted.
func (e *exceptions) rest(tool string, found []string) (rest []string) {
	for _, line := range found {
		if !e.has(tool, line) {
			rest = append(rest, tool+": "+line)
		}
	}
	return rest
}

func (e *exceptions) has(tool, line string) bool {
	for i, x := range e.list {
		if x.tool == tool && strings.Contains(line, x.text) {
			e.list[i].met = true
			return true
		}
	}
	return false
}

// unused is an error when an exception excepts nothing any more. That cannot
// be told of govulncheck's unless all tools ran.
func (e *exceptions) unused(all bool) error {
	for _, x := range e.list {
		if !x.met && (all || x.tool != "govulncheck") {
			return fmt.Errorf("%s: nothing is found any more that is excepted as %q: take the line out", e.file, x.tool+" "+x.text)
		}
	}
	return nil
}
