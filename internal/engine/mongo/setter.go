package mongo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// Setter sets the settings of mongod: at once with setParameter where there
// is such a parameter, and lastingly in mongod.conf.
//
// It passes its suite on MongoDB 4.4.0, where a mongod is at hand; for later
// releases it rests on MongoDB's documentation.
type Setter struct{ probe Probe }

// NewSetter makes a setter that finds servers as the probe does.
func NewSetter(p Probe) *Setter { return &Setter{p} }

// Kinds implements change.Setter.
func (s *Setter) Kinds() []string { return []string{"mongo"} }

// knob is how one setting is called.
type knob struct {
	option    string // in mongod.conf
	parameter string // of setParameter; "" when it cannot be set while the server runs
	quiet     string // a note
}

func knobs() map[string]knob {
	return map[string]knob{
		"storage_cache_size_gb": {option: "storage.wiredTiger.engineConfig.cacheSizeGB", parameter: "wiredTigerEngineRuntimeConfig",
			quiet: "a smaller cache is emptied while clients wait for it; a larger one fills as they read"},
		"storage_journal_enabled":         {option: "storage.journal.enabled"},
		"storage_journal_commit_interval": {option: "storage.journal.commitIntervalMs", parameter: "journalCommitInterval"},
		"storage_block_compressor":        {option: "storage.wiredTiger.collectionConfig.blockCompressor", quiet: "collections that are there keep their compression"},
		"security_authorization":          {option: "security.authorization", quiet: "make a user with the role userAdminAnyDatabase before the restart, and give every client a login; members of a replica set need a keyFile as well"},
		"enable_flow_control":             {option: "setParameter.enableFlowControl", parameter: "enableFlowControl"},
		"ttl_monitor_enabled":             {option: "setParameter.ttlMonitorEnabled", parameter: "ttlMonitorEnabled"},
	}
}

// Recipe implements change.Setter.
func (s *Setter) Recipe(ctx context.Context, h host.Reader, seen *stack.Stack, w change.Want) (change.Recipe, error) {
	k, ok := knobs()[w.Knob.Name]
	if !ok {
		return change.Recipe{}, &change.Refusal{Why: "Plumb does not know how " + w.Knob.Name + " is set", What: "set it in mongod.conf"}
	}
	value, err := written(w)
	if err != nil {
		return change.Recipe{}, err
	}
	if w.Image {
		return imageRecipe(ctx, h, k, value)
	}
	thing := seen.Find(w.Knob.Of)
	if thing == nil {
		return change.Recipe{}, &change.Refusal{Why: w.Knob.Of.String() + " is not here"}
	}
	in, found := s.find(ctx, h, seen, w.Knob.Of.Name)
	if !found {
		return change.Recipe{}, &change.Refusal{Why: "the server's mongod.conf is on another machine", What: "run plumb on the server's host"}
	}
	for _, refusal := range []error{obsolete(thing, w.Knob.Name), in.managed(), in.vouched(ctx, h), in.beaten(k)} {
		if refusal != nil {
			return change.Recipe{}, refusal
		}
	}
	return in.recipe(ctx, h, seen, w, k, value)
}

func (s *Setter) find(ctx context.Context, h host.Reader, seen *stack.Stack, name string) (instance, bool) {
	for _, in := range s.probe.instances(ctx, h, seen) {
		if in.name == name {
			return in, true
		}
	}
	return instance{}, false
}

// written gives a value as mongod.conf has it.
func written(w change.Want) (string, error) {
	switch w.Fact.Type {
	case catalog.Bool:
		if b, ok := w.To.Bool(); ok {
			return strconv.FormatBool(b), nil
		}
	case catalog.Text:
		if t, ok := w.To.Text(); ok {
			return t, nil
		}
	case catalog.Float:
		if n, ok := w.To.Number(); ok {
			return strconv.FormatFloat(n, 'f', -1, 64), nil
		}
	default:
		if n, ok := w.To.Int(); ok {
			return strconv.FormatInt(n, 10), nil
		}
	}
	return "", &change.Refusal{Why: fmt.Sprintf("%s is not a value of %s", w.To, w.Knob.Name)}
}

// obsolete refuses what the server's release does not have.
func obsolete(t *stack.Thing, name string) error {
	if t.Text("flavor") == "ferretdb" {
		return &change.Refusal{Why: "this is FerretDB, which has no such setting", What: "its storage is PostgreSQL: change the setting there"}
	}
	if name == "storage_journal_enabled" && release(t.Text("version")) >= 601 {
		return &change.Refusal{Why: "the journal is always on since 6.1, and a server with storage.journal.enabled in its file does not start", What: "take the line out of the file"}
	}
	return nil
}

