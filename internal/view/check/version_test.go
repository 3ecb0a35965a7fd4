package check

import (
	"strings"
	"testing"

	"plumb/internal/check"
	"plumb/internal/host/hosttest"
	"plumb/internal/observe"
	"plumb/internal/stack"
	"plumb/internal/view/page"
	stackview "plumb/internal/view/stack"
)

// TestUnknownVersionsAreSaid: a server older or newer than what Plumb knows
// is said to be so in every form, and one that is known is not.
func TestUnknownVersionsAreSaid(t *testing.T) {
	cat := hosttest.Catalog(t)
	for version, want := range map[string]string{"5.6.51": "older than 5.7, the first that Plumb knows", "9.7.4": "", "26.7.0": "newer than 9.7, the last that Plumb knows"} {
		var see stack.Observation
		see.New("host", "db1")
		db := see.New("mysql", "3306")
		db.Set("flavor", stack.Text("mysql"), "test")
		db.Set("version", stack.Text(version), "test")
		s := &stack.Stack{}
		s.Add("test", see)
		observe.TellVersions(s, cat)
		r := check.Report{Stack: s, Catalog: cat}
		check, err := page.JSON(Document(r))
		if err != nil {
			t.Fatal(err)
		}
		screen := page.Screen{Width: 200}
		for form, text := range map[string]string{
			"check": Text(r, Options{}, screen), "stack": stackview.Text(s, cat, nil, screen), "check --json": string(check),
		} {
			if n := strings.Count(text, "that Plumb knows"); n != min(1, len(want)) || !strings.Contains(text, want) {
				t.Errorf("%s of MySQL %s says it %d times:\n%s", form, version, n, text)
			}
		}
	}
}
