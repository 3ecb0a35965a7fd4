package mongo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// Probe reads every mongod the process probe found, and a remote one.
type Probe struct {
	Remote string // host:port of a server given by --dsn, here or elsewhere; "" for none
}

// Name implements observe.Probe.
func (Probe) Name() string { return "mongo" }

// Look implements observe.Probe.
func (p Probe) Look(ctx context.Context, h host.Reader, seen *stack.Stack) (stack.Sight, error) {
	var met atomic.Bool
	sight := observe.Each(observe.Locals(seen, "mongo"), func(l observe.Local) (sight stack.Sight) {
		if p.local(ctx, h, &sight, l) {
			met.Store(true)
		}
		return sight
	})
	if p.Remote != "" && !met.Load() {
		remote(ctx, h, &sight, p.Remote)
	}
	return sight, nil
}

// leadsTo reports whether the server given by --dsn is the one of this host
// that listens on a port. The login of another server is never tried on it.
func (p Probe) leadsTo(number int, root string) bool {
	name, given, err := net.SplitHostPort(p.Remote)
	return err == nil && root == "" && given == strconv.Itoa(number) && slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, name)
}

// instance is a mongod of this host: what its command line and its file say,
// and how it is reached.
type instance struct {
	observe.Local
	given   map[string]option // on the command line
	options map[string]option // the same, and the file's
	file    string            // --config, as the server sees it; "" for none
	fileErr error
	router  bool   // a mongos, which keeps no data
	name    string // of the thing
	target  host.Target
}

// instanceOf reads what a process says. met tells that --dsn leads to it.
func (p Probe) instanceOf(ctx context.Context, h host.Reader, l observe.Local) (in instance, met bool) {
	args, _ := l.Process.Facts["args"].Value.List()
	in = instance{Local: l, router: len(args) > 0 && path.Base(args[0]) == "mongos"}
	in.given, in.file = parseArguments(args)
	in.options = maps.Clone(in.given)
	number := port(in.options)
	if in.file != "" {
		number, in.fileErr = readConfig(l.For(ctx), h, l.Root, in.file, in.options)
	}
	if in.fileErr == nil {
		complete(in.options)
	}
	in.name = strconv.Itoa(number)
	met = p.leadsTo(number, l.Root)
	address := net.JoinHostPort("127.0.0.1", in.name)
	in.target = host.Target{Engine: "mongo", Name: "mongo:" + address, Network: "tcp", Address: address, Logins: []host.Login{{DSN: met}}}
	return in, met
}

// local reads a mongod of this host, and tells whether --dsn leads to it.
func (p Probe) local(ctx context.Context, h host.Reader, sight *stack.Sight, l observe.Local) (given bool) {
	in, given := p.instanceOf(ctx, h, l)
	t := sight.New("mongo", in.name)
	t.Set("remote", stack.Bool(false), "process "+l.Process.Ref.Name)
	t.Link("process", l.Process.Ref)
	if in.fileErr != nil {
		sight.Gap(t.Ref, in.fileErr.Error(), "run as root", "data_path", "storage_*", "net_*", "security_*")
	}
	in.read(ctx, h, sight, t)
	setAllocator(sight, t, l.Process)
	addRoles(sight, t, in)
	return given
}

// readConfig merges the file below the arguments, which win.
func readConfig(ctx context.Context, h host.Reader, root, file string, options map[string]option) (int, error) {
	text, err := h.ReadFile(ctx, root+file)
	if err != nil {
		return port(options), fmt.Errorf("read %s: %w", file, err)
	}
	parsed, err := parseConfig(file, text)
	for name, o := range parsed {
		if _, given := options[name]; !given {
			options[name] = o
		}
	}
	return port(options), err
}

func remote(ctx context.Context, h host.Reader, sight *stack.Sight, address string) {
	t := sight.New("mongo", address)
	t.Set("remote", stack.Bool(true), "--dsn")
	t.Link("process")
	sight.Gap(t.Ref, "the server is remote, and this host says nothing about it", "run plumb on that host",
		"data", "journal", "log", "storage", "memory")
	in := instance{target: host.Target{Engine: "mongo", Name: "mongo:" + address, Network: "tcp", Address: address,
		Logins: []host.Login{{DSN: true}}}}
	in.read(ctx, h, sight, t)
}

// read asks a server for all it tells.
func (in *instance) read(ctx context.Context, h host.Reader, sight *stack.Sight, t *stack.Thing) {
	in.inForce(ctx, h, sight, t)
	setOptions(t, in.options)
	ask(ctx, h, sight, t, in.target)
	setDefaults(t, *in)
}

// inForce asks how the server was started. Where the file says something else
// it was changed since, and counts from the next start on.
func (in *instance) inForce(ctx context.Context, h host.Reader, sight *stack.Sight, t *stack.Thing) {
	q := question{command: `{"getCmdLineOpts": 1}`}
	rows, err := h.Query(ctx, in.target, q.command)
	if errors.Is(err, host.ErrDown) || errors.Is(err, host.ErrLogin) {
		return // which the next question tells of
	}
	var doc document
	if err == nil {
		doc, err = firstDocument(rows)
	}
	if err != nil {
		gapFor(sight, t, q, err)
		return
	}
	running := readOptions(doc)
	for name, now := range running {
		if stands, ok := in.options[name]; ok && stands.value == now.value {
			running[name] = stands // which knows the line
		}
	}
	_, router := running["sharding.configDB"]
	in.options, in.fileErr, in.router = running, nil, in.router || router
}

