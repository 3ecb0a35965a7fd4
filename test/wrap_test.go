package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"plumb/test/pages"
)

// Prose is broken at proseWidth where a line of it has more than proseLimit: so a change of one word is one of a line or two.
const (
	proseWidth = 125
	proseLimit = 132
)

// TestProseIsWrapped holds the pages to that, except for the changelog, whose entries are one line each, and for what
// cannot be broken: tables, headings and blocks. With -update the pages are rewritten.
func TestProseIsWrapped(t *testing.T) {
	for page, text := range pages.Read(t, "..") {
		fresh := wrapped(text)
		if page == "CHANGELOG.md" || fresh == text {
			continue
		}
		if *update {
			if err := os.WriteFile(filepath.Join("..", page), []byte(fresh), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s has prose of more than %d columns (go test ./test -update -run ProseIsWrapped)", page, proseLimit)
	}
}

func TestWrappedKeepsWhatItMeans(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for text, want := range map[string]string{
		"short\nlines\n":                       "short\nlines\n",
		"| " + long + "|\n":                    "| " + long + "|\n",
		"```\n" + long + "\n```\n":             "```\n" + long + "\n```\n",
		"# " + long + "\n":                     "# " + long + "\n",
		"* " + long + "\n* b\n":                "* " + strings.TrimSpace(strings.Repeat("word ", 24)) + "\n  word word word word word word\n* b\n",
		long + "([a b](c))\n":                  strings.TrimSpace(strings.Repeat("word ", 25)) + "\nword word word word word ([a b](c))\n",
		long + "- `a b c d`\n":                 strings.TrimSpace(strings.Repeat("word ", 25)) + "\nword word word word word - `a b c d`\n",
		strings.Repeat("a ", 63) + "- bcdef\n": strings.TrimSpace(strings.Repeat("a ", 62)) + "\na - bcdef\n",
	} {
		if got := wrapped(text); got != want || wrapped(got) != got {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

var (
	unbroken  = regexp.MustCompile(`^\s*([|#<>]|\[[^]]*\]:|$)|(  |\\)$`)
	listItem  = regexp.MustCompile(`^\s*([*+-]|\d+\.) +`)
	leading   = regexp.MustCompile(`^\s*`)
	proseWord = regexp.MustCompile("(?:`[^`]*`|\\[[^]]*\\]|[^\\s`[])+|\\S+")
	mark      = regexp.MustCompile(`^([-*+>|#=]+|\d+[.)])$`) // at the beginning of a line it would be a list, a heading …
)

// wrapped is a page with the paragraphs broken anew that have a line which is too wide.
func wrapped(page string) string {
	var out, paragraph []string
	end := func() {
		out = append(out, wrapParagraph(paragraph)...)
		paragraph = nil
	}
	fenced := false
	for _, line := range strings.Split(page, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || fenced || unbroken.MatchString(line) {
			end()
			out = append(out, line)
			fenced = fenced != fence
			continue
		}
		if listItem.MatchString(line) {
			end()
		}
		paragraph = append(paragraph, line)
	}
	end()
	return strings.Join(out, "\n")
}

func wrapParagraph(lines []string) []string {
	if !slices.ContainsFunc(lines, func(l string) bool { return utf8.RuneCountInString(l) > proseLimit }) {
		return lines
	}
	head := listItem.FindString(lines[0])
	if head == "" {
		head = leading.FindString(lines[0])
	}
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	var out []string
	line, width := head, utf8.RuneCountInString(head)
	for _, w := range proseWords(strings.TrimPrefix(strings.Join(lines, " "), head)) {
		n := utf8.RuneCountInString(w)
		switch {
		case line == head && len(out) == 0 || line == indent:
		case width+1+n > proseWidth:
			out, line, width = append(out, line), indent, len(indent)
		default:
			line, width = line+" ", width+1
		}
		line, width = line+w, width+n
	}
	return append(out, line)
}

// proseWords are what a line can be broken between: not within code or the text of a link, nor before what would be a marker then.
func proseWords(text string) (words []string) {
	for _, w := range proseWord.FindAllString(text, -1) {
		if mark.MatchString(w) && len(words) > 0 {
			words[len(words)-1] += " " + w
			continue
		}
		words = append(words, w)
	}
	return words
}
