package playbook

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/product"
)

// module is an Ansible module with what it is given.
type module struct {
	name string
	args mapping
}

// moduleOf finds the module that does what an act of a step does. ok without
// one says that the act needs none: another does it too.
func moduleOf(s change.Prepared, act int) (m module, ok bool) {
	a := s.Recipe.Acts[act]
	if a.Edit != nil {
		live := slices.ContainsFunc(s.Recipe.Acts, func(o change.Act) bool { return sysctlOf(o) == a.Edit.Key })
		return editModule(a.Edit, live)
	}
	if a.Switch == nil {
		return module{}, false
	}
	sysctl := sysctlOf(a)
	if slices.ContainsFunc(s.Recipe.Acts[act+1:], func(o change.Act) bool {
		return o.Switch != nil && o.Switch.On == a.Switch.On || o.Edit != nil && o.Edit.Form == edit.Sysctl && o.Edit.Key == sysctl
	}) {
		return module{}, true // a pool that grows in steps, or a sysctl that its file's module sets at once
	}
	return switchModule(a.Switch)
}

// sysctlOf names the sysctl that an act writes to /proc/sys; "" for none.
func sysctlOf(a change.Act) string {
	if a.Switch == nil || len(a.Switch.Do) != 1 || a.Switch.Do[0].Write == nil {
		return ""
	}
	name, ok := strings.CutPrefix(a.Switch.Do[0].Write.File, "/proc/sys/")
	if !ok {
		return ""
	}
	return strings.ReplaceAll(name, "/", ".")
}

// switchModule finds the module that does what a switch does; false when only a
// command does.
func switchModule(w *change.Switch) (module, bool) {
	if len(w.Do) == 0 {
		return module{}, false
	}
	first := w.Do[0]
	switch {
	case first.Statement != "" && first.Target.Engine == product.MySQL && len(w.Do) == 1:
		return mysqlModule(first)
	case first.Statement != "" && first.Target.Engine == product.Postgres:
		return postgresModule(first)
	case len(w.Do) == 1 && len(first.Argv) == 4 && first.Argv[0] == "zfs" && first.Argv[1] == "set":
		name, value, ok := strings.Cut(first.Argv[2], "=")
		return module{"community.general.zfs", mapping{{"name", first.Argv[3]}, {"state", "present"},
			{"extra_zfs_properties", mapping{{strconv.Quote(name), value}}}}}, ok
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
	if !ok {
		return module{}, false
	}
	args := mapping{{"variable", m[2]}, {"value", value}, {"mode", strings.ToLower(m[1])}}
	return module{name: "community.mysql.mysql_variables", args: append(args, loginOf(o.Target)...)}, true
}

var alterSystem = regexp.MustCompile(`^ALTER SYSTEM SET ("?)([A-Za-z0-9_.]+)("?) = ([^\\]+)$`)

// postgresModule: the module reloads the server itself.
func postgresModule(o change.Op) (module, bool) {
	m := alterSystem.FindStringSubmatch(o.Statement)
	if m == nil {
		return module{}, false
	}
	value, ok := unquotedSQL(m[4])
	if !ok {
		return module{}, false
	}
	args := mapping{{"name", m[2]}, {"value", value}}
	if dir, port, isSocket := strings.Cut(o.Target.Address, "/.s.PGSQL."); isSocket {
		return module{"community.postgresql.postgresql_set", append(args, pair{"login_unix_socket", dir}, pair{"port", port})}, true
	}
	name, port := hostPort(o.Target.Address)
	return module{"community.postgresql.postgresql_set", append(args, pair{"login_host", name}, pair{"port", port})}, true
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
// is to take a sysctl at once. Into a file that is not Plumb's own, only a module
// that knows its form writes: a value may stand there in a line with others.
func editModule(e *change.Edit, live bool) (module, bool) {
	section, option, _ := strings.Cut(e.Key, "/")
	switch {
	case e.Form == edit.Sysctl && section == e.Key:
		return module{"ansible.posix.sysctl", mapping{{"name", e.Key}, {"value", e.Value}, {"sysctl_file", e.File},
			{"sysctl_set", live}, {"reload", false}, {"state", "present"}}}, true
	case e.Form == edit.OptionFile || e.Form == edit.Unit:
		return module{"community.general.ini_file", mapping{{"path", e.File}, {"section", section}, {"option", option}, {"value", e.Value}}}, true
	case e.Ours && e.Form != edit.Mongod:
		text, err := edit.Set(e.Form, nil, e.Key, e.Value)
		return module{"ansible.builtin.blockinfile", mapping{{"path", e.File}, {"create", true}, {"mode", "0644"},
			{"marker", "# {mark} " + oneLineOf(e.Key)}, {"block", string(text)}}}, err == nil
	}
	return module{}, false
}

// inWords says what an act does, for a person who does it by hand.
func inWords(a change.Act) string {
	if a.Edit != nil {
		return fmt.Sprintf("in %s, %s = %s", a.Edit.File, a.Edit.Key, a.Edit.Value)
	}
	if a.Switch == nil {
		before, after := change.Recorded{Act: a}.Words()
		return fmt.Sprintf("%s %s, which was %s: %s", a.Kind(), a.Place(), before, after)
	}
	words := make([]string, len(a.Switch.Do))
	for i, o := range a.Switch.Do {
		words[i] = o.String()
	}
	return strings.Join(words, " ")
}
