package walk

import (
	"errors"
	"os"
	"path"
	"strings"
	"syscall"

	"plumb/internal/hint"
)

// MaxLinks is how many symbolic links one path may go through, as in Linux.
const MaxLinks = 40

// The path /proc/PID/root/etc/my.cnf is the process's own /etc/my.cnf. The
// kernel would follow an absolute link in there from our root, not from the
// process's, which in a container is another file. So paths below a process's
// root are resolved here, link by link.

// SplitRoot divides a path below a process's root or working directory into
// the directory where the walk starts, the root for absolute links, and the
// rest. For all other paths root is "".
func SplitRoot(name string) (start, root, rest string) {
	if !strings.HasPrefix(name, "/proc/") {
		return "", "", name
	}
	parts := strings.SplitN(name, "/", 5) // "", proc, PID, root, rest
	if len(parts) < 4 || !isPID(parts[2]) || (parts[3] != "root" && parts[3] != "cwd") {
		return "", "", name
	}
	process := "/proc/" + parts[2]
	if len(parts) == 5 {
		rest = parts[4]
	}
	return process + "/" + parts[3], process + "/root", rest
}

func isPID(s string) bool {
	return s == "self" || s == "thread-self" || s != "" && strings.Trim(s, "0123456789") == ""
}

// InRoot returns the path to open for a name: the name itself, or, below a
// process's root, the path with all links resolved inside that root. If the last element
// is a link it is resolved only if last is set.
func InRoot(name string, last bool) (string, error) {
	start, root, rest := SplitRoot(name)
	if root == "" || strings.Trim(rest, "/") == "" {
		return name, nil
	}
	return Resolve(start, root, rest, last)
}

// Resolve resolves the links of the path rest, which begins at start. Absolute links begin at root. ".." leads no higher than start, or
// than root once an absolute link was followed. If the last element is a link it is resolved only if last is set.
func Resolve(start, root, rest string, last bool) (string, error) {
	at, floor := start, start
	todo := strings.Split(rest, "/")
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if at != floor {
				at = path.Dir(at)
			}
			continue
		}
		next := at + "/" + part
		if IsMagic(next) || (!last && len(todo) == 0) {
			at = next
			continue
		}
		to, err := os.Readlink(next)
		if errors.Is(err, syscall.EINVAL) { // not a link
			at = next
			continue
		}
		if err != nil {
			return "", hint.Cause(err)
		}
		if links++; links > MaxLinks {
			return "", syscall.ELOOP
		}
		if strings.HasPrefix(to, "/") {
			at, floor = root, root
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	if at == "" {
		at = "/"
	}
	return at, nil
}

// IsMagic tells whether a path is one of the links of /proc that lead to an
// open file or another namespace, and whose text is not a path of ours.
func IsMagic(name string) bool {
	parts := strings.Split(name, "/") // "", proc, PID, kind, …
	if len(parts) > 5 && parts[1] == "proc" && parts[3] == "task" {
		parts = append(parts[:3:3], parts[5:]...)
	}
	if len(parts) < 4 || parts[1] != "proc" || !isPID(parts[2]) {
		return false
	}
	switch parts[3] {
	case "root", "cwd", "exe":
		return len(parts) == 4
	case "fd", "ns", "map_files":
		return len(parts) == 5
	}
	return false
}
