package private

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/product"
)

func errorLog(run string) string { return filepath.Join(run, "error.log") }

// writeMySQL writes the option file, the only one the server reads.
func writeMySQL(in box, s experiment.Server) string {
	b := &strings.Builder{}
	fmt.Fprintln(b, "[mysqld]")
	for _, o := range boxed(in) {
		writeOption(b, o[0], o[1])
	}
	if s.Engine == product.MariaDB { // absent is OFF, and MariaDB has no such plugin
		fmt.Fprintln(b, "skip_networking")
	} else {
		fmt.Fprintln(b, "skip_networking\nloose_mysqlx = OFF") // it listens on a port and a socket of its own
	}
	all := mysqlRules().spelled(s.Create, s.Settings)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		writeVariable(b, name, all[name])
	}
	if _, given := all["server_id"]; !given && binlog(all["log_bin"]) {
		fmt.Fprintln(b, "server_id = 1") // without one MySQL 5.7 refuses to keep a binary log
	}
	return b.String()
}

// boxed are the options that keep a server in its box.
func boxed(in box) [][2]string {
	all := [][2]string{{"datadir", in.data}, {"socket", in.socket}, {"pid_file", filepath.Join(in.run, "mysqld.pid")},
		{"log_error", errorLog(in.run)}, {"tmpdir", in.run}} // in a shared tmpdir servers remove each other's temporary tables when they start
	if b := in.program.Paths[base]; b != "" {
		all = append(all, [2]string{"basedir", b})
	}
	if len(in.program.Before) > 0 {
		all = append(all, [2]string{"secure_file_priv", "NULL"}) // Debian's build looks for a directory below /var/lib
	}
	return all
}

// binlog tells whether a value of log_bin asks for a binary log.
func binlog(value string) bool {
	b, word := truth(value)
	return value != "" && (b || !word)
}

func writeVariable(b *strings.Builder, name, value string) {
	if name != "log_bin" {
		writeOption(b, name, value)
		return
	}
	// Its value is the name of the files: ON would call them that, and OFF too.
	switch on, word := truth(value); {
	case word && !on:
		fmt.Fprintln(b, "skip_log_bin")
	case word:
		writeOption(b, name, "binlog")
	default:
		writeOption(b, name, value)
	}
}

// writeOption writes one line, quoted where the server would read the value
// differently otherwise. The rules have refused what cannot be written.
func writeOption(b *strings.Builder, name, value string) {
	if value == "" || strings.ContainsAny(value, "#'\\\"") {
		value = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
	}
	fmt.Fprintf(b, "%s = %s\n", name, value)
}

// Install implements lab.Engine. It reads no option file: none is there yet.
func (mysqlEngine) Install(p lab.Program, s experiment.Server, data, run string) lab.Start {
	argv := slices.Clone(p.Before)
	if script, ok := p.Paths[install]; ok {
		argv = append(argv, script, "--no-defaults", "--datadir="+data, "--tmpdir="+run, "--auth-root-authentication-method=normal", "--skip-test-db")
	} else {
		argv = append(argv, p.Paths[server], "--no-defaults", "--initialize-insecure", "--datadir="+data, "--tmpdir="+run)
		if len(p.Before) > 0 {
			argv = append(argv, "--secure-file-priv=NULL")
		}
	}
	if b := p.Paths[base]; b != "" {
		argv = append(argv, "--basedir="+b)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Create)) {
		argv = append(argv, "--"+strings.ReplaceAll(mysqlName(name), "_", "-")+"="+strings.TrimSpace(s.Create[name]))
	}
	return lab.Start{Argv: argv, Env: p.Env, Dir: run}
}

// Serve implements lab.Engine. SIGTERM is an orderly stop.
func (e mysqlEngine) Serve(p lab.Program, s experiment.Server, data, run string) (start lab.Start, stop host.Signal, log string) {
	argv := append(slices.Clone(p.Before), p.Paths[server], "--defaults-file="+e.configOf(run))
	return lab.Start{Argv: argv, Env: p.Env, Dir: run}, host.Terminate, errorLog(run)
}
