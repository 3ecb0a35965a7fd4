// Package trust decides which server may be told a secret, and on what kind of
// line. It is pure: package host asks the kernel who is at the other end of a
// connection that stands, and asks here before a byte of a login is sent.
//
// What it guards against: any user of a machine can start a process that is
// called mysqld, and listen on a socket, a port, or a name that looks like a
// server's. A password that lies in root's option file is for the server of
// this machine, and not for whoever asks.
package trust

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"plumb/internal/product"
)

// Secret says where what a login proves itself with comes from. The zero value
// is for one that a person gave for this very server, or for none: a login by
// the name of the operating-system user has none.
type Secret struct {
	File  string // the file it was found in; "" for one that was given
	Named bool   // a person named the server's address on the command line
}

// Process is a process that listens, or that was taken for a server.
type Process struct {
	PID   int
	UIDs  []int    // real, effective and saved; empty when they are not known
	Names []string // of those users, where /etc/passwd has them
	Unit  string   // service of the system's systemd that it belongs to; "" for none
	Apart string   // what puts it in another world than ours, such as "its own PID namespace"; "" for nothing
}

// Connection is a connection that stands, and on which nothing was said yet.
type Connection struct {
	Engine           string  // a kind of servers
	Network, Address string  // as in host.Target
	Verified         bool    // TLS will be used, and the server's certificate verified
	Self             int     // the user as whom Plumb runs
	Peer             Process // who listens, as the kernel tells by SO_PEERCRED; of a Unix socket alone
	Server           Process // the process that a probe took for the server; the zero value for none
}

// Withhold says why a secret is kept from a server: "" when it may be told.
//
// A secret from a file goes over a Unix socket to root, to ourselves and to the
// accounts databases run as, and never into a container. Over TCP nobody knows
// who listens: it goes where a certificate is verified, and to another machine
// that a person named.
func Withhold(s Secret, c Connection) (why string) {
	switch {
	case s.File == "" || c.Verified:
		return ""
	case c.Network != "unix" && s.Named && !IsLoopback(c.Address):
		return ""
	case c.Network != "unix":
		return "over TCP without a verified certificate any process could be listening"
	}
	if why := c.doubt(c.Peer); why != "" {
		return fmt.Sprintf("process %d, which listens there, %s", c.Peer.PID, why)
	}
	if c.Server.PID != 0 && len(c.Server.UIDs) > 0 {
		if why := c.doubt(c.Server); why != "" {
			return fmt.Sprintf("process %d, the server, %s", c.Server.PID, why)
		}
	}
	return ""
}

// doubt says why a process is not trusted; "" when it is.
func (c Connection) doubt(p Process) string {
	if len(p.UIDs) == 0 {
		return "is of an unknown user"
	}
	if p.Apart != "" {
		return "has " + p.Apart
	}
	if unitRuns(c.Engine, p.Unit) {
		return ""
	}
	known := append([]string{"root"}, product.Of(c.Engine).Accounts...)
	for i, uid := range p.UIDs {
		name := ""
		if i < len(p.Names) {
			name = p.Names[i]
		}
		if uid == 0 || uid == c.Self || slices.Contains(known, name) {
			continue
		}
		if name == "" {
			name = fmt.Sprint(uid)
		}
		return fmt.Sprintf("runs as %s, not as %s or %s", name, strings.Join(known[:len(known)-1], ", "), known[len(known)-1])
	}
	return ""
}

// unitRuns tells whether packages start such servers under a service, whatever
// user they run as. Only root puts a process into a service of the system, and
// only root makes users.
func unitRuns(engine, unit string) bool {
	pattern := product.Of(engine).Units
	return unit != "" && pattern != nil && pattern.MatchString(unit)
}

// Readable reports whether what is sent could be read or bent on its way:
// over a network, on a line that is not encrypted. A password never goes there
// as it is, nor encrypted with a key that came over the same line.
func Readable(network, address string, encrypted bool) bool {
	return network != "unix" && !encrypted && !IsLoopback(address)
}

// IsLoopback reports whether an address, with or without a port, is of this
// machine alone. A name other than localhost is not looked up.
func IsLoopback(address string) bool {
	name := address
	if at, err := netip.ParseAddrPort(address); err == nil {
		return at.Addr().Unmap().IsLoopback()
	}
	if colon := strings.LastIndexByte(address, ':'); colon >= 0 && strings.Count(address, ":") == 1 {
		name = address[:colon]
	}
	if ip, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return name == "localhost"
}
