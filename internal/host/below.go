package host

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// openBelow opens a path below a process's root, /proc/PID/root/…, to be
// connected to or asked about, not read. Every link on the way is followed
// from that root: the kernel would follow an absolute one from ours, and lead
// from a container to a socket of the host. It goes by descriptors, from
// directory to directory, so that nothing can be put in its way meanwhile.
func openBelow(name string) (int, error) {
	_, root, rest := splitRoot(name)
	top, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	way := []int{top} // the directories from the root to where the walk is
	leave := func(keep int) {
		for _, fd := range way[keep:] {
			unix.Close(fd)
		}
		way = way[:keep]
	}
	defer func() { leave(0) }()
	todo := strings.Split(rest, "/")
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			leave(max(1, len(way)-1))
			continue
		}
		fd, err := unix.Openat(way[len(way)-1], part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, err
		}
		way = append(way, fd)
		to, err := linkAt(fd)
		if err != nil {
			return -1, err
		}
		if to == "" {
			continue
		}
		if links++; links > maxLinks {
			return -1, syscall.ELOOP
		}
		leave(len(way) - 1)
		if strings.HasPrefix(to, "/") {
			leave(1)
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	return unix.FcntlInt(uintptr(way[len(way)-1]), unix.F_DUPFD_CLOEXEC, 0)
}

// linkAt reads the link that a descriptor stands for; "" when it is none.
func linkAt(fd int) (string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", err
	}
	text := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", text)
	return string(text[:max(n, 0)]), err
}
