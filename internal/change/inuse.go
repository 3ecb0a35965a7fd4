package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

	"plumb/internal/host"
	"plumb/internal/host/mounts"
)

// covered tells whether something is mounted on a directory, and hides it.
func covered(ctx context.Context, d host.Reader, dir string) (bool, error) {
	if dir == "" {
		return false, nil
	}
	all, err := mounts.Read(ctx, d)
	return slices.ContainsFunc(all, func(m *mountinfo.Info) bool { return m.Mountpoint == dir }), err
}

// below tells whether a path is a directory or in it.
func below(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// unused refuses a directory in which a process works or has a file open. Of
// processes that may not be looked at nothing is known; all must be seen where
// it is to be sure.
func unused(ctx context.Context, d host.Reader, dir string, sure bool) error {
	unseen := ""
	for _, name := range []string{"cwd", "root", "fd/*"} {
		links, err := host.OfProcesses(ctx, d, name)
		if err != nil {
			return fmt.Errorf("look who uses %s: %w", dir, err)
		}
		for _, link := range links {
			to, err := d.Readlink(ctx, link)
			if errors.Is(err, fs.ErrPermission) {
				unseen = link
			}
			if err == nil && below(to, dir) {
				return &Refusal{Why: dir + " is in use by " + process(ctx, d, link), What: "stop that first"}
			}
		}
	}
	if unseen != "" && sure {
		return &Refusal{Why: fmt.Sprintf("whether %s is in use cannot be seen: %s may not be looked at", dir, process(ctx, d, unseen)), What: "run plumb as root, and outside of a container"}
	}
	return nil
}

// process names the process of a path below /proc, for people.
func process(ctx context.Context, d host.Reader, link string) string {
	pid := strings.Split(link, "/")[2]
	name, _ := d.ReadFile(ctx, path.Join("/proc", pid, "comm"))
	return strings.TrimSpace(fmt.Sprintf("process %s %s", pid, name))
}
