package backup

import (
	"context"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// mute is a store that gives no object of a stream before somebody has waited long enough.
type mute struct{ store.Store }

func (m mute) Get(ctx context.Context, name string, into []byte) ([]byte, string, error) {
	if strings.HasSuffix(name, ".zst.age") {
		<-ctx.Done()
		return nil, "", ctx.Err()
	}
	return m.Store.Get(ctx, name, into)
}

// A command that ends while the store does not answer is told of at once: what the store would give nobody takes any more.
func TestCommandEndsBeforeTheStoreAnswers(t *testing.T) {
	w := newWorld(t)
	res, err := w.Run(t.Context(), command("seq 60000"))
	if err != nil {
		t.Fatal(err)
	}
	w.Store = mute{w.Store}
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	for line, want := range map[string]string{"echo no room >&2; exit 3": "no room", "true": "it ended before it had read everything"} {
		err := Restore{Vault: w.vault(t), Do: w.Do, Keys: []age.Identity{w.key}}.Command(ctx, res.Manifest, 0, line)
		if err == nil || !strings.Contains(err.Error(), want) || ctx.Err() != nil {
			t.Errorf("%s: %v, %v", line, err, ctx.Err())
		}
	}
}

// What a manifest calls its datasets leads nowhere else than below the target.
func TestOddDatasets(t *testing.T) {
	for names, odd := range map[string]bool{
		"tank/db": false, "tank/db tank/log": false, "tank/db/x.y tank/db/z-1:2": false,
		"tank/../victim": true, "..": true, "../../victim tank/db": true, "tank/db tank/./log": true, "tank//db tank/log": true, "tank/db@x": true, "tank/db#x tank/log": true, "tank/db/": true,
	} {
		var streams []manifest.Stream
		for name := range strings.FieldsSeq(names) {
			streams = append(streams, manifest.Stream{Name: name, Kind: manifest.ZFS})
		}
		if err := oddDatasets(under(streams, "pool/restored")); (err != nil) != odd {
			t.Errorf("%s: %v, %v", names, under(streams, "pool/restored"), err)
		}
	}
}
