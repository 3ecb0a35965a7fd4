package backup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// Sheet is all that another machine must know to bring backups back, but for the key that opens them. Nothing in it is secret.
type Sheet struct {
	Host       string   `json:"host"`
	URL        string   `json:"url"`
	Endpoint   string   `json:"endpoint,omitempty"`
	Region     string   `json:"region,omitempty"`
	Recipients []string `json:"recipients"`     // whose keys open them, any one
	Public     string   `json:"public"`         // the key that signs them
	Kind       string   `json:"kind,omitempty"` // "btrfs" where the last backup was of that: it is restored to a directory
}

func (s Sheet) file(dir string) string {
	sum := sha256.Sum256([]byte(s.URL + "\n" + s.Endpoint))
	return path.Join(sheets(dir), hex.EncodeToString(sum[:8])+".json")
}

func sheets(dir string) string { return path.Join(dir, "sheets") }

// Remember keeps a sheet, and tells whether it says something that the one before did not.
func (s Sheet) Remember(ctx context.Context, d host.Doer, dir string) (is bool, err error) {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return false, err
	}
	text = append(text, '\n')
	was, err := d.Raw(ctx, s.file(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read the recovery sheet: %w", err)
	}
	if bytes.Equal(was, text) {
		return false, nil
	}
	if err := d.Replace(ctx, s.file(dir), text, 0o600); err != nil {
		return false, fmt.Errorf("keep the recovery sheet: %w", err)
	}
	return true, nil
}

// Sheets gives those of all places that this host backs up to, as its key is now.
func Sheets(ctx context.Context, d host.Doer, dir string) (all []Sheet, err error) {
	files, err := d.Glob(ctx, path.Join(host.Verbatim(sheets(dir)), "*.json"))
	if err != nil {
		return nil, fmt.Errorf("read the recovery sheets: %w", err)
	}
	for _, file := range files {
		text, err := d.Raw(ctx, file)
		if err != nil {
			return nil, fmt.Errorf("read the recovery sheet: %w", err)
		}
		s, err := parseSheet(text)
		if err != nil {
			return nil, hint.With(fmt.Errorf("read the recovery sheet %s: %w", file, err), "remove it: the next backup writes it again")
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, hint.With(errors.New("no backup of this host is known"), "the first one writes the recovery sheet: plumb backup")
	}
	own, err := ownKey(ctx, d, dir)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].Public = own.public
	}
	slices.SortFunc(all, func(a, b Sheet) int { return cmp.Compare(a.URL+a.Endpoint, b.URL+b.Endpoint) })
	return all, nil
}

func parseSheet(text []byte) (s Sheet, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Sheet{}, err
	}
	if s.URL == "" || s.Public == "" || len(s.Recipients) == 0 {
		return Sheet{}, errors.New("it is incomplete")
	}
	return s, nil
}
