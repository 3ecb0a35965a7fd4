package zfs

import "testing"

// txgsText is of OpenZFS 2.3.1, some lines left out.
const txgsText = `txg      birth            state ndirty       nread        nwritten     reads    writes   otime        qtime        wtime        stime
10       59908853100      C     10820608     0            2461696      0        285      5095322775   57151        198368       458592202
25       132397773808     C     4096         0            0            0        0        5044771645   52066        128935       740489
26       137442545453     S     0            0            0            0        0        5044771645   52066        0            0
27       137442545453     O     0            0            0            0        0        0            0            0            0
`

func TestNewestGroup(t *testing.T) {
	got, ok := NewestGroup([]byte(txgsText))
	if want := (Group{Number: 25, Dirty: 4096, Wait: 128935, Sync: 740489}); !ok || got != want {
		t.Errorf("got %+v %v, want %+v", got, ok, want)
	}
	for _, none := range []string{"", "txg state\n", "txg birth state ndirty\n1 2 C 3\n", "txg state ndirty wtime stime\n1 O 0 0 0\n"} {
		if g, ok := NewestGroup([]byte(none)); ok {
			t.Errorf("%q gave %+v", none, g)
		}
	}
}

func FuzzNewestGroup(f *testing.F) {
	f.Add([]byte(txgsText))
	f.Fuzz(func(t *testing.T, text []byte) {
		if g, ok := NewestGroup(text); ok && (g.Number < 0 || g.Dirty < 0 || g.Wait < 0 || g.Sync < 0) {
			t.Errorf("%+v", g)
		}
	})
}