// managed refuses files that something else than a person writes or that go
// with a container.
func (in instance) managed() error {
	switch {
	case in.Contained:
		return &change.Refusal{Why: "the server runs in a container, and its mongod.conf is lost with it", What: "change what the container is made from"}
	case in.file == "":
		return &change.Refusal{Why: "the server was started without --config, so it reads no file", What: "write its options into a mongod.conf and start it with --config"}
	case !path.IsAbs(in.file):
		return &change.Refusal{Why: "the server was started with --config " + in.file + ", which depends on the directory it was started in", What: "start it with the full path"}
	case path.Base(in.file) == "automation-mongod.conf":
		return &change.Refusal{Why: "MongoDB's automation agent writes " + in.file, What: "change it in Ops Manager, Cloud Manager or Atlas"}
	case in.fileErr != nil:
		return &change.Refusal{Why: in.fileErr.Error(), What: "run as root"}
	}
	return nil
}

// vouched refuses a file that is a mongod.conf by the word of the server's
// command line alone: anybody can start a server that names another program's.
func (in instance) vouched(ctx context.Context, h host.Reader) error {
	if !in.Shared(ctx, h, in.file) {
		return &change.Refusal{Why: "the server has mounts of its own, and its " + in.file + " is another file than the one here", What: "set it by hand where the server reads it"}
	}
	st, err := h.Stat(in.For(ctx), in.file)
	own, roots := observe.Whose(in.Process, in.file, st)
	if err != nil || own || in.file == "/etc/mongod.conf" {
		return nil // what is missing is said elsewhere
	}
	if !roots {
		return &change.Refusal{Why: fmt.Sprintf("%s belongs to user %d with mode %#o: users other than the server's and root can write to it", in.file, st.UID, st.Mode.Perm()),
			What: "give it to root, or to the server's user"}
	}
	for name, o := range in.options {
		section, _, _ := strings.Cut(name, ".")
		if o.from.File == in.file && slices.Contains([]string{"storage", "systemLog", "processManagement", "replication", "setParameter"}, section) {
			return nil
		}
	}
	return &change.Refusal{Why: in.file + " has no section of mongod: only the server's command line names it as its file",
		What: "if it is one, write the section storage into it"}
}

// beaten refuses when something else than the line in the file would count.
func (in instance) beaten(k knob) error {
	if _, ok := in.given[k.option]; ok {
		return &change.Refusal{Why: "the server's command line sets " + k.option + ", which overrides its file", What: "take it out of how the server is started (its unit), and restart it"}
	}
	args := in.Process.List("args")
	parameter, isParameter := strings.CutPrefix(k.option, "setParameter.")
	for i, a := range args {
		name, value, _ := strings.Cut(a, "=")
		if name != "--setParameter" && name != "--wiredTigerEngineConfigString" {
			continue
		}
		if value == "" && i+1 < len(args) {
			value = args[i+1]
		}
		given, _, _ := strings.Cut(value, "=")
		if name == "--setParameter" && isParameter && given == parameter || name == "--wiredTigerEngineConfigString" && strings.HasSuffix(k.option, ".cacheSizeGB") && strings.Contains(value, "cache_size") {
			return &change.Refusal{Why: "the server's command line has " + name + " " + value + ", which overrides its file", What: "take it out of how the server is started (its unit), and restart it"}
		}
	}
	if !strings.HasSuffix(k.option, ".cacheSizeGB") {
		return nil
	}
	const engine = "storage.wiredTiger.engineConfig."
	if o := in.options[engine+"configString"]; strings.Contains(o.value, "cache_size") {
		return &change.Refusal{Why: fmt.Sprintf("%s:%d sets cache_size in configString, which overrides cacheSizeGB", in.file, o.from.Line), What: "set it there, or take it out"}
	}
	if o, ok := in.options[engine+"cacheSizePct"]; ok {
		return &change.Refusal{Why: fmt.Sprintf("%s:%d sets cacheSizePct, and a server with both does not start", in.file, o.from.Line), What: "take cacheSizePct out first, or change it"}
	}
	return nil
}

// recipe makes the acts: first the running server, which refuses a value it
// cannot take, then the file.
func (in instance) recipe(ctx context.Context, h host.Reader, seen *stack.Stack, w change.Want, k knob, value string) (change.Recipe, error) {
	r := change.Recipe{Effect: catalog.Now, Lasts: in.file}
	if k.quiet != "" {
		r.Notes = append(r.Notes, k.quiet)
	}
	if k.parameter != "" {
		live, err := in.live(ctx, h, w, k, value)
		if err != nil {
			return r, err
		}
		r.Acts = append(r.Acts, live)
		if r.Needs, err = in.rights(ctx, h); err != nil {
			return r, err
		}
	} else {
		r.Effect = catalog.Restart
		r.Waits, r.Restart = in.restart(ctx, h, seen)
		if r.Restart == nil {
			r.Notes = append(r.Notes, "Plumb does not know how this server is started: restart it by hand")
		}
	}
	r.Acts = append(r.Acts, change.Act{Edit: &change.Edit{File: in.file, Form: edit.Mongod, Key: k.option, Value: value}})
	return r, nil
}

