package sst

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/protect"
)

// redo is the file without which InnoDB's others are of no use, and with a wrong one of which it
// does not start.
const redo = "ib_logfile0"

// dataFiles are the files at the top of a data directory that are the data of a server. What else lies
// there is the node's own: its place in the cluster (grastate.dat, gvwstate.dat, galera.cache),
// keys and certificates, logs, sockets, and what people put there.
var dataFiles = regexp.MustCompile(`^(ibdata[0-9]+|ib_logfile[0-9]+|undo[_0-9]+|ib_buffer_pool|ib_lru_dump|aria_log_control|aria_log\.[0-9]+|(mysql|mariadb)_upgrade_info)$`)

// lostFiles are data too, and are not sent, but what a joiner has of them is of no use any more.
var lostFiles = regexp.MustCompile(`^(ibtmp[0-9]+|ddl_recovery(-backup)?\.log|tc\.log|(multi-)?master(-.*)?\.info|relay-log(-.*)?\.info)$`)

// entry is a name at the top of a data directory.
type entry struct {
	name string
	dir  bool
}

// data tells whether an entry is data that is sent: databases are directories, and begin with no dot.
func (e entry) data() bool {
	if e.dir {
		return !strings.HasPrefix(e.name, ".") && e.name != "lost+found" && !strings.HasPrefix(e.name, "#")
	}
	return dataFiles.MatchString(e.name)
}

// stale tells whether a joiner's entry must go before it has another's data.
func (e entry) stale() bool {
	return e.data() || e.dir && strings.HasPrefix(e.name, "#") || !e.dir && lostFiles.MatchString(e.name)
}

// top lists what lies at the top of a directory. Links are listed as files.
func top(ctx context.Context, d host.Doer, dir string) (all []entry, err error) {
	out, err := d.Run(ctx, "find", "-P", dir, "-mindepth", "1", "-maxdepth", "1", "-printf", `%y%f\0`)
	if err != nil {
		return nil, err
	}
	for one := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if one != "" {
			all = append(all, entry{one[1:], one[0] == 'd'})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// together refuses a data directory with links out of it: the other end would have the link, and
// not what is behind it.
func together(ctx context.Context, d host.Doer, dir string) error {
	out, err := d.Run(ctx, "find", "-P", dir, "-not", "-path", dir+"/.*", "(", "-type", "l", "-o", "-name", "*.isl", ")", "-print", "-quit")
	if err != nil {
		return err
	}
	if name := strings.TrimSpace(string(out)); name != "" {
		return hint.With(fmt.Errorf("%s leads out of the data directory, but only the data directory is sent", name), "use wsrep_sst_method = mariabackup for this cluster")
	}
	return nil
}

// Sendable refuses a donor that keeps InnoDB's or Aria's files elsewhere than in its data directory.
func Sendable(sv protect.Server) error {
	data := sv.Dir("data")
	for _, d := range sv.Dirs {
		if d.Role != "binlog" && d.Role != "relaylog" && !paths.Within(d.Path, data) && d.Role != "temporary" && d.Role != "log" && d.Role != "pid" {
			return elsewhere(d.Role, d.Path)
		}
	}
	return nil
}

func elsewhere(what, at string) error {
	return hint.With(fmt.Errorf("the server keeps %s in %s, but only the data directory is sent", what, at), "use wsrep_sst_method = mariabackup for this cluster")
}

// places are the settings that say where data lies besides the data directory.
var places = []string{"innodb-data-home-dir", "innodb-log-group-home-dir", "innodb-undo-directory", "aria-log-dir-path"}

// oneDirectory refuses a joiner whose server would look elsewhere for some of what is received: it would start on new
// files and an old log. The server cannot be asked yet, so its program is, with the same arguments.
func oneDirectory(ctx context.Context, d host.Doer, r Request) error {
	line, err := d.ReadFile(ctx, "/proc/"+r.Parent+"/cmdline")
	program, err2 := d.Readlink(ctx, "/proc/"+r.Parent+"/exe")
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("look how the server was started: %w", err)
	}
	args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	out, err := d.Run(ctx, append(append([]string{program}, args[1:]...), "--verbose", "--help")...)
	if err != nil {
		return fmt.Errorf("ask the server's program where it keeps what: %w", err)
	}
	return inOne(r.Datadir, string(out))
}

// inOne reads what a server's program says of its settings.
func inOne(datadir, help string) error {
	seen := 0
	for line := range strings.Lines(help) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		value = strings.TrimSpace(value)
		switch {
		case !ok:
		case name == "innodb-data-file-path":
			seen++
			for part := range strings.SplitSeq(value, ";") {
				if file, _, _ := strings.Cut(part, ":"); !dataFiles.MatchString(file) {
					return elsewhere("a tablespace", file)
				}
			}
		case slices.Contains(places, name):
			seen++
			if at := path.Join(datadir, strings.TrimPrefix(value, datadir)); value != "(No default value)" && at != datadir {
				return elsewhere(name, value)
			}
		}
	}
	if seen <= len(places) {
		return errors.New("the server's program does not say where it keeps what")
	}
	return nil
}
