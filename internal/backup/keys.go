package backup

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// HostKey gives the key with which this host signs its backups, and the public key by which others recognise it. The key is made
// when it is first needed.
func HostKey(ctx context.Context, d host.Doer, dir, name string) (sign note.Signer, public string, err error) {
	own, err := ownKey(ctx, d, dir)
	if errors.Is(err, fs.ErrNotExist) {
		own, err = makeKey(ctx, d, dir, name)
	}
	return own.sign, own.public, err
}

// key is what the key file of a host holds: the private key, the public one, and a line for each earlier key that was replaced.
type key struct {
	private, public string
	sign            note.Signer
	past            []succession // oldest first
}

func keyFile(dir string) string { return path.Join(dir, "host.key") }

// ownKey reads the key of this host. The error is fs.ErrNotExist if it has none yet.
func ownKey(ctx context.Context, d host.Doer, dir string) (k key, err error) {
	text, err := d.Raw(ctx, keyFile(dir))
	if err == nil {
		k, err = parseKey(text)
	}
	if err != nil {
		return key{}, fmt.Errorf("read the key of this host: %s: %w", keyFile(dir), err)
	}
	return k, nil
}

func parseKey(text []byte) (k key, err error) {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) >= 2 {
		k.private, k.public = lines[0], lines[1]
		if k.sign, err = note.NewSigner(k.private); err == nil {
			_, err = note.NewVerifier(k.public)
		}
	}
	for _, line := range lines[min(2, len(lines)):] {
		var s succession
		if s, err = parseSuccession([]byte(line)); err != nil {
			break
		}
		k.past = append(k.past, s)
	}
	if err != nil || len(lines) < 2 { // what is wrong would show the key
		return key{}, hint.With(errors.New("it is damaged"), "restore it from a copy; those who restore backups do not trust a new key")
	}
	return k, nil
}

// write makes the file of a key, whole or not at all.
func (k key) write(ctx context.Context, d host.Doer, dir string) error {
	text := k.private + "\n" + k.public + "\n"
	for _, s := range k.past {
		text += s.line() + "\n"
	}
	return d.Replace(ctx, keyFile(dir), []byte(text), 0o600)
}

// lockTime is how long to wait for another process that makes or replaces the key.
const lockTime = 10 * time.Second

// lockKey makes this process the only one that makes keys.
func lockKey(ctx context.Context, d host.Doer, dir string) (unlock func(), err error) {
	unlock, err = host.LockWithin(ctx, d, path.Join(dir, "key.lock"), lockTime)
	return unlock, host.HeldBy(err, "another Plumb is making the key of this host", "try it again")
}

func makeKey(ctx context.Context, d host.Doer, dir, name string) (key, error) {
	unlock, err := lockKey(ctx, d, dir)
	if err != nil {
		return key{}, err
	}
	defer unlock()
	if k, err := ownKey(ctx, d, dir); !errors.Is(err, fs.ErrNotExist) { // somebody was faster
		return k, err
	}
	k, err := newKey(name)
	if err == nil {
		err = k.write(ctx, d, dir)
	}
	return k, err
}

func newKey(name string) (k key, err error) {
	if k.private, k.public, err = note.GenerateKey(rand.Reader, "plumb-"+plainName(name)); err == nil {
		k.sign, err = note.NewSigner(k.private)
	}
	return k, err
}

// plainName makes a name that notes can be signed with.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, name)
}

// Trusted reads public keys of hosts, one a line. Lines that begin with # are comments. An error never quotes a line: it may be a
// secret key.
func Trusted(text []byte) (all []note.Verifier, err error) {
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		v, err := note.NewVerifier(line)
		if IsSecret(line) {
			err = errors.New("it is a secret key")
		}
		if err != nil {
			return nil, hint.With(fmt.Errorf("read the public key in line %d: %w", number, err), "it is the line that plumb backup key prints: NAME+HASH+KEY")
		}
		all = append(all, v)
	}
	return all, nil
}

