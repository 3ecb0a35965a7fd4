// Package signed reads the manifests that lie in a store, and believes those that somebody signed who is trusted. Who reads backups
// and who archives the log beside them both read them so.
package signed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
)

// ErrRemoved is the error of a backup that prune removes.
var ErrRemoved = errors.New("it is being removed: it was pruned")

// Reader reads manifests.
type Reader struct {
	Store   store.Store
	Trust   []note.Verifier    // whose manifests are believed
	Retired []manifest.Retired // keys that were given up: of theirs only what had a name and had ended then is believed
}

// Manifest reads the manifest of a backup, and tells who signed it.
func (r Reader) Manifest(ctx context.Context, id string) (m manifest.Manifest, by string, err error) {
	text, err := r.Text(ctx, id)
	if err != nil {
		return m, "", err
	}
	return r.Open(text, id)
}

// Text gives what lies in the place of a manifest: ErrRemoved where that is a stone.
func (r Reader) Text(ctx context.Context, id string) ([]byte, error) {
	text, _, err := store.Read(ctx, r.Store, manifest.Name(id), manifest.MaxStone)
	if err == nil && manifest.IsStone(text) {
		err = fmt.Errorf("backup %s: %w", id, ErrRemoved)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// Open reads the manifest of a backup, if somebody signed it who is trusted, or was when he signed it.
func (r Reader) Open(text []byte, id string) (m manifest.Manifest, by string, err error) {
	m, by, err = r.signed(text)
	if err == nil && m.ID != id { // a manifest of another backup, put here by who may write to the store
		return manifest.Manifest{}, by, fmt.Errorf("read the manifest of %s: it is that of %s", id, m.ID)
	}
	return m, by, err
}

func (r Reader) signed(text []byte) (m manifest.Manifest, by string, err error) {
	m, by, err = manifest.Open(text, r.Trust...)
	for _, was := range r.Retired {
		if !errors.Is(err, manifest.ErrStranger) {
			break
		}
		old, signed, bad := manifest.Open(text, was.Verifier)
		switch {
		case bad == nil && !manifest.SignedAt(old.ID, old.Ended).After(was.Until):
			return old, signed, nil
		case bad == nil:
			return m, signed, hint.With(fmt.Errorf("it has the name of %s and ended at %s, and the key that signed it was retired at %s",
				manifest.Made(old.ID).Format(time.RFC3339), old.Ended.Format(time.RFC3339), was.Until.Format(time.RFC3339)), "somebody may have the old key: trust only backups signed by the new one")
		}
	}
	return m, by, err
}
