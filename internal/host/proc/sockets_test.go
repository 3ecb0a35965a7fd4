package proc

import (
	"maps"
	"strings"
	"testing"
)

const unixText = `Num       RefCount Protocol Flags    Type St Inode Path
0000000006658bae: 00000003 00000000 00000000 0001 03  1584
00000000d29e2a8c: 00000002 00000000 00010000 0001 01 73220 /tmp/system/m/my.sock
00000000d29e2a8d: 00000002 00000000 00010000 0001 01 73221 /srv/my data/my.sock
`

func TestListeners(t *testing.T) {
	want := map[string]string{"socket:[73220]": "/tmp/system/m/my.sock", "socket:[73221]": "/srv/my data/my.sock"}
	if got := Listeners([]byte(unixText)); !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func FuzzListeners(f *testing.F) {
	f.Add([]byte(unixText))
	f.Fuzz(func(t *testing.T, data []byte) {
		for link, name := range Listeners(data) {
			if !strings.HasPrefix(link, "socket:[") || strings.Contains(name, "\n") {
				t.Errorf("%q is %q", link, name)
			}
		}
	})
}
