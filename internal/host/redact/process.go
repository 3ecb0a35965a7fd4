package redact

import (
	"path"
	"slices"
	"strings"
)

// commandLine redacts /proc/PID/cmdline: arguments with a NUL byte after each.
func commandLine(s string) string {
	args := strings.Split(s, "\x00")
	if len(args) <= 2 && strings.Contains(s, " ") { // a title a server gave itself
		return text(s, plain)
	}
	var attached, next bool
	for _, arg := range args { // sudo, env and timeout stand before the program
		for word := range strings.FieldsSeq(arg) {
			a, n := takesP(word)
			attached, next = attached || a, next || n
		}
	}
	secretNext, before := false, ""
	var tool toolLine
	for i, arg := range args {
		redact := secretNext && arg != "" && !strings.HasPrefix(arg, "-")
		secretNext = false
		key, value, assigned := strings.Cut(arg, "=")
		if inShell(args, i) {
			args[i] = text(arg, plain)
			continue
		}
		masked, flag := tool.mask(arg, before)
		if tool.watch(arg); i > 0 || arg != "" {
			before = arg
		}
		switch {
		case redact:
			args[i] = Mark
		case flag:
			args[i] = masked
		case attached && shortBundle.MatchString(arg):
			args[i] = shortBundle.FindStringSubmatch(arg)[1] + Mark
		case assigned && value != "" && secretKey(key) && !strings.ContainsAny(key, " \t\n"):
			args[i] = key + "=" + Mark
		case strings.HasPrefix(arg, "-") && !assigned && (secretKey(arg) || (next && arg == "-p")) && !strings.ContainsAny(arg, " \t\n"):
			secretNext = true
		case i > 0 && slices.Contains([]string{"-u", "--user", "--proxy-user"}, args[i-1]) && strings.Contains(arg, ":"):
			user, _, _ := strings.Cut(arg, ":")
			args[i] = user + ":" + Mark
		default:
			args[i] = text(arg, plain)
		}
	}
	return strings.Join(args, "\x00")
}

// inShell reports whether an argument is a command for a shell: sh -c "…".
func inShell(args []string, i int) bool {
	if i < 2 || !strings.HasPrefix(args[i-1], "-") || !strings.HasSuffix(args[i-1], "c") {
		return false
	}
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "ksh", "zsh"}, path.Base(args[i-2]))
}

// environment redacts /proc/PID/environ: only the variables that matter here
// are kept. Even the names of the others are nobody's business.
func environment(s string) string {
	var b strings.Builder
	for v := range strings.SplitAfterSeq(s, "\x00") {
		name, value, ok := strings.Cut(strings.TrimSuffix(v, "\x00"), "=")
		if !ok || !knownVariable(name) {
			continue
		}
		b.WriteString(name + "=" + text(value, plain))
		if strings.HasSuffix(v, "\x00") {
			b.WriteByte(0)
		}
	}
	return b.String()
}

// knownVariable lists the variables whose value is kept: those that change how
// a database server behaves, and none that is made to hold a secret.
func knownVariable(name string) bool {
	if slices.Contains([]string{
		"LD_PRELOAD", "LD_LIBRARY_PATH", "GLIBC_TUNABLES", "MALLOC_CONF", "_RJEM_MALLOC_CONF", "JE_MALLOC_CONF",
		"MYSQLD_OPTS", "MYSQLD_PARENT_PID", "MYSQL_HOME", "MARIADB_HOME", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_GROUP_SUFFIX", "MARIADB_GROUP_SUFFIX",
		"_WSREP_START_POSITION", "_WSREP_NEW_CLUSTER", "PGDATA", "PGPORT", "PGHOST", "PGUSER", "PGDATABASE", "PGSYSCONFDIR", "PGLOCALEDIR",
		"PG_OOM_ADJUST_FILE", "PG_OOM_ADJUST_VALUE", "PG_GRANDPARENT_PID", "LANG", "TZ", "HOME", "USER", "GOMAXPROCS", "GOMEMLIMIT",
	}, name) {
		return true
	}
	for _, prefix := range []string{"LC_", "MALLOC_", "TCMALLOC_", "NUMA_", "OMP_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
