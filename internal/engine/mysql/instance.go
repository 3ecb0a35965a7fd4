package mysql

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/passwd"
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
	args    []string
	exe     string
	groups  []string
	suffix  string
	flavor  string // as far as program names and versions show; may be ""
	version string // number; may be ""
	options optionFiles
	port    int // 0: no TCP
	socket  string
	sure    bool   // port and socket were seen or set, not assumed
	name    string // of the thing
	copied  bool   // it serves a copy that Plumb made of a server
	target  host.Target
}

// instances finds the servers among the processes earlier phases saw.
func (p *Probe) instances(ctx context.Context, h host.Reader, seen *stack.Stack) []*instance {
	var out []*instance
	for _, l := range observe.Locals(seen, "mysql") {
		in := instanceOf(ctx, h, l)
		for _, a := range in.args {
			in.copied = in.copied || inventory.OfCopy(ctx, h, strings.TrimPrefix(a, "--defaults-file="), "my.cnf")
		}
		out = append(out, in)
	}
	if len(out) > 1 {
		forgetAssumed(out)
	}
	nameAll(out, seen)
	return out
}

// instanceOf reads what a process was started with.
func instanceOf(ctx context.Context, h host.Reader, l observe.Local) *instance {
	in := &instance{process: l.Process, local: l, pid: l.PID, root: l.Root, args: l.Process.List("args"), exe: l.Process.Text("exe")}
	in.collect(in.reads(ctx), h)
	return in
}

// reads marks reads of what the server names.
func (in *instance) reads(ctx context.Context) context.Context {
	if in.process == nil {
		return ctx
	}
	return in.local.For(ctx)
}

// forgetAssumed takes back addresses that are only the usual ones: with
// several servers they may be another's, and its facts would be taken for
// this one's.
func forgetAssumed(all []*instance) {
	for _, in := range all {
		if !in.sure {
			in.port, in.socket = 0, ""
		}
	}
}

// collect reads what files and the process tell without a login.
func (in *instance) collect(ctx context.Context, h host.Reader) {
	env := environment(ctx, h, in.pid)
	in.version, in.flavor = programVersion(ctx, h, in)
	in.options = readOptionFiles(ctx, h, in.root, startPaths(in.args, env), in.local.Lines)
	for _, name := range suffixVariables(in.flavor, in.version) {
		in.suffix = cmp.Or(in.suffix, env[name])
	}
	for _, a := range in.args {
		if v, ok := strings.CutPrefix(a, "--defaults-group-suffix="); ok {
			in.suffix = v
		}
	}
	in.groups = groups(in.flavor, in.version, in.suffix)
	in.address()
}

// environment is empty where it cannot be read.
func environment(ctx context.Context, h host.Reader, pid int) map[string]string {
	env, _ := Environment(ctx, h, pid)
	return env
}

// variables picks the few that say where option files are, and which groups of them are read.
func variables(environ []byte) map[string]string {
	env := map[string]string{}
	for _, pair := range bytes.Split(environ, []byte{0}) {
		name, value, _ := strings.Cut(string(pair), "=")
		switch name {
		case "HOME", "MYSQL_HOME", "MARIADB_HOME", "MYSQL_GROUP_SUFFIX", "MARIADB_GROUP_SUFFIX":
			env[name] = value
		}
	}
	return env
}

// programVersion asks the program file; of one that is another file here, as in a
// container, only the name is believed.
func programVersion(ctx context.Context, h host.Reader, in *instance) (version, product string) {
	program := in.exe
	if program == "" && len(in.args) > 0 {
		program = in.args[0]
	}
	if strings.Contains(path.Base(program), "mariadb") {
		product = flavorMariaDB
	}
	if in.exe == "" || !in.local.Shared(ctx, h, in.exe) || strings.HasSuffix(in.exe, " (deleted)") {
		return "", product
	}
	text, err := h.Output(ctx, in.exe, "--version")
	if err != nil {
		return "", product
	}
	return parseProgramVersion(text)
}

// parseProgramVersion reads "mysqld  Ver 8.0.36-28 for Linux on x86_64
// (Percona Server (GPL), Release 28, Revision 47601f19)".
func parseProgramVersion(text []byte) (version, product string) {
	_, rest, ok := strings.Cut(string(text), "Ver ")
	if !ok {
		return "", ""
	}
	word, comment, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return number(word), flavor(word, comment)
}

// winners gives the settings the last start took from files and command line.
func (in *instance) winners(known func(string) bool) map[string]assigned {
	all := in.options.settings(in.groups, known)
	return last(append(all, arguments(in.args, known)...))
}

