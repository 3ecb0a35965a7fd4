package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
)

// loadKnowledge reads the built-in catalogue and rules, and those of a user's
// directory; "" is none.
func (a *app) loadKnowledge(c check.Choice, dir string) (check.Knowledge, error) {
	own, err := ownRules(dir)
	if err != nil {
		return check.Knowledge{}, err
	}
	know, err := check.Load(c, own, a.Warn)
	know.Plumb = shell.Version()
	return know, err
}

// ownRules opens a directory of a user's own rules; nil for "".
func ownRules(dir string) (*check.Own, error) {
	if dir == "" {
		return nil, nil
	}
	files, err := rulesIn("read the rules", dir)
	return &check.Own{Name: dir, Files: files}, err
}

func (a *app) loadCatalog() (*catalog.Catalog, error) { return check.Catalog(check.All, a.Warn) }

// catalogWith reads all facts, and of the files of knobs only those that contain a name.
func (a *app) catalogWith(name string) (*catalog.Catalog, error) {
	return check.Catalog(func(text []byte) bool { return bytes.Contains(text, []byte(name)) }, a.Warn)
}

// rulesIn opens a directory of rules that the command line names. what says
// what for.
func rulesIn(what, dir string) (fs.FS, error) {
	const form = "a rule is a file such as DIR/mysql/my-rule.yaml"
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, hint.With(fmt.Errorf("%s in %s: no such directory", what, dir), form)
	case err != nil:
		return nil, fmt.Errorf("%s in %s: %w", what, dir, hint.Cause(err))
	case !info.IsDir():
		return nil, hint.With(fmt.Errorf("%s in %s: not a directory", what, dir), form)
	}
	return os.DirFS(dir), nil
}
