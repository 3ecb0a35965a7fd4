package mysql

import (
	"context"
	"path"
	"slices"
	"strings"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/stack"
)

// keeper is mysqld_safe, which starts a server and stays. What it puts on the server's command line it took from option files
// or from its own command line, or it made it up, and does so again before each start.
type keeper struct {
	in    *instance
	given []assigned // on its own command line
	known func(string) bool
}

// handed lists the variables that mysqld_safe sets on the command line of every server, or of every one for which it finds
// them said. (scripts/mysqld_safe.sh of MariaDB and of MySQL; open_files_limit it has from wherever it is said.)
var handed = []string{"basedir", "datadir", "plugin_dir", "user", "log_error", "pid_file", "socket", "port", "open_files_limit"}

// keeperGroups are the groups of option files that mysqld_safe alone reads, after those of the server: they win.
var keeperGroups = []string{"mysqld_safe", "safe_mysqld", "mariadb_safe", "mariadbd-safe"}

// keeperOf finds it; nil where a server was started without it, or where it is not known with which arguments.
func keeperOf(ctx context.Context, h host.Reader, in *instance, known func(string) bool) *keeper {
	if in.process == nil || in.local.Contained {
		return nil
	}
	pid := observe.Keeper(ctx, h, in.process.Ref.Name)
	if pid == "" {
		return nil
	}
	line, err := h.ReadFile(ctx, "/proc/"+pid+"/cmdline")
	if err != nil {
		return nil
	}
	args, ok := parseScript(line)
	if !ok {
		return nil
	}
	return &keeper{in, arguments(args, known), known}
}

// parseScript reads the arguments of a script that starts servers, itself first: those of the shell that runs it stand before.
func parseScript(cmdline []byte) (args []string, ok bool) {
	args = strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")
	at := slices.IndexFunc(args, func(arg string) bool { return product.IsWrapper(path.Base(arg)) })
	if at < 0 {
		return nil, false
	}
	return args[at:], true
}

// reads are the groups of the server that mysqld_safe looks into: MariaDB's all, MySQL's two.
func (k *keeper) reads() []string {
	if k.in.flavor == flavorMariaDB {
		return k.in.groups
	}
	return []string{"mysqld", "server"}
}

// handsOn tells whether an option of the server's command line is only what an option file says, or what nobody does: then an
// option file that says another value has mysqld_safe hand that on at the next start.
func (k *keeper) handsOn(set assigned, to string) bool {
	if k == nil || !slices.Contains(handed, set.name) || k.in.suffix != "" || strings.ContainsAny(to, " \t*?[\\'\"") { // it takes what files say word by word
		return false
	}
	own := func(a assigned) bool { return a.name == set.name || a.name == "data" } // --data is its word for --datadir
	if slices.ContainsFunc(k.given, own) || slices.ContainsFunc(k.in.options.settings(keeperGroups, k.known), own) {
		return false
	}
	files := last(k.in.options.settings(k.reads(), k.known))[set.name]
	if files != last(k.in.options.settings(k.in.groups, k.known))[set.name] {
		return false // the server reads a line that mysqld_safe does not
	}
	return files.name == "" || strings.TrimRight(files.value, "/") == strings.TrimRight(set.value, "/")
}

// derives tells whether mysqld_safe makes a path from the data directory, because nobody says a whole one.
func (k *keeper) derives(name string) bool {
	said := slices.Concat(k.given, k.in.options.settings(slices.Concat(k.in.groups, keeperGroups), k.known))
	return !slices.ContainsFunc(said, func(a assigned) bool {
		return slices.Contains([]string{name, "log_basename", "hostname"}, a.name) && path.IsAbs(a.value)
	})
}

// Derived lists the variables of a server that mysqld_safe makes from its data directory before each start: where that is another,
// they are others.
func (s *Setter) Derived(ctx context.Context, h host.Reader, seen *stack.Stack, server stack.Ref) (names []string) {
	for _, in := range s.probe.servers(ctx, h, seen) {
		if in.name != server.Name {
			continue
		}
		if k := keeperOf(in.reads(ctx), h, in, knownBeforeLogin); k != nil {
			for _, name := range []string{"log_error", "pid_file"} {
				if k.derives(name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}
