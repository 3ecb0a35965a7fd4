package proxysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// greetingQuery is the one question a session to ProxySQL answers.
const greetingQuery = "SHOW SERVER VERSION"

// adminPort is the port of the admin interface, which announces a version of
// its own.
const adminPort = 6032

// Probe looks at every ProxySQL among the host's processes.
type Probe struct{}

// Name implements observe.Probe.
func (Probe) Name() string { return "proxysql" }

// Cost implements observe.Probe.
func (Probe) Cost() observe.Cost {
	return observe.Cost{Every: time.Minute, Waits: true, Each: map[string]observe.Requests{"proxysql": {Files: 2, Commands: 1, Queries: 1}}}
}

// Collect implements observe.Probe. It needs what the process probe saw.
func (Probe) Collect(ctx context.Context, h host.Reader, seen *stack.Stack) (stack.Observation, error) {
	var obs stack.Observation
	var names []string
	for _, l := range observe.Locals(seen, "proxysql") {
		collectFrom(ctx, h, l, &obs, &names)
	}
	return obs, nil
}

func collectFrom(ctx context.Context, h host.Reader, l observe.Local, obs *stack.Observation, names *[]string) {
	proc, root := l.Process, l.Root
	file := configFile(proc.List("args"))
	text, err := h.ReadFile(l.For(ctx), root+file)
	if err != nil && !errors.Is(err, host.ErrTooLarge) {
		text = nil
	}
	port := clientPort(parseConfig(text)["mysql_variables.interfaces"], proc.List("listen"))
	name := strconv.Itoa(port)
	if port == 0 || slices.Contains(*names, name) {
		name = "pid-" + proc.Ref.Name
	}
	*names = append(*names, name)
	t := obs.New("proxysql", name)
	t.Link("process", proc.Ref)
	programVersion(ctx, h, l, t, obs)
	if port == 0 || l.Contained {
		obs.Gap(t.Ref, "the port for clients is not known or is in a container", "", "server_version")
		return
	}
	target := host.Target{Engine: "proxysql", Network: "tcp", Address: "127.0.0.1:" + strconv.Itoa(port), Logins: []host.Login{{}}}
	target.Name = "proxysql:" + target.Address
	rows, err := h.Query(ctx, target, greetingQuery)
	if err != nil || len(rows.Values) == 0 || len(rows.Values[0]) == 0 || rows.Values[0][0] == nil {
		obs.Gap(t.Ref, fmt.Sprintf("read the greeting of %s: %v", target.Address, err), "", "server_version")
		return
	}
	t.Set("server_version", stack.Text(*rows.Values[0][0]), "greeting of "+target.Address)
}

func programVersion(ctx context.Context, h host.Reader, l observe.Local, t *stack.Thing, obs *stack.Observation) {
	exe := l.Process.Text("exe")
	if exe == "" || !l.Shared(ctx, h, exe) {
		obs.Gap(t.Ref, "the program is not known or is in a container", "", "version")
		return
	}
	out, err := h.Output(ctx, exe, "--version")
	if err != nil {
		obs.Gap(t.Ref, err.Error(), "", "version")
		return
	}
	if v := parseProgramVersion(out); v != "" {
		t.Set("version", stack.Text(v), exe+" --version")
	}
}

// parseProgramVersion reads "ProxySQL version 2.5.5-10-g195bd70, codename Truls".
func parseProgramVersion(text []byte) string {
	_, rest, _ := strings.Cut(string(text), "version ")
	return catalog.Numbers(rest)
}

// configFile gives the configuration file of a command line.
func configFile(args []string) string {
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, "--config="); ok {
			return v
		}
		if (a == "-c" || a == "--config") && i+1 < len(args) {
			return args[i+1]
		}
	}
	return "/etc/proxysql.cnf"
}

// clientPort finds the port for clients: the configured one if the process
// listens there, then the usual 6033. Other ports may be the admin's.
func clientPort(interfaces string, listens []string) int {
	var ports []int
	for _, l := range listens {
		if n, err := strconv.Atoi(l[strings.LastIndexByte(l, ':')+1:]); err == nil && strings.HasPrefix(l, "tcp:") && n != adminPort {
			ports = append(ports, n)
		}
	}
	for one := range strings.SplitSeq(interfaces, ";") {
		n, err := strconv.Atoi(one[strings.LastIndexByte(one, ':')+1:])
		if err == nil && slices.Contains(ports, n) {
			return n
		}
	}
	if slices.Contains(ports, 6033) {
		return 6033
	}
	return 0
}
