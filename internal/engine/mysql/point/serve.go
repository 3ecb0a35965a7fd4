package point

import (
	"context"
	"errors"
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
	return host.Process{Argv: argv, Env: c.Server.Env, Dir: c.Run, UID: c.Server.UID, GID: c.Server.GID, Log: errorLog(c)}, host.Terminate, errorLog(c), nil
}

// Open implements protect.Starter. Of a copy that asks for accounts, root and
// MariaDB's own administrator are tried, who need no password on a socket.
func (*Engine) Open(ctx context.Context, c protect.Copy) (load.Admin, error) {
	logins := []load.Login{{User: "root"}}
	if !c.Closed && c.Server.Flavor == product.MariaDB {
		logins = append(logins, load.Login{User: "mysql", PeerUID: c.Server.UID})
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
		var f *load.Failure
		if !errors.As(err, &f) || f.Code != "1045" && f.Code != "1698" {
			return nil, err
		}
	}
	return nil, hint.With(first, "the copy has the source's accounts: it answers, but root needs a password there")
}
