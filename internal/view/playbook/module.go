package playbook

import (
	"regexp"
	"strconv"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
)

// module is an Ansible module with what it is given.
type module struct {
	name string
	args mapping
}

// moduleOf finds the module that does what a switch does; false when only a
// command does. That of ALTER SYSTEM has had two names, and wants a driver and
// another user: psql does without.
func moduleOf(w *change.Switch) (module, bool) {
	if len(w.Do) == 0 {
		return module{}, false
	}
	first := w.Do[0]
	switch {
	case len(w.Do) == 1 && first.Statement != "" && first.Target.Engine == "mysql":
		return mysqlModule(first)
	case len(w.Do) == 1 && len(first.Argv) == 4 && first.Argv[0] == "zfs" && first.Argv[1] == "set":
		name, value, ok := strings.Cut(first.Argv[2], "=")
		return module{name: "community.general.zfs", args: mapping{{"name", first.Argv[3]}, {"state", "present"},
			{"extra_zfs_properties", mapping{{name, value}}}}}, ok
	}
	return module{}, false
}

var setVariable = regexp.MustCompile(`^SET (GLOBAL|PERSIST|PERSIST_ONLY) ([A-Za-z0-9_.]+) = ([^\\]+)$`)

func mysqlModule(o change.Op) (module, bool) {
	m := setVariable.FindStringSubmatch(o.Statement)
	if m == nil {
		return module{}, false
	}
	value, ok := unquotedSQL(m[3])
	args := mapping{{"variable", m[2]}, {"value", value}, {"mode", strings.ToLower(m[1])}}
	return module{name: "community.mysql.mysql_variables", args: append(args, loginOf(o.Target)...)}, ok
}

// unquotedSQL gives the text of one SQL string, or a bare word.
func unquotedSQL(s string) (string, bool) {
	inner, quoted := strings.CutPrefix(s, "'")
	if !quoted {
		return s, !strings.ContainsAny(s, "' ,;()")
	}
	inner, ok := strings.CutSuffix(inner, "'")
	if strings.Contains(strings.ReplaceAll(inner, "''", ""), "'") {
		return "", false // several
	}
	return strings.ReplaceAll(inner, "''", "'"), ok
}

// loginOf says where the modules of MySQL find a server.
func loginOf(t *host.Target) mapping {
	if t.Network == "unix" {
		return mapping{{"login_unix_socket", t.Address}}
	}
	name, port := hostPort(t.Address)
	number, err := strconv.Atoi(port)
	if err != nil || number == 0 {
		return mapping{{"login_host", t.Address}}
	}
	return mapping{{"login_host", name}, {"login_port", number}}
}

// hostPort splits host:port and [host]:port; without a port it is "".
func hostPort(address string) (name, port string) {
	i := strings.LastIndexByte(address, ':')
	if i < 0 || strings.HasSuffix(address, "]") {
		return strings.Trim(address, "[]"), ""
	}
	return strings.Trim(address[:i], "[]"), address[i+1:]
}

// editModule finds the module that makes an edit. live is set when the kernel
// is to take a sysctl at once. Where no module keeps the rest of the file as it
// is, there is none.
func editModule(e *change.Edit, live bool) (module, bool) {
	switch e.Form {
	case edit.Mongod, edit.OptionFile, edit.Unit: // no module knows their sections and spellings as awk does
		return module{}, false
	}
	l, err := lineEditOf(e)
	if err != nil {
		return module{}, false
	}
	mode := mapping{}
	if e.Ours {
		mode = mapping{{"mode", "0644"}}
	}
	switch e.Form {
	case edit.Sysctl:
		return module{name: "ansible.posix.sysctl", args: mapping{{"name", e.Key}, {"value", e.Value}, {"sysctl_file", e.File},
			{"sysctl_set", live}, {"reload", false}, {"state", "present"}}}, !strings.Contains(e.Key, "/")
	case edit.Postgresql, edit.Tmpfiles, edit.Limits:
		return module{name: "ansible.builtin.lineinfile", args: append(mapping{{"path", e.File}, {"regexp", l.before}, {"line", l.line}, {"create", true}}, mode...)}, true
	case edit.Fstab:
		return module{name: "ansible.builtin.lineinfile", args: mapping{{"path", e.File}, {"regexp", "(" + l.before + ")" + l.value + "(.*)$"},
			{"line", `\g<1>` + l.raw + `\g<2>`}, {"backrefs", true}}}, true
	}
	if !e.Ours { // other settings may stand in the same line
		return module{}, false
	}
	return module{name: "ansible.builtin.lineinfile", args: append(mapping{{"path", e.File}, {"regexp", l.before}, {"line", l.line}, {"create", true}}, mode...)}, true
}
