package check

import (
	"fmt"
	"strings"
	"testing"

	"plumb/internal/stack"
	"plumb/internal/view/page"
	stackview "plumb/internal/view/stack"
	"plumb/internal/view/viewtest"
)

// longHost has names that no line holds.
func longHost() *stack.Stack {
	s := viewtest.ZfsHost()
	long := "/srv/databases/production/eu-central-1/customer-with-a-long-name/mariadb-main/instance-0001/var/lib/mysql/data-directory"
	for i := range s.Roles {
		if s.Roles[i].Filesystem.IsZero() {
			continue
		}
		s.Roles[i].Path = long + "/" + s.Roles[i].Name
	}
	viewtest.Set(s.Host(), "hostname", strings.Repeat("a-very-long-host-name.", 8)+"example")
	viewtest.Set(s.Find(stack.Ref{Kind: "mysql", Name: "3306"}), "innodb_flush_method", strings.Repeat("x", 150))
	s.Gaps = append(s.Gaps, stack.Gap{Of: s.Host().Ref, Facts: []string{"cloud"}, Why: "read " + long + long + ": input/output error"})
	return s
}

func TestNoLineIsWiderThanTheScreen(t *testing.T) {
	for _, w := range []int{60, 80, 100, 120} {
		screen := page.Screen{Width: w}
		var sum Summary
		sum.Add(strings.Repeat("long", 30)+".tape", viewtest.TestReport(longHost()))
		sum.Fail(strings.Repeat("long", 30)+".tape", fmt.Errorf("%s", strings.Repeat("why", 60)))
		for name, text := range map[string]string{
			"check":   Text(viewtest.TestReport(longHost()), Options{All: true}, screen),
			"brief":   Text(viewtest.TestReport(viewtest.ZfsHost()), Options{}, screen),
			"lvm":     stackview.Text(viewtest.LvmHost(), viewtest.Units(), nil, screen),
			"stack":   stackview.Text(longHost(), viewtest.Units(), nil, screen),
			"quiet":   Text(viewtest.QuietReport(viewtest.LvmHost()), Options{}, screen),
			"summary": sum.Text(true, screen),
		} {
			viewtest.Fits(t, name, text, w)
		}
	}
}

func TestASCIIScreenGetsASCII(t *testing.T) {
	screen := page.Screen{Width: 80, ASCII: true}
	for _, text := range []string{stackview.Text(viewtest.ZfsHost(), viewtest.Units(), nil, screen), Text(viewtest.TestReport(viewtest.ZfsHost()), Options{}, screen)} {
		viewtest.IsASCII(t, text)
	}
	viewtest.Golden(t, "stack-ascii.txt", stackview.Text(viewtest.ZfsHost(), viewtest.Units(), nil, screen))
}

func TestNothingIsLostWhenALongWordIsCut(t *testing.T) {
	word := "/srv/" + strings.Repeat("directory/", 30) + strings.Repeat("z", 200)
	if got := strings.Join(page.Wrap(word, 40), ""); got != word {
		t.Errorf("%q became %q", word, got)
	}
}