// live is the act on the running server.
func (in instance) live(ctx context.Context, h host.Reader, w change.Want, k knob, value string) (change.Act, error) {
	look := fmt.Sprintf(`{"getParameter": 1, %q: 1, %q: [%q]}`, k.parameter, onlyKey, k.parameter)
	set := fmt.Sprintf(`{"setParameter": 1, %q: %%s}`, k.parameter)
	if k.parameter == "wiredTigerEngineRuntimeConfig" {
		// The parameter gives back what it was last told; what counts is the engine's
		// own figure. mongod turns cacheSizeGB into whole MiB.
		gb, _ := w.To.Number()
		value = strconv.FormatInt(int64(math.Floor(gb*1024))<<20, 10)
		look = fmt.Sprintf(`{"serverStatus": 1, %q: ["wiredTiger", "cache", "maximum bytes configured"]}`, onlyKey)
		set = `{"setParameter": 1, "wiredTigerEngineRuntimeConfig": "cache_size=%s"}`
	}
	rows, err := h.Query(ctx, in.target, look)
	switch {
	case err != nil && ctx.Err() != nil:
		return change.Act{}, err
	case errors.Is(err, host.ErrDown):
		return change.Act{}, &change.Refusal{Why: err.Error(), What: "start the server first"}
	case err != nil:
		return change.Act{}, &change.Refusal{Why: err.Error(), What: "give a login with --dsn mongodb://user:password@host:port/"}
	case len(rows.Values) == 0 || host.Cell(rows.Values[0], 0) == nil:
		return change.Act{}, &change.Refusal{Why: "this server does not say what " + k.option + " is", What: "set it in " + in.file + " and restart the server"}
	}
	op := func(v string) []change.Op {
		return []change.Op{{Target: &in.target, Statement: fmt.Sprintf(set, v)}}
	}
	return change.Act{Switch: &change.Switch{On: w.Knob.Of.String() + " " + k.parameter, Inspect: change.Inspection{Target: &in.target, Query: look},
		After: value, Do: op(value), Undo: op("{before}"), Patience: 2000}}, nil
}

// restart says what a restart is called and how it is done; nil when Plumb
// does not know.
func (in instance) restart(ctx context.Context, h host.Reader, seen *stack.Stack) (string, []change.Op) {
	if unit := observe.OwnUnit(ctx, h, seen, in.Process); unit != "" {
		return "a restart of " + unit, []change.Op{{Argv: []string{"systemctl", "restart", unit}}}
	}
	return "a restart of mongo:" + in.name, nil
}

// rights says what is missing to run setParameter. It is asked after a look
// was answered: a server that answers somebody without a login lets everybody.
func (in instance) rights(ctx context.Context, h host.Reader) ([]string, error) {
	rows, err := h.Query(ctx, in.target, `{"connectionStatus": 1, "showPrivileges": true}`)
	if err != nil {
		return nil, &change.Refusal{Why: err.Error(), What: "give a login with --dsn mongodb://user:password@host:port/"}
	}
	doc, err := firstDocument(rows)
	if err != nil {
		return nil, &change.Refusal{Why: err.Error()}
	}
	users, _ := doc.at("authInfo", "authenticatedUsers")
	if list, ok := users.([]any); ok && len(list) == 0 || maySet(doc) {
		return nil, nil
	}
	return []string{"the action setParameter on the cluster, such as the role hostManager gives (db.grantRolesToUser)"}, nil
}

// maySet looks for the right to run setParameter in connectionStatus.
func maySet(d document) bool {
	v, _ := d.at("authInfo", "authenticatedUserPrivileges")
	all, _ := v.([]any)
	return slices.ContainsFunc(all, func(one any) bool {
		m, _ := one.(map[string]any)
		p := document(m)
		cluster, _ := p.truth("resource", "cluster")
		any, _ := p.truth("resource", "anyResource")
		return (cluster || any) && holds(p, "actions", "setParameter")
	})
}

func holds(d document, key, word string) bool {
	v, _ := d.at(key)
	list, _ := v.([]any)
	return slices.Contains(list, any(word)) || slices.Contains(list, any("anyAction"))
}

// imageRecipe sets a value in the file that the packages of MongoDB and
// Percona start the server with.
func imageRecipe(ctx context.Context, h host.Reader, k knob, value string) (change.Recipe, error) {
	const file = "/etc/mongod.conf"
	if _, err := h.ReadFile(ctx, file); err != nil {
		return change.Recipe{}, &change.Refusal{Why: err.Error(), What: "install the server in the image first"}
	}
	return change.Recipe{Effect: catalog.Restart, Waits: "a start of the server", Lasts: file, Notes: []string{"nothing runs here that could check the value"},
		Acts: []change.Act{{Edit: &change.Edit{File: file, Form: edit.Mongod, Key: k.option, Value: value}}}}, nil
}
