package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"plumb/internal/hint"
)

// mostBytes is how many bytes a file of the ledger may have: PostgreSQL takes up to
// 1 GB in a row, and what trials leave is far smaller.
const mostBytes = 256 << 20

// errDamaged says that a file is not what was put into the ledger.
var errDamaged = errors.New("its contents do not fit its SHA-256")

// shaForm guards the names of files made of it.
var shaForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Put keeps a file under its SHA-256, which it gives in hexadecimal. It is on
// the disk when Put returns. The same contents are kept once.
func (l *Ledger) Put(ctx context.Context, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	if len(data) > mostBytes {
		return "", l.fail("keep a file", fmt.Errorf("it has %d bytes, more than %d", len(data), mostBytes))
	}
	err := l.insist(ctx, func(ctx context.Context) error { return l.files.put(ctx, sha, data) })
	if err != nil {
		return "", l.fail("keep a file", err)
	}
	return sha, nil
}

// Get gives a file by its SHA-256, and verifies it: the error of one that was
// damaged is errDamaged.
func (l *Ledger) Get(ctx context.Context, sha string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	doing := "read the file " + sha
	if !shaForm.MatchString(sha) {
		return nil, l.fail("read a file", fmt.Errorf("%.80q is not a SHA-256 in hexadecimal", sha))
	}
	data, err := l.files.get(ctx, sha)
	if err != nil {
		return nil, l.fail(doing, err)
	}
	if !fits(sha, data) {
		err := fmt.Errorf("%s: %w", l.files.name(sha), errDamaged)
		return nil, l.fail(doing, hint.With(err, "restore it from a backup; the records themselves are not affected"))
	}
	return data, nil
}

func fits(sha string, data []byte) bool {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]) == sha
}

// directory keeps files below itself, in two levels by the first digits.
type directory string

func (d directory) name(sha string) string {
	return filepath.Join(string(d), sha[:2], sha[2:4], sha)
}

// put writes a file unless it is there and whole. Names must be there after a
// power failure too, those of directories as well, also when another process
// made them a moment ago.
func (d directory) put(ctx context.Context, sha string, data []byte) error {
	if there, err := d.get(ctx, sha); err != nil || !fits(sha, there) {
		if err := d.write(sha, data); err != nil {
			return err
		}
	}
	at := filepath.Dir(d.name(sha))
	return errors.Join(syncDir(at), syncDir(filepath.Dir(at)), syncDir(string(d)), syncDir(filepath.Dir(string(d))))
}

// write writes a file beside and renames it, so that a name never leads to a
// part of its contents.
func (d directory) write(sha string, data []byte) error {
	path, fresh := d.name(sha), filepath.Join(string(d), "new")
	for _, dir := range []string{fresh, filepath.Dir(path)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(fresh, sha[:16]+"-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func (d directory) get(_ context.Context, sha string) ([]byte, error) {
	f, err := os.Open(d.name(sha))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoFile
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostBytes+1)) // one byte more cannot fit the sum
	return data, err
}

// tidy removes what writers that were killed have left. A file that is being
// written is not as old as that.
func (d directory) tidy() {
	const old = 24 * time.Hour
	fresh := filepath.Join(string(d), "new")
	entries, err := os.ReadDir(fresh)
	if err != nil {
		return // there is nothing to tidy, or no right to: neither keeps anybody from working
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > old {
			_ = os.Remove(filepath.Join(fresh, e.Name())) // the next one tries again
		}
	}
}
