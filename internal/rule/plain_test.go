package rule_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"plumb/knowledge"
)

// stilted are words that a DBA does not write, with what they write instead.
var stilted = map[string]*regexp.Regexp{
	"again, or recreated":            regexp.MustCompile(`(?i)\banew\b`),
	"usually":                        regexp.MustCompile(`(?i)\bas a rule\b`),
	"next to, or in addition to":     regexp.MustCompile(`(?i)\bbeside\b`),
	"by itself, or automatically":    regexp.MustCompile(`(?i)\bof its own accord\b`),
	"removed, or undone":             regexp.MustCompile(`(?i)\btak(e|es|en|ing) away\b`),
	"slower, or more expensive":      regexp.MustCompile(`(?i)\bdearer\b`),
	"in the meantime":                regexp.MustCompile(`(?i)\bmeanwhile\b`),
	"is":                             regexp.MustCompile(`(?i)\blies? (in|on|at|there)\b`),
	"without, or if there is no":     regexp.MustCompile(`(?i)\bfor want of\b`),
	"the finding is right, or wrong": regexp.MustCompile(`\bIt is (right|wrong) (where|for)\b`),
}

// TestTextsArePlainEnglish: what Plumb knows is read by people in a hurry, many of whom speak another language.
func TestTextsArePlainEnglish(t *testing.T) {
	read := 0
	for _, dir := range []string{"rules", "verdicts", "facts", "knobs", "windows", "samples", "metrics"} {
		err := fs.WalkDir(knowledge.FS, dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(knowledge.FS, name)
			if err != nil {
				return err
			}
			shown, _, _ := strings.Cut(string(text), "\nexamples:")
			shown, _, _ = strings.Cut(shown, "\nquote:") // the words of others
			read++
			for better, words := range stilted {
				if at := words.FindString(strings.Join(strings.Fields(shown), " ")); at != "" {
					t.Errorf("knowledge/%s: %q: write %q", name, at, better)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 400 {
		t.Fatalf("read only %d texts", read)
	}
}
