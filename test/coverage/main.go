// Command coverage says which rules were tested on real hosts of the versions they speak
// of, and checks that knowledge/coverage.yaml says the same; -write writes it.
//
//	go run ./test/coverage                     checks
//	go run ./test/coverage -write              finds the meetings with the tapes in fixtures/ again
//	go run ./test/coverage -write DIR/*.json   adds those with hosts that were read live
//
// What stands in fixtures/ was recorded on real hosts. A JSON file is what plumb
// stack --json printed on a real host; its name is that of the test that read it.
// The real tests keep such files where PLUMB_MET names a directory.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/cli"
	"plumb/internal/coverage"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/knowledge"
)

// records is the file, seen from the root of the tree.
const records = "knowledge/coverage.yaml"

var errStale = errors.New(records + " is stale: go run ./test/coverage -write")

func main() {
	write := flag.Bool("write", false, "write "+records)
	flag.Parse()
	if err := run(os.Stdout, ".", *write, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

// run works in the tree at root. live are files of hosts that were read live.
func run(out io.Writer, root string, write bool, live []string) error {
	base, err := rules()
	if err != nil {
		return err
	}
	name := filepath.Join(root, records)
	before, err := coverage.Read(os.DirFS(filepath.Join(root, "knowledge")))
	if err != nil {
		return err
	}
	all, err := hosts(root, live)
	if err != nil {
		return err
	}
	now, lost := coverage.Make(base, all, before)
	untested := 0
	for _, s := range now.Standings(base.Rules()) {
		if s.Untested() {
			untested++
		}
	}
	fmt.Fprintf(out, "%d hosts, %d rules, %d untested\n", len(all), len(base.Rules()), untested)
	for _, id := range lost {
		fmt.Fprintf(out, "%s: its condition has changed, so its tests on live hosts no longer count\n", id)
	}
	if write {
		return os.WriteFile(name, now.Text(), 0o644)
	}
	was, err := os.ReadFile(name)
	if err == nil && !bytes.Equal(was, now.Text()) {
		err = errStale
	}
	return err
}

func rules() (*rule.Base, error) {
	cat, err := catalog.Load(knowledge.FS)
	if err != nil {
		return nil, err
	}
	return rule.Load(knowledge.FS, cat)
}

// hosts reads all real hosts: the tapes, and the files.
func hosts(root string, live []string) ([]coverage.Host, error) {
	tapes, err := filepath.Glob(filepath.Join(root, "fixtures", "*.tape.gz"))
	if err != nil {
		return nil, err
	}
	var all []coverage.Host
	for _, tape := range tapes {
		var text, errs bytes.Buffer
		if code := cli.Main([]string{"stack", "--json", "--tape", tape}, strings.NewReader(""), &text, &errs); code != 0 {
			return nil, fmt.Errorf("replay %s: exit %d: %s", tape, code, errs.String())
		}
		s, err := stackOf(text.Bytes())
		if err != nil {
			return nil, fmt.Errorf("replay %s: %w", tape, err)
		}
		all = append(all, coverage.Host{Name: strings.TrimSuffix(filepath.Base(tape), ".tape.gz"), Stack: s})
	}
	for _, name := range live {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		s, err := stackOf(text)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if s.TakenAt.IsZero() {
			return nil, fmt.Errorf("read %s: it does not say when the host was read", name)
		}
		all = append(all, coverage.Host{Name: strings.TrimSuffix(filepath.Base(name), ".json"), Day: s.TakenAt.UTC().Format(time.DateOnly), Stack: s})
	}
	return all, nil
}

// stackOf reads a document of plumb stack --json.
func stackOf(text []byte) (*stack.Stack, error) {
	var doc struct {
		Kind  string       `json:"kind"`
		Stack *stack.Stack `json:"stack"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if doc.Kind != "stack" || doc.Stack == nil {
		return nil, errors.New("it is not a document of plumb stack --json")
	}
	return doc.Stack, nil
}
