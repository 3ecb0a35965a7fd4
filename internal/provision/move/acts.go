package move

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"time"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/protect/service"
	"plumb/internal/provision"
	"plumb/internal/zfs"
)

func (p *planning) patience() int64 { return cmp.Or(p.Within, 10*time.Minute).Milliseconds() }

// stopping stops the server, and waits until its process has ended. What it would write while everybody waits it
// writes before.
func (p *planning) stopping() change.Switch {
	s := change.Switch{On: p.Home.Server.String(), Inspect: p.look, After: change.None, Undo: change.Commands(p.Start), Patience: p.patience(), Home: p.Home.Data, Exact: p.Stop[0] != "systemctl"}
	if first := product.DialectOf(p.Home.Target.Engine).Checkpoint; first != "" {
		target := p.Home.Target
		s.Do = append(s.Do, change.Op{Target: &target, Statement: first})
	}
	s.Do = append(s.Do, change.Commands(p.Stop, service.UntilEnded(p.Home.PID))...)
	return s
}

// starting lets the server run in its new place. An undo stops it also when it does not listen: one that crashed is started again by
// its unit, and must not be while its data are brought back.
func (p *planning) starting() change.Switch {
	stop, sure := service.Surely(p.Stop)
	return change.Switch{On: p.Home.Server.String() + " in its new place", Inspect: p.look, After: p.shows, Do: change.Commands(p.Start), Undo: change.Commands(stop), Always: sure, Patience: p.patience(), Home: p.data.At}
}

// mounted reads which dataset is uppermost at a place.
func mounted(at string) change.Inspection {
	return change.Inspection{File: "/proc/self/mountinfo", Match: `^\S+ \S+ \S+ / ` + regexp.QuoteMeta(edit.Octal(at)) + ` .* - \S+ (\S+) `}
}

func unmount(v provision.Volume) change.Switch {
	return change.Exactly("mount of "+v.Aside, mounted(v.Aside), change.None, zfs.Unmount(v.Dataset), zfs.Mount(v.Dataset))
}

// mountPoint makes an empty directory to mount on, in which no server can write, whoever it runs as.
func mountPoint(at string) change.Switch {
	dir, base := path.Split(at)
	s := change.Exactly("directory "+at, change.Inspection{Argv: []string{"find", path.Clean(dir), "-maxdepth", "1", "-name", host.Verbatim(base), "-printf", "%y"}}, "d", nil, nil)
	s.Do = change.Commands([]string{"sh", "-c", `mkdir -m 000 -- "$1" && { chattr +i -- "$1" 2>/dev/null || :; }`, "sh", at}) // not every filesystem has that
	s.Undo = change.Commands([]string{"sh", "-c", `chattr -i -- "$1" 2>/dev/null; rmdir -- "$1"`, "sh", at})
	return s
}

func mountpoint(v provision.Volume) change.Switch {
	return change.Exactly("mountpoint of "+v.Dataset, change.Inspection{Argv: zfs.Value("mountpoint", v.Dataset)}, v.At,
		zfs.Set("mountpoint", v.At, v.Dataset), zfs.Set("mountpoint", v.Aside, v.Dataset))
}

func mount(v provision.Volume) change.Switch {
	return change.Exactly("mount of "+v.At, mounted(v.At), edit.Octal(v.Dataset), zfs.Mount(v.Dataset), zfs.Unmount(v.Dataset))
}

// bindHere mounts a directory on the empty one that was just made, and on no other that somebody has put into
// its place: from within, so that no name is looked up again.
const bindHere = `cd -P -- "$2" && [ "$(pwd -P)" = "$2" ] && [ "$(stat -c %u .)" = 0 ] && mount -c --bind -- "$1" .`

// bind mounts a directory of a filesystem in its place.
func bind(v provision.Volume) change.Switch {
	look := change.Inspection{File: "/proc/self/mountinfo", Match: `^\S+ \S+ \S+ \S+ (` + regexp.QuoteMeta(edit.Octal(v.At)) + `) `}
	return change.Exactly("mount of "+v.At, look, edit.Octal(v.At), []string{"sh", "-c", bindHere, "sh", v.Aside, v.At}, []string{"umount", "-c", "--", v.At})
}

// lasts has it mounted by every start of the machine, which does not wait for it: with the disk missing, the filesystem that it
// is a directory of is not there either, and the machine can be reached all the same.
func lasts(fstab string, v provision.Volume) *change.Edit {
	return &change.Edit{File: fstab, Form: edit.Mount, Key: v.At, Value: fmt.Sprintf("%s %s none bind,nofail,x-systemd.requires-mounts-for=%s 0 0", v.Aside, v.At, v.Aside)}
}
