package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/stack"
	"plumb/internal/units"
	checkview "plumb/internal/view/check"
	"plumb/internal/view/page"
)

// checkMany judges every tape of a directory and prints one summary, or one
// JSON document a line. Tapes are judged in parallel and forgotten as soon as
// they are counted, so that thousands fit.
func (a *app) checkMany(ctx context.Context, k check.Knowledge, f checkFlags) error {
	if f.emit != "" {
		return hint.Usage("--emit works on one host, but --tape names a directory", "give one tape")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // two or three tapes are a small heap: collecting it at every doubling takes a third of the time
	var sum checkview.Summary
	names, err := tapesIn(f.Tape, &sum)
	if err != nil {
		return err
	}
	var worst error
	done := 0
	for result := range k.Each(ctx, names, a.tapeReader(k.Catalog, f.Source)) {
		t := <-result
		if done++; shell.IsTerminal(a.Err) {
			shell.Rewrite(a.Err, fmt.Sprintf("%d of %s", done, units.Count(len(names), "tape")))
		}
		if err := f.verdict(t.Report.Advice.Findings); t.Err == nil && err != nil {
			worst = err
		}
		if err := a.judged(&sum, k, t, f); err != nil {
			return err
		}
	}
	a.Done()
	if !f.json {
		fmt.Fprint(a.Out, sum.Text(f.all, shell.Screen(a.Out)))
	}
	if f.html != "" && ctx.Err() == nil {
		html, err := sum.HTML(shell.Version())
		if err == nil {
			err = a.WritePage(f.html, f.force, html)
		}
		if err != nil {
			return err
		}
	}
	return outcome(ctx, &sum, worst, f)
}

// judged adds one tape to the summary, and writes its document if flags ask for that.
func (a *app) judged(sum *checkview.Summary, k check.Knowledge, t check.Result, f checkFlags) error {
	name := relative(f.Tape, t.Name)
	if t.Err != nil {
		sum.Fail(name, t.Err)
		if f.json { // as the summary, which would list them, is not shown
			fmt.Fprintf(a.Err, "plumb: %s\n", shell.OneLine(t.Err.Error()))
		}
		return nil
	}
	if err := count(sum, k, name, t.Report, f); err != nil || !f.json {
		return err
	}
	line, err := json.Marshal(checkview.Document(t.Report))
	if err == nil {
		_, err = a.Out.Write(append(page.Inert(line), '\n'))
	}
	return err
}

// count adds a report to the summary, if one is shown.
func count(sum *checkview.Summary, k check.Knowledge, name string, r check.Report, f checkFlags) error {
	switch {
	case f.html != "":
		return sum.AddPage(name, r, pageOptions(k, f))
	case !f.json:
		sum.Add(name, r)
	}
	return nil
}

func outcome(ctx context.Context, sum *checkview.Summary, worst error, f checkFlags) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("read tapes in %s: interrupted", f.Tape)
	case worst != nil:
		return worst
	case sum.Failed() > 0:
		return fmt.Errorf("read tapes in %s: %d could not be read", f.Tape, sum.Failed())
	}
	return nil
}

// tapesIn lists the tapes of a directory and below, sorted. A directory below
// that cannot be read goes into the summary and hides nothing else.
func tapesIn(dir string, sum *checkview.Summary) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		switch {
		case err != nil && name == dir:
			return err
		case err != nil:
			sum.Fail(relative(dir, name), hint.Cause(err))
		case isTape(name) && (d.Type().IsRegular() || d.Type()&os.ModeSymlink != 0):
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read tapes in %s: %w", dir, err)
	}
	if len(names) == 0 && sum.Failed() == 0 {
		return nil, hint.With(fmt.Errorf("read tapes in %s: there are none", dir), "a tape's name ends in .tape or .tape.gz; plumb capture makes them")
	}
	return names, nil
}

// isTape tells whether a name is that of a tape.
func isTape(name string) bool { return strings.HasSuffix(strings.TrimSuffix(name, ".gz"), ".tape") }

// relative returns the path of a tape below the directory that was named.
func relative(dir, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, filepath.Clean(dir)), "/")
}

// tapeReader reads one tape after the other.
func (a *app) tapeReader(cat *catalog.Catalog, src shell.Source) func(context.Context, string) (*stack.Stack, error) {
	return func(ctx context.Context, name string) (*stack.Stack, error) {
		src := src
		src.Tape = name
		return a.read(ctx, cat, src)
	}
}
