package process

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/proc"
	"plumb/internal/stack"
)

// maxDescriptors bounds how many descriptors are looked at for listening
// sockets. Servers open those at start, before most of their files.
const maxDescriptors = 1000

// sockets reads what the server listens on: its descriptors name sockets by
// inode, the tables of its network namespace tell what those are.
func (l *look) sockets(t *stack.Thing, s server) {
	src := file(s.pid, "fd")
	if _, err := l.h.Readlink(l.ctx, src+"/0"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.gap(t, err, "listen", "open_files")
		return
	}
	names, more, err := l.descriptors(src)
	if err != nil {
		l.gap(t, err, "listen", "open_files")
		return
	}
	more = l.openFiles(t, src, len(names), more)
	at, ok := l.listening(t, s.pid)
	if !ok {
		return
	}
	var found []string
	for _, name := range names {
		link, err := l.h.Readlink(l.ctx, name)
		if err != nil {
			continue // closed meanwhile
		}
		switch where := at[link]; {
		case where == forged:
			l.gap(t, errForged, "listen")
			return
		case where != "" && !slices.Contains(found, where):
			found = append(found, where)
		}
	}
	slices.Sort(found)
	if len(found) == 0 && more {
		l.obs.Gap(t.Ref, fmt.Sprintf("no listening socket among the first %d descriptors", maxDescriptors), "", "listen")
		return
	}
	t.Set("listen", stack.List(found), src+" and net/{unix,tcp,tcp6}")
}

// descriptors lists the descriptors below maxDescriptors and tells whether
// there may be more.
func (l *look) descriptors(dir string) (names []string, more bool, err error) {
	for _, digits := range []string{"[0-9]", "[0-9][0-9]", "[0-9][0-9][0-9]"} {
		got, err := l.h.Glob(l.ctx, path.Join(dir, digits))
		if err != nil {
			return nil, false, err
		}
		names = append(names, got...)
	}
	return names, len(names) == maxDescriptors, nil
}

// openFiles counts open files and tells whether there are more than were
// listed. Since Linux 6.2 the size of the directory is the number; before, it
// is known only while no descriptor lies beyond the bound.
func (l *look) openFiles(t *stack.Thing, dir string, listed int, more bool) bool {
	if st, err := l.h.Stat(l.ctx, dir); err == nil && st.Size > 0 {
		t.Set("open_files", stack.Int(st.Size), dir)
		return st.Size > int64(listed)
	}
	beyond, err := l.h.Glob(l.ctx, path.Join(dir, "[0-9][0-9][0-9][0-9]*"))
	more = more || err != nil || len(beyond) > 0
	if more {
		l.obs.Gap(t.Ref, fmt.Sprintf("more than %d descriptors: not counted before Linux 6.2", maxDescriptors), "", "open_files")
		return true
	}
	t.Set("open_files", stack.Int(int64(listed)), dir)
	return false
}

// listed is where the sockets of a network namespace listen, by what a
// descriptor's link says: "" for those that do not.
type listed map[string]string

// forged stands for a socket of which the lists say several things. The kernel
// writes the name of a Unix socket as it is, and whoever gives his a name with a
// line break writes lines about those of others.
const forged = "forged"

var errForged = errors.New("net/unix says several things of one of its sockets: somebody has given another a name with a line break")

func (l listed) note(link, where string) {
	if had, is := l[link]; is && had != where {
		where = forged
	}
	l[link] = where
}

// listening reads the sockets of a process's network namespace, of TCP those
// that listen.
func (l *look) listening(t *stack.Thing, pid int) (listed, bool) {
	at := listed{}
	for _, name := range []string{"unix", "tcp", "tcp6"} {
		// The kernel lists listening sockets before connections, so the head
		// of a long table is enough for tcp.
		data, err := l.h.ReadFile(l.ctx, file(pid, "net/"+name))
		switch {
		case errors.Is(err, fs.ErrNotExist): // no IPv6
		case errors.Is(err, host.ErrTooLarge) && name != "unix":
		case err != nil:
			l.gap(t, err, "listen")
			return nil, false
		}
		if name == "unix" {
			parseUnix(data, at)
		} else {
			parseTCP(data, at)
		}
	}
	return at, true
}

// parseUnix reads /proc/net/unix.
func parseUnix(data []byte, at listed) {
	proc.Sockets(data, func(link, name string) {
		if name != "" {
			name = "unix:" + name
		}
		at.note(link, name)
	})
}

// parseTCP reads the listening sockets of /proc/net/tcp and tcp6, and of the
// others those of which something was said. State 0A is TCP_LISTEN.
func parseTCP(data []byte, at listed) {
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 10 {
			continue
		}
		link := "socket:[" + f[9] + "]"
		if f[3] != "0A" {
			if _, said := at[link]; said {
				at.note(link, "")
			}
			continue
		}
		if addr, ok := parseTCPAddress(f[1]); ok {
			at.note(link, "tcp:"+addr)
		}
	}
}

// parseTCPAddress reads "0100007F:0CEA". Each 32-bit word of the address is
// printed as a number of the machine; we run on little-endian ones only.
func parseTCPAddress(s string) (string, bool) {
	addr, portHex, ok := strings.Cut(s, ":")
	if !ok || len(addr) != 8 && len(addr) != 32 {
		return "", false
	}
	raw, err := hex.DecodeString(addr)
	if err != nil {
		return "", false
	}
	port, err := strconv.ParseUint(portHex, 16, 16)
	if err != nil {
		return "", false
	}
	for i := 0; i < len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	ip, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(ip, uint16(port)).String(), ok
}
