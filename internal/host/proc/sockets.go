package proc

import "strings"

// Listeners reads /proc/net/unix: the names of sockets at which processes listen, by what the link of a descriptor says: "socket:[4711]".
// Flag 0x10000 is __SO_ACCEPTCON.
func Listeners(data []byte) map[string]string {
	at := map[string]string{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 8 || f[3] != "00010000" {
			continue
		}
		// The name may hold blanks; it is everything after the inode.
		i := strings.Index(line, " "+f[6]+" ")
		if i < 0 {
			continue
		}
		at["socket:["+f[6]+"]"] = strings.TrimRight(line[i+len(f[6])+2:], "\n")
	}
	return at
}
