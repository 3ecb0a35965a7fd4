package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/view"
)

// taped is what came of one tape of a directory.
type taped struct {
	name   string
	report view.Report
	err    error
}

// checkMany judges every tape of a directory and prints one summary, or one
// JSON document a line. Tapes are judged in parallel and forgotten as soon as
// they are counted, so that thousands fit.
func (a *app) checkMany(ctx context.Context, k know, f checkFlags) error {
	if f.emit != "" {
		return hint.Usage("--emit wants one host, and --tape names a directory", "give one tape")
	}
	debug.SetGCPercent(200) // two or three tapes are a small heap: collecting it at every doubling takes a third of the time
	var sum view.Summary
	names, err := tapesIn(f.tape, &sum)
	if err != nil {
		return err
	}
	var worst error
	done := 0
	for result := range a.judgeAll(ctx, k, f, names) {
		t := <-result
		if done++; isTerminal(a.err) {
			rewrite(a.err, fmt.Sprintf("%d of %d tapes", done, len(names)))
		}
		if t.err != nil {
			sum.Fail(t.name, t.err)
			if f.json { // the summary, which lists them, is not shown
				fmt.Fprintf(a.err, "plumb: %s\n", oneLine(t.err.Error()))
			}
			continue
		}
		if err := f.verdict(t.report.Advice.Findings); err != nil {
			worst = err
		}
		if !f.json {
			sum.Add(t.name, t.report)
			continue
		}
		line, err := json.Marshal(view.CheckDocument(t.report))
		if err == nil {
			_, err = a.out.Write(append(view.Inert(line), '\n'))
		}
		if err != nil {
			return err
		}
	}
	if isTerminal(a.err) {
		rewrite(a.err, "")
	}
	if !f.json {
		fmt.Fprint(a.out, sum.Text(f.all, screen(a.out)))
	}
	return outcome(ctx, &sum, worst, f)
}

func outcome(ctx context.Context, sum *view.Summary, worst error, f checkFlags) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("read tapes in %s: interrupted", f.tape)
	case worst != nil:
		return worst
	case sum.Failed() > 0:
		return fmt.Errorf("read tapes in %s: %d could not be read", f.tape, sum.Failed())
	}
	return nil
}

// tapesIn lists the tapes of a directory and below, sorted. A directory below
// that cannot be read goes into the summary and hides nothing else.
func tapesIn(dir string, sum *view.Summary) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		switch {
		case err != nil && name == dir:
			return err
		case err != nil:
			sum.Fail(relative(dir, name), cause(err))
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

// isTape tells a tape by its name.
func isTape(name string) bool { return strings.HasSuffix(strings.TrimSuffix(name, ".gz"), ".tape") }

// relative gives the name of a tape below the directory that was asked for.
func relative(dir, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, filepath.Clean(dir)), "/")
}

// judgeAll judges tapes in parallel. The results come in the order of the
// names; at most two tapes for each CPU are held at a time.
func (a *app) judgeAll(ctx context.Context, k know, f checkFlags, names []string) <-chan chan taped {
	results := make(chan chan taped, runtime.NumCPU())
	slots := make(chan struct{}, runtime.NumCPU())
	go func() {
		defer close(results)
		for _, name := range names {
			if ctx.Err() != nil {
				return
			}
			one := make(chan taped, 1)
			results <- one
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				one <- a.judgeTape(ctx, k, f, name)
			}()
		}
	}()
	return results
}

func (a *app) judgeTape(ctx context.Context, k know, f checkFlags, name string) taped {
	t := taped{name: relative(f.tape, name)}
	src := f.source
	src.tape = name
	s, err := a.read(ctx, k.catalog, src)
	if err != nil {
		t.err = err
		return t
	}
	t.report = k.judge(s, f.allowUnsafe)
	t.report.From = name
	return t
}
