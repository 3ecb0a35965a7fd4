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

// ReadKept reads a file that Plumb keeps, in JSON with its form. One of a newer form than
// most is refused before anything else of it is read; it says what it is.
func ReadKept(ctx context.Context, h host.Reader, file, it string, most int, into any) error {
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
	if form.Form > most {
		return hint.Newer(it, form.Form, most)
	}
	return json.Unmarshal(text, into)
}

// TidyKept removes what killed runs left of such files in a directory: halves of new ones, under names of their
// own. Nobody else may be writing there.
func TidyKept(ctx context.Context, d host.Doer, dir string) error {
	left, err := d.Glob(ctx, path.Join(host.Verbatim(dir), ".*.json.plumb-new"))
	for _, name := range left {
		err = errors.Join(err, d.Remove(ctx, name))
	}
	return err
}

// WriteKept writes a file that Plumb keeps, in place of what is there of it.
func WriteKept(ctx context.Context, d host.Doer, file string, what any, perm fs.FileMode) error {
	text, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return err
	}
	return d.Replace(ctx, file, append(text, '\n'), perm)
}
