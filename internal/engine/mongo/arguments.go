package mongo

import (
	_ "embed" // the arguments
	"strings"

	"plumb/internal/stack"
)

//go:embed flags.txt
var flagsFile string

// flags maps mongod's arguments to the names in the file; switches are those
// that take no value, and what giving one means.
var flags, switches = readFlags()

func readFlags() (flags, switches map[string]string) {
	flags, switches = map[string]string{}, map[string]string{}
	for line := range strings.Lines(flagsFile) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "#" {
			continue
		}
		if f[1] != "-" {
			flags[f[0]] = f[1]
		}
		if len(f) > 2 {
			switches[f[0]] = f[2]
		}
	}
	return flags, switches
}

// parseArguments reads mongod's command line. config is the file it names. An
// argument that is not in the tables takes the next one along only if that
// does not look like an argument itself.
func parseArguments(args []string) (options map[string]option, config string) {
	options = map[string]option{}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !strings.HasPrefix(args[i], "-") {
			continue
		}
		if meaning, ok := switches[name]; ok {
			value = meaning
		} else if !joined && strings.Trim(name, "v") != "" && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			i++
			value = args[i]
		}
		switch key, known := flags[name]; {
		case name == "config" || name == "f":
			config = value
		case known:
			options[key] = option{value, stack.Origin{From: stack.FromCommand}}
		}
	}
	return options, config
}

// parseOldConfig reads a file of arguments without their dashes, one a line.
func parseOldConfig(file string, text []byte) map[string]option {
	options := map[string]option{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line, _, _ = strings.Cut(line, "#")
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		key, known := flags[name]
		if !ok || !known {
			continue
		}
		if meaning, ok := switches[name]; ok {
			if value != "true" {
				continue
			}
			value = meaning
		}
		options[key] = option{value, stack.Origin{From: stack.FromFile, File: file, Line: n}}
	}
	return options
}

// complete adds what options mean together: on which addresses mongod listens
// and whether it asks for a login. The latter is off unless something turns it
// on; a key file and a mode of authentication within the cluster do, but not in
// the midst of the change from none, which transitionToAuth stands for.
func complete(options map[string]option) {
	if all, ok := options["net.bindIpAll"]; ok && all.value == "true" {
		options["net.bindIp"] = option{"*", all.from}
	}
	if _, told := options["security.authorization"]; told {
		return
	}
	if _, more := options[elsewhere]; more {
		return
	}
	key, keyed := options["security.keyFile"]
	mode, moded := options["security.clusterAuthMode"]
	between := options["security.transitionToAuth"].value == "true"
	switch {
	case moded && between: // the manual and the source differ
	case moded:
		options["security.authorization"] = option{"enabled", mode.from}
	case keyed && !between:
		options["security.authorization"] = option{"enabled", key.from}
	default:
		options["security.authorization"] = option{"disabled", stack.Origin{From: stack.FromDefault}}
	}
}
