package test

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plumb/internal/cli"
	"plumb/internal/cli/shell"
	"plumb/test/pages"
)

// readmeLines is what a DBA reads in ten minutes, with one screen of output.
const readmeLines = 180

func TestReadmeTakesTenMinutes(t *testing.T) {
	if n := strings.Count(pages.Read(t, "..")["README.md"], "\n"); n > readmeLines {
		t.Errorf("README.md has %d lines, the limit is %d: move something to docs/", n, readmeLines)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
)

// TestLinksLeadSomewhere follows the relative links of every page, to files
// and to headings.
func TestLinksLeadSomewhere(t *testing.T) {
	all, followed := pages.Read(t, ".."), 0
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(pages.Fenced.ReplaceAllString(text, ""), -1) {
			u, err := url.Parse(m[1])
			if err != nil || u.Scheme != "" {
				continue
			}
			followed++
			to := page
			if u.Path != "" {
				to = filepath.Join(filepath.Dir(page), u.Path)
			}
			if _, err := os.Stat(filepath.Join("..", to)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, m[1])
			} else if u.Fragment != "" && !slices.Contains(anchors(all[to]), u.Fragment) {
				t.Errorf("%s: %s has no heading #%s", page, to, u.Fragment)
			}
		}
	}
	if followed < 30 {
		t.Fatalf("found only %d links", followed)
	}
}

// TestTablesEndBeforeText: GitHub shows a line right below a table as one more row of it.
func TestTablesEndBeforeText(t *testing.T) {
	for page, text := range pages.Read(t, "..") {
		above := ""
		for line := range strings.Lines(pages.Fenced.ReplaceAllString(text, "")) {
			if strings.HasPrefix(above, "|") && !strings.HasPrefix(line, "|") && strings.TrimSpace(line) != "" {
				t.Errorf("%s: no blank line between a table and %q", page, line)
			}
			above = line
		}
	}
}

// anchors names the headings of a page as GitHub links to them.
func anchors(text string) (list []string) {
	for _, m := range heading.FindAllStringSubmatch(pages.Fenced.ReplaceAllString(text, ""), -1) {
		kept := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		list = append(list, strings.ReplaceAll(strings.TrimSpace(kept), " ", "-"))
	}
	return list
}

// TestEveryVerbHasItsPage: the man pages tell which commands there are.
func TestEveryVerbHasItsPage(t *testing.T) {
	dir, docs := t.TempDir(), ""
	if code := cli.Main([]string{"man", dir}, strings.NewReader(""), io.Discard, os.Stderr); code != 0 {
		t.Fatalf("plumb man ended with %d", code)
	}
	for page, text := range pages.Read(t, "..") {
		if strings.HasPrefix(page, "docs/") {
			docs += text
		}
	}
	verbs, err := filepath.Glob(dir + "/plumb-*.1")
	if err != nil || len(verbs) < 20 {
		t.Fatalf("found only %d verbs, %v", len(verbs), err)
	}
	for _, file := range verbs {
		verb := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".1"), "-", " ")
		if !regexp.MustCompile(regexp.QuoteMeta(verb) + `\b`).MatchString(docs) {
			t.Errorf("no page in docs/ names %s", verb)
		}
	}
}

var shown = regexp.MustCompile("(?ms)^```\n\\$ plumb ((?:explain |rules|forecast monitor |[^\n]*fixtures/)[^\n]*)\n(.*?)^```$")

// Of what a page shows, these commands are run, without these flags: tests run as root, and a page can show any command.
var (
	reads  = regexp.MustCompile(`^(check|explain|stack|rules|forecast)\b`)
	writes = regexp.MustCompile(`(^|\s)(-o|--output|--html|--keep)\b`)
)

// TestShownOutputIsReal runs the commands of README and docs/ whose output is
// the same everywhere: those on recorded hosts, and on the rules. A page may
// end what it shows with a line "...". With -update the pages are rewritten.
func TestShownOutputIsReal(t *testing.T) {
	t.Chdir("..")
	t.Setenv("COLUMNS", "80")
	t.Setenv("LC_ALL", "C.UTF-8")
	if _, err := os.Stat("plumb-lab"); err == nil {
		t.Skip("explain shows what is in ./plumb-lab too: move it away")
	}
	names, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range append(names, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		fresh := shown.ReplaceAllFunc(text, func(block []byte) []byte {
			ran++
			m := shown.FindSubmatch(block)
			want, err := printed(string(m[1]), string(m[2]))
			if err != nil {
				t.Errorf("%s: %v", page, err)
				return block
			}
			if !bytes.Equal(m[2], want) && !*update {
				t.Errorf("%s: plumb %s prints now (go test ./test -update):\n%s", page, m[1], want)
			}
			return slices.Concat([]byte("```\n$ plumb "), m[1], []byte("\n"), want, []byte("```"))
		})
		if *update && !bytes.Equal(fresh, text) {
			if err := os.WriteFile(page, fresh, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if ran < 5 {
		t.Fatalf("found only %d commands", ran)
	}
}

// printed is what a command prints, as much of it as the page shows.
func printed(command, before string) ([]byte, error) {
	if !reads.MatchString(command) || writes.MatchString(command) {
		return nil, fmt.Errorf("plumb %s may write, so it is not run here: show it without fixtures/, or its output apart from it", command)
	}
	var out, said bytes.Buffer
	// 1 is the end of what was refused, or found: that is shown too.
	if code := cli.Main(strings.Fields(command), strings.NewReader(""), &out, &said); code > shell.ExitFound {
		return nil, fmt.Errorf("plumb %s ended with %d: %s", command, code, said.String())
	}
	lines := strings.SplitAfter(out.String(), "\n")
	if n := strings.Count(before, "\n"); strings.HasSuffix(before, "\n...\n") && n <= len(lines) {
		return []byte(strings.Join(lines[:n-1], "") + "...\n"), nil
	}
	return out.Bytes(), nil
}

// TestShownOutputWritesNothing: of what a page shows, only what reads is run.
func TestShownOutputWritesNothing(t *testing.T) {
	made := filepath.Join(t.TempDir(), "fixtures/x.tape")
	if err := os.Mkdir(filepath.Dir(made), 0o755); err != nil {
		t.Fatal(err)
	}
	page := "```\n$ plumb capture -o " + made + "\n```"
	m := shown.FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("it is not taken for a command of a page: %s", page)
	}
	if out, err := printed(m[1], m[2]); err == nil {
		t.Errorf("it was run, and printed %s", out)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("it has written a file")
	}
}
