package reach

import (
	"errors"
	"net"
	"os"
	"os/user"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plumb/internal/host/trust"
)

// listener tells who listens at the other end of a Unix socket. The kernel
// notes the user when a process begins to listen, and nobody can change it.
func listener(conn net.Conn) (trust.Process, error) {
	cred, err := credentials(conn)
	if err != nil {
		return trust.Process{}, err
	}
	p := trust.Process{PID: int(cred.Pid), Apart: "it has no PID here: it runs in a container, or outside of ours"}
	if cred.Pid > 0 {
		p = processOf(int(cred.Pid)) // it may have ended, and systemd may have begun to listen for it: the user stays
	}
	if uid := int(cred.Uid); len(p.UIDs) == 0 {
		p.UIDs, p.Names = []int{uid}, namesOf(uid)
	} else if !slices.Contains(p.UIDs, uid) {
		p.UIDs, p.Names, p.Unit = append(p.UIDs, uid), append(p.Names, namesOf(uid)...), ""
	}
	return p, nil
}

// credentials gives what the kernel noted of the other end of a Unix socket.
func credentials(conn net.Conn) (*unix.Ucred, error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.New("it is not a Unix socket")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return nil, err
	}
	return cred, failed
}

// processOf reads what /proc tells of a process. UIDs are empty when it has
// ended, or may not be looked at.
func processOf(pid int) trust.Process {
	p := trust.Process{PID: pid}
	dir := "/proc/" + strconv.Itoa(pid)
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return p
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		switch {
		case name == "Uid" && len(fields) >= 3:
			p.UIDs = uniqueNumbers(fields[:3])
		case name == "NSpid" && len(fields) > 1:
			p.Apart = "its own PID namespace, as containers have"
		}
	}
	p.Names = namesOf(p.UIDs...)
	switch {
	case p.Apart != "":
	case differs("/proc/self/uid_map", dir+"/uid_map"):
		p.Apart = "its own user namespace, as containers have"
	case otherRoot(dir + "/root"):
		p.Apart = "another root directory, as containers have"
	}
	if groups, err := os.ReadFile(dir + "/cgroup"); err == nil {
		p.Unit = systemUnit(string(groups))
	}
	return p
}

// uniqueNumbers gives each number once.
func uniqueNumbers(fields []string) (out []int) {
	for _, f := range fields {
		if n, err := strconv.Atoi(f); err == nil && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// namesOf gives the name of each user, "" where it has none.
func namesOf(uids ...int) []string {
	names := make([]string, len(uids))
	for i, uid := range uids {
		if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
			names[i] = u.Username
		}
	}
	return names
}

// differs reports whether two files can be read and are not the same.
func differs(a, b string) bool {
	one, err := os.ReadFile(a)
	if err != nil {
		return false
	}
	other, err := os.ReadFile(b)
	return err == nil && string(one) != string(other)
}

// otherRoot reports whether a process's root directory is known to be another
// than ours. A mount namespace alone is none of a container's: systemd gives
// one to most services.
func otherRoot(root string) bool {
	var ours, its unix.Stat_t
	if unix.Stat("/", &ours) != nil || unix.Stat(root+"/.", &its) != nil {
		return false
	}
	return ours.Dev != its.Dev || ours.Ino != its.Ino
}

// systemUnit gives the service of the system's systemd that a process belongs
// to, from its /proc/PID/cgroup; "" for none. A user's own systemd has its
// services below user.slice.
func systemUnit(groups string) string {
	for line := range strings.Lines(groups) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, where, _ := strings.Cut(rest, ":")
		if controllers != "" && controllers != "name=systemd" || !strings.HasPrefix(where, "/system.slice/") {
			continue
		}
		for ; where != "/"; where = path.Dir(where) {
			if base := path.Base(where); strings.HasSuffix(base, ".service") {
				return base
			}
		}
	}
	return ""
}
