package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"plumb/internal/host/walk"
)

// Glob implements Reader. Like a shell it passes over directories that cannot be
// read; but if nothing was found and one of them was not readable for us, that is an
// error. Below /proc/PID/root links are followed as that process would.
func (l *Live) Glob(ctx context.Context, pattern string) ([]string, error) {
	found, err := onFile(ctx, l, literal(pattern), literal(pattern) == pattern, func(ctx context.Context) ([]string, error) {
		room := roomOf(ctx)
		found, err := glob(ctx, pattern, room.take(l.options.GlobPaths*perPath)/perPath)
		room.used(len(found) * perPath)
		return found, err
	})
	return found, fileError("glob", pattern, err)
}

// perPath is how many bytes of a server's room a path takes: its usual length, and
// what it costs to keep one.
const perPath = 128

// glob is filepath.Glob with a limit on the paths it returns and the names it reads.
func glob(ctx context.Context, pattern string, limit int) ([]string, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, err
	}
	found := []string{""}
	var cut, denied error
	for i, part := range strings.Split(pattern, "/") {
		if i == 0 && part == "" {
			found = []string{"/"}
			continue
		}
		if part == "" {
			continue
		}
		var next []string
		for _, dir := range found {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			names, err := matching(dir, part, limit-len(next))
			next = append(next, names...)
			if errors.Is(err, fs.ErrPermission) {
				denied = err
			}
			if errors.Is(err, ErrTooLarge) {
				cut = ErrTooLarge
				break
			}
		}
		found = next
	}
	slices.Sort(found)
	if cut != nil {
		return found, cut
	}
	if len(found) == 0 {
		return nil, denied
	}
	return found, nil
}

// matching lists the paths in dir whose last element matches part.
func matching(dir, part string, limit int) ([]string, error) {
	prefix := dir
	if dir != "" && !strings.HasSuffix(dir, "/") {
		prefix += "/"
	}
	if !strings.ContainsAny(part, `*?[\`) {
		if at, err := walk.InRoot(prefix+part, false); err != nil {
			return nil, err
		} else if _, err := os.Lstat(at); err != nil {
			return nil, err
		}
		if limit < 1 {
			return nil, ErrTooLarge
		}
		return []string{prefix + part}, nil
	}
	if dir == "" {
		dir = "."
	}
	at, err := walk.InRoot(dir, true)
	if err != nil {
		return nil, err
	}
	// Ten names are read for each that may be kept, so that a directory of
	// millions cannot fill the memory.
	names, failed := readNames(at, 10*max(limit, 1))
	var kept []string
	for _, name := range names {
		if ok, _ := path.Match(part, name); ok {
			if len(kept) >= limit {
				return kept, ErrTooLarge
			}
			kept = append(kept, prefix+name)
		}
	}
	return kept, failed
}

var verbatim = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// Verbatim returns the pattern for Glob that matches name and nothing else.
func Verbatim(name string) string { return verbatim.Replace(name) }

// literal is the part of a pattern before the element with its first wildcard.
func literal(pattern string) string {
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		pattern = pattern[:i]
		return pattern[:strings.LastIndexByte(pattern, '/')+1]
	}
	return pattern
}
