package forecast

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plumb/internal/cli/shell"
	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/units"
)

// Forecasts are kept in a file for each run.
const (
	keptEnding    = ".json"
	mostKeptFiles = 1000     // the oldest go
	mostKeptBytes = 64 << 20 // enough for as many forecasts as one run can make
)

// keptPlace is where forecasts are kept.
func keptPlace() shell.Kept {
	return shell.Kept{Of: "forecasts", Flag: "kept", Root: "/var/lib/plumb/forecasts", Own: "plumb/forecasts"}
}

// ownDirectory makes a directory that nobody else can put anything into, or
// refuses one into which somebody can. It gives its path without links.
func ownDirectory(dir string) (real string, err error) {
	if real, err = host.MakeGuarded(dir); err != nil {
		return "", hint.With(err, guardedHint)
	}
	return real, private(real)
}

const guardedHint = "give it to the user who runs this (chown), and remove the right to write from others (chmod go-w)"

// private refuses a directory whose forecasts others could have written, also by
// putting another directory in its place. It may not exist yet.
func private(dir string) error {
	if err := host.Guarded(dir, "*"+keptEnding); err != nil {
		return hint.With(err, guardedHint)
	}
	return nil
}

// keepAll writes all forecasts that are not refused, or none.
func keepAll(s *shell.Shell, where string, results []space.Result) error {
	dir, err := keptPlace().In(where)
	if err == nil {
		dir, err = ownDirectory(dir)
	}
	if err != nil {
		return fmt.Errorf("keep the forecast: %w", err)
	}
	kept := []forecast.Kept{}
	for _, r := range results {
		if k, is := r.Keep(); is {
			kept = append(kept, k)
		}
	}
	switch {
	case len(kept) == 0:
		return nil
	case len(kept) > forecast.MostKept:
		return hint.With(fmt.Errorf("keep the forecast: it is of %d things, and at most %d are kept at once", len(kept), forecast.MostKept), "--only names a part of them")
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	if err := keepFile(dir, kept[0].Made.Format("20060102"), text); err != nil {
		return fmt.Errorf("keep the forecast in %s: %w", dir, hint.Cause(err))
	}
	fmt.Fprintf(s.Err, "kept in %s: %s\n", shell.OneLine(dir), units.Count(len(kept), "forecast"))
	return trimKept(dir)
}

// keepFile writes a file with a name that no other run uses.
func keepFile(dir, day string, text []byte) error {
	return shell.WriteWhole(filepath.Join(dir, fmt.Sprintf("%s-%016x%s", day, rand.Uint64(), keptEnding)), false, text)
}

func keptNames(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), keptEnding) && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names) // names begin with the day
	return names, err
}

func trimKept(dir string) error {
	names, err := keptNames(dir)
	for len(names) > mostKeptFiles {
		err = errors.Join(err, os.Remove(filepath.Join(dir, names[0])))
		names = names[1:]
	}
	return err
}

// readKept gives all forecasts that are kept. What cannot be read is told, and
// hides no other.
func readKept(s *shell.Shell, where string) (all []forecast.Kept, err error) {
	dir, err := keptPlace().In(where)
	if err == nil {
		err = private(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read the forecasts: %w", err)
	}
	names, err := keptNames(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, hint.With(fmt.Errorf("no forecasts are kept in %s", dir), "plumb forecast space --keep keeps one")
	}
	if err != nil {
		return nil, fmt.Errorf("read the forecasts in %s: %w", dir, hint.Cause(err))
	}
	for _, name := range names {
		kept, err := keptOf(filepath.Join(dir, name))
		if err != nil {
			fmt.Fprintf(s.Err, "note: %s is left out: %s\n", shell.OneLine(filepath.Join(dir, name)), shell.OneLine(err.Error()))
			continue
		}
		all = append(all, kept...)
	}
	return all, nil
}

func keptOf(name string) ([]forecast.Kept, error) {
	text, err := shell.ReadFile(name, nil, mostKeptBytes)
	if err != nil {
		return nil, err
	}
	return forecast.ParseKept(text)
}
