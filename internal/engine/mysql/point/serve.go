package point

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"plumb/internal/engine/mysql/client"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/load"
	"plumb/internal/product"
	"plumb/internal/protect"
)

// Serve implements protect.Starter.
func (*Engine) Serve(c protect.Copy) (host.Process, host.Signal, string, error) {
	if len(c.Server.Program) == 0 {
		return host.Process{}, 0, "", errors.New("serve a copy: which program starts the server is not known")
	}
	if err := lab.SocketFits(socket(c)); err != nil {
		return host.Process{}, 0, "", err
	}
	argv := append(slices.Clone(c.Server.Program), "--defaults-file="+config(c))
	if c.Closed {
		argv = append(argv, "--skip-grant-tables", "--skip-networking")
	}
	if c.Closed || c.Purpose != protect.ForReplica {
		argv = append(argv, skipStart(c.Server))
	}
	return host.Process{Argv: argv, Env: c.Server.Env, Dir: c.Run, UID: c.Server.UID, GID: c.Server.GID, Log: errorLog(c)}, host.Terminate, errorLog(c), nil
}

// skipStart keeps replication from going on by itself.
func skipStart(sv protect.Server) string {
	if isMariaDB(sv) || !since(sv, "8.0.26") {
		return "--skip-slave-start"
	}
	return "--skip-replica-start"
}

// Open implements protect.Starter. Of a copy that asks for accounts, root and
// MariaDB's own administrator are tried, who need no password on a socket.
func (*Engine) Open(ctx context.Context, c protect.Copy) (load.Admin, error) {
	logins := []load.Login{{User: "root"}}
	if !c.Closed && c.Server.Flavor == product.MariaDB {
		logins = append(logins, load.Login{User: "mysql", PeerUID: c.Server.UID})
	}
	if c.Closed { // everybody is let in: who put another server's socket there gains nothing by us
		logins[0].PeerUID = c.Server.UID
	}
	var first error
	for _, l := range logins {
		l.Network, l.Address, l.Timeout = "unix", socket(c), 5*time.Second
		a, err := client.New(l).Admin(ctx)
		if err == nil {
			if _, err = a.Query(ctx, "SELECT 1"); err == nil {
				return a, nil
			}
			_ = a.Close() // err says more
		}
		if first == nil {
			first = err
		}
		if f, ok := errors.AsType[*load.Failure](err); !ok || f.Code != "1045" && f.Code != "1698" {
			return nil, err
		}
	}
	return refused{hint.With(first, "the copy has the source's accounts: it runs, but root needs a password there")}, nil
}

// refused is a copy that runs and does not let us in.
type refused struct{ why error }

// Exec implements load.Admin.
func (r refused) Exec(context.Context, ...string) error { return r.why }

// Query implements load.Admin.
func (r refused) Query(context.Context, string) (host.Rows, error) { return host.Rows{}, r.why }

// Fill implements load.Admin.
func (r refused) Fill(context.Context, string, []string, io.Reader, ...string) (int64, error) {
	return 0, r.why
}

// Close implements load.Admin.
func (refused) Close() error { return nil }
