package process

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/passwd"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// identity reads what the process is: program, user, namespace.
func (l *look) identity(t *stack.Thing, s server) {
	if exe, err := l.h.Readlink(l.ctx, file(s.pid, "exe")); err == nil {
		t.Set("exe", stack.Text(strings.TrimSuffix(exe, " (deleted)")), file(s.pid, "exe"))
		t.Set("exe_deleted", stack.Bool(strings.HasSuffix(exe, " (deleted)")), file(s.pid, "exe"))
	} else {
		l.gap(t, err, "exe", "exe_deleted")
	}
	t.Set("processes", stack.Int(int64(1+len(s.children))), "/proc/PID/stat")
	l.namespace(t, s)
	l.owner(t, s)
}

// namespace tells whether the server sees other mounts and another network
// than we do.
func (l *look) namespace(t *stack.Thing, s server) {
	for _, f := range [][2]string{{"own_mounts", "mnt"}, {"own_network", "net"}} {
		fact, ns := f[0], f[1]
		ours, err := l.h.Readlink(l.ctx, "/proc/self/ns/"+ns)
		if err != nil {
			l.gap(t, err, fact)
			continue
		}
		theirs, err := l.h.Readlink(l.ctx, file(s.pid, "ns/"+ns))
		if err != nil {
			l.gap(t, err, fact)
			continue
		}
		t.Set(fact, stack.Bool(ours != theirs), file(s.pid, "ns/"+ns))
	}
	l.root(t, s)
}

// root tells whether the server has another root directory, as in a container
// or a chroot. Mounts of its own alone say nothing: systemd gives services
// some (PrivateTmp, ProtectHome) over the root that everybody has.
func (l *look) root(t *stack.Thing, s server) {
	const fact = "own_root"
	src := file(s.pid, "root")
	link, err := l.h.Readlink(l.ctx, src)
	own, known := t.Bool("own_mounts")
	switch {
	case err != nil:
		l.gap(t, err, fact)
		return
	case link != "/":
		t.Set(fact, stack.Bool(true), src)
		return
	case !known: // which has its gap
		return
	case !own:
		t.Set(fact, stack.Bool(false), src)
		return
	}
	ours, err := rootMount(l.ctx, l.h, "self")
	theirs, err2 := rootMount(l.ctx, l.h, strconv.Itoa(s.pid))
	if err := cmp.Or(err, err2); err != nil {
		l.gap(t, err, fact)
		return
	}
	t.Set(fact, stack.Bool(ours != theirs), file(s.pid, "mountinfo"))
}

// rootMount gives the filesystem that a process has at /, and which directory
// of it.
func rootMount(ctx context.Context, h host.Reader, pid string) (at [2]string, err error) {
	mounts, err := observe.MountTable(ctx, h, pid)
	for _, m := range mounts {
		if m.Point == "/" { // the last one counts: it lies on top
			at = [2]string{m.Dev, m.Root}
		}
	}
	return at, err
}

// owner reads the user the server runs as. Inside a container the name is
// that of the container's own /etc/passwd.
func (l *look) owner(t *stack.Thing, s server) {
	data, ok := l.read(t, file(s.pid, "status"), "uid", "user")
	if !ok {
		return
	}
	ids := strings.Fields(parseColons(data)["Uid"])
	if len(ids) < 2 {
		return
	}
	uid, err := strconv.ParseInt(ids[1], 10, 64)
	if err != nil {
		return
	}
	t.Set("uid", stack.Int(uid), file(s.pid, "status"))
	users := passwd.File
	own, known := t.Bool("own_mounts")
	if !known {
		l.obs.Gap(t.Ref, "not known whether the server has its own "+passwd.File, asRoot, "user")
		return
	}
	if contained, _ := t.Bool("own_root"); own || contained {
		users = file(s.pid, "root"+passwd.File)
		data, ok = l.readFor(t, s.pid, users, "user")
	} else {
		data, ok = l.read(t, users, "user")
	}
	if !ok {
		return
	}
	if u, found := passwd.Numbered(data, int(uid)); found {
		t.Set("user", stack.Text(u.Name), users)
	} else {
		t.SetAbsent("user", users)
	}
}

// limits reads the resource limits and the OOM killer's adjustment.
func (l *look) limits(t *stack.Thing, s server) {
	src := file(s.pid, "limits")
	if data, ok := l.read(t, src, "nofile_soft", "nofile_hard", "nproc_soft", "memlock_soft"); ok {
		if v, ok := parseLimits(data, "Max open files"); ok {
			setLimit(t, "nofile_soft", v.soft, v.softNone, src)
			setLimit(t, "nofile_hard", v.hard, v.hardNone, src)
		}
		if v, ok := parseLimits(data, "Max processes"); ok {
			setLimit(t, "nproc_soft", v.soft, v.softNone, src)
		}
		if v, ok := parseLimits(data, "Max locked memory"); ok {
			setLimit(t, "memlock_soft", v.soft, v.softNone, src)
		}
	}
	src = file(s.pid, "oom_score_adj")
	if data, ok := l.read(t, src, "oom_score_adj"); ok {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil {
			t.Set("oom_score_adj", stack.Int(n), src)
		}
	}
}

func setLimit(t *stack.Thing, name string, n int64, none bool, src string) {
	if none {
		t.SetAbsent(name, src)
		return
	}
	t.Set(name, stack.Int(n), src)
}
