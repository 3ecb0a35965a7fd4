package view

import (
	"fmt"
	"strings"
	"testing"

	"plumb/internal/stack"
)

// longHost has names that no line holds.
func longHost() *stack.Stack {
	s := zfsHost()
	long := "/srv/databases/production/eu-central-1/customer-with-a-long-name/mariadb-main/instance-0001/var/lib/mysql/data-directory"
	for i := range s.Roles {
		if s.Roles[i].Filesystem.IsZero() {
			continue
		}
		s.Roles[i].Path = long + "/" + s.Roles[i].Name
	}
	set(s.Host(), "hostname", strings.Repeat("a-very-long-host-name.", 8)+"example")
	set(s.Find(stack.Ref{Kind: "mysql", Name: "3306"}), "innodb_flush_method", strings.Repeat("x", 150))
	s.Gaps = append(s.Gaps, stack.Gap{Of: s.Host().Ref, Facts: []string{"cloud"}, Why: "read " + long + long + ": input/output error"})
	return s
}

func TestNoLineIsWiderThanTheScreen(t *testing.T) {
	for _, w := range []int{60, 80, 100, 120} {
		screen := Screen{Width: w}
		var sum Summary
		sum.Add(strings.Repeat("long", 30)+".tape", testReport(longHost()))
		sum.Fail(strings.Repeat("long", 30)+".tape", fmt.Errorf("%s", strings.Repeat("why", 60)))
		for name, text := range map[string]string{
			"check":   Check(testReport(longHost()), CheckOptions{All: true}, screen),
			"brief":   Check(testReport(zfsHost()), CheckOptions{}, screen),
			"lvm":     Stack(lvmHost(), units(), nil, screen),
			"stack":   Stack(longHost(), units(), nil, screen),
			"quiet":   Check(quietReport(lvmHost()), CheckOptions{}, screen),
			"summary": sum.Text(true, screen),
		} {
			for l := range strings.Lines(text) {
				if l = strings.TrimRight(l, "\n"); width(l) > w {
					t.Errorf("%s at %d columns has a line of %d: %s", name, w, width(l), l)
				}
			}
		}
	}
}

func TestASCIIScreenGetsASCII(t *testing.T) {
	screen := Screen{Width: 80, ASCII: true}
	for _, text := range []string{Stack(zfsHost(), units(), nil, screen), Check(testReport(zfsHost()), CheckOptions{}, screen)} {
		if i := strings.IndexFunc(text, func(r rune) bool { return r > 127 }); i >= 0 {
			t.Errorf("not ASCII: %q", text[i:min(len(text), i+20)])
		}
	}
	golden(t, "stack-ascii.txt", Stack(zfsHost(), units(), nil, screen))
}

func TestNothingIsLostWhenALongWordIsCut(t *testing.T) {
	word := "/srv/" + strings.Repeat("directory/", 30) + strings.Repeat("z", 200)
	if got := strings.Join(wrap(word, 40), ""); got != word {
		t.Errorf("%q became %q", word, got)
	}
}
