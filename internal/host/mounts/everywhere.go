package mounts

import (
	"context"
	"fmt"
	"strings"

	"github.com/moby/sys/mountinfo"

	"plumb/internal/host"
)

// Everywhere gives each mount of every mount namespace, with a process that lives there: "self" first, as a container's mounts are
// not among ours. A namespace counts as seen once its table was read: the process that was asked may end meanwhile while others live
// on in it. A table that cannot be read though its process is there is an error, or a mount would be missed.
func Everywhere(ctx context.Context, h host.Reader, each func(pid string, m *mountinfo.Info)) error {
	of := func(pid string) error {
		return table(ctx, h, pid, func(m *mountinfo.Info) { each(pid, m) })
	}
	if err := of("self"); err != nil {
		return err
	}
	spaces, err := h.Glob(ctx, "/proc/[0-9]*/ns/mnt")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, space := range spaces {
		to, err := h.Readlink(ctx, space)
		if err != nil || seen[to] { // ended meanwhile
			continue
		}
		if err := of(strings.Split(space, "/")[2]); err == nil {
			seen[to] = true
		} else if _, gone := h.Readlink(ctx, space); gone == nil {
			return err
		}
	}
	return nil
}

// Holders says which processes see a filesystem mounted, and where: one of each mount namespace.
func Holders(ctx context.Context, h host.Reader, is func(*mountinfo.Info) bool) (all []string, err error) {
	err = Everywhere(ctx, h, func(pid string, m *mountinfo.Info) {
		if pid == "self" || !is(m) { // ours is seen again with its first process
			return
		}
		comm, _ := h.ReadFile(ctx, "/proc/"+pid+"/comm") // one that has ended since has no name
		all = append(all, fmt.Sprintf("%s has it mounted at %s", strings.TrimSpace("process "+pid+" "+string(comm)), m.Mountpoint))
	})
	return all, err
}
