package proc

import "strings"

// Listeners reads /proc/net/unix: the names of sockets at which processes listen, by what the link of a descriptor says: "socket:[4711]".
func Listeners(data []byte) map[string]string {
	at := map[string]string{}
	Sockets(data, func(link, name string) {
		if name != "" {
			at[link] = name
		}
	})
	return at
}

// Sockets reads /proc/net/unix: each socket, and its name if a process listens at it. Flag 0x10000 is __SO_ACCEPTCON. The kernel writes names
// as they are: who gives his a name with a line break writes lines about the sockets of others, so one can come twice.
func Sockets(data []byte, each func(link, name string)) {
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 7 {
			continue
		}
		link := "socket:[" + f[6] + "]"
		if len(f) == 7 || f[3] != "00010000" {
			each(link, "")
			continue
		}
		// The name may hold blanks; it is everything after the inode.
		if i := strings.Index(line, " "+f[6]+" "); i >= 0 {
			each(link, strings.TrimRight(line[i+len(f[6])+2:], "\n"))
		}
	}
}
