package instance

import (
	"context"
	"errors"
	"path"
	"slices"
	"strconv"

	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/observe"
	"plumb/internal/protect"
)

// enclosed gives the command that runs a server with mounts of its own, in which the
// source's directories are covered, without network when it is closed, and within
// its limits. more are options of unshare, for what else it has of its own.
func (c *Copy) enclosed(ctx context.Context, p host.Process, more ...string) (host.Process, error) {
	groups, err := c.grouped(ctx)
	if err != nil {
		return p, err
	}
	p.Groups = groups
	const lowest = "the lowest priority for processor and disk (nice, ionice)"
	if !c.maker.Keeper.Do.About().Root {
		if c.gentle {
			c.limited(lowest, errors.New("only root starts it so"))
		}
		return p, nil
	}
	mounts, err := observe.MountTable(ctx, c.maker.Keeper.Do, "self")
	if err != nil {
		return p, err
	}
	argv := append([]string{"unshare", "--mount", "--propagation", "slave"}, more...) // what is unmounted on the host is not kept busy here
	if c.Closed {
		argv = append(argv, "--net")
	}
	argv = append(argv, "--", "sh", "-c", coverScript, "sh", strconv.Itoa(c.Server.UID), strconv.Itoa(c.Server.GID))
	argv = append(append(argv, c.unneeded(mounts)...), "--")
	argv = append(append(argv, c.unmounted()...), "--")
	argv = append(argv, c.covered()...)
	argv = append(argv, "--")
	if c.gentle {
		argv = append(argv, "nice", "-n", "19", "ionice", "-c", "3")
		c.limited(lowest, nil)
	}
	if len(p.Env) > 0 { // where libraries are is the server's user's word: nothing that still has root's rights loads one by it
		argv = append(append(argv, "env"), p.Env...)
	}
	p.Argv = append(argv, p.Argv...)
	p.UID, p.GID, p.Env = 0, 0, nil
	return p, nil
}

// coverScript takes mounts away, deepest first, those of the source for certain, covers directories, and goes on as a user
// with a command. A directory that is not there needs no cover.
const coverScript = `set -e
uid=$1 gid=$2
shift 2
while [ "$1" != -- ]; do
	umount -l -- "$1" 2>/dev/null || :
	shift
done
shift
while [ "$1" != -- ]; do
	umount -l -- "$1" 2>/dev/null || ! mountpoint -q -- "$1"
	shift
done
shift
while [ "$1" != -- ]; do
	if [ -d "$1" ]; then mount -t tmpfs -o ro,size=4k,mode=0 plumb-covered "$1"; fi
	shift
done
shift
ip link set lo up 2>/dev/null || :
exec setpriv --reuid="$uid" --regid="$gid" --clear-groups --no-new-privs -- "$@"`

// unneeded lists the mounts, deepest first, of which neither the system nor the copy has anything. A host
// whose mounts are private tells nobody when one of them is unmounted: a copy that lives
// would keep its disk busy for as long.
func (c *Copy) unneeded(mounts []observe.Mount) (points []string) {
	for _, m := range slices.Backward(mounts) {
		if !system(m.Point) && !paths.Within(m.Point, c.Dir) && !c.needs(m.Point) && !c.names(m.Point) {
			points = append(points, m.Point)
		}
	}
	return points
}

// system tells whether a directory is one in which programs, devices and what runs lie
// (hier(7)), or is above what everybody has.
func system(dir string) bool {
	if slices.Contains([]string{"/", "/tmp", "/var", "/var/tmp"}, dir) {
		return true
	}
	for _, of := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/proc", "/sys", "/dev", "/run"} {
		if paths.Within(dir, of) {
			return true
		}
	}
	return false
}

// names tells whether a setting of the server names something in a directory that is not
// its data, of which the copy has its own.
func (c *Copy) names(dir string) bool {
	for _, value := range c.Server.Settings {
		value = path.Clean(value)
		data := slices.ContainsFunc(c.Server.Dirs, func(d protect.Dir) bool { return paths.Within(value, path.Clean(d.Path)) })
		if path.IsAbs(value) && paths.Within(value, dir) && !data {
			return true
		}
	}
	return false
}

// unmounted lists the mounts of the source that the copy does not see, and so does not keep
// busy: those that hold its data and nothing it needs.
func (c *Copy) unmounted() (points []string) {
	if c.stranger { // what is mounted here is not the other host's
		return nil
	}
	for _, m := range slices.Backward(c.members) {
		if at := path.Clean(m.Mountpoint); !c.needs(at) {
			points = append(points, at)
		}
	}
	return points
}

// needs tells whether the copy runs from a directory, or its program does.
func (c *Copy) needs(dir string) bool {
	return dir == "/" || paths.Within(c.Dir, dir) || slices.ContainsFunc(c.Server.Program, func(p string) bool { return paths.Within(p, dir) })
}

// covered lists the directories of the source that the copy must not see: not those
// below which it runs itself.
func (c *Copy) covered() (dirs []string) {
	if c.stranger {
		dirs = slices.DeleteFunc(sockets(), c.needs)
	}
	for _, d := range c.Server.Dirs {
		at := path.Clean(d.Path)
		within := slices.ContainsFunc(dirs, func(dir string) bool { return paths.Within(at, dir) })
		if !within && !c.needs(at) && d.Role != "temporary" && d.Role != "log" {
			dirs = append(dirs, at)
		}
	}
	return dirs
}
