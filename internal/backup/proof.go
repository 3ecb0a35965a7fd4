package backup

import (
	"context"
	"time"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
)

// Proof reads what is known of whether a server starts on a backup: store.ErrNotFound when nobody tried.
func (v Vault) Proof(ctx context.Context, id string) (p manifest.Proof, by string, err error) {
	text, _, err := v.Store.Get(ctx, manifest.ProofName(id), make([]byte, manifest.MaxProof))
	if err != nil {
		return p, "", err
	}
	p, err = manifest.Believe(v.Trust, v.Retired, func(keys ...note.Verifier) (p manifest.Proof, at time.Time, err error) {
		p, by, err = manifest.OpenProof(text, id, keys...)
		return p, manifest.SignedAt(id, p.At), err
	})
	return p, by, err
}

// Mark writes down what came of starting a server on a backup, with the key of the host that did.
func (v Vault) Mark(ctx context.Context, p manifest.Proof, key note.Signer) error {
	text, err := manifest.SignProof(p, key)
	if err == nil {
		_, err = v.Store.Put(ctx, manifest.ProofName(p.ID), text, store.Put{})
	}
	return err
}
