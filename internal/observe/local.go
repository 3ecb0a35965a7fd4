package observe

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/stack"
)

// How much of the configuration of all servers of an engine is read together,
// shared out among them. Anybody can start processes that look like servers and
// name files without end; a real server has some kilobytes.
const (
	allBytes = 64 << 20
	allLines = 320_000
	shares   = 16 // a server gets no more than it would among so many
)

// Local is a server process that an earlier phase found on this host.
type Local struct {
	Process   *stack.Thing
	PID       int
	Root      string     // what goes before its paths to see them as it does: "", or /proc/PID/root where it has mounts of its own
	Contained bool       // it has another root directory: what it calls a path is nothing of this host's
	Room      *host.Room // for what is read on its behalf
	Lines     int        // of configuration that are looked at
}

// For marks reads of what the server names, such as its configuration: with its
// rights, and within its room.
func (l Local) For(ctx context.Context) context.Context { return host.For(ctx, l.PID, l.Room) }

// Shared tells whether a path leads the server to the same file as us. systemd
// gives services mounts of their own, in which most is as it is outside, and
// anybody can make such mounts with another file at any path. What does not
// exist yet is where its directory is.
func (l Local) Shared(ctx context.Context, h host.Reader, name string) bool {
	if l.Root == "" || l.Contained || !path.IsAbs(name) {
		return l.Root == ""
	}
	theirs, err := h.Stat(l.For(ctx), l.Root+name)
	ours, ownErr := h.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) && errors.Is(ownErr, fs.ErrNotExist) && name != "/" {
		return l.Shared(ctx, h, path.Dir(name))
	}
	return err == nil && ownErr == nil && theirs.Same(ours)
}

// Path gives the path by which we get to what the server calls name.
func (l Local) Path(ctx context.Context, h host.Reader, name string) string {
	if !path.IsAbs(name) || l.Shared(ctx, h, name) {
		return name
	}
	return l.Root + name
}

// Whose tells whether a file or directory is the user's who runs a server, and
// whether it is root's, for nobody else to write. Of /proc nothing is: the
// command line of a setuid program is root's file and anybody's text.
func Whose(process *stack.Thing, name string, st host.Stat) (own, roots bool) {
	uid, known := process.Int("uid")
	own = known && uid != 0 && int64(st.UID) == uid
	for _, at := range []string{name, st.Resolved} {
		if strings.HasPrefix(at, "/proc/") && !strings.Contains(at, "/root/") {
			return own, false
		}
	}
	return own, st.UID == 0 && st.Mode.Perm()&0o022 == 0
}

// LoginHint says what may get a probe into a server that refused it. Root's
// rights help only where they are lacking, and only on the server's own host.
func LoginHint(h host.Reader, remote bool) string {
	const login = "give a login with --dsn"
	if remote || h.About().Root {
		return login
	}
	return "run as root, or " + login
}

// Locals gives the processes that serve an engine, sorted by name.
func Locals(seen *stack.Stack, engine string) []Local {
	var out []Local
	for _, p := range seen.OfKind("process") {
		pid, err := strconv.Atoi(p.Ref.Name)
		if err != nil || p.Text("engine") != engine {
			continue
		}
		l := Local{Process: p, PID: pid}
		if own, known := p.Bool("own_mounts"); known && own {
			l.Root = "/proc/" + p.Ref.Name + "/root"
		}
		if contained, known := p.Bool("own_root"); contained || !known && l.Root != "" {
			l.Root, l.Contained = "/proc/"+p.Ref.Name+"/root", true
		}
		out = append(out, l)
	}
	share := max(int64(len(out)), shares)
	for i := range out {
		out[i].Room, out[i].Lines = host.NewRoom(allBytes/share), int(allLines/share)
	}
	return out
}
