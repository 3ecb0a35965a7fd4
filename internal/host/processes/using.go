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

// Using names a process that works in a directory, or has a file in it or below it open; "" for none. Of a process with another root, or mounts of
// its own, the kernel can give names that are those of other files here. Of one that may not be looked at nothing is
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
			if err == nil && paths.Within(to, dir) && !elsewhere(ctx, h, link, to) {
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

// elsewhere tells whether what a link of a process leads to is known to be another file than the one that has the link's text for a name here. Of a
// process with our root and mounts it is not: something may have been mounted over its file.
func elsewhere(ctx context.Context, h host.Reader, link, text string) bool {
	differ := func(a, b string) bool {
		one, err := h.Stat(ctx, a)
		other, err2 := h.Stat(ctx, b)
		return err == nil && err2 == nil && !one.Same(other)
	}
	if !differ(link, text) {
		return false
	}
	process := "/proc/" + pidOf(link)
	ours, err := SameMounts(ctx, h, process)
	return err == nil && !ours || differ(process+"/root", "/")
}

// SameMounts tells whether a process, by its directory in /proc, is in our mount namespace.
func SameMounts(ctx context.Context, h host.Reader, dir string) (bool, error) {
	ours, err := h.Readlink(ctx, "/proc/self/ns/mnt")
	if err != nil {
		return false, err
	}
	theirs, err := h.Readlink(ctx, dir+"/ns/mnt")
	return theirs == ours, err
}
