// Command lint runs deadcode, staticcheck and govulncheck over all modules of
// the repository, in the versions that tools/go.mod pins. What they report is
// an error unless the file except names it with a reason. Where the tools or
// the database of vulnerabilities cannot be reached, it says what it skips.
//
//	lint -in DIRECTORY
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("in", ".", "the repository's `DIRECTORY`")
	database := flag.String("vulndb", "", "the `URL` of the database of vulnerabilities; empty: the public one")
	flag.Parse()
	if err := run(*root, *database); err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(1)
	}
}

func run(root, database string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	here := filepath.Join(root, "test", "lint")
	excepted, err := readExceptions(filepath.Join(here, "except"))
	if err != nil {
		return err
	}
	w := workspace{root: root, bin: filepath.Join(root, ".cache", "lint")}
	if err := w.install(filepath.Join(here, "tools")); err != nil {
		if skipped, ok := errors.AsType[unreachable](err); ok {
			fmt.Printf("lint: skipped deadcode, staticcheck and govulncheck: %v\n", skipped)
			return nil
		}
		return err
	}
	return w.judge(excepted, database)
}

// judge runs every tool, and only then says what was wrong.
func (w workspace) judge(excepted *exceptions, database string) error {
	if err := w.write(); err != nil {
		return err
	}
	all := true
	var wrong []string
	for _, t := range tools(database) {
		found, err := w.ask(t)
		if skipped, ok := errors.AsType[unreachable](err); ok {
			fmt.Printf("lint: skipped %s: %v\n", t.name, skipped)
			all = false
			continue
		}
		if err != nil {
			return err
		}
		wrong = append(wrong, excepted.rest(t.name, found)...)
	}
	for _, line := range wrong {
		fmt.Println(line)
	}
	if n := len(wrong); n > 0 {
		return fmt.Errorf("%d findings: mend them, or give the reason in test/lint/except", n)
	}
	return excepted.unused(all)
}
