// Package home tells where MySQL and MariaDB keep their data, and which of it may lie on a volume of its
// own: the redo log. It implements provision.Engine.
package home

import (
	"context"
	"fmt"
	"path"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	engine "plumb/internal/engine/mysql"
	"plumb/internal/engine/mysql/point"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/provision"
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

// program is what runs, without a loader.
func program(sv protect.Server) string {
	if len(sv.Program) != 1 {
		return ""
	}
	return sv.Program[0]
}

// Home implements provision.Engine.
func (e *Engine) Home(ctx context.Context, h host.Reader, s *stack.Stack, server stack.Ref) (provision.Home, error) {
	sv, t, err := e.point.Describe(ctx, h, s, server)
	if err != nil {
		return provision.Home{}, err
	}
	home := provision.Home{Server: server, Flavor: sv.Flavor, Version: sv.Version, Data: sv.Dir("data"), UID: sv.UID, GID: sv.GID, Unit: sv.Unit, Program: program(sv), Label: "mysqld_db_t", PID: sv.PID, Target: t}
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
	case now != "" && !observe.Within(now, h.Data):
		p.At = now // it lies apart already
	case path.Base(now) == ownDirectory:
		p.At = path.Join(h.Data, ownDirectory)
	default:
		p.At = strings.TrimSuffix(h.Data, "/") + "-log"
		p.Files = []string{"ib_logfile*"}
	}
	return p
}

// homeDir is the variable that names the directory of the redo log.
const homeDir = "innodb_log_group_home_dir"

// Place implements provision.Engine.
func (e *Engine) Place(ctx context.Context, h host.Reader, s *stack.Stack, server stack.Ref, part provision.Part) (acts []change.Act, err error) {
	if len(part.Files) == 0 {
		return nil, nil
	}
	knob := stack.Knob{Of: server, Name: homeDir}
	recipe, err := e.setter.Recipe(ctx, h, s, change.Want{Knob: knob, To: stack.Text(part.At), Fact: e.cat.Fact(product.MySQL, homeDir)})
	if err != nil {
		return nil, fmt.Errorf("tell %s where its redo log lies: %w", server, err)
	}
	for _, a := range recipe.Acts {
		if a.Edit != nil {
			acts = append(acts, a)
		}
	}
	if len(acts) == 0 {
		return nil, fmt.Errorf("tell %s where its redo log lies: no file would be changed for %s", server, knob)
	}
	return acts, nil
}
