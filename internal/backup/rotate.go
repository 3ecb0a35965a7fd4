package backup

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// succession says that a host signs with another key from a certain time. Both keys have signed it: whoever trusts the old key can
// trust the new one, and whoever trusts the new one knows the old.
type succession struct {
	note     []byte
	old, new note.Verifier
	public   string    // the new one, as others give it
	at       time.Time // when the old one was given up
}

const successionHead = "plumb: another key from now on"

// Rotate replaces the key of this host by a new one, and gives the public part of that. What the old key has signed is still believed.
func Rotate(ctx context.Context, d host.Doer, dir, name string, now func() time.Time) (public string, err error) {
	unlock, err := lockKey(ctx, d, dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	old, err := ownKey(ctx, d, dir)
	if err != nil {
		return "", err
	}
	k, err := newKey(name)
	if err != nil {
		return "", err
	}
	// A second later than now, at least: what is just being signed with the old key ended before. Asked only now, for the lock may have
	// been waited for.
	at := now().UTC().Truncate(time.Second).Add(2 * time.Second)
	signed, err := note.Sign(&note.Note{Text: strings.Join([]string{successionHead, old.public, k.public, at.Format(time.RFC3339)}, "\n") + "\n"}, old.sign, k.sign)
	if err != nil {
		return "", err
	}
	last, err := openSuccession(signed)
	if err != nil {
		return "", err
	}
	k.past = append(slices.Clone(old.past), last)
	return k.public, k.write(ctx, d, dir)
}

// openSuccession reads a succession. It is an error unless both keys that it names have signed it.
func openSuccession(text []byte) (s succession, err error) {
	_, err = note.Open(text, note.VerifierList())
	unread, is := errors.AsType[*note.UnverifiedNoteError](err)
	if !is {
		return s, fmt.Errorf("read the changes of signing keys:  %w", errors.Join(err, errors.New("nobody signed it")))
	}
	lines := strings.Split(strings.TrimSuffix(unread.Note.Text, "\n"), "\n")
	if len(lines) != 4 || lines[0] != successionHead {
		return s, errors.New("read the changes of signing keys:  it says something else")
	}
	s.note, s.public = text, lines[2]
	if s.old, err = note.NewVerifier(lines[1]); err == nil {
		s.new, err = note.NewVerifier(lines[2])
	}
	if err == nil {
		s.at, err = time.Parse(time.RFC3339, lines[3])
	}
	if err != nil {
		return s, fmt.Errorf("read the changes of signing keys:  %w", err)
	}
	for _, by := range []note.Verifier{s.old, s.new} {
		if _, err := note.Open(text, note.VerifierList(by)); err != nil {
			return s, fmt.Errorf("read the changes of signing keys:  %s did not sign it: %w", keyName(by), err)
		}
	}
	return s, nil
}

// keyName tells keys apart as notes do.
func keyName(k interface {
	Name() string
	KeyHash() uint32
}) string {
	return fmt.Sprintf("%s+%08x", k.Name(), k.KeyHash())
}

func same(a, b note.Verifier) bool { return keyName(a) == keyName(b) }

// line is how it stands in the file of a key.
func (s succession) line() string { return base64.StdEncoding.EncodeToString(s.note) }

func parseSuccession(line []byte) (succession, error) {
	text, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(line)))
	if err != nil {
		return succession{}, err
	}
	return openSuccession(text)
}

// is tells whether somebody is this host: by the key it has, or one it had.
func (k key) is(of string) bool {
	return of == keyName(k.sign) ||
		slices.ContainsFunc(k.past, func(s succession) bool { return keyName(s.old) == of })
}

// kin tells whether two keys belong to one host: a series of successions leads from one to the other.
func kin(all []succession, a, b string) bool {
	of := map[string]bool{a: true}
	for found := true; found; {
		found = false
		for _, s := range all {
			if old, next := keyName(s.old), keyName(s.new); of[old] != of[next] {
				of[old], of[next], found = true, true, true
			}
		}
	}
	return of[b]
}

// successions begins the names of the objects that hold successions, for those who know only an old key.
const successions = "keys/"

// publish puts them into a store.
func (k key) publish(ctx context.Context, in store.Store) error {
	for _, s := range k.past {
		_, err := in.Put(ctx, fmt.Sprintf("%s%08x-%08x", successions, s.old.KeyHash(), s.new.KeyHash()), s.note, store.Put{New: true})
		if err != nil && !errors.Is(err, store.ErrExists) {
			return fmt.Errorf("record the new signing key: %w", err)
		}
	}
	return nil
}

