package postgres

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// instance is one server that Plumb found or was told of.
type instance struct {
	process *stack.Thing // nil for a remote server
	local   observe.Local
	pid     int
	root    string // what goes before its paths: see observe.Local
	at      string // the path by which we get to its socket
	data    string // data directory; "" when it is not known
	args    []assigned
	port    string
	usual   bool   // nothing told the port: it is the usual one
	socket  string // path of its socket; "" when it has none
	tcp     string // host:port it listens on; "" when it does not
	name    string // of the thing
	copied  bool   // it serves a copy that Plumb made of a server
	target  host.Target
}

// instances finds the servers among the processes earlier phases saw.
func (p *Probe) instances(ctx context.Context, h host.Reader, seen *stack.Stack) []*instance {
	var out []*instance
	for _, l := range observe.Locals(seen, "postgres") {
		if servesNobody(l.Process) {
			continue
		}
		in := &instance{process: l.Process, local: l, pid: l.PID, root: l.Root}
		in.collect(in.reads(ctx), h)
		out = append(out, in)
	}
	nameAll(out)
	return out
}

// servesNobody tells a process of the server program that is no server. Every server listens: it ends where it cannot. What
// initdb and pg_upgrade run for a moment does not, nor does what is left of a server that was killed; each would be taken for a
// second server on the usual port, and the one that is there would lose its name. Where nobody may see who listens, the first
// argument tells of some.
func servesNobody(process *stack.Thing) bool {
	if _, known := process.Get("listen"); known {
		return len(process.List("listen")) == 0
	}
	args := process.List("args")
	return len(args) > 1 && slices.Contains([]string{"--boot", "--single", "--check", "--describe-config", "-C", "-V", "--version"}, args[1])
}

// reads marks reads of what the server names.
func (in *instance) reads(ctx context.Context) context.Context {
	if in.process == nil {
		return ctx
	}
	return in.local.For(ctx)
}

// collect reads what the process and postmaster.pid tell.
func (in *instance) collect(ctx context.Context, h host.Reader) {
	var given string
	given, in.args = parseArguments(in.process.List("args"))
	in.data = in.findData(ctx, h, given)
	settings := last(in.args)
	in.port = settings["port"].value
	in.copied = inventory.OfCopy(ctx, h, settings["config_file"].value, "postgresql.conf")
	in.listening(in.process.List("listen"))
	if in.data != "" {
		text, err := h.ReadFile(ctx, in.root+in.data+"/postmaster.pid")
		if f := parsePidFile(text); err == nil && f.port != "" {
			in.port = f.port
			if in.socket == "" && f.socketDir != "" {
				in.socket = socketPath(Under(in.data, f.socketDir), f.port)
			}
		}
	}
	main := settings["config_file"].value
	if main == "" && in.data != "" {
		main = in.data + "/postgresql.conf"
	}
	if in.port == "" && main != "" { // the data directory is closed to us, and Debian's configuration is not
		in.port = imageSetting(ctx, h, in.root+main, "port")
	}
	if in.usual = in.port == ""; in.usual {
		in.port = "5432"
	}
	if dirs := splitNames(settings["unix_socket_directories"].value); in.socket == "" && len(dirs) > 0 {
		in.socket = socketPath(dirs[0], in.port)
	}
	if in.socket != "" {
		in.at = in.local.Path(ctx, h, in.socket)
	}
}

// listening takes port and socket from what the process listens on.
func (in *instance) listening(listen []string) {
	for _, l := range listen {
		if file, ok := strings.CutPrefix(l, "unix:"); ok {
			if port, ok := strings.CutPrefix(path.Base(file), ".s.PGSQL."); ok && in.socket == "" {
				in.socket = file
				in.port = port
			}
			continue
		}
		if address, ok := strings.CutPrefix(l, "tcp:"); ok && in.tcp == "" {
			colon := strings.LastIndexByte(address, ':')
			if colon < 0 {
				continue
			}
			name, port := strings.Trim(address[:colon], "[]"), address[colon+1:]
			if name == "0.0.0.0" || name == "::" || name == "*" {
				name = "127.0.0.1"
			}
			if strings.Contains(name, ":") {
				name = "[" + name + "]"
			}
			in.tcp = name + ":" + port
			if in.port == "" {
				in.port = port
			}
		}
	}
}

