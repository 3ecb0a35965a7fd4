package mongo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

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

// Cost implements observe.Probe.
func (Probe) Cost() observe.Cost {
	return observe.Cost{Every: time.Minute, Waits: true, Each: map[string]observe.Requests{"mongo": {Files: 2, Queries: 12}}}
}

// Collect implements observe.Probe.
func (p Probe) Collect(ctx context.Context, h host.Reader, seen *stack.Stack) (stack.Observation, error) {
	all := p.instances(ctx, h, seen)
	obs := observe.Each(all, func(in instance) (obs stack.Observation) {
		in.local(ctx, h, &obs)
		return obs
	})
	if p.Remote != "" && !slices.ContainsFunc(all, func(in instance) bool { return in.met }) {
		remote(ctx, h, &obs, p.Remote)
	}
	return obs, nil
}

// local reads a mongod of this host.
func (in instance) local(ctx context.Context, h host.Reader, obs *stack.Observation) {
	t := obs.New("mongo", in.name)
	t.Set("remote", stack.Bool(false), "process "+in.Process.Ref.Name)
	t.Link("process", in.Process.Ref)
	if in.fileErr != nil {
		obs.Gap(t.Ref, in.fileErr.Error(), "run as root", "data_path", "storage_*", "net_*", "security_*")
	}
	in.read(ctx, h, obs, t)
	setAllocator(obs, t, in.Process)
	addRoles(obs, t, in)
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

func remote(ctx context.Context, h host.Reader, obs *stack.Observation, address string) {
	t := obs.New("mongo", address)
	t.Set("remote", stack.Bool(true), "--dsn")
	t.Link("process")
	obs.Gap(t.Ref, "the server is remote, and this host says nothing about it", "run plumb on that host",
		"data", "journal", "log", "storage", "memory")
	in := instance{target: remoteTarget(address)}
	in.read(ctx, h, obs, t)
}

func remoteTarget(address string) host.Target {
	return host.Target{Engine: "mongo", Name: "mongo:" + address, Network: "tcp", Address: address, Logins: []host.Login{{DSN: true}}}
}

// read asks a server for all it tells.
func (in *instance) read(ctx context.Context, h host.Reader, obs *stack.Observation, t *stack.Thing) {
	if in.target.Address == "" {
		setOptions(t, in.options)
		t.Set("logged_in", stack.Bool(false), "process "+in.Process.Ref.Name)
		obs.Gap(t.Ref, "it listens in a network namespace of its own, and on no socket", "run plumb there, or give its address with --dsn", "*")
		return
	}
	in.inForce(ctx, h, obs, t)
	setOptions(t, in.options)
	ask(ctx, h, obs, t, in.target)
	setDefaults(t, *in)
}

// inForce asks how the server was started. Where the file says something else
// it was changed since, and counts from the next start on.
func (in *instance) inForce(ctx context.Context, h host.Reader, obs *stack.Observation, t *stack.Thing) {
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
		gapFor(obs, t, q, err)
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
		absent: []string{"replica_set_state", "replica_set_members", "replica_set_healthy", "replica_set_has_primary", "replica_set_voting"}},
	{command: `{"replSetGetConfig": 1}`, read: readReplicaConfig, absent: []string{"majority_journal_default"}},
	{command: oplogQuestion, read: readOplog},
}

// oplogQuestion asks for a section that is not shown by default: the first and
// the last entry of the oplog. Outside a replica set it is empty.
const oplogQuestion = `{"serverStatus": 1, "oplog": 1, "$only": ["oplog"]}`

// ask runs the commands; each that fails leaves a gap and hides nothing.
func ask(ctx context.Context, h host.Reader, obs *stack.Observation, t *stack.Thing, target host.Target) {
	loggedIn := false
	for _, q := range questions {
		rows, err := h.Query(ctx, target, q.command)
		if q.older != "" && says(err, "CommandNotFound") {
			rows, err = h.Query(ctx, target, q.older)
		}
		if errors.Is(err, host.ErrDown) || errors.Is(err, host.ErrLogin) {
			t.Set("logged_in", stack.Bool(false), target.Name)
			hint := "give a login with --dsn mongodb://user:password@host:port/; `plumb check --grants` prints the rights it needs"
			if errors.Is(err, host.ErrDown) {
				hint = "look whether it answers anybody, and in its log"
			}
			obs.Gap(t.Ref, err.Error(), hint, "*")
			return
		}
		if err != nil {
			gapFor(obs, t, q, err)
			continue
		}
		doc, err := firstDocument(rows)
		if err != nil {
			gapFor(obs, t, q, err)
			continue
		}
		q.read(t, doc)
		loggedIn = loggedIn || q.command == `{"serverStatus": 1}`
	}
	t.Set("logged_in", stack.Bool(loggedIn), target.Name)
	if !loggedIn {
		obs.Gap(t.Ref, "serverStatus was refused", "give a login with --dsn; `plumb check --grants` prints the rights it needs", "*")
	}
}

// gapFor notes a refused command. That a server is in no replica set, or has
// no such command, is an answer.
func gapFor(obs *stack.Observation, t *stack.Thing, q question, err error) {
	if len(q.absent) > 0 && (says(err, "NoReplicationEnabled") || says(err, "CommandNotFound")) {
		t.Absent(q.command, q.absent...)
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
	obs.Gap(t.Ref, fmt.Sprintf("%s: %v", q.command, err), hint)
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
func addRoles(obs *stack.Observation, t *stack.Thing, in instance) {
	pid, _ := strconv.Atoi(in.Process.Ref.Name)
	roles := map[string]string{}
	switch data := t.Text("data_path"); {
	case in.router:
		for _, role := range []string{"data", "journal", "storage"} {
			t.Link(role)
		}
	case data == "":
		obs.Gap(t.Ref, "storage.dbPath is not known", "", "data", "journal", "storage")
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
		obs.Roles = append(obs.Roles, stack.Role{DB: t.Ref, Name: name, Path: roles[name], PID: pid})
	}
	t.Link("temporary")
	t.Link("tablespace")
}