// mostSuccessions is how many are read of a store: others can put things there.
const mostSuccessions = 1000

var errEnough = errors.New("enough")

// Through extends trust along successions: from a trusted key to the one that replaced it, and back to those that it replaced. From a
// key that is known to have been replaced it does not go on to a second successor, which a thief of the key may have named.
func (v Vault) Through(ctx context.Context) (Vault, error) {
	all, err := v.successions(ctx)
	if err != nil {
		return v, err
	}
	return v.through(all)
}

// successions reads those that the store has. What is none was put there by somebody else.
func (v Vault) successions(ctx context.Context) (all []succession, err error) {
	var names []string
	err = v.Store.List(ctx, successions, func(i store.Info) error {
		if names = append(names, i.Name); len(names) >= mostSuccessions {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("find out who signs the backups of %s: %w", v.Store.URL(), err)
	}
	for _, n := range names {
		text, _, err := v.Store.Get(ctx, n, make([]byte, 4096))
		switch {
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrTooLarge):
			continue
		case err != nil:
			return nil, fmt.Errorf("find out who signs the backups of %s: %w", v.Store.URL(), err)
		}
		if s, err := openSuccession(text); err == nil {
			all = append(all, s)
		}
	}
	return all, nil
}

// has tells whether a key is among some.
func has(keys []note.Verifier, k note.Verifier) bool {
	return slices.ContainsFunc(keys, func(one note.Verifier) bool { return same(one, k) })
}

// believes tells whether what a key signed is believed, or was once.
func (v Vault) believes(k note.Verifier) bool {
	return has(v.Trust, k) || slices.ContainsFunc(v.Retired, func(r manifest.Retired) bool { return same(r, k) })
}

// next gives the succession that replaces a key, unless its successor is known already. If a key names several unknown successors it is
// an error: one of them may be a thief's.
func next(all []succession, k note.Verifier, known []note.Verifier) (s succession, is bool, err error) {
	var after []succession
	for _, one := range all {
		if same(one.old, k) && !slices.ContainsFunc(after, func(s succession) bool { return s.public == one.public }) {
			after = append(after, one)
		}
	}
	switch {
	case len(after) == 0 || slices.ContainsFunc(after, func(s succession) bool { return has(known, s.new) }):
		return s, false, nil
	case len(after) == 1:
		return after[0], true, nil
	}
	return s, false, hint.With(fmt.Errorf("the key %s names two successors, and one of them may be a thief's: %s and %s", keyName(k), after[0].public, after[1].public),
		"give the right one too, with --trust: plumb backup sheet prints it on the host")
}

// before gives the keys, and all keys that one of them has replaced.
func before(all []succession, keys []note.Verifier) []note.Verifier {
	keys = slices.Clone(keys)
	for found := true; found; {
		found = false
		for _, s := range all {
			if has(keys, s.new) && !has(keys, s.old) {
				keys, found = append(keys, s.old), true
			}
		}
	}
	return keys
}

func (v Vault) through(all []succession) (Vault, error) {
	given := v.Trust
	v.Trust = nil
	for _, k := range given { // one that was named twice, or is this host's own, is one: package note calls two ambiguous
		if !has(v.Trust, k) {
			v.Trust = append(v.Trust, k)
		}
	}
	for i := 0; i < len(v.Trust); i++ {
		s, is, err := next(all, v.Trust[i], before(all, v.Trust))
		if err != nil {
			return v, err
		}
		if is {
			v.Trust = append(v.Trust, s.new)
		}
	}
	known := before(all, v.Trust)
	v.Trust = nil
	for _, k := range known {
		until := time.Time{}
		for _, s := range all { // only who is believed says when a key was given up
			if same(s.old, k) && has(known, s.new) && (until.IsZero() || s.at.Before(until)) {
				until = s.at
			}
		}
		if until.IsZero() {
			v.Trust = append(v.Trust, k)
		} else {
			v.Retired = append(v.Retired, manifest.Retired{Verifier: k, Until: until})
		}
	}
	return v, nil
}

// Own adds this host's keys to those that are believed, if it has one yet: that it has, and those it had.
func (v Vault) Own(ctx context.Context, d host.Doer, dir string) (Vault, error) {
	own, err := ownKey(ctx, d, dir)
	if err != nil {
		return v, err
	}
	k, err := note.NewVerifier(own.public)
	if err != nil {
		return v, err
	}
	v.Trust = append(v.Trust, k)
	return v.through(own.past)
}