// findData gives the data directory: the server's working directory is it,
// whatever way it was told.
func (in *instance) findData(ctx context.Context, h host.Reader, given string) string {
	cwd, err := h.Readlink(ctx, fmt.Sprintf("/proc/%d/cwd", in.pid))
	if err == nil && path.IsAbs(cwd) {
		return strings.TrimSuffix(cwd, " (deleted)")
	}
	if path.IsAbs(given) {
		return path.Clean(given)
	}
	text, err := h.ReadFile(ctx, fmt.Sprintf("/proc/%d/environ", in.pid))
	if err != nil {
		return ""
	}
	for _, pair := range bytes.Split(text, []byte{0}) {
		if v, ok := strings.CutPrefix(string(pair), "PGDATA="); ok && path.IsAbs(v) {
			return path.Clean(v)
		}
	}
	return ""
}

// nameAll names servers by port; two on one port, in containers or on
// different addresses, get their process id as well. A copy of a server takes
// nothing of its name away.
func nameAll(all []*instance) {
	count, copies := map[string]int{}, map[string]int{}
	for _, in := range all {
		if in.copied {
			copies[in.port]++
		} else {
			count[in.port]++
		}
	}
	for _, in := range all {
		in.name = in.port
		if count[in.port] > 1 || in.copied && count[in.port]+copies[in.port] > 1 {
			in.name = fmt.Sprintf("%s-%d", in.port, in.pid)
		}
	}
}

// reach makes the way to log in: the person's own data source name; without one the
// socket as the server's user, as ourselves, and with a password file.
func (in *instance) reach(about host.About, given *host.Target) {
	t := host.Target{Engine: "postgres", PID: in.pid}
	uid, _ := in.process.Int("uid") // 0 where it is not known, which is not gone by
	switch {
	case in.socket != "":
		t.Network, t.Address = "unix", in.at
	case in.tcp != "" && !in.local.Contained:
		t.Network, t.Address = "tcp", in.tcp
	}
	if given != nil { // whoever gives a login wants to know what that one sees, or that it is refused
		t.Network, t.Address, t.Name = given.Network, given.Address, "postgres:"+given.Address
		t.Logins = []host.Login{{DSN: true}}
		if t.Network == "unix" && about.Root && uid > 0 {
			t.Logins = append(t.Logins, host.Login{DSN: true, PeerUID: int(uid)}) // the same role, as peer authentication wants it
		}
		in.target = t
		return
	}
	t.Name = "postgres:" + t.Address
	user := in.process.Text("user")
	if t.Network == "unix" && about.Root && uid > 0 {
		if user != "" && !in.local.Contained {
			t.Logins = append(t.Logins, host.Login{User: user, Database: "postgres", PeerUID: int(uid)})
		}
		if user != "postgres" || in.local.Contained {
			t.Logins = append(t.Logins, host.Login{User: "postgres", Database: "postgres", PeerUID: int(uid)})
		}
	}
	if about.User != "" && t.Network == "unix" {
		t.Logins = append(t.Logins, host.Login{User: about.User, Database: "postgres"})
	}
	if about.User == "root" {
		t.Logins = append(t.Logins, host.Login{File: "/root/.pgpass"})
	} else if about.User != "" {
		t.Logins = append(t.Logins, host.Login{File: "/home/" + about.User + "/.pgpass"})
	}
	in.target = t
}

// isReachedBy reports whether a data source name leads to this server.
func (in *instance) isReachedBy(t *host.Target) bool {
	if t.Network == "unix" {
		return !in.local.Contained && t.Address == in.at
	}
	colon := strings.LastIndexByte(t.Address, ':')
	return !in.local.Contained && isLocal(strings.Trim(t.Address[:colon], "[]")) && t.Address[colon+1:] == in.port
}
