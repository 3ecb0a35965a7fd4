package mysql

import (
	"strings"

	"plumb/internal/stack"
)

// assigned is one assignment of a setting, in a file or on the command line.
type assigned struct {
	name   string // canonical: lower case, underscores, no prefixes
	value  string // as text; ON or OFF for bare and skip_ forms
	loose  bool   // loose_: the server does not mind when it does not know it
	limit  bool   // maximum_: bounds what sessions may set; not a value
	origin stack.Origin
}

// canonical turns an option as written into the name of the variable and the
// value it sets. known tells whether a name is one of the server's variables:
// skip_name_resolve is a variable, skip_innodb_doublewrite is not.
func canonical(name, value string, bare bool, known func(string) bool) assigned {
	a := assigned{name: strings.ReplaceAll(strings.ToLower(name), "-", "_"), value: value}
	if rest, ok := strings.CutPrefix(a.name, "loose_"); ok {
		a.name, a.loose = rest, true
	}
	if rest, ok := strings.CutPrefix(a.name, "maximum_"); ok && !known(a.name) {
		a.name, a.limit = rest, true
		return a
	}
	if bare {
		a.value = "ON"
	}
	for prefix, on := range map[string]string{"skip_": "OFF", "disable_": "OFF", "enable_": "ON"} {
		rest, ok := strings.CutPrefix(a.name, prefix)
		if ok && !known(a.name) {
			a.name, a.value = alias(rest), on
			return a
		}
	}
	a.name = alias(a.name)
	return a
}

// alias gives the variable that an option of another name sets.
func alias(option string) string {
	switch option {
	case "log_bin_trust_routine_creators":
		return "log_bin_trust_function_creators"
	case "table_cache":
		return "table_open_cache"
	case "default_character_set", "character_set":
		return "character_set_server"
	case "t":
		return "tmpdir"
	case "h":
		return "datadir"
	case "b":
		return "basedir"
	}
	return option
}

// arguments reads the server's command line.
func arguments(args []string, known func(string) bool) []assigned {
	var out []assigned
	for i := 1; i < len(args); i++ {
		arg := args[i]
		a := assigned{}
		switch {
		case strings.HasPrefix(arg, "--"):
			name, value, valued := strings.Cut(arg[2:], "=")
			if name == "" {
				continue
			}
			a = canonical(name, value, !valued, known)
		case len(arg) == 2 && arg[0] == '-' && strings.ContainsRune("PSht", rune(arg[1])) && i+1 < len(args):
			short := map[byte]string{'P': "port", 'S': "socket", 'h': "datadir", 't': "tmpdir"}
			a = assigned{name: short[arg[1]], value: args[i+1]}
			i++
		default:
			continue
		}
		a.origin = stack.Origin{From: stack.FromCommand}
		out = append(out, a)
	}
	return out
}

// last gives the assignment that wins: of several, the last.
func last(all []assigned) map[string]assigned {
	win := map[string]assigned{}
	for _, a := range all {
		if !a.limit {
			win[a.name] = a
		}
	}
	return win
}
