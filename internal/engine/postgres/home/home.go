// Package home tells where PostgreSQL keeps its data, and which of it may lie on a volume of its own:
// the WAL. It implements provision.Engine.
package home

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/engine/postgres/accounts"
	"plumb/internal/engine/postgres/point"
	"plumb/internal/host"
	"plumb/internal/host/paths"
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
	if wal.Now != "" && !paths.Within(wal.Now, home.Data) {
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

// ofPackages is where Debian's packages keep what tells a cluster where its data are.
var ofPackages = regexp.MustCompile(`^/etc/postgresql/[0-9]{2}/[A-Za-z0-9_.-]+/(?:postgresql\.conf|conf\.d/[A-Za-z0-9_.-]+\.conf)$`)

// Elsewhere implements provision.Engine.
func (Engine) Elsewhere(ctx context.Context, h host.Reader, _ *stack.Stack, home provision.Home, at string) ([]change.Act, error) {
	rows, err := h.Query(ctx, home.Target, "SELECT sourcefile, setting FROM pg_file_settings WHERE lower(name) = 'data_directory' ORDER BY seqno DESC LIMIT 1")
	if err != nil {
		return nil, fmt.Errorf("see what tells it where its data are: %w", err)
	}
	file := ""
	if len(rows.Values) == 1 && path.Clean(host.Text(rows.Values[0], 1)) == home.Data {
		file = host.Text(rows.Values[0], 0)
	}
	if !ofPackages.MatchString(file) {
		return nil, &change.Refusal{Why: "it is told where its data are when it is started, and not by data_directory in a file of Debian's packages, which could be changed", What: "leave server.at out: the volume is mounted where they are"}
	}
	// Anybody can start a server that calls the file of another its own.
	if st, err := h.Stat(ctx, file); err != nil || int(st.UID) != home.UID {
		return nil, errors.Join(err, &change.Refusal{Why: file + " does not belong to the user that the server runs as", What: "leave server.at out"})
	}
	rows, err = h.Query(ctx, home.Target, "SELECT name, setting FROM pg_settings WHERE vartype = 'string' ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("see what else names the place of its data: %w", err)
	}
	for _, row := range rows.Values {
		if name := host.Text(row, 0); name != "data_directory" && names(host.Text(row, 1), home.Data) {
			return nil, &change.Refusal{Why: fmt.Sprintf("%s names the place where the data are now: %s", name, host.Text(row, 1)), What: "say it without that place first, or leave server.at out"}
		}
	}
	return []change.Act{{Edit: &change.Edit{File: file, Form: edit.Postgresql, Key: "data_directory", Value: at}}}, nil
}

// names tells whether a setting has a directory, or something in it, among its words.
func names(setting, dir string) bool {
	for {
		_, rest, found := strings.Cut(setting, dir)
		if !found {
			return false
		}
		if rest == "" || strings.ContainsAny(rest[:1], "/ '\",;)") {
			return true
		}
		setting = rest
	}
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
