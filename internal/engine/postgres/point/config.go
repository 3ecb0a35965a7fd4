package point

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/engine/postgres"
	"plumb/internal/protect"
)

// loners are libraries that act by themselves, or talk to others: a copy would do so
// a second time. None of them is needed to read the data, unlike timescale.
const loners = "pg_cron pg_net pglogical spock bdr citus repmgr pg_failover_slots pgactive pgautofailover pg_partman_bgw pg_squeeze pg_later " +
	"vectorize pg_task pgpro_scheduler pg_statsinfo pg_ttl_index"

// timescale cannot be left out: its tables are not read without it. Its jobs change and drop data. With no background workers
// its launcher ends at once (src/loader/bgw_launcher.c), and no session can set their number (PGC_POSTMASTER).
const timescale = "timescaledb"

const (
	leastCache   = 1 << 20   // of memory for a copy, in bytes
	defaultCache = 128 << 20 // where none was said
)

// settings are those of a copy: what its data needs, and nothing by which it would
// reach out, be reached or wait for others.
func (n neutral) settings() (all []postgres.Assignment) {
	c, libraries := n.c, n.libraries()
	for _, name := range strings.Fields(carried) {
		if value, ok := c.Server.Settings[name]; ok && name != "shared_preload_libraries" {
			all = append(all, postgres.Assignment{name, value})
		}
	}
	cache := c.Memory
	if cache <= 0 {
		cache = defaultCache
	}
	all = append(all, []postgres.Assignment{
		{"shared_preload_libraries", strings.Join(libraries, ", ")},
		{"port", strconv.Itoa(port(c))},
		{"unix_socket_directories", `"` + c.Run + `"`}, // a list of names
		{"unix_socket_permissions", "0700"},
		{"external_pid_file", ""},
		{"cluster_name", "plumb " + string(c.Purpose)},
		{"shared_buffers", strconv.FormatInt(max(cache, leastCache)>>10, 10) + "kB"},
		{"huge_pages", "off"},
		{"ssl", "off"},
		{"logging_collector", "off"},
		{"log_destination", "stderr"},
		{"max_logical_replication_workers", "0"}, // a subscription would take its source's place at the publisher
		{"synchronous_standby_names", ""},
		{"archive_mode", "off"},
		{"archive_command", ""},
	}...)
	if slices.ContainsFunc(libraries, func(name string) bool { return library(name) == timescale }) {
		all = append(all, postgres.Assignment{timescale + ".max_background_workers", "0"})
	}
	switch c.Purpose {
	case protect.ForDrill:
		all = append(all, []postgres.Assignment{{"autovacuum", "off"}, {"fsync", "off"}, {"checkpoint_timeout", "1h"}}...)
	case protect.ForReplica:
		if following, err := n.following(); err == nil && n.major >= 12 {
			all = append(all, following...)
		}
	}
	return all
}

// libraries are those of the server, without what acts by itself.
func (n neutral) libraries() (keep []string) {
	for name := range strings.SplitSeq(n.c.Server.Settings["shared_preload_libraries"], ",") {
		name = strings.TrimSpace(name)
		if base := library(name); base != "" && base != "." && !slices.Contains(strings.Fields(loners), base) {
			keep = append(keep, name)
		}
	}
	return keep
}

// library is the name of a library without its directory, quotes and ending.
func library(name string) string {
	return strings.TrimSuffix(path.Base(strings.Trim(name, `"`)), ".so")
}

// following are the settings by which a replica finds its source. The password is in
// a file beside, for it would be seen among the settings.
func (n neutral) following() ([]postgres.Assignment, error) {
	s := n.c.Source
	name, number, err := endpoint(s)
	if err != nil {
		return nil, err
	}
	conn := ""
	for _, kv := range [][2]string{{"host", name}, {"port", number}, {"user", s.User}, {"passfile", path.Join(n.c.Run, passFile)}, {"application_name", "plumb_" + strconv.Itoa(n.c.Number)}} {
		conn += kv[0] + "='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(kv[1]) + "' "
	}
	all := []postgres.Assignment{{"primary_conninfo", strings.TrimSpace(conn)}}
	if s.Slot != "" {
		all = append(all, postgres.Assignment{"primary_slot_name", s.Slot})
	}
	return all, nil
}

// endpoint gives the host, or directory of the socket, and the port of a source.
func endpoint(s *protect.Source) (name, number string, err error) {
	at := strings.LastIndexByte(s.Address, ':')
	if s.Network == "unix" {
		name, at = path.Dir(s.Address), strings.LastIndex(s.Address, "/.s.PGSQL.")+len("/.s.PGSQL.")-1
	} else if at > 0 {
		name = strings.Trim(s.Address[:at], "[]")
	}
	if at < 0 || at+1 >= len(s.Address) || strings.Trim(s.Address[at+1:], "0123456789") != "" {
		return "", "", fmt.Errorf("%s is not an address of PostgreSQL", s.Address)
	}
	return name, s.Address[at+1:], nil
}

// password is the text of the password file; "" where none is needed.
func (n neutral) password() string {
	s := n.c.Source
	if s == nil || s.Password == "" || strings.Contains(s.Password, "\n") {
		return ""
	}
	escape := strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace
	return "*:*:*:" + escape(s.User) + ":" + escape(s.Password) + "\n"
}

// config is the configuration file.
func (n neutral) config() string {
	return "# Written by Plumb for this copy alone; the source's configuration is not read.\n" + postgres.Lines(n.settings())
}

// closed lets in one role, over a socket that only the server's user and root reach.
func (n neutral) closed() string {
	return "local all " + postgres.Identifier(role(n.c)) + " trust\n"
}

// open asks the accounts on the loopback; md5 takes the passwords of SCRAM, too.
func (n neutral) open() string {
	return "local all all trust\nhost all all 127.0.0.1/32 md5\n"
}

// role is the superuser that logs in to a copy.
func role(c protect.Copy) string {
	if name := c.Server.Settings[superuser]; name != "" {
		return name
	}
	return "postgres"
}

func port(c protect.Copy) int {
	if c.Port > 0 {
		return c.Port
	}
	return 5432
}

func socket(c protect.Copy) string { return path.Join(c.Run, ".s.PGSQL."+strconv.Itoa(port(c))) }

// arguments are those of the server's program.
func (n neutral) arguments() ([]string, error) {
	c := n.c
	if len(c.Server.Program) == 0 {
		return nil, errors.New("which program runs it is not known")
	}
	all := []postgres.Assignment{{"config_file", path.Join(c.Run, configFile)}, {"hba_file", path.Join(c.Run, openFile)}, {"listen_addresses", ""}}
	if c.Port > 0 {
		all[2][1] = "127.0.0.1"
	}
	if c.Closed {
		all[1][1], all[2][1] = path.Join(c.Run, closedFile), ""
		if n.major >= 17 {
			all = append(all, postgres.Assignment{"event_triggers", "off"})
		}
	}
	if c.Purpose == protect.ForReplay && n.major >= 12 {
		all = append(all, n.recovery()...)
	}
	argv := append(slices.Clone(c.Server.Program), "-D", n.data)
	for _, s := range all {
		argv = append(argv, "-c", s[0]+"="+s[1])
	}
	return argv, nil
}

// on tells whether a setting is.
func on(value string) bool { v, _ := postgres.ParseBool(value); return v }
