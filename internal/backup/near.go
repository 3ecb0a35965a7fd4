package backup

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"filippo.io/age"

	"plumb/internal/host"
)

// The limits of looking for keys: a file of keys is small, and a directory of files that are looked at too.
const (
	mostKeyFile  = 64 << 10
	mostKeyFiles = 500
)

// Near looks in some directories of this machine for the keys of recipients. If the keys of all recipients are there it gives the
// files: whoever loses this machine then loses every backup with it. It does not find keys that are encrypted themselves.
func Near(ctx context.Context, d host.Doer, dirs, recipients []string) (files []string) {
	found := map[string]string{}
	for _, dir := range dirs {
		names, err := d.Glob(ctx, path.Join(host.Verbatim(dir), "*"))
		if err != nil {
			continue // what cannot be read is nothing to warn of
		}
		for _, name := range names[:min(len(names), mostKeyFiles)] {
			for _, of := range recipientsOf(ctx, d, name) {
				found[of] = name
			}
		}
	}
	for _, r := range recipients {
		file, is := found[r]
		if !is {
			return nil
		}
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// recipientsOf gives those whose keys a file has.
func recipientsOf(ctx context.Context, d host.Doer, file string) (all []string) {
	st, err := d.Stat(ctx, file)
	if err != nil || !st.Mode.IsRegular() || st.Size > mostKeyFile {
		return nil
	}
	text, err := d.Raw(ctx, file)
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("AGE-SECRET-KEY-")) {
			continue
		}
		if k, err := age.ParseX25519Identity(strings.TrimSpace(string(line))); err == nil {
			all = append(all, k.Recipient().String())
		} else if k, err := age.ParseHybridIdentity(strings.TrimSpace(string(line))); err == nil {
			all = append(all, k.Recipient().String())
		}
	}
	return all
}
