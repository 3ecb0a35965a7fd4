// Package home tells where MySQL and MariaDB keep their data, and which of it may lie on a volume of its
// own: the redo log. It implements provision.Engine.
package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	engine "plumb/internal/engine/mysql"
	"plumb/internal/engine/mysql/accounts"
	"plumb/internal/engine/mysql/point"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/product"
	"plumb/internal/provision"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
)

// Engine implements [provision.Engine].
type Engine struct {
	cat    *catalog.Catalog
	point  *point.Engine
	setter *engine.Setter
}

var _ provision.Engine = (*Engine)(nil)

// New makes an engine; given is the server of a data source name, or nil.
func New(cat *catalog.Catalog, given *host.Target) *Engine {
	return &Engine{cat, point.New(cat, given), engine.NewSetter(cat, given)}
}

// Kind implements provision.Engine.
func (*Engine) Kind() string { return product.MySQL }

// Home implements provision.Engine.
func (e *Engine) Home(ctx context.Context, h host.Reader, s *stack.Stack, server stack.Ref) (provision.Home, error) {
	sv, t, err := e.point.Describe(ctx, h, s, server)
	if err != nil {
		return provision.Home{}, err
	}
	home := provision.Home{Server: server, Flavor: sv.Flavor, Version: sv.Version, Data: sv.Dir("data"), UID: sv.UID, GID: sv.GID, Unit: sv.Unit, Program: sv.Executable(), Label: product.Of(product.MySQL).SELinux, PID: sv.PID, Target: t}
	home.Parts = []provision.Part{redo(home, redoDir(s, server))}
	return home, nil
}

// redoDir is where the redo log lies.
func redoDir(s *stack.Stack, server stack.Ref) string {
	for _, r := range s.Roles {
		if r.DB == server && r.Name == "redo" {
			if r.Resolved != "" {
				return r.Resolved
			}
			return r.Path
		}
	}
	return ""
}

// ownDirectory is where MySQL 8.0.30 and later keep the redo log, below innodb_log_group_home_dir: a volume can be
// mounted there, and the server needs to be told nothing.
const ownDirectory = "#innodb_redo"

// redo is the part of the redo log.
func redo(h provision.Home, now string) provision.Part {
	p := provision.Part{Name: "log", Roles: []string{"redo"}, Now: now}
	switch {
	case now != "" && !paths.Within(now, h.Data):
		p.At = now // it lies apart already
	case path.Base(now) == ownDirectory:
		p.At = path.Join(h.Data, ownDirectory)
	default:
		p.At = strings.TrimSuffix(h.Data, "/") + "-log"
		p.Files = []string{"ib_logfile*"}
	}
	return p
}

// Accounts implements provision.Engine. What a packager left open is closed before anybody has data in the server.
func (e *Engine) Accounts(ctx context.Context, h host.Reader, s *stack.Stack, home provision.Home, want []spec.Database) (out provision.Making, err error) {
	fresh, err := accounts.Fresh(ctx, h, home.Target)
	if err != nil {
		return out, err
	}
	if fresh {
		r, err := accounts.Recipe(ctx, h, home.Target, home.Flavor)
		if err != nil {
			return out, err
		}
		local, err := e.loopback(ctx, h, s, home)
		if err != nil {
			return out, err
		}
		out.Acts = append(r.Acts, local...)
		if len(local) > 0 {
			out.Notes = append(out.Notes, "it listens to this host alone from its next start on")
		}
	}
	made, err := accounts.Databases(ctx, h, home.Target, home.Flavor, want)
	out.Acts = append(out.Acts, made...)
	return out, err
}

