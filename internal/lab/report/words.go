package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"plumb/internal/lab/experiment"
	"plumb/internal/stats"
)

// names are what the arms of a comparison are called in a sentence.
type names struct {
	arm, baseline string // where they differ: sync_binlog = 1
	where         string // what they share: " on ext4"; "" for nothing
}

// named tells the arms of a pair apart by the axes on which they differ.
func named(x experiment.Experiment, p experiment.Pair) names {
	a, b := x.Arm(p.Arm), x.Arm(p.Baseline)
	if len(x.Axes) == 0 || a.Levels == nil || b.Levels == nil {
		return names{arm: p.Arm, baseline: p.Baseline}
	}
	var n names
	var first, second, where []string
	for _, axis := range x.Axes {
		one, two := a.Levels[axis.Name], b.Levels[axis.Name]
		if one != two {
			first, second = append(first, levelName(axis, one)), append(second, levelName(axis, two))
			continue
		}
		word := "with "
		if slices.Contains([]string{"filesystem", "volume", "profile", "device", "disk"}, axis.Name) {
			word = "on "
		}
		where = append(where, word+levelName(axis, one))
	}
	n.arm, n.baseline = strings.Join(first, ", "), strings.Join(second, ", ")
	if len(where) > 0 {
		n.where = " " + strings.Join(where, ", ")
	}
	return n
}

// levelName calls a level by its own name where all levels of the axis speak
// for themselves, as xfs and ext4 do; 0, 16K and off do not.
func levelName(axis experiment.Axis, level string) string {
	mute := func(l experiment.Level) bool {
		first := []rune(l.Name + " ")[0]
		return !unicode.IsLetter(first) || slices.Contains([]string{"on", "off", "yes", "no", "true", "false", "none"}, strings.ToLower(l.Name))
	}
	if slices.ContainsFunc(axis.Levels, mute) {
		return axis.Name + " = " + level
	}
	return level
}

// metricName is what a metric of time is called in a sentence.
func metricName(metric string) string {
	if metric == "mean" {
		return "mean response time"
	}
	return metric + " response time"
}

// Known tells whether an estimate has an interval.
func Known(e stats.Estimate) bool { return e.N > 1 && !math.IsInf(e.Low, 0) && !math.IsInf(e.High, 0) }

// times writes a factor: 2.4, 12.
func times(f float64) string {
	if f < 9.95 {
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}
