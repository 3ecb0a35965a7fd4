package processes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/paths"
)

// Using names a process that works in a directory, or has a file in it or below it open; "" for none. Of one that may not be looked at nothing is
// known: unseen names such a process.
func Using(ctx context.Context, h host.Reader, dir string) (by, unseen string, err error) {
	for _, name := range []string{"cwd", "root", "fd/*"} {
		links, err := Entries(ctx, h, name)
		if err != nil {
			return "", "", err
		}
		for _, link := range links {
			to, err := h.Readlink(ctx, link)
			if errors.Is(err, fs.ErrPermission) {
				unseen = named(ctx, h, link)
			}
			if err == nil && paths.Within(to, dir) {
				return named(ctx, h, link), unseen, nil
			}
		}
	}
	return "", unseen, nil
}

// named names the process of a path below /proc, for people.
func named(ctx context.Context, h host.Reader, link string) string {
	pid := pidOf(link)
	name, _ := h.ReadFile(ctx, path.Join("/proc", pid, "comm"))
	return strings.TrimSpace(fmt.Sprintf("process %s %s", pid, name))
}

// pidOf gives the process of a path below /proc.
func pidOf(link string) string { return strings.Split(link, "/")[2] }
