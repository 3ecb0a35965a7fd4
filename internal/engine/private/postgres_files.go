package private

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	engine "plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
)

// writePostgres writes one file, which begins with what initdb left.
func writePostgres(in box, s experiment.Server) string {
	lines := []engine.Assignment{
		{"include", filepath.Join(in.data, "postgresql.conf")},
		{"unix_socket_directories", `"` + in.run + `"`}, // a list of names
		{"unix_socket_permissions", "0700"},
		{"listen_addresses", ""},
		{"port", "5432"},
	}
	all := postgresRules().spelled(s.Settings)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		lines = append(lines, engine.Assignment{name, all[name]})
	}
	return engine.Lines(lines)
}

// Install implements lab.Engine. Locale and encoding do not depend on the
// environment, unless the experiment says which.
func (e postgresEngine) Install(p lab.Program, s experiment.Server, data, _ string) lab.Start {
	argv := append(slices.Clone(p.Before), p.Paths[install], "-D", data, "-U", postgres, "-A", "trust")
	create := e.spelled(map[string]string{"encoding": "UTF8"}, s.Create)
	if _, given := create["locale"]; !given {
		argv = append(argv, "--no-locale")
	}
	for _, name := range slices.Sorted(maps.Keys(create)) {
		argv = append(argv, initdbOption(name, create[name])...)
	}
	return lab.Start{Argv: argv, Env: p.Env}
}

// initdbOption gives the arguments of initdb for a setting that counts when
// the data is made. The rules have refused those it does not know.
func initdbOption(name, value string) []string {
	switch name {
	case "data_checksums":
		if on, _ := engine.ParseBool(value); on {
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
func (e postgresEngine) Serve(p lab.Program, _ experiment.Server, data, run string) (start lab.Start, stop host.Signal, log string) {
	log = filepath.Join(run, "output.log")
	argv := append(slices.Clone(p.Before), p.Paths[server], "-D", data, "-c", "config_file="+e.configOf(run))
	return lab.Start{Argv: argv, Env: p.Env, Log: log}, host.Interrupt, log
}
