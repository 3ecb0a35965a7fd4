package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/hint"
	"plumb/internal/rule"
)

// rulesIn opens a directory of rules that the command line names. what says
// what for.
func rulesIn(what, dir string) (fs.FS, error) {
	const form = "a rule is a file such as DIR/mysql/my-rule.yaml"
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, hint.With(fmt.Errorf("%s in %s: no such directory", what, dir), form)
	case err != nil:
		return nil, fmt.Errorf("%s in %s: %w", what, dir, cause(err))
	case !info.IsDir():
		return nil, hint.With(fmt.Errorf("%s in %s: not a directory", what, dir), form)
	}
	return os.DirFS(dir), nil
}

// ownRules reads the rules of a user's directory. One mistake refuses them
// all: a rule that is silently left out would pass for a host in order.
func ownRules(dir string, cat *catalog.Catalog) (*rule.Base, error) {
	files, err := rulesIn("read the rules", dir)
	if err != nil {
		return nil, err
	}
	own, err := rule.Own(files, cat)
	if err != nil {
		first, more, _ := strings.Cut(err.Error(), "\n")
		if more != "" {
			first += fmt.Sprintf(" (and %d more)", strings.Count(more, "\n")+1)
		}
		return nil, hint.With(fmt.Errorf("read the rules in %s: %s", dir, first), "plumb rules test "+dir+" shows every mistake")
	}
	if len(own.Rules()) == 0 {
		return nil, hint.With(fmt.Errorf("read the rules in %s: there are none", dir), "a rule is a file such as DIR/mysql/my-rule.yaml")
	}
	return own, nil
}
