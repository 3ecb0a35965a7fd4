package forecast

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch/record"
)

// TestNamesOfDrives: a drive is itself whatever it is called, and another one under its name is not it.
func TestNamesOfDrives(t *testing.T) {
	at := func(day int) time.Time { return morning.AddDate(0, 0, day) }
	picture := func(day int, wwids ...string) record.Item {
		s := &stack.Stack{}
		for i, id := range wwids {
			b := stack.NewThing("block", []string{"nvme0n1", "nvme1n1"}[i])
			if id != "" {
				b.Set("wwid", stack.Text(id), "made")
			}
			s.Things = append(s.Things, b)
		}
		return record.Item{At: at(day), Picture: s}
	}
	told := func(day int, used ...float64) record.Item {
		b := &series.Batch{At: at(day)}
		for i, v := range used {
			b.Set(stack.Ref{Kind: "block", Name: []string{"nvme0n1", "nvme1n1"}[i]}, "nvme_used", v)
		}
		return record.Item{At: at(day), Batch: b}
	}
	for name, c := range map[string]struct {
		items []record.Item
		want  [2][]float64
		noted int
	}{
		"as ever":           {[]record.Item{picture(0, "a", "b"), told(1, 3, 50), picture(2, "a", "b"), told(3, 4, 51)}, [2][]float64{{3, 4}, {50, 51}}, 0},
		"names are swapped": {[]record.Item{picture(0, "a", "b"), told(1, 3, 50), picture(2, "b", "a"), told(3, 51, 4)}, [2][]float64{{50, 51}, {3, 4}}, 2},
		"one is replaced":   {[]record.Item{picture(0, "a", "b"), told(1, 3, 50), picture(2, "c", "b"), told(3, 40, 51)}, [2][]float64{{40}, {50, 51}}, 1},
		"one is removed":    {[]record.Item{picture(0, "a", "b"), told(1, 3, 50), picture(2, "b"), told(3, 51)}, [2][]float64{{50, 51}}, 1},
		"known later":       {[]record.Item{told(0, 3, 50), picture(1, "", ""), picture(2, "a", "b"), told(3, 4, 51)}, [2][]float64{{3, 4}, {50, 51}}, 0},
		"not known once":    {[]record.Item{picture(0, "a", "b"), told(1, 3, 50), picture(2, "", "b"), told(3, 4, 51)}, [2][]float64{{3, 4}, {50, 51}}, 0},
		"all alike":         {[]record.Item{picture(0, "x", "x"), told(1, 3, 50), picture(2, "x", "x"), told(3, 4, 51)}, [2][]float64{{3, 4}, {50, 51}}, 0},
	} {
		w := newWearing()
		for _, i := range c.items {
			if err := w.item(i); err != nil {
				t.Fatal(err)
			}
		}
		noted, drives := 0, w.drives()
		if (len(drives) == 2) != (c.want[1] != nil) {
			t.Errorf("%s: %+v", name, drives)
		}
		for i, d := range drives {
			if strings.Contains(d.note, "until "+at(2).Format(time.DateOnly)) {
				noted++
			}
			var got []float64
			for _, worn := range d.told {
				got = append(got, worn.Percent)
			}
			if len(got) != len(c.want[i]) || got[0] != c.want[i][0] || got[len(got)-1] != c.want[i][len(got)-1] {
				t.Errorf("%s: %s told %v, want %v", name, d.name, got, c.want[i])
			}
		}
		if noted != c.noted {
			t.Errorf("%s: of %d drives it is said that they are others than before, want %d", name, noted, c.noted)
		}
	}
}

// TestNoReadingsOfDrives: a header alone is no forecast of nothing.
func TestNoReadingsOfDrives(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wear.csv")
	if err := os.WriteFile(file, []byte("date,percent\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if drives, err := (wearFlags{csv: file}).listed(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "below its header it has no reading") || hint.Of(err) == "" {
		t.Errorf("%v, %v", drives, err)
	}
}
