package incident

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// What a capture consists of.
const (
	threadsFile = "threads.txt"
	textFile    = "moment.txt"
	jsonFile    = "moment.json"
	beforeFile  = "before.jsonl.gz"
	tapeFile    = "host.tape.gz"
)

// unfinished begins the name of a capture until it is complete.
const unfinished = ".unfinished-"

// captures is where captures are kept. It is not in the directory of the recorder, which runs as a user of
// its own that could replace what root makes there.
func captures() shell.Kept {
	return shell.Kept{Of: "captures", Flag: "dir", Root: "/var/lib/plumb-captures", Own: "plumb/captures"}
}

// place makes the directory for captures.
func (f captureFlags) place() (string, error) {
	dir, err := captures().In(f.dir)
	if err != nil {
		return "", err
	}
	real, err := host.MakeGuarded(dir)
	if err != nil {
		return "", hint.With(fmt.Errorf("make captures in %s: %w", dir, err), "--dir names a directory that only you can write to")
	}
	return real, nil
}

// tidy removes captures that were begun and never completed. It removes only files that a capture consists of: a
// directory with anything else in it stays, as somebody put that there.
func tidy(dir string) error {
	left, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range left {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), unfinished) {
			continue
		}
		half := filepath.Join(dir, e.Name())
		for _, name := range []string{threadsFile, textFile, jsonFile, beforeFile, tapeFile} {
			if err := os.Remove(filepath.Join(half, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if err := os.Remove(half); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// mostOfName is how many captures can have the same name but for a number: those of other servers, and of other runs at the same moment.
const mostOfName = 100

// settle gives a complete capture its name, with a number added if the name is taken.
func settle(made, name string) (string, error) {
	free := name
	for n := 2; ; n++ {
		err := os.Rename(made, free)
		if !errors.Is(err, fs.ErrExist) || n > mostOfName {
			return free, err
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}
