package private

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
)

func configFile(run string) string { return filepath.Join(run, "postgresql.conf") }

// Files implements lab.Engine: one file, which begins with what initdb left.
func (Engine) Files(_ lab.Program, s experiment.Server, data, run string) (map[string][]byte, error) {
	if err := Validate(s); err != nil {
		return nil, err
	}
	if err := lab.SocketFits(socketOf(run)); err != nil {
		return nil, err
	}
	b := &bytes.Buffer{}
	fmt.Fprintf(b, "include = %s\n", quoted(filepath.Join(data, "postgresql.conf")))
	writeSetting(b, "unix_socket_directories", `"`+run+`"`) // a list of names
	writeSetting(b, "unix_socket_permissions", "0700")
	writeSetting(b, "listen_addresses", "")
	writeSetting(b, "port", "5432")
	all := map[string]string{}
	for name, value := range s.Settings {
		all[canonical(name)] = strings.TrimSpace(value)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		writeSetting(b, name, all[name])
	}
	return map[string][]byte{configFile(run): b.Bytes()}, nil
}

func canonical(name string) string { return strings.ToLower(strings.TrimSpace(name)) }

// writeSetting writes one line. The server reads numbers and words in quotes
// as it does without.
func writeSetting(b *bytes.Buffer, name, value string) {
	fmt.Fprintf(b, "%s = %s\n", name, quoted(value))
}

// quoted writes a value as a configuration file has it, where a backslash
// begins an escape.
func quoted(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(value) + "'"
}

// Install implements lab.Engine. Locale and encoding do not depend on the
// environment, unless the experiment says which.
func (Engine) Install(p lab.Program, s experiment.Server, data, _ string) lab.Start {
	argv := append(slices.Clone(p.Before), p.Paths[initdb], "-D", data, "-U", postgres, "-A", "trust")
	create := map[string]string{"encoding": "UTF8"}
	for name, value := range s.Create {
		create[canonical(name)] = strings.TrimSpace(value)
	}
	if _, given := create["locale"]; !given {
		argv = append(argv, "--no-locale")
	}
	for _, name := range slices.Sorted(maps.Keys(create)) {
		argv = append(argv, initdbOption(name, create[name])...)
	}
	return lab.Start{Argv: argv, Env: p.Env}
}

// initdbOption gives the arguments of initdb for a setting that counts when
// the data is made. [Validate] has refused those it does not know.
func initdbOption(name, value string) []string {
	switch name {
	case "data_checksums":
		if on, _ := parseBool(value); on {
			return []string{"--data-checksums"}
		}
		return []string{"--no-data-checksums"} // since 18, where they are the default
	case "wal_segment_size":
		megabytes, _ := walSegment(value)
		return []string{"--wal-segsize=" + strconv.Itoa(megabytes)}
	}
	return []string{"--" + name + "=" + value}
}

// walSegment reads the size of WAL segments in MB, a power of two up to 1024.
func walSegment(value string) (megabytes int, ok bool) {
	n, isNumber := quantity(value, "MB")
	m := int(n / (1 << 20))
	return m, isNumber && m >= 1 && m <= 1024 && m&(m-1) == 0 && float64(m)*(1<<20) == n
}

// Serve implements lab.Engine. SIGINT is a fast and orderly stop. The log goes
// to the standard error output: the collector would be another process.
func (Engine) Serve(p lab.Program, _ experiment.Server, data, run string) (start lab.Start, stop host.Signal, log string) {
	log = filepath.Join(run, "output.log")
	argv := append(slices.Clone(p.Before), p.Paths[server], "-D", data, "-c", "config_file="+configFile(run))
	return lab.Start{Argv: argv, Env: p.Env, Log: log}, host.Interrupt, log
}
