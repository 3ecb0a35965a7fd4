package main

import (
	"bufio"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// raceMark follows the name of a package whose tests ran with the race
// detector: they ran without it too.
const raceMark = " -race"

// piece is how many packages with the race detector make one job: few enough that two lanes end at about the same time.
const piece = 16

// racing lists the jobs with the race detector.
func (t *tally) racing(p plan) (jobs []job, err error) {
	if len(p.race) == 0 {
		return nil, nil
	}
	if err := canRace(); err != nil {
		t.skips = append(t.skips, "the race detector: "+err.Error())
		t.skipped++
		return nil, nil
	}
	packages, err := concurrent(p.race...)
	if err != nil {
		return nil, err
	}
	if packages, err = without(packages, "test/report/norace"); err != nil {
		return nil, err
	}
	s := suite{args: slices.Concat(p.args, []string{"-race", "-short"}), race: true}
	for some := range slices.Chunk(packages, piece) {
		jobs = append(jobs, job{"race detector from " + some[0], s, some})
	}
	return jobs, nil
}

// canRace is nil where the race detector works.
func canRace() error {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return fmt.Errorf("it is tried on amd64 and arm64, and this is %s", runtime.GOARCH)
	}
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "gcc"
	}
	if _, err := exec.LookPath(compiler); err != nil {
		return errors.New("it needs a C compiler, such as gcc")
	}
	return nil
}

// concurrent lists the packages below directories whose code runs in several
// goroutines: it starts some, or guards against those of others.
func concurrent(roots ...string) (found []string, err error) {
	for _, root := range roots {
		err = errors.Join(err, filepath.WalkDir(root, walker(&found)))
	}
	return found, err
}

// walker adds the packages that a walk meets to those that were found.
func walker(found *[]string) fs.WalkDirFunc {
	return func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		dir := "./" + path.Dir(filepath.ToSlash(name))
		if slices.Contains(*found, dir) {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if isConcurrent(file) {
			*found = append(*found, dir)
		}
		return nil
	}
}

func isConcurrent(file *ast.File) bool {
	for _, i := range file.Imports {
		if p := strings.Trim(i.Path.Value, `"`); p == "sync" || p == "sync/atomic" || strings.HasSuffix(p, "/errgroup") {
			return true
		}
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		_, starts := n.(*ast.GoStmt)
		found = found || starts
		return !found
	})
	return found
}

// without takes out the packages that a file names, each with a reason after
// " # ". A line that takes out nothing is an error: it is old.
func without(packages []string, file string) ([]string, error) {
	text, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	lines := bufio.NewScanner(text)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, " # ")
		at := slices.Index(packages, name)
		if at < 0 || reason == "" {
			return nil, fmt.Errorf("%s line %d: want a package with goroutines and after ' # ' a reason, such as ./internal/host", file, n)
		}
		packages = slices.Delete(slices.Clone(packages), at, at+1)
	}
	return packages, lines.Err()
}
