// Package home tells where PostgreSQL keeps its data, and which of it may lie on a volume of its own:
// the WAL. It implements provision.Engine.
package home

import (
	"context"
	"path"
	"strings"

	"plumb/internal/change"
	"plumb/internal/engine/postgres/accounts"
	"plumb/internal/engine/postgres/point"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/provision"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
)

// Engine implements [provision.Engine].
type Engine struct{ point point.Engine }

var _ provision.Engine = Engine{}

// New makes an engine; given is the server of a data source name, or nil.
func New(given *host.Target) Engine { return Engine{point.New(given)} }

// Kind implements provision.Engine.
func (Engine) Kind() string { return product.Postgres }

// Home implements provision.Engine.
func (e Engine) Home(ctx context.Context, h host.Reader, s *stack.Stack, server stack.Ref) (provision.Home, error) {
	sv, t, err := e.point.Describe(ctx, h, s, server)
	if err != nil {
		return provision.Home{}, err
	}
	home := provision.Home{Server: server, Flavor: sv.Flavor, Version: sv.Version, Data: sv.Dir("data"), UID: sv.UID, GID: sv.GID, Unit: sv.Unit, Program: sv.Executable(), Label: product.Of(product.Postgres).SELinux, PID: sv.PID, Target: t}
	wal := provision.Part{Name: "wal", Roles: []string{"wal"}, Now: sv.Dir("wal"), At: path.Join(home.Data, "pg_wal")}
	if wal.Now != "" && !observe.Within(wal.Now, home.Data) {
		wal.At = wal.Now // linked to another place already
	} else if wal.Now == "" {
		wal.Now = wal.At
	}
	home.Parts = []provision.Part{wal}
	return home, nil
}

// Place implements provision.Engine: a volume is mounted where the WAL lies, and the server needs to be told nothing.
func (Engine) Place(context.Context, host.Reader, *stack.Stack, stack.Ref, provision.Part) ([]change.Act, error) {
	return nil, nil
}

// Accounts implements provision.Engine. Who comes in is the affair of pg_hba.conf, which stays as it was made.
func (Engine) Accounts(ctx context.Context, h host.Reader, _ *stack.Stack, home provision.Home, want []spec.Database) (out provision.Making, err error) {
	if len(want) == 0 {
		return out, nil
	}
	if out.Acts, err = accounts.Databases(ctx, h, home.Target, want); err != nil {
		return out, err
	}
	lines, err := accounts.Trusting(ctx, h, home.Target)
	if len(lines) > 0 {
		out.Notes = append(out.Notes, "whoever asks comes in, as whom they say: trust, in pg_hba.conf line "+strings.Join(lines, ", "))
	}
	return out, err
}
