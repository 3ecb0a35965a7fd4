package protect

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// ReadKept decodes a JSON file that Plumb keeps into into. A file whose "form" is higher than newest was written by a later
// version of Plumb: nothing else of it is decoded, and the error begins with it, which says what the file is.
func ReadKept(ctx context.Context, h host.Reader, file, it string, newest int, into any) error {
	text, err := h.ReadFile(ctx, file)
	if err != nil {
		return err
	}
	var form struct {
		Form int `json:"form"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return err
	}
	if form.Form > newest {
		return hint.Newer(it, form.Form, newest)
	}
	return json.Unmarshal(text, into)
}

// TidyKept removes from a directory the half-written files that killed runs of WriteKept left there. Nobody else may be writing
// there meanwhile.
func TidyKept(ctx context.Context, d host.Doer, dir string) error {
	left, err := d.Glob(ctx, path.Join(host.Verbatim(dir), ".*.json.plumb-new"))
	for _, name := range left {
		err = errors.Join(err, d.Remove(ctx, name))
	}
	return err
}

// WriteKept writes a JSON file that Plumb keeps, replacing what is there.
func WriteKept(ctx context.Context, d host.Doer, file string, what any, perm fs.FileMode) error {
	text, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return err
	}
	return d.Replace(ctx, file, append(text, '\n'), perm)
}
