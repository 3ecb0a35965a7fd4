package keep

import (
	"strings"
	"testing"

	"plumb/internal/hint"
)

func TestParse(t *testing.T) {
	r, err := Parse("last=3, 24h,7d,4w,12m,2y,verified=2")
	want := Rules{Last: 3, Hours: 24, Days: 7, Weeks: 4, Months: 12, Years: 2, Verified: 2}
	if err != nil || r != want {
		t.Fatalf("got %+v, %v", r, err)
	}
	if again, err := Parse(r.String()); err != nil || again != r || r.String() != "last=3,24h,7d,4w,12m,2y,verified=2" {
		t.Errorf("%q: got %+v, %v", r, again, err)
	}
	for text, names := range map[string]string{
		"": "nothing", "  ": "nothing", "7d,": "empty", "7": "unit", "7x": "unit", "d": "number", "-1d": "nothing", "0h": "nothing", "+3d": "number",
		"last=": "number", "last=x": "number", "lst=3": `"lst"`, "last=0": "nothing", "3d,3d": "twice", "last=1,last=2": "twice",
		"999999999999999999999d": "number", "200000h": "large", "1.5d": "number", "=3": "known", "last=3d": "number",
	} {
		r, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), names) || hint.Of(err) == "" || r != (Rules{}) {
			t.Errorf("%q: %+v, %v (%s)", text, r, err, hint.Of(err))
		}
	}
	if _, err := Parse("lst=3"); !strings.Contains(hint.Of(err), "last") {
		t.Errorf("no help with lst: %s", hint.Of(err))
	}
}

func FuzzParse(f *testing.F) {
	f.Add("last=3,24h,7d,4w,12m,verified=2")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(r.String()); err != nil || again != r {
			t.Errorf("%q: %+v is written %q, which is %+v, %v", text, r, r, again, err)
		}
	})
}
