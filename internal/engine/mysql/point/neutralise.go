package point

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/protect"
)

// Neutralise implements protect.Starter.
func (*Engine) Neutralise(ctx context.Context, d host.Streamer, c protect.Copy) error {
	n := &neutral{ctx: ctx, d: d, o: ownerOf(d, c.Server), c: c}
	for _, step := range []func() error{n.possible, n.whole, n.links, n.identity, n.index, n.configure} {
		if err := step(); err != nil {
			return fmt.Errorf("make a copy of %s harmless: %w", c.Server.Ref, err)
		}
	}
	return nil
}

// neutral is a copy that is made harmless.
type neutral struct {
	ctx  context.Context
	d    host.Streamer
	o    owner
	c    protect.Copy
	dirs []string // of the server, in the copy
	logs bool     // the binary log is in the copy
}

func (n *neutral) setting(name string) string { return n.c.Server.Settings[name] }

// possible refuses what Plumb cannot start.
func (n *neutral) possible() error {
	if err := Startable(n.c.Server); err != nil {
		return err
	}
	if len(n.c.Server.Program) == 0 || !path.IsAbs(n.c.Root) || !path.IsAbs(n.c.Run) {
		return errors.New("which program starts it, or where the copy is, is not known")
	}
	return nil
}

// whole looks whether the server's directories are there, where they should be: a
// server must never start on an empty directory.
func (n *neutral) whole() error {
	root, err := n.d.Stat(n.ctx, n.c.Root)
	if err != nil {
		return err
	}
	above := strings.TrimSuffix(root.Resolved, "/")
	for _, dir := range n.c.Server.Dirs {
		at := n.c.In(dir.Path)
		st, err := n.d.Stat(n.ctx, at)
		if err != nil && dir.Role == "binlog" {
			continue // a point in locked mode may lack it
		}
		switch {
		case err != nil:
			return fmt.Errorf("its %s directory is missing in the copy: %w", dir.Role, err)
		case !st.Mode.IsDir():
			return fmt.Errorf("its %s directory %s is not a directory", dir.Role, at)
		case st.Resolved != above+dir.Path:
			return fmt.Errorf("its %s directory %s leads to %s", dir.Role, at, st.Resolved)
		}
		n.logs = n.logs || dir.Role == "binlog"
		if !slices.Contains(n.dirs, at) {
			n.dirs = append(n.dirs, at)
		}
	}
	data := n.c.Server.Dir("data")
	if st, err := n.d.Stat(n.ctx, n.c.In(path.Join(data, "mysql"))); data == "" || err != nil || !st.Mode.IsDir() {
		return hint.With(fmt.Errorf("%s contains no data of a server", n.c.In(data)), "is the copy mounted?")
	}
	n.logs = n.logs && on(n.setting("log_bin")) && n.setting("log_bin_basename") != ""
	return nil
}

// links makes links lead into the copy. What leads to files that are none of the
// copy would be the source's own.
func (n *neutral) links() error {
	if n.c.Root == "" {
		return nil // it lies where its source lay
	}
	all, err := n.o.find(n.ctx, n.dirs, "(", "-type", "l", "-o", "-name", "*.isl", ")")
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.kind != "l" {
			// Its redo log names these tables by their full path, and recovery would
			// write to the source's.
			return hint.With(fmt.Errorf("table %s has a DATA DIRECTORY of its own: its redo log names the file by its full path, which is the source's", table(e.path)),
				"ALTER TABLE … DATA DIRECTORY back into the data directory, and take another point")
		}
		if n.c.Purpose == protect.ForReplay {
			return hint.With(fmt.Errorf("%s is a link, which would have to point into the copy now and elsewhere later", e.path), "roll back to the point itself, or replay by hand into a plumb clone")
		}
		if err := n.link(e); err != nil {
			return err
		}
	}
	return nil
}

// table names the table of a file: shop/orders.isl is shop.orders.
func table(file string) string {
	base := path.Base(file)
	return path.Base(path.Dir(file)) + "." + strings.TrimSuffix(base, path.Ext(base))
}

// link makes one link lead into the copy.
func (n *neutral) link(e entry) error {
	to := e.link
	if !path.IsAbs(to) {
		to = path.Join(path.Dir(e.path), to)
	}
	to = path.Clean(to)
	if paths.Within(to, n.c.Root) {
		if path.IsAbs(e.link) {
			return nil // it was here before
		}
		if st, err := n.d.Stat(n.ctx, e.path); err != nil || n.within(st) {
			return nil
		}
		return fmt.Errorf("the link %s leads out of the copy", e.path)
	}
	there := n.c.In(to)
	if _, err := n.d.Stat(n.ctx, there); err != nil || !path.IsAbs(e.link) {
		if n.spare(e.path) {
			return n.o.remove(n.ctx, []string{e.path})
		}
		return hint.With(fmt.Errorf("the link %s leads to %s, which is not in the copy (table %s)", e.path, to, table(e.path)), "move it to the server's data, or to a volume that is snapshotted with it")
	}
	if _, err := n.o.run(n.ctx, "ln", "-s", "-f", "-n", "-T", "--", there, e.path); err != nil {
		return err
	}
	if st, err := n.d.Stat(n.ctx, e.path); err != nil || !n.within(st) {
		return fmt.Errorf("the link %s leads out of the copy", e.path)
	}
	return nil
}

