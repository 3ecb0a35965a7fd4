// Package osrelease reads os-release(5): which system a machine runs.
package osrelease

import (
	"context"
	"strings"

	"plumb/internal/host"
)

// files are where it lies. Where the first cannot be read, the second counts.
var files = []string{"/etc/os-release", "/usr/lib/os-release"}

// Read reads it: values by name, such as PRETTY_NAME, and the file that has them.
func Read(ctx context.Context, h host.Reader) (values map[string]string, file string, err error) {
	for _, file = range files {
		var text []byte
		if text, err = h.ReadFile(ctx, file); err == nil {
			return parse(text), file, nil
		}
	}
	return nil, "", err
}

// parse reads lines NAME=value as a shell does, as far as such a file may use what a shell understands.
func parse(text []byte) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		out[name] = value
	}
	return out
}
