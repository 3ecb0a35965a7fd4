package host

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadAgain(t *testing.T) {
	const head = "Num       RefCount Protocol Flags    Type St Inode Path\n"
	line := func(refs, inode int, name string) string {
		return fmt.Sprintf("000000000a0b0c0d: %08X 00000000 00010000 0001 01 %5d %s\n", refs, inode, name)
	}
	here, gone, mine, busy := line(2, 11, "/run/a"), line(2, 12, "/run/closed"), line(2, 13, "/run/passed over"), line(3, 11, "/run/a")
	for what, c := range map[string]struct {
		texts []string
		want  string
		err   error
	}{
		"the same":                 {[]string{head + here, head + here}, head + here, nil},
		"passed over at first":     {[]string{head + here, head + here + mine}, head + here + mine, nil},
		"passed over then":         {[]string{head + here + gone + mine, head + here}, head + here + gone + mine, nil},
		"one that was used":        {[]string{head + here, head + busy}, head + busy, nil},
		"it cannot be read":        {nil, "", ErrTooLarge},
		"it cannot be read to end": {[]string{head}, "", ErrTooLarge},
	} {
		texts := c.texts
		read := func() ([]byte, error) {
			if len(texts) == 0 {
				return nil, ErrTooLarge
			}
			text := texts[0]
			texts = texts[1:]
			return []byte(text), nil
		}
		got, err := read()
		if err == nil {
			got, err = readAgain("/proc/net/unix", got, read)
		}
		if string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %v\n%s", what, err, got)
		}
	}
	tcp := func(sl, inode int) string {
		return fmt.Sprintf("%4d: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 %d 1 ffff 100 0 0 10 0\n", sl, inode)
	}
	if got := string(joined([]byte(tcp(0, 21)), []byte(tcp(0, 20)+tcp(1, 21)), 9)); got != tcp(0, 21)+tcp(0, 20) {
		t.Errorf("of tcp:\n%s", got)
	}
	for name, want := range map[string]bool{"/proc/net/unix": true, "/proc/17/net/tcp6": true, "/proc/self/net/tcp": true, "/proc/net/netstat": false, "/proc/net/unix/x": false, "/srv/proc/net/unix": false} {
		if got := socketLists.MatchString(name); got != want {
			t.Errorf("%s is a list of sockets: %t", name, got)
		}
	}
}

// A socket is in the list once.
func TestListOfSockets(t *testing.T) {
	at := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", at)
	must(t, err)
	defer l.Close()
	text, err := NewLive(LiveOptions{}).ReadFile(t.Context(), "/proc/net/unix")
	must(t, err)
	if n := strings.Count(string(text), " "+at+"\n"); n != 1 {
		t.Errorf("it is there %d times", n)
	}
}
