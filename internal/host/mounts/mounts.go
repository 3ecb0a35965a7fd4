// Package mounts reads what is mounted.
package mounts

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/moby/sys/mountinfo"

	"plumb/internal/host"
)

// Read lists all that is mounted, as this process sees it.
func Read(ctx context.Context, h host.Reader) (all []*mountinfo.Info, err error) {
	err = table(ctx, h, "self", func(m *mountinfo.Info) { all = append(all, m) })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// table gives each mount that a process sees, up to a line that cannot be read.
func table(ctx context.Context, h host.Reader, pid string, each func(*mountinfo.Info)) error {
	name := "/proc/" + pid + "/mountinfo"
	text, err := h.ReadFile(ctx, name)
	if err != nil {
		return err
	}
	for m, err := range Parse(text) {
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		each(m)
	}
	return nil
}

// Parse reads the format of /proc/PID/mountinfo (proc_pid_mountinfo(5)). A line that is not of that form gives an error, and ends it.
func Parse(text []byte) iter.Seq2[*mountinfo.Info, error] {
	return func(yield func(*mountinfo.Info, error) bool) {
		enough := false
		_, err := mountinfo.GetMountsFromReader(bytes.NewReader(text), func(m *mountinfo.Info) (skip, stop bool) {
			enough = !yield(m, nil)
			return !enough, enough // what is skipped does not stop it
		})
		if err != nil && !enough {
			yield(nil, err)
		}
	}
}
