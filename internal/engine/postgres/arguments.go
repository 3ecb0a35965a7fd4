package postgres

import (
	"strings"

	"plumb/internal/stack"
)

// parseArguments reads the server's command line: data gives -D, and lines
// the settings it makes, which win over every file.
func parseArguments(args []string) (data string, lines []assigned) {
	set := func(name, value string) {
		name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
		lines = append(lines, assigned{name, value, stack.Origin{From: stack.FromCommand}})
	}
	letters := map[byte]string{'B': "shared_buffers", 'd': "log_min_messages", 'h': "listen_addresses", 'k': "unix_socket_directories",
		'N': "max_connections", 'p': "port", 'S': "work_mem"}
	for i := 1; i < len(args); i++ {
		a := args[i]
		if long, ok := strings.CutPrefix(a, "--"); ok {
			if name, value, ok := strings.Cut(long, "="); ok {
				set(name, value)
			}
			continue
		}
		if len(a) < 2 || a[0] != '-' {
			continue
		}
		switch a[1] {
		case 'F':
			set("fsync", "off")
			continue
		case 'i':
			set("listen_addresses", "*")
			continue
		case 'l':
			set("ssl", "on")
			continue
		}
		if !strings.ContainsRune("BcCdDfhkNprStvW", rune(a[1])) {
			continue
		}
		value := a[2:]
		if value == "" && i+1 < len(args) {
			i++
			value = args[i]
		}
		switch {
		case a[1] == 'D':
			data = value
		case a[1] == 'c':
			name, v, _ := strings.Cut(value, "=")
			set(name, v)
		case letters[a[1]] != "":
			set(letters[a[1]], value)
		}
	}
	return data, lines
}

// pidFile is what postmaster.pid says.
type pidFile struct {
	pid, data, port, socketDir string
}

// parsePidFile reads postmaster.pid: the process id, the data directory, the
// start time, the port and the first socket directory. Lines that are not there yet stay empty.
func parsePidFile(text []byte) pidFile {
	lines := strings.Split(string(text), "\n")
	at := func(i int) string {
		if i < len(lines) {
			return strings.TrimSpace(lines[i])
		}
		return ""
	}
	return pidFile{pid: at(0), data: at(1), port: at(3), socketDir: at(4)}
}