// IsSecret tells whether a text is a secret key: one that opens backups, or signs them.
func IsSecret(text string) bool {
	text = strings.ToUpper(strings.TrimSpace(text))
	return strings.HasPrefix(text, "AGE-SECRET-KEY-") || strings.HasPrefix(text, "PRIVATE+KEY+")
}

// mostRecipients is the largest number of recipients with which age opens a file (maxRecipientStanzas of age 1.3.2). It encrypts for
// more, and then refuses to decrypt.
const mostRecipients = 1024

// Recipients reads the recipients that backups are encrypted for, one a line: age1…
func Recipients(lines ...string) ([]age.Recipient, error) {
	all, err := age.ParseRecipients(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		return nil, hint.With(fmt.Errorf("read the recipients: %w", err), "age-keygen makes a key, and prints its recipient: age1…; keep the key elsewhere than on this machine")
	}
	if len(all) > mostRecipients {
		return nil, hint.With(fmt.Errorf("%d recipients are given, but age cannot open a file made for more than %d", len(all), mostRecipients), "give fewer: several people can share one key")
	}
	if _, err := age.Encrypt(io.Discard, all...); err != nil {
		return nil, hint.With(fmt.Errorf("encrypt for all recipients: %w", err), "age cannot mix recipients of post-quantum keys (age1pq1…) with others: use only one kind")
	}
	return all, nil
}

// Identities reads the keys that open backups, as age-keygen writes them.
func Identities(text []byte) ([]age.Identity, error) {
	if start := bytes.TrimSpace(text); bytes.HasPrefix(start, []byte("age-encryption.org/")) || bytes.HasPrefix(start, []byte(armor.Header)) {
		return nil, hint.With(errors.New("the file is encrypted itself"), "decrypt it first, not onto a disk: --identity <(age -d FILE)")
	}
	all, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil && (bytes.HasPrefix(text, []byte("AGE-PLUGIN-")) || bytes.Contains(text, []byte("\nAGE-PLUGIN-"))) {
		return nil, hint.With(errors.New("it contains a key of an age plugin, and Plumb does not run those"), "name a file with another kind of key; docs/restore-without-plumb.md restores with age itself")
	}
	if err != nil {
		return nil, hint.With(errors.New("there is no key in it as age-keygen writes it: AGE-SECRET-KEY-…"), "--identity is the file with the key, not with the recipient") // age's own error quotes them
	}
	return all, nil
}

// OwnKeys gives the public keys of this host: the present one and the earlier ones. The error is fs.ErrNotExist if it has none yet.
func OwnKeys(ctx context.Context, d host.Doer, dir string) ([]note.Verifier, error) {
	own, err := ownKey(ctx, d, dir)
	if err != nil {
		return nil, err
	}
	k, err := note.NewVerifier(own.public)
	all := []note.Verifier{k}
	for _, s := range own.past {
		all = append(all, s.old)
	}
	return all, err
}

// Signs is an error if the key of this host is no longer the one that signs.
func Signs(ctx context.Context, d host.Doer, dir string, sign note.Signer) error {
	own, err := ownKey(ctx, d, dir)
	if err == nil && keyName(own.sign) != keyName(sign) {
		err = hint.With(fmt.Errorf("the signing key of this host is now %s, and was %s when this began: what the old one signs now is not trusted", keyName(own.sign), keyName(sign)),
			"restart it: systemctl restart plumb-archive-NAME")
	}
	return err
}

// Ours tells whether the backups in a store are this host's, by the note that says whose the prefix is. The error is
// store.ErrNotFound if there is no such note.
func Ours(ctx context.Context, d host.Doer, dir string, in store.Store) (bool, error) {
	text, _, err := in.Get(ctx, owner, make([]byte, 4096))
	if err != nil {
		return false, fmt.Errorf("find out whose backups are in %s: %w", in.URL(), err)
	}
	own, err := ownKey(ctx, d, dir)
	if errors.Is(err, fs.ErrNotExist) { // a host without a key has none
		return false, nil
	}
	return err == nil && own.is(signer(text)), err
}
