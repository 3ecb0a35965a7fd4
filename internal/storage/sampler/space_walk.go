package sampler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"plumb/internal/host"
	"plumb/internal/observe"
)

// How far the files of one server are looked at, once a minute.
const (
	maxFiles = 8192
	deepest  = 4 // directories below a place: base/5/pgsql_tmp/x
)

var errMany = fmt.Errorf("there are more than %d files", maxFiles)

// found is one file.
type found struct {
	name          string // as the server names it
	bytes, length int64
}

// walk goes through the directories of a server with its rights and as it sees them.
type walk struct {
	ctx  context.Context
	h    host.Reader
	root string
	left int             // files that may still be looked at
	done map[string]bool // directories that were read whole, without those below
}

// all looks at the files below a place, those of directories with a role of
// their own first: what matters most is small.
func (w *walk) all(top place, s sorter, each func(found)) error {
	if w.done == nil {
		w.done = map[string]bool{}
	}
	type todo struct {
		dir   string
		depth int
	}
	queue := []todo{{top.dir, 0}}
	first := func(dir string) bool {
		return slices.ContainsFunc(s.places, func(p place) bool { return p.dir == dir })
	}
	for len(queue) > 0 {
		now := queue[0]
		queue = queue[1:]
		below, err := w.one(now.dir, each)
		if err != nil {
			return err
		}
		w.done[now.dir] = true
		for _, dir := range below {
			if now.depth+1 > deepest {
				return fmt.Errorf("%s is nested deeper than %d", dir, deepest)
			}
			if first(dir) {
				queue = slices.Insert(queue, 0, todo{dir, now.depth + 1})
			} else {
				queue = append(queue, todo{dir, now.depth + 1})
			}
		}
	}
	return nil
}

// one looks at the files of one directory, and lists the directories in it.
// Links are left out: what they lead to has a role of its own.
func (w *walk) one(dir string, each func(found)) (below []string, err error) {
	names, err := w.h.Glob(w.ctx, pattern(w.root+dir)+"/*")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 { // an empty directory, a file, or nothing
		st, err := w.h.Stat(w.ctx, w.root+dir)
		if err == nil && st.Mode.IsRegular() {
			each(found{dir, st.Blocks * 512, st.Size})
		}
		return nil, ignoreGone(err)
	}
	for _, name := range names {
		if w.left--; w.left < 0 {
			return nil, errMany
		}
		st, err := w.h.Stat(w.ctx, name)
		if err != nil {
			if err = ignoreGone(err); err != nil {
				return nil, err
			}
			continue
		}
		if st.Resolved != name {
			continue
		}
		file := strings.TrimPrefix(name, w.root)
		switch {
		case st.Mode.IsDir():
			below = append(below, file)
		case st.Mode.IsRegular():
			each(found{file, st.Blocks * 512, st.Size})
		}
	}
	return below, nil
}

// only looks at the files of a directory that may be everybody's: those of the
// server's own user whose names are as its temporary files'.
func (w *walk) only(dir string, patterns []string, l observe.Local, each func(found)) error {
	uid, known := l.Process.Int("uid")
	if !known {
		return errors.New("the user of the server is not known")
	}
	for _, p := range patterns {
		if strings.Contains(p, "/") {
			continue // a directory of the server's, which is none here
		}
		names, err := w.h.Glob(w.ctx, pattern(w.root+dir)+"/"+p)
		if err != nil {
			return err
		}
		for _, name := range names {
			if w.left--; w.left < 0 {
				return errMany
			}
			st, err := w.h.Stat(w.ctx, name)
			if err = ignoreGone(err); err != nil {
				return err
			}
			if int64(st.UID) == uid && st.Mode.IsRegular() && st.Resolved == name && st.Inode != 0 {
				each(found{strings.TrimPrefix(name, w.root), st.Blocks * 512, st.Size})
			}
		}
	}
	return nil
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// pattern makes a path stand for itself in a pattern.
func pattern(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path.Clean(name))
}
