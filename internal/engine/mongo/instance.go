package mongo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// instance is a mongod of this host: what its command line and its file say,
// and how it is reached.
type instance struct {
	observe.Local
	given   map[string]option // on the command line
	options map[string]option // the same, and the file's
	file    string            // --config, as the server sees it; "" for none
	fileErr error
	router  bool        // a mongos, which keeps no data
	apart   bool        // in another network namespace than ours
	name    string      // of the thing
	target  host.Target // without an address where there is no way to it
	met     bool        // --dsn leads to it
}

// instances reads what the processes say, and names each by its port. Of those
// that share one, in networks of their own, the later ones carry their process id.
func (p Probe) instances(ctx context.Context, h host.Reader, seen *stack.Stack) []instance {
	var all []instance
	for _, l := range observe.Locals(seen, "mongo") {
		all = append(all, p.instanceOf(ctx, h, l))
	}
	slices.SortStableFunc(all, func(a, b instance) int {
		return cmp.Or(cmp.Compare(strconv.FormatBool(a.apart), strconv.FormatBool(b.apart)), cmp.Compare(a.PID, b.PID))
	})
	taken := map[string]bool{}
	for i, in := range all {
		if taken[in.name] {
			all[i].name = fmt.Sprintf("%s-%d", in.name, in.PID)
		}
		taken[in.name] = true
	}
	return all
}

// instanceOf reads what a process says.
func (p Probe) instanceOf(ctx context.Context, h host.Reader, l observe.Local) instance {
	args := l.Process.List("args")
	in := instance{Local: l, router: len(args) > 0 && path.Base(args[0]) == "mongos"}
	in.apart, _ = l.Process.Bool("own_network")
	in.given, in.file = parseArguments(args)
	in.options = maps.Clone(in.given)
	number := port(in.options)
	if in.file != "" {
		number, in.fileErr = readConfig(l.For(ctx), h, l.Root, in.file, in.options)
	}
	if in.fileErr == nil {
		complete(in.options)
	}
	in.reach(ctx, h, p, number)
	return in
}

// reach finds the way to a server: where it listens as it was told to, or else
// where it does. Into another network only a socket leads.
func (in *instance) reach(ctx context.Context, h host.Reader, p Probe, number int) {
	listens := in.Process.List("listen")
	tcp, sockets := map[int][]string{}, []string{}
	for _, l := range listens {
		if socket, ok := strings.CutPrefix(l, "unix:"); ok {
			sockets = append(sockets, socket)
		}
		if address, ok := strings.CutPrefix(l, "tcp:"); ok {
			name, text, _ := cutLast(address, ":")
			if n, err := strconv.Atoi(text); err == nil {
				tcp[n] = append(tcp[n], strings.Trim(name, "[]"))
			}
		}
	}
	if len(tcp) > 0 && tcp[number] == nil {
		number = slices.Min(slices.Collect(maps.Keys(tcp)))
	}
	in.name = strconv.Itoa(number)
	in.met = !in.apart && !in.Contained && p.leadsTo(number)
	address, network := net.JoinHostPort(loopback(tcp[number]), in.name), "tcp"
	if len(sockets) > 0 && (in.apart || len(listens) == len(sockets)) {
		address, network = in.Path(ctx, h, slices.Min(sockets)), "unix"
	} else if in.apart {
		address = ""
	}
	in.target = host.Target{Engine: "mongo", Name: "mongo:" + address, Network: network, Address: address, Logins: []host.Login{{DSN: in.met}}}
}

// loopback gives the address to call a server at that listens on some:
// 127.0.0.1 wherever that leads to it.
func loopback(listens []string) string {
	for _, any := range []string{"127.0.0.1", "0.0.0.0", "*"} {
		if slices.Contains(listens, any) {
			return "127.0.0.1"
		}
	}
	switch {
	case slices.Contains(listens, "::"), slices.Contains(listens, "::1"):
		return "::1"
	case len(listens) > 0:
		return slices.Min(listens)
	}
	return "127.0.0.1"
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// leadsTo reports whether the server given by --dsn is the one of this host
// that listens on a port. The login of another server is never tried on it.
func (p Probe) leadsTo(number int) bool {
	name, given, err := net.SplitHostPort(p.Remote)
	return err == nil && given == strconv.Itoa(number) && slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, name)
}
