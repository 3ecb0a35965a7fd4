package counted

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"plumb/internal/stats"
)

// soon is within how many seconds a verdict is to be raised.
const soon = 25

// Table writes all runs, and what they come to.
func Table(w io.Writer, all []Run) error {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Run) int { return cmp.Or(strings.Compare(a.Test, b.Test), cmp.Compare(a.Run, b.Run)) })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "incident\trun\ttwin\twanted\tsaid\tright\tafter s\tsaid besides")
	for _, r := range all {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", r.name(), r.Run, word(r.Twin(), "twin", ""), cmp.Or(r.Wanted, "-"), cmp.Or(r.Said, "-"), r.result(), r.after(), r.besides())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n"+Sum(all))
	return err
}

func (r Run) name() string {
	name, _ := strings.CutSuffix(strings.TrimPrefix(r.Test, "Test"), "/twin")
	name, _ = strings.CutSuffix(name, "/incident")
	return name
}

func (r Run) result() string {
	if r.Skipped != "" {
		return "not run"
	}
	return word(r.Right, "right", "WRONG")
}

func (r Run) after() string {
	if r.Seconds == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *r.Seconds)
}

// besides is what else was said, and what went wrong.
func (r Run) besides() string {
	var out []string
	for _, id := range r.All {
		if id != r.Said {
			out = append(out, id)
		}
	}
	if why := cmp.Or(r.Why, r.Skipped); why != "" {
		out = append(out, fmt.Sprintf("%.160s", why))
	}
	return strings.Join(out, ", ")
}

func word(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// Sum says what runs come to, against what is asked of them.
func Sum(all []Run) string {
	var incidents, right, twins, wrong, late, skipped int
	slowest := Run{}
	for _, r := range all {
		switch {
		case r.Skipped != "":
			skipped++
			continue
		case r.Twin():
			twins++
			if !r.Right || r.First != "" {
				wrong++
			}
			continue
		}
		incidents++
		if r.Right {
			right++
		}
		if r.Right && r.Seconds != nil {
			if *r.Seconds > soon {
				late++
			}
			if slowest.Seconds == nil || *r.Seconds > *slowest.Seconds {
				slowest = r
			}
		}
	}
	share := stats.Share(float64(right), float64(incidents))
	text := fmt.Sprintf("incidents  %d of %d right (%.0f to %.0f %%, 95 %%); asked is 95 %%\n", right, incidents, 100*share.Low, 100*share.High)
	text += fmt.Sprintf("twins      %d of %d with a verdict; asked is 1 at most\n", wrong, twins)
	if slowest.Seconds != nil {
		text += fmt.Sprintf("raised     %d of those right later than %d s; the last was %s, run %d, after %s s\n", late, soon, slowest.name(), slowest.Run, slowest.after())
	}
	if skipped > 0 {
		text += fmt.Sprintf("not run    %d\n", skipped)
	}
	return text
}
