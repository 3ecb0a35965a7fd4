package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"plumb/internal/stats"
	"plumb/test/watch/counted"
)

// soon is within how many seconds a verdict is to be raised.
const soon = 25

// table writes all runs, and what they come to. It is no part of the program that plants and
// judges: how runs are shown may change after they were made.
func table(w io.Writer, all []counted.Run) error {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b counted.Run) int { return cmp.Or(strings.Compare(a.Test, b.Test), cmp.Compare(a.Run, b.Run)) })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "incident\trun\ttwin\twanted\tsaid\tright\tafter s\tsaid besides")
	for _, r := range all {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", name(r), r.Run, word(r.Twin(), "twin", ""), cmp.Or(r.Wanted, "-"), cmp.Or(r.Said, "-"), result(r), after(r), besides(r))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n"+sum(all))
	return err
}

func name(r counted.Run) string {
	name, _ := strings.CutSuffix(strings.TrimPrefix(r.Test, "Test"), "/twin")
	name, _ = strings.CutSuffix(name, "/incident")
	return name
}

func result(r counted.Run) string {
	if r.Skipped != "" {
		return "not run"
	}
	return word(r.Right, "right", "WRONG")
}

func after(r counted.Run) string {
	if r.Seconds == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *r.Seconds)
}

// besides is what else was said, and what went wrong.
func besides(r counted.Run) string {
	var out []string
	for _, id := range r.All {
		if id == r.Said {
			continue
		}
		out = append(out, id+word(r.Twin() && slices.Contains(r.False(), id), " (false)", ""))
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

// sum says what runs come to, against what is asked of them.
func sum(all []counted.Run) string {
	var incidents, right, first, twins, wrong, spoke, late, skipped int
	slowest := counted.Run{}
	for _, r := range all {
		switch {
		case r.Skipped != "":
			skipped++
			continue
		case r.Twin():
			twins++
			if !r.Right || r.False() != nil {
				wrong++
			} else if r.First != "" {
				spoke++
			}
			continue
		}
		incidents++
		if !r.Right {
			continue
		}
		right++
		if r.First == r.Wanted {
			first++
		}
		if r.Seconds == nil {
			continue
		}
		if *r.Seconds > soon {
			late++
		}
		if slowest.Seconds == nil || *r.Seconds > *slowest.Seconds {
			slowest = r
		}
	}
	share := stats.Share(float64(right), float64(incidents))
	text := fmt.Sprintf("incidents  %d of %d right (%.0f to %.0f %%, 95 %%); asked is 95 %%; in %d it was the first that was said\n", right, incidents, 100*share.Low, 100*share.High, first)
	text += fmt.Sprintf("twins      %d of %d with a false verdict; asked is 1 at most; %d with one that is true of them too\n", wrong, twins, spoke)
	if slowest.Seconds != nil {
		text += fmt.Sprintf("raised     %d of those right later than %d s; the last was %s, run %d, after %s s\n", late, soon, name(slowest), slowest.Run, after(slowest))
	}
	if skipped > 0 {
		text += fmt.Sprintf("not run    %d\n", skipped)
	}
	return text
}
