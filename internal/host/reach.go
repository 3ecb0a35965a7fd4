package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"plumb/internal/host/trust"
)

// ErrWithheld says that a password was not told to a server, and why. It is a
// refused login too.
var ErrWithheld error = kindError{"password withheld", ErrLogin}

// Reach says how a server is reached for one login, and what the login proves
// itself with.
type Reach struct {
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
func (r Reach) Dial(ctx context.Context) (net.Conn, error) {
	conn, err := r.connect(ctx)
	if err != nil || r.Secret.File == "" {
		return conn, err
	}
	about := trust.Connection{Engine: r.Engine, Network: r.Network, Address: r.Address, Verified: r.Verified, Self: os.Geteuid()}
	if r.Network == "unix" {
		if about.Peer, err = listener(conn); err != nil {
			conn.Close()
			return nil, kindError{fmt.Sprintf("the password of %s is withheld, because who listens there is not known (%v)", r.Secret.File, err), ErrWithheld}
		}
		if r.PID != 0 {
			about.Server = processOf(r.PID)
		}
	}
	if why := trust.Withhold(r.Secret, about); why != "" {
		conn.Close()
		return nil, kindError{fmt.Sprintf("the password of %s is withheld, because %s", r.Secret.File, why), ErrWithheld}
	}
	return conn, nil
}

func (r Reach) connect(ctx context.Context) (net.Conn, error) {
	if r.Network == "unix" {
		return DialUnixAs(ctx, r.PeerUID, r.Address)
	}
	d := net.Dialer{KeepAlive: 30 * time.Second}
	return d.DialContext(ctx, r.Network, r.Address)
}

// Withheld finds the reason why a password was withheld in an error that a
// driver has wrapped; nil when none was.
func Withheld(err error) error {
	if k, ok := errors.AsType[kindError](err); ok && k.kind == ErrWithheld {
		return k
	}
	return nil
}

// Refused makes one error of the ways to log in that did not work: which
// passwords were withheld, and what the server said to the first. Its kind is
// ErrWithheld when one was, and otherwise ErrLogin.
func Refused(address string, refused []error) error {
	var said, kept []error
	for _, err := range refused {
		switch {
		case errors.Is(err, ErrWithheld):
			kept = append(kept, err)
		case errors.Is(err, ErrLogin):
			said = append(said, err)
		}
	}
	if len(said) > 1 {
		said = said[:1]
	}
	switch {
	case len(said)+len(kept) > 0:
		refused = append(kept, said...)
	case len(refused) > 0:
		refused = refused[:1]
	default:
		refused = []error{errors.New("no way to log in is known")}
	}
	var text []string
	for _, err := range refused {
		text = append(text, err.Error())
	}
	kind := ErrLogin
	if len(kept) > 0 {
		kind = ErrWithheld
	}
	told := strings.Join(text, "; ")
	if len(said)+len(kept) == 0 {
		told = ErrLogin.Error() + ": " + told
	}
	return kindError{"log in to " + address + ": " + told, kind}
}
