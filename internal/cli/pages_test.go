package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/knowledge"
	"plumb/test/pages"
)

// TestCommandLinesOnPagesExist: every command line that a page or the help shows names commands and flags that
// there are. A flag that was renamed, or was only meant to be made, is found here.
func TestCommandLinesOnPagesExist(t *testing.T) {
	tree := (&app{Shell: shell.New(strings.NewReader(""), io.Discard, io.Discard)}).root()
	seen := 0
	check := func(where string, lines []string) {
		for _, line := range lines {
			if seen++; sentence.MatchString(line) {
				continue
			}
			if wrong := wrongIn(tree, line); wrong != "" {
				t.Errorf("%s: plumb %s: %s", where, line, wrong)
			}
		}
	}
	for name, text := range pages.Read(t, "../..") {
		check(name, append(inBlocks(text), inSpans(text)...))
	}
	for _, c := range everyCommand(tree) {
		check(c.CommandPath()+" --help", append(inLines(c.Example), inProse(c.Long)...))
	}
	if seen < 500 {
		t.Fatalf("found only %d command lines", seen)
	}
}

// TestCommandsInKnowledgeExist: the same of what rules and verdicts say.
func TestCommandsInKnowledgeExist(t *testing.T) {
	tree := (&app{Shell: shell.New(strings.NewReader(""), io.Discard, io.Discard)}).root()
	err := fs.WalkDir(knowledge.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(knowledge.FS, name)
		for _, line := range inProse(string(text)) {
			if wrong := wrongIn(tree, line); wrong != "" {
				t.Errorf("knowledge/%s: plumb %s: %s", name, line, wrong)
			}
		}
		return err
	})
	must(t, err)
}

// TestCommandsInMessagesExist: the same of what errors, hints and reports say.
func TestCommandsInMessagesExist(t *testing.T) {
	tree := (&app{Shell: shell.New(strings.NewReader(""), io.Discard, io.Discard)}).root()
	seen := 0
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			text, is := n.(*ast.BasicLit)
			if !is || text.Kind != token.STRING {
				return true
			}
			said, err := strconv.Unquote(text.Value)
			must(t, err)
			for _, line := range inProse(said) {
				seen++
				if wrong := wrongIn(tree, line); wrong != "" {
					t.Errorf("%s: plumb %s: %s", name, line, wrong)
				}
			}
			return true
		})
		return nil
	})
	must(t, err)
	if seen < 100 {
		t.Fatalf("found only %d command lines", seen)
	}
}

// TestWrongCommandLinesAreSeen: the check above can fail.
func TestWrongCommandLinesAreSeen(t *testing.T) {
	tree := (&app{Shell: shell.New(strings.NewReader(""), io.Discard, io.Discard)}).root()
	page := "Type `plumb chekc`, or `sudo plumb check --al`.\n```\n$ plumb backup prune --kep 7d | less --raw\nplumb boost tank 1h -- tar --acls\n```\n"
	var wrong []string
	for _, line := range append(inBlocks(page), inSpans(page)...) {
		if w := wrongIn(tree, line); w != "" {
			wrong = append(wrong, w)
		}
	}
	want := []string{"plumb backup prune has no --kep", `there is no command "chekc"`, "plumb check has no --al"}
	if !slices.Equal(wrong, want) {
		t.Errorf("got %q, want %q", wrong, want)
	}
}

var (
	span     = regexp.MustCompile("`([^`]+)`")
	typed    = regexp.MustCompile(`(?:^|[\s'"(])plumb +(.*)`)
	prose    = regexp.MustCompile(`\bplumb((?: [a-z][a-z-]*)+(?: --[a-z][a-z-]*)+)`)
	ends     = regexp.MustCompile(`\s(?:\||>+|&&|\|\||;|#|--)(?:\s|$)|;(?:\s|$)|\s{2,}`)
	argument = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)
	word     = regexp.MustCompile(`^[a-z][a-z-]*$`)
	flagName = regexp.MustCompile(`^[a-z][a-z0-9_-]*`)
	// sentences that begin with the program's name, in what it prints
	sentence = regexp.MustCompile(`^(?:is not purged|removes this backup|devel$)`)
)

// inBlocks gives the command lines in the fenced blocks of a page, each from its first word after plumb on.
func inBlocks(page string) (all []string) {
	for _, m := range pages.Fenced.FindAllStringSubmatch(page, -1) {
		all = append(all, inLines(strings.ReplaceAll(m[1], "\\\n", " "))...)
	}
	return all
}

// inSpans gives those between backquotes in its text.
func inSpans(page string) (all []string) {
	for _, m := range span.FindAllStringSubmatch(pages.Fenced.ReplaceAllString(page, ""), -1) {
		all = append(all, inLines(m[1])...)
	}
	return all
}

// inLines gives what is typed after plumb in each line, up to a pipe, a comment or another command.
func inLines(text string) (all []string) {
	for line := range strings.Lines(text) {
		for {
			m := typed.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil {
				break
			}
			line = m[1]
			if end := ends.FindStringIndex(line); end != nil {
				all, line = append(all, line[:end[0]]), line[end[0]:]
				continue
			}
			all = append(all, line)
			break
		}
	}
	return all
}

// inProse gives commands with the flags that follow at once: what comes after is the sentence.
func inProse(text string) (all []string) {
	for _, paragraph := range strings.Split(text, "\n\n") {
		for _, m := range prose.FindAllStringSubmatch(strings.Join(strings.Fields(paragraph), " "), -1) {
			all = append(all, strings.TrimSpace(m[1]))
		}
	}
	return all
}

// wrongIn says what of a command line there is not, or "".
func wrongIn(tree *cobra.Command, line string) string {
	args := argument.FindAllString(line, -1)
	c, _, err := tree.Find(args)
	if err != nil || c == tree && len(args) > 0 && word.MatchString(args[0]) {
		if len(args) == 0 || !word.MatchString(args[0]) { // COMMAND, and other words that stand for one
			return ""
		}
		return `there is no command "` + args[0] + `"`
	}
	if c.DisableFlagParsing { // it reads its arguments itself
		return ""
	}
	c.InitDefaultHelpFlag()
	for _, a := range args {
		name, isFlag := strings.CutPrefix(strings.TrimLeft(a, "[("), "--")
		name = flagName.FindString(name)
		if !isFlag || name == "" {
			continue
		}
		if c.Flags().Lookup(name) == nil && c.InheritedFlags().Lookup(name) == nil {
			return c.CommandPath() + " has no --" + name
		}
	}
	return ""
}
