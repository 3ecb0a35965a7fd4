package processes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"plumb/internal/host"
	"plumb/internal/host/proc"
)

// Listens tells whether a process listens at a Unix socket as those come to it who have our root and mounts. The kernel lists sockets under
// the names that processes gave them, for all that are in our network namespace: a server with another root, or with mounts of its own, can have
// its socket under the same name, and it is another file. One whose process cannot be seen is taken for the one meant.
func Listens(ctx context.Context, h host.Reader, socket string) (bool, error) {
	text, err := h.ReadFile(ctx, "/proc/net/unix")
	if err != nil {
		return false, fmt.Errorf("see who listens on %s: %w", socket, err)
	}
	elsewhere := map[string]bool{} // whether one of the name is known to be another file
	for link, name := range proc.Listeners(text) {
		if name == socket {
			elsewhere[link] = false
		}
	}
	if len(elsewhere) == 0 {
		return false, nil
	}
	here, err := h.Stat(ctx, socket)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var all []string
	if err == nil {
		all, err = Entries(ctx, h, "fd/*")
	}
	if err != nil {
		return false, fmt.Errorf("see who listens on %s: %w", socket, err)
	}
	for _, fd := range all {
		link, err := h.Readlink(ctx, fd)
		if _, is := elsewhere[link]; err != nil || !is {
			continue
		}
		its, err := h.Stat(ctx, "/proc/"+pidOf(fd)+"/root"+socket)
		switch {
		case err == nil && its.Same(here):
			return true, nil
		case err == nil || errors.Is(err, fs.ErrNotExist):
			elsewhere[link] = true
		}
	}
	for _, known := range elsewhere {
		if !known {
			return true, nil
		}
	}
	return false, nil
}
