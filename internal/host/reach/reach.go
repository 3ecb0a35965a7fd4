// Package reach connects to servers: as another user, into a container, only to
// those that may be told a password, and with few system calls.
package reach

import (
	"context"
	"net"
	"os"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/trust"
)

// Server says how a server is reached for one login, and what the login proves
// itself with.
type Server struct {
	Engine           string
	Network, Address string
	PeerUID          int          // connect to the socket as this operating-system user; 0 for ourselves
	PID              int          // process that was taken for the server; 0 for none
	Secret           trust.Secret // where the password comes from
	Verified         bool         // TLS will be used, and the certificate verified
}

// Dial connects. When the server is none that may be told the secret it hangs
// up before a byte was sent, and gives ErrWithheld. Who listens is asked of
// the connection that stands, so that nobody can take the server's place
// between the question and the login.
func (s Server) Dial(ctx context.Context) (net.Conn, error) {
	conn, err := s.connect(ctx)
	if err != nil || s.Secret.File == "" {
		return conn, err
	}
	about := trust.Connection{Engine: s.Engine, Network: s.Network, Address: s.Address, Verified: s.Verified, Self: os.Geteuid()}
	if s.Network == "unix" {
		if about.Peer, err = listener(conn); err != nil {
			conn.Close()
			return nil, host.Withhold("the password of %s is withheld, because who listens there is not known (%v)", s.Secret.File, err)
		}
		if s.PID != 0 {
			about.Server = processOf(s.PID)
		}
	}
	if why := trust.Withhold(s.Secret, about); why != "" {
		conn.Close()
		return nil, host.Withhold("the password of %s is withheld, because %s", s.Secret.File, why)
	}
	return conn, nil
}

func (s Server) connect(ctx context.Context) (net.Conn, error) {
	if s.Network == "unix" {
		return dialUnixAs(ctx, s.PeerUID, s.Address)
	}
	d := net.Dialer{KeepAlive: 30 * time.Second}
	return d.DialContext(ctx, s.Network, s.Address)
}