// question is a command and what reads its answer.
type question struct {
	command string
	read    func(*stack.Thing, document)
	older   string   // asked of a server that does not know the command
	absent  []string // facts that a server in no replica set does not have
}

// questions are the commands, in order. How the server was started is asked
// apart, as the answer is compared with the file.
var questions = []question{
	{command: `{"buildInfo": 1}`, read: readBuild},
	{command: `{"hello": 1}`, read: readHello, older: `{"isMaster": 1}`}, // hello came with 4.4.2
	{command: `{"serverStatus": 1}`, read: readStatus},
	{command: `{"hostInfo": 1}`, read: readHost},
	{command: `{"getParameter": "*"}`, read: readParameters},
	{command: `{"getLog": "startupWarnings"}`, read: readWarnings},
	{command: `{"replSetGetStatus": 1}`, read: readReplicaSet,
		absent: []string{"replica_set_state", "replica_set_members", "replica_set_healthy", "replica_set_voting"}},
	{command: `{"replSetGetConfig": 1}`, read: readReplicaConfig, absent: []string{"majority_journal_default"}},
	{command: oplogQuestion, read: readOplog},
}

// oplogQuestion asks for a section that is not shown by default: the first and
// the last entry of the oplog. Outside a replica set it is empty.
const oplogQuestion = `{"serverStatus": 1, "oplog": 1, "$only": ["oplog"]}`

// ask runs the commands; each that fails leaves a gap and hides nothing.
func ask(ctx context.Context, h host.Reader, sight *stack.Sight, t *stack.Thing, target host.Target) {
	loggedIn := false
	for _, q := range questions {
		rows, err := h.Query(ctx, target, q.command)
		if q.older != "" && says(err, "CommandNotFound") {
			rows, err = h.Query(ctx, target, q.older)
		}
		if errors.Is(err, host.ErrDown) || errors.Is(err, host.ErrLogin) {
			t.Set("logged_in", stack.Bool(false), target.Name)
			sight.Gap(t.Ref, err.Error(), "give a login with --dsn mongodb://user:password@host:port/; `plumb check --grants` prints the rights it needs", "*")
			return
		}
		if err != nil {
			gapFor(sight, t, q, err)
			continue
		}
		doc, err := firstDocument(rows)
		if err != nil {
			gapFor(sight, t, q, err)
			continue
		}
		q.read(t, doc)
		loggedIn = loggedIn || q.command == `{"serverStatus": 1}`
	}
	t.Set("logged_in", stack.Bool(loggedIn), target.Name)
	if !loggedIn {
		sight.Gap(t.Ref, "serverStatus was refused", "give a login with --dsn; `plumb check --grants` prints the rights it needs", "*")
	}
}

// gapFor notes a refused command. That a server is in no replica set, or has
// no such command, is an answer.
func gapFor(sight *stack.Sight, t *stack.Thing, q question, err error) {
	if len(q.absent) > 0 && (says(err, "NoReplicationEnabled") || says(err, "CommandNotFound")) {
		for _, fact := range q.absent {
			t.SetAbsent(fact, q.command)
		}
		return
	}
	if q.command == oplogQuestion && errors.Is(err, errEmpty) {
		t.SetAbsent("oplog_window", q.command)
		return
	}
	hint := ""
	switch {
	case errors.Is(err, host.ErrDenied):
		hint = "`plumb check --grants` prints the rights it needs"
	case t.Text("replica_set_state") == notInitiated:
		hint = "its replica set has not begun: rs.initiate(), or add it to one"
	}
	sight.Gap(t.Ref, fmt.Sprintf("%s: %v", q.command, err), hint)
}

// says reports whether the server refused a command with an error of this name.
func says(err error, name string) bool {
	return err != nil && strings.HasSuffix(err.Error(), "("+name+")")
}

var errEmpty = errors.New("empty answer")

func firstDocument(rows host.Rows) (document, error) {
	if len(rows.Values) == 0 || len(rows.Values[0]) == 0 || rows.Values[0][0] == nil {
		return nil, errEmpty
	}
	return parseDocument([]byte(*rows.Values[0][0]))
}

// addRoles says where the server keeps its files.
func addRoles(sight *stack.Sight, t *stack.Thing, in instance) {
	pid, _ := strconv.Atoi(in.Process.Ref.Name)
	roles := map[string]string{}
	switch data := t.Text("data_path"); {
	case in.router:
		for _, role := range []string{"data", "journal", "storage"} {
			t.Link(role)
		}
	case data == "":
		sight.Gap(t.Ref, "storage.dbPath is not known", "", "data", "journal", "storage")
		return
	default:
		roles["data"] = data
		if on, known := t.Bool("storage_journal_enabled"); on || !known {
			roles["journal"] = data + "/journal"
		} else {
			t.Link("journal")
		}
	}
	if log, ok := absolute(t.Text("system_log_path")); ok {
		roles["log"] = log
	}
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		sight.Roles = append(sight.Roles, stack.Role{DB: t.Ref, Name: name, Path: roles[name], PID: pid})
	}
	t.Link("temporary")
	t.Link("tablespace")
}
