// Package passwd reads /etc/passwd: who the users of a machine, or of a container, are.
package passwd

import (
	"iter"
	"strconv"
	"strings"
)

// File is where it lies.
const File = "/etc/passwd"

// User is one line of it.
type User struct {
	Name     string
	UID, GID int
	Home     string
}

// Named finds a user by name.
func Named(text []byte, name string) (User, bool) {
	return find(text, func(u User) bool { return u.Name == name })
}

// Numbered finds a user by number. Of several that share it, as root and toor on some systems, it is the first, as for the C library.
func Numbered(text []byte, uid int) (User, bool) {
	return find(text, func(u User) bool { return u.UID == uid })
}

func find(text []byte, is func(User) bool) (User, bool) {
	for u := range users(text) {
		if is(u) {
			return u, true
		}
	}
	return User{}, false
}

// users leaves out lines that do not describe a user, such as the + of NIS.
func users(text []byte) iter.Seq[User] {
	return func(yield func(User) bool) {
		for line := range strings.Lines(string(text)) {
			f := strings.Split(strings.TrimRight(line, "\r\n"), ":") // name, password, two numbers, comment, home, shell
			if len(f) < 6 {
				continue
			}
			uid, err := strconv.Atoi(f[2])
			gid, err2 := strconv.Atoi(f[3])
			if err == nil && err2 == nil && uid >= 0 && gid >= 0 && !yield(User{f[0], uid, gid, f[5]}) {
				return
			}
		}
	}
}
