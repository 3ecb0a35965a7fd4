package shell

import (
	"plumb/internal/engine/dsn"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// Machine returns this machine for a command that changes it, and does not log in to servers. The caller must close it.
func Machine() *host.LiveDoer {
	return host.NewLiveDoer(host.NewLive(host.LiveOptions{Plumb: Version()}))
}

// Live makes the reader of this machine, which the caller must close, and returns the server that --dsn names. A data source name that
// cannot be parsed is a usage error.
func (s Source) Live(dialers func(dsn.Given) map[string]host.Dialer) (*host.Live, dsn.Given, error) {
	g, err := dsn.Read(OrEnvironment(s.DSN))
	if err != nil {
		return nil, dsn.Given{}, hint.Usage("read --dsn: "+err.Error(), "postgres://user@host:5432/postgres or mysql://user@host:3306/")
	}
	return host.NewLive(host.LiveOptions{Dialers: dialers(g), DSN: g.DSN, Given: g.Named(), Plumb: Version(), CommandTime: s.CommandTime}), g, nil
}
