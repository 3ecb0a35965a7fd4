package backup

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// HostKey gives the key with which this host signs what it backs up, and by which others know
// it. It is made when it is first needed.
func HostKey(ctx context.Context, d host.Doer, dir, name string) (sign note.Signer, public string, err error) {
	file := path.Join(dir, "host.key")
	text, err := d.Raw(ctx, file) // it is put there whole
	if errors.Is(err, fs.ErrNotExist) {
		text, err = firstKey(ctx, d, dir, file, name)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the key of this host: %w", err)
	}
	private, public, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	if sign, err = note.NewSigner(private); err == nil {
		_, err = note.NewVerifier(public)
	}
	if err != nil {
		return nil, "", hint.With(fmt.Errorf("read the key of this host: %s is damaged", file), "bring it back from a copy; a new key is not trusted by those who restore")
	}
	return sign, public, nil
}

// firstKey makes the key, unless another Plumb is just making it.
func firstKey(ctx context.Context, d host.Doer, dir, file, name string) ([]byte, error) {
	for tries := 0; ; tries++ {
		unlock, err := d.Lock(ctx, path.Join(dir, "key.lock"))
		if errors.Is(err, host.ErrLocked) && tries < 200 {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(50 * time.Millisecond):
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		defer unlock()
		text, err := d.Raw(ctx, file)
		if errors.Is(err, fs.ErrNotExist) {
			text, err = makeKey(ctx, d, file, name)
		}
		return text, err
	}
}

func makeKey(ctx context.Context, d host.Doer, file, name string) ([]byte, error) {
	private, public, err := note.GenerateKey(rand.Reader, "plumb-"+plainName(name))
	if err != nil {
		return nil, err
	}
	text := []byte(private + "\n" + public + "\n")
	return text, d.Replace(ctx, file, text, 0o600)
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

// Trusted reads public keys of hosts, one a line. Lines that begin with # say something to people.
func Trusted(text []byte) (all []note.Verifier, err error) {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		v, err := note.NewVerifier(line)
		if err != nil {
			return nil, hint.With(fmt.Errorf("read the public key %q: %w", line, err), "it is the line that plumb backup key prints: NAME+HASH+KEY")
		}
		all = append(all, v)
	}
	return all, nil
}

// Recipients reads whom backups are made for, one a line: age1…
func Recipients(lines ...string) ([]age.Recipient, error) {
	all, err := age.ParseRecipients(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		return nil, hint.With(fmt.Errorf("read the recipients: %w", err), "age-keygen makes a key, and prints its recipient: age1…; keep the key elsewhere than on this machine")
	}
	return all, nil
}

// Identities reads the keys that open backups, as age-keygen writes them.
func Identities(text []byte) ([]age.Identity, error) {
	if bytes.HasPrefix(text, []byte("age-encryption.org/")) {
		return nil, hint.With(errors.New("read the keys: the file is encrypted itself"), "decrypt it first: age -d FILE, into memory and not onto a disk")
	}
	all, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		return nil, errors.New("read the keys: there is none that age-keygen writes: AGE-SECRET-KEY-…") // its own error quotes them
	}
	return all, nil
}

// OwnKey gives the public key of this host, if it has one yet.
func OwnKey(ctx context.Context, d host.Doer, dir string) (note.Verifier, error) {
	text, err := d.Raw(ctx, path.Join(dir, "host.key"))
	if err != nil {
		return nil, err
	}
	_, public, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return note.NewVerifier(public)
}
