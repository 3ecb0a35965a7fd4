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

// walk goes through the directories of a server as it sees them. Only files of
// its own user count: anybody can start what looks like a server and name any
// directory, and would learn of nothing but files of their own. (To take their
// rights for each of some thousand files costs ten times as much.)
type walk struct {
	ctx  context.Context
	h    host.Reader
	root string
	uid  int64
	left int             // files that may still be looked at
	done map[string]bool // directories that were read whole, without those below
}

// all looks at the files below a place, those of directories with a role of
// their own first: what matters most is small.
func (w *walk) all(top place, s sorter, each func(found)) error {
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
	names, err := w.h.Glob(w.ctx, host.Verbatim(path.Clean(w.root+dir))+"/*")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 { // an empty directory, a file, or nothing
		st, err := w.h.Stat(w.ctx, w.root+dir)
		if err == nil {
			w.file(w.root+dir, st, each)
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
		if st.Mode.IsDir() && st.Resolved == name {
			below = append(below, strings.TrimPrefix(name, w.root))
		}
		w.file(name, st, each)
	}
	return below, nil
}

// file gives a file, if it is one of the server's and no link.
func (w *walk) file(name string, st host.Stat, each func(found)) {
	if st.Mode.IsRegular() && st.Resolved == name && int64(st.UID) == w.uid {
		each(found{strings.TrimPrefix(name, w.root), st.Blocks * 512, st.Size})
	}
}

// only looks at the files of a directory that may be everybody's: those whose
// names are as the server's.
func (w *walk) only(dir string, patterns []string, each func(found)) error {
	for _, p := range patterns {
		if strings.Contains(p, "/") {
			continue // in a directory of the server's, which is none here
		}
		names, err := w.h.Glob(w.ctx, host.Verbatim(path.Clean(w.root+dir))+"/"+p)
		if err != nil {
			return err
		}
		for _, name := range names {
			if w.left--; w.left < 0 {
				return errMany
			}
			st, err := w.h.Stat(w.ctx, name)
			if err == nil {
				w.file(name, st, each)
			} else if ignoreGone(err) != nil {
				return err
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
