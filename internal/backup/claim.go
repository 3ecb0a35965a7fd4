package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
)

// owner is the object that says whose a prefix is: a note that its host has signed.
const owner = "owner"

// Claim makes sure that this host alone writes below the prefix, for others that do.
func (b *Backup) Claim(ctx context.Context) error { return b.claim(ctx, b.Store) }

// claim makes sure that only this host writes below the prefix: otherwise one host would remove as garbage what another is just
// sending. It also publishes which keys follow one another, for those who know only a key that was given up since.
func (b *Backup) claim(ctx context.Context, in store.Store) error {
	own, err := ownKey(ctx, b.Do, b.Dir)
	if err != nil {
		return err
	}
	text, err := owned(ctx, in, func() ([]byte, error) {
		return note.Sign(&note.Note{Text: "backups of " + b.Host + " by plumb\n"}, b.Sign)
	})
	if err != nil {
		return err
	}
	if of := signer(text); !own.is(of) {
		what := "give each host a prefix of its own: …/" + strings.TrimPrefix(b.Sign.Name(), "plumb-")
		if name, _, _ := strings.Cut(of, "+"); name == b.Sign.Name() {
			what = "another host of this name, or this one before it lost its key: bring " + keyFile(b.Dir) + " back from a copy, or begin a new prefix"
		}
		return hint.With(fmt.Errorf("the prefix belongs to another host, according to its object %q: %s", owner, of), what)
	}
	return own.publish(ctx, in)
}

// owned gives the note that says whose a prefix is. If there is none, it writes the one that says makes, unless somebody else is
// faster.
func owned(ctx context.Context, in store.Store, says func() ([]byte, error)) ([]byte, error) {
	there, _, err := in.Get(ctx, owner, make([]byte, 4096))
	if !errors.Is(err, store.ErrNotFound) {
		return there, err
	}
	if err := conditional(ctx, in); err != nil {
		return nil, err
	}
	text, err := says()
	if err != nil {
		return nil, err
	}
	if _, err = in.Put(ctx, owner, text, store.Put{New: true}); errors.Is(err, store.ErrExists) {
		text, _, err = in.Get(ctx, owner, make([]byte, 4096))
	}
	return text, err
}

func conditional(ctx context.Context, in store.Store) error {
	is, err := store.Conditional(ctx, in)
	if err == nil && !is {
		err = hint.With(errors.New("the store replaces an object although it was asked not to, so two hosts that write at once would overwrite each other"),
			"use a store that honours If-None-Match: Amazon S3, MinIO, VersityGW and Ceph do")
	}
	return err
}

// signer tells who claims to have signed a note. The signature is not checked: somebody who poses as us cannot make us remove or
// sign anything with that.
func signer(text []byte) string {
	_, err := note.Open(text, note.VerifierList())
	if n, is := errors.AsType[*note.UnverifiedNoteError](err); is && len(n.Note.UnverifiedSigs) > 0 {
		return fmt.Sprintf("%s+%08x", n.Note.UnverifiedSigs[0].Name, n.Note.UnverifiedSigs[0].Hash)
	}
	return "by somebody who did not sign"
}

// read reads a manifest of our own.
func (b *Backup) read(ctx context.Context, in store.Store, id string) (manifest.Manifest, error) {
	v, err := Vault{Store: in}.Own(ctx, b.Do, b.Dir)
	if err != nil {
		return manifest.Manifest{}, err
	}
	return v.Get(ctx, id)
}