func (n *neutral) within(st host.Stat) bool {
	root, err := n.d.Stat(n.ctx, n.c.Root)
	return err == nil && paths.Within(st.Resolved, root.Resolved)
}

// spare tells whether a link in the data directory itself is none of a table or
// database: to a certificate, a log or a socket.
func (n *neutral) spare(name string) bool {
	base := path.Base(name)
	if path.Dir(name) != n.c.In(n.c.Server.Dir("data")) {
		return false
	}
	return slices.Contains([]string{".pem", ".cnf", ".log", ".err", ".sock", ".pid", ".lock"}, path.Ext(base))
}

// identity removes what tells the copy who it is, or whom it follows. What takes its
// source's place lies there already, and stays what it is.
func (n *neutral) identity() error {
	if n.c.Purpose == protect.ForReplay {
		return nil
	}
	data := n.c.In(n.c.Server.Dir("data"))
	relay := n.setting("relay_log_basename")
	dirs := []string{data}
	if relay != "" && relay != n.setting("log_bin_basename") && slices.Contains(n.dirs, n.c.In(path.Dir(relay))) && !slices.Contains(dirs, n.c.In(path.Dir(relay))) {
		dirs = append(dirs, n.c.In(path.Dir(relay)))
	}
	all, err := n.o.find(n.ctx, dirs, "-maxdepth", "1", "-type", "f")
	if err != nil {
		return err
	}
	var gone []string
	for _, e := range all {
		if path.Dir(e.path) == data && itself(path.Base(e.path)) || relay != n.setting("log_bin_basename") && isLog(e.path, n.c.In(relay)) {
			gone = append(gone, e.path)
		}
	}
	return n.o.remove(n.ctx, gone)
}

// itself tells whether a file of the data directory makes a server the one that it is:
// its UUID, its persisted variables, its cluster, its sources, its process.
func itself(base string) bool {
	switch {
	case slices.Contains([]string{"auto.cnf", "mysqld-auto.cnf", "mysqld-auto.cnf.backup", "gvwstate.dat", "master.info", "relay-log.info", "multi-master.info"}, base):
		return true
	case strings.HasPrefix(base, "master-") || strings.HasPrefix(base, "relay-log-"):
		return strings.HasSuffix(base, ".info") // of MariaDB's named connections
	}
	return path.Ext(base) == ".pid"
}

// isLog tells whether a file is one of a sequence of logs, or its index:
// relay-bin.000002, relay-bin-channel.000002, relay-bin.index.
func isLog(file, base string) bool {
	rest, ok := strings.CutPrefix(file, base)
	if !ok || path.Base(base) == "." || path.Base(base) == "/" {
		return false
	}
	ext := strings.TrimPrefix(path.Ext(file), ".")
	return rest != "" && strings.ContainsRune(".-", rune(rest[0])) && (ext == "index" || ext != "" && strings.Trim(ext, "0123456789") == "")
}

// index makes the index of the binary log name the copy's files. It holds full
// paths where log_bin is one: a copy would go on in the source's, and purge them.
func (n *neutral) index() error {
	if !n.logs {
		return nil
	}
	dir := path.Dir(n.c.In(n.setting("log_bin_basename")))
	text, err := n.o.run(n.ctx, "cat", "--", n.indexFile())
	if err != nil {
		return err
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			out.WriteString(path.Join(dir, path.Base(line)) + "\n")
		}
	}
	return n.o.write(n.ctx, n.indexFile(), out.String())
}

// indexFile is the index of the copy's binary log.
func (n *neutral) indexFile() string {
	if at := n.setting("log_bin_index"); at != "" {
		return n.c.In(at)
	}
	return n.c.In(n.setting("log_bin_basename")) + ".index"
}

// configure writes the only option file that the copy reads.
func (n *neutral) configure() error {
	if _, err := n.o.run(n.ctx, "mkdir", "-p", "-m", "700", "--", n.c.Run+"/tmp"); err != nil {
		return err
	}
	text, err := n.options()
	if err != nil {
		return err
	}
	return n.o.write(n.ctx, config(n.c), text)
}