// loopback has a server that listens to everybody listen to this host alone.
func (e *Engine) loopback(ctx context.Context, h host.Reader, s *stack.Stack, home provision.Home) (acts []change.Act, err error) {
	rows, err := h.Query(ctx, home.Target, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('bind_address', 'mysqlx_bind_address', 'skip_networking')")
	if err != nil {
		return nil, fmt.Errorf("read on which addresses %s listens: %w", home.Server, err)
	}
	is := map[string]string{}
	for _, row := range rows.Values {
		is[host.Text(row, 0)] = host.Text(row, 1)
	}
	open := listeners(is)
	if open == nil {
		return nil, nil
	}
	edits, err := e.edits(ctx, h, s, home.Server, "bind_address", "127.0.0.1")
	if err != nil {
		return nil, err
	}
	for _, name := range open {
		for _, a := range renamed(edits, name) {
			if there, err := a.Edit.Stands(ctx, h); err != nil {
				return nil, err
			} else if !there { // else it waits for the next start
				acts = append(acts, a)
			}
		}
	}
	return acts, nil
}

// renamed are edits of bind_address as edits of another variable, in the same file and group. It may be one of a plugin that is not
// loaded the next time.
func renamed(edits []change.Act, name string) (all []change.Act) {
	if name == "bind_address" {
		return edits
	}
	for _, a := range edits {
		e := *a.Edit
		e.Key = path.Join(path.Dir(e.Key), "loose_"+name)
		all = append(all, change.Act{Edit: &e})
	}
	return all
}

// listeners gives the variables by which a server listens on all addresses: those of its two protocols, of which each can be a list.
func listeners(is map[string]string) (open []string) {
	if is["skip_networking"] == "ON" {
		return nil
	}
	for _, name := range []string{"bind_address", "mysqlx_bind_address"} {
		at, there := is[name]
		if there && slices.ContainsFunc(strings.Split(at, ","), func(one string) bool {
			return slices.Contains([]string{"", "*", "::", "0.0.0.0"}, strings.TrimSpace(one))
		}) {
			open = append(open, name)
		}
	}
	return open
}

// homeDir is the variable that names the directory of the redo log.
const homeDir = "innodb_log_group_home_dir"

// Place implements provision.Engine.
func (e *Engine) Place(ctx context.Context, h host.Reader, s *stack.Stack, server stack.Ref, part provision.Part) (acts []change.Act, err error) {
	if len(part.Files) == 0 {
		return nil, nil
	}
	return e.edits(ctx, h, s, server, homeDir, part.At)
}

// Elsewhere implements provision.Engine.
func (e *Engine) Elsewhere(ctx context.Context, h host.Reader, s *stack.Stack, home provision.Home, at string) ([]change.Act, error) {
	if t := s.Find(home.Server); t != nil {
		derived := e.setter.Derived(ctx, h, s, home.Server)
		for _, name := range slices.Sorted(maps.Keys(t.Facts)) {
			f := t.Facts[name]
			said := f.Origin != nil && !slices.Contains([]string{stack.FromDefault, stack.FromComputed}, f.Origin.From) && !slices.Contains(derived, name)
			if text, ok := f.Value.Text(); name != dataDir && said && ok && paths.Within(text, home.Data) {
				return nil, &change.Refusal{Why: fmt.Sprintf("%s is set to %s, inside the data directory, and would not move with it", name, text), What: "set it relative to the data directory, or leave it out"}
			}
		}
	}
	if err := indexes(ctx, h, home); err != nil {
		return nil, err
	}
	return e.edits(ctx, h, s, home.Server, dataDir, at)
}

// dataDir is the variable that names the data directory.
const dataDir = "datadir"

// indexes refuses a binary or relay log whose index names its files by their whole path.
func indexes(ctx context.Context, h host.Reader, home provision.Home) error {
	rows, err := h.Query(ctx, home.Target, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_bin_index', 'relay_log_index')")
	if err != nil {
		return fmt.Errorf("see where the indexes of its logs are: %w", err)
	}
	for _, row := range rows.Values {
		file := host.Text(row, 1)
		if !paths.Within(file, home.Data) {
			continue
		}
		text, err := h.ReadFile(host.AsUser(ctx, home.UID, home.GID), file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return fmt.Errorf("see how the index of its log names files: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			if path.IsAbs(strings.TrimSpace(line)) {
				return &change.Refusal{Why: fmt.Sprintf("%s names the log files by their full path, which would change", file),
					What: "set " + strings.TrimSuffix(host.Text(row, 0), "_index") + " to a name without a directory, and let the server begin a new index; or leave server.at out"}
			}
		}
	}
	return nil
}

// edits are the changes to option files by which a variable has a value from the next start on.
func (e *Engine) edits(ctx context.Context, h host.Reader, s *stack.Stack, server stack.Ref, name, value string) (acts []change.Act, err error) {
	knob := stack.Knob{Of: server, Name: name}
	recipe, err := e.setter.Recipe(ctx, h, s, change.Want{Knob: knob, To: stack.Text(value), Fact: e.cat.Fact(product.MySQL, name)})
	if err != nil {
		return nil, fmt.Errorf("set %s to %s: %w", knob, value, err)
	}
	for _, a := range recipe.Acts {
		if a.Edit != nil {
			acts = append(acts, a)
		}
	}
	if len(acts) == 0 {
		return nil, fmt.Errorf("set %s to %s: no option file would be changed for it", knob, value)
	}
	return acts, nil
}
