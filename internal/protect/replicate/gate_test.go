package replicate

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// stream makes one of a snapshot, as zfs send begins it.
func stream(guid uint64, raw bool) []byte {
	version := uint64(1)
	if raw {
		version |= 1 << (2 + 24)
	}
	b := binary.LittleEndian.AppendUint64(nil, 0)
	for _, n := range []uint64{0x2F5bacbac, version, 0, 0, guid, 0} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return append(b, "and what follows"...)
}

func TestGate(t *testing.T) {
	source := dataset{moment: moment{name: "tank/db"}, moments: []moment{{name: "tank/db@a", guid: "7"}, {name: "tank/db@b", guid: "8"}}}
	for what, try := range map[string]struct {
		text []byte
		way  string
		want string // of the error; "" when it goes through
	}{
		"one that is resumed":  {stream(7, false), wayCompressed, ""},
		"raw":                  {stream(8, true), wayRaw, ""},
		"in the clear":         {stream(8, false), wayRaw, "is not raw"},
		"raw where it was not": {stream(8, true), wayPlain, "is not plain"},
		"of another dataset":   {stream(9, true), wayRaw, "of another dataset than tank/db"},
		"no stream":            {[]byte(strings.Repeat("no", 99)), wayPlain, "no stream of one snapshot"},
	} {
		for _, size := range []int{1, 50, 1000} {
			var to bytes.Buffer
			g := &gate{to: &to, fits: meant(source, &Sent{Way: try.way, Dataset: "vault/copies/tank:db"})}
			var err error
			for piece := range slices.Chunk(try.text, size) {
				if _, err = g.Write(piece); err != nil {
					break
				}
			}
			through := try.text
			if try.want != "" {
				through = nil
			}
			if !bytes.Equal(to.Bytes(), through) || (err != nil) != (try.want != "") || err != nil && !strings.Contains(err.Error(), try.want) {
				t.Errorf("%s in pieces of %d: %v, %q went through", what, size, err, to.Bytes())
			}
		}
	}
}

// lying is a machine whose target tells a token of its own making for a dataset.
type lying struct {
	*host.LiveDoer
	of, token string
}

func (l lying) Run(ctx context.Context, argv ...string) ([]byte, error) {
	out, err := l.LiveDoer.Run(ctx, argv...)
	if slices.Equal(argv, look(l.of)) && err == nil {
		out = append(out, l.of+"\treceive_resume_token\t"+l.token+"\t-\n"...)
	}
	return out, err
}

// Who keeps raw replicas has no key. By a token of his own he could have what he has raw sent in the clear, or another dataset.
func TestReplicateAskedForMore(t *testing.T) {
	w := twoPools(t)
	if w.fuse {
		t.Skip("zfs-fuse knows no encryption: test/real/vm runs it on OpenZFS")
	}
	w.encrypt(t)
	_, err := w.replicator().Run(t.Context(), w.point(t, 2000), w.target(), Options{})
	must(t, err)
	p := w.point(t, 4000)
	token := func(send string) string {
		return sh(t, "("+send+" | head -c 1000000 | zfs receive -s -u "+w.to.Name+"/theirs) 2>/dev/null && exit 1; zfs get -H -o value receive_resume_token "+w.to.Name+"/theirs; zfs receive -A "+w.to.Name+"/theirs")
	}
	db, log := p.Members[0], p.Members[1]
	for want, send := range map[string]string{
		"with a stream that is not raw":                    "zfs send " + db.Snapshot,
		"with a stream of another dataset than " + db.Name: "zfs send -w " + log.Snapshot,
	} {
		r := w.replicator()
		r.Keeper = keeper(lying{hosttest.LiveDoer(t), w.target().Dataset + "/" + strings.ReplaceAll(db.Name, "/", ":"), token(send)}, w.dir)
		if sent, err := r.Run(t.Context(), p, w.target(), Options{}); err == nil || !strings.Contains(err.Error(), want) || sent.Sent[0].Bytes > 0 {
			t.Errorf("want %q, got %v, %+v", want, err, sent)
		}
	}
	_, err = w.replicator().Run(t.Context(), p, w.target(), Options{})
	must(t, err)
}

// encrypt makes the datasets anew, encrypted.
func (w *world) encrypt(t *testing.T) {
	t.Helper()
	sh(t, "zfs destroy -r "+w.from.Name+"/db; echo 12345678 | zfs create -o encryption=on -o keyformat=passphrase "+w.from.Name+"/db; zfs create "+w.from.Name+"/db/log")
}
