package reach

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// Inlet is a Unix socket at which processes of this machine hand something over. Who has connected is told by the kernel.
type Inlet struct {
	l    *net.UnixListener
	at   string
	made fs.FileInfo // the socket
}

// ErrGone says that the socket of an inlet is no longer where processes look for it, so that nobody reaches it.
var ErrGone = errors.New("the socket is gone, or another is in its place")

// Caller is a process that has connected, and its user when it did.
type Caller struct {
	net.Conn
	UID int
}

// NewInlet begins to listen. Only one user and root connect, or all others could keep him from it by doing so again and again; where we
// may not give the socket to him everybody may. The directory must be one in which nobody but us can put another socket in
// the place of this one; it is made when it is missing. What is left of an earlier run is removed; a socket at which somebody listens is
// not, or he would wait in vain.
func NewInlet(name string, uid int) (*Inlet, error) {
	dir := path.Dir(name)
	err := os.Mkdir(dir, 0o755)
	if err == nil {
		err = os.Chmod(dir, 0o755) // whatever the umask says, servers must come through
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("listen on %s: %w", name, err)
	}
	real, err := host.OnlyOurs(dir)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", name, err)
	}
	at := path.Join(real, path.Base(name))
	switch st, err := os.Lstat(at); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", name, err)
	case st.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("listen on %s: there is something else than a socket", name)
	default:
		if c, err := net.Dial("unix", at); err == nil {
			_ = c.Close()
			return nil, hint.With(fmt.Errorf("listen on %s: another process listens there", name), "end that one, or name another socket")
		}
		if err := os.Remove(at); err != nil {
			return nil, fmt.Errorf("listen on %s: %w", name, err)
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", name, err)
	}
	l.SetUnlinkOnClose(false) // it may be another's by then
	mode := fs.FileMode(0o600)
	if os.Lchown(at, uid, -1) != nil {
		mode = 0o666
	}
	err = os.Chmod(at, mode)
	i := &Inlet{l: l, at: at}
	if err == nil {
		i.made, err = os.Lstat(at)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s: %w", name, err), l.Close())
	}
	return i, nil
}

// There is ErrGone when nobody reaches the inlet any more: a socket that was removed still listens, and knows nothing of it.
func (i *Inlet) There() error {
	if is, err := os.Lstat(i.at); err != nil || !os.SameFile(is, i.made) {
		return fmt.Errorf("listen on %s: %w", i.at, ErrGone)
	}
	return nil
}

// Accept waits for the next caller.
func (i *Inlet) Accept() (*Caller, error) {
	conn, err := i.l.Accept()
	if err != nil {
		return nil, err
	}
	uid, err := peer(conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &Caller{conn, uid}, nil
}

// Close ends it, and removes the socket, if that is still there.
func (i *Inlet) Close() error {
	if i.There() == nil {
		_ = os.Remove(i.at) // the next one does
	}
	return i.l.Close()
}

// DialInlet connects to an inlet of root or of our own user.
func DialInlet(name string) (net.Conn, error) {
	conn, err := net.Dial("unix", name)
	if err != nil {
		return nil, err
	}
	uid, err := peer(conn)
	if err == nil && uid != 0 && uid != os.Geteuid() {
		err = fmt.Errorf("user %d listens on %s, and not root", uid, name)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// peer gives the user at the other end of a Unix socket.
func peer(conn net.Conn) (int, error) {
	cred, err := credentials(conn)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