// address finds port and socket: what is set, if the process listens there,
// and otherwise what it listens on.
func (in *instance) address() {
	set := in.winners(knownBeforeLogin)
	in.port = 3306
	if n, ok := whole(set["port"].value); ok {
		in.port, in.sure = int(n), true
	}
	in.socket = set["socket"].value
	if in.socket != "" && !path.IsAbs(in.socket) {
		in.socket = path.Join(set["datadir"].value, in.socket)
	}
	in.sure = in.sure || in.socket != ""
	off, _ := Truth(set["skip_networking"].value)
	listens := in.process.List("listen")
	if _, known := in.process.Get("listen"); !known {
		if off {
			in.port = 0
		}
		return
	}
	in.sure = true
	var ports []int
	var sockets []string
	for _, l := range listens {
		if s, ok := strings.CutPrefix(l, "unix:"); ok && !strings.Contains(path.Base(s), "mysqlx") {
			sockets = append(sockets, s)
		}
		if s, ok := strings.CutPrefix(l, "tcp:"); ok {
			if n, err := strconv.Atoi(s[strings.LastIndexByte(s, ':')+1:]); err == nil {
				ports = append(ports, n)
			}
		}
	}
	if !slices.Contains(sockets, in.socket) && len(sockets) > 0 {
		in.socket = sockets[0]
	}
	if !slices.Contains(ports, in.port) {
		in.port = 0
		if len(ports) > 0 {
			in.port = slices.Min(ports)
		}
	}
}

// nameAll gives each instance the name people use, its port or else its
// socket. Where containers share a port number, the later ones (by process
// id) carry their control group, which stays while the container lives. Copies
// of servers come last, and take no name away.
func nameAll(all []*instance, seen *stack.Stack) {
	taken := map[string]bool{}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *instance) int { return cmp.Compare(rank(a), rank(b)) })
	for _, in := range all {
		name := strconv.Itoa(in.port)
		if in.port == 0 {
			name = in.socket
		}
		if name == "" {
			name = "pid-" + strconv.Itoa(in.pid)
		}
		if taken[name] {
			name += "@" + in.where(seen)
		}
		if taken[name] {
			name += "-" + strconv.Itoa(in.pid)
		}
		taken[name] = true
		in.name = name
	}
}

func rank(in *instance) int {
	if in.copied {
		return 1
	}
	return 0
}

// where tells instances apart that have the same port: the end of the control
// group's name, which for a container is its id.
func (in *instance) where(seen *stack.Stack) string {
	groups, _ := seen.Follow(in.process, "cgroup")
	if len(groups) > 0 && groups[0].Ref.Name != "/" {
		id := strings.TrimSuffix(path.Base(groups[0].Ref.Name), ".scope")
		id = strings.TrimPrefix(strings.TrimPrefix(id, "docker-"), "libpod-")
		return id[:min(12, len(id))]
	}
	return strconv.Itoa(in.pid)
}

// reach says how to log in: over the socket if there is one.
func (in *instance) reach(ctx context.Context, h host.Reader, given *host.Target) {
	t := host.Target{Engine: "mysql", PID: in.pid}
	switch {
	case in.socket != "":
		t.Network, t.Address = "unix", in.local.Path(ctx, h, in.socket)
	case in.port == 0:
		return
	default:
		t.Network, t.Address = "tcp", "127.0.0.1:"+strconv.Itoa(in.port)
	}
	t.Name = "mysql:" + t.Address
	if given != nil { // whoever gives a login wants to know what that one sees, or that it is refused
		t.Logins = []host.Login{{DSN: true}}
		in.target = t
		return
	}
	about := h.About()
	user := about.User
	if about.Root {
		user = "root"
	}
	t.Logins = append(t.Logins, host.Login{User: user})
	if home := homeOf(ctx, h, user); home != "" {
		t.Logins = append(t.Logins, host.Login{User: user, File: home + "/.my.cnf", Group: "client"})
	}
	if user != "root" {
		t.Logins = append(t.Logins, host.Login{User: user, File: "/root/.my.cnf", Group: "client"})
	}
	t.Logins = append(t.Logins, host.Login{File: "/etc/mysql/debian.cnf", Group: "client"})
	in.target = t
}

// homeOf gives a user's home directory, "" when it is not known.
func homeOf(ctx context.Context, h host.Reader, user string) string {
	if user == "root" {
		return "/root"
	}
	text, _ := h.ReadFile(ctx, passwd.File)
	u, _ := passwd.Named(text, user)
	return u.Home
}

// knownBeforeLogin lists the variables that begin like a prefix and matter
// before the server can be asked.
func knownBeforeLogin(name string) bool {
	return slices.Contains([]string{"skip_networking", "skip_name_resolve", "skip_show_database",
		"skip_external_locking", "skip_replica_start", "skip_slave_start", "skip_parallel_replication", "skip_replication"}, name)
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
