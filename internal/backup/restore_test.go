package backup

import (
	"context"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

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
