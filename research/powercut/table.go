package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// sums is what the trials of one row and kind add up to.
type sums struct {
	trials, sessions     int
	acknowledged, lost   int64
	lossy, worst         int64 // trials that lost, and the most that one lost
	failed, inconsistent int
	checks               []string // that found something
}

func sum(list []trial) sums {
	s := sums{trials: len(list)}
	seen := map[int]bool{}
	for _, t := range list {
		o := t.Outcome
		seen[t.Session] = true
		s.acknowledged += o.Acknowledged
		s.lost += o.Lost
		s.worst = max(s.worst, o.Lost)
		if o.Lost > 0 {
			s.lossy++
		}
		if o.failedStart() {
			s.failed++
		}
		if len(o.Bad) > 0 {
			s.inconsistent++
		}
		for _, name := range o.Bad {
			if !slices.Contains(s.checks, name) {
				s.checks = append(s.checks, name)
			}
		}
	}
	s.sessions = len(seen)
	slices.Sort(s.checks)
	return s
}

// atMost is the largest chance that something which was never seen in n trials
// can have, with 95 % confidence: (1-p)^n = 0.05. It takes the trials for
// independent; cuts of one session are not quite.
func atMost(n int) float64 {
	if n < 1 {
		return 1
	}
	return 1 - math.Pow(0.05, 1/float64(n))
}

// table writes what was found as Markdown. Rows without trials are listed
// after it, so that nobody takes silence for safety.
func table(rows []row, all []trial) string {
	var b strings.Builder
	b.WriteString("| set-up | power cut | trials | acknowledged commits lost | failed starts | inconsistent |\n")
	b.WriteString("|---|---|---:|---:|---:|---:|\n")
	var missing, void []string
	fewest := 0
	for _, r := range rows {
		for _, k := range append(kinds(), aimed) {
			if n := voids(all, r, k); n > 0 {
				void = append(void, fmt.Sprintf("%s (%s): %d", r.label(), k, n))
			}
			s := sum(counted(all, r, k))
			if s.trials == 0 && k == aimed {
				continue
			}
			if s.trials == 0 {
				missing = append(missing, fmt.Sprintf("%s (%s)", r.label(), k))
				continue
			}
			if k != aimed && (fewest == 0 || s.trials < fewest) {
				fewest = s.trials
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.title(), k, s.count(), s.losses(), of(s.failed, s.trials), s.broken())
		}
	}
	b.WriteString("\n" + legend)
	if fewest > 0 {
		fmt.Fprintf(&b, "What was seen in none of %d trials may still happen in up to %.0f %% of power cuts (95 %% confidence).\n", fewest, math.Ceil(100*atMost(fewest)))
	}
	b.WriteString(exposures(rows, all))
	if len(void) > 0 {
		fmt.Fprintf(&b, "\nTrials that could not be carried out and are not counted: %s.\n", strings.Join(void, ", "))
	}
	if len(missing) > 0 {
		fmt.Fprintf(&b, "\nNot tried: %s.\n", strings.Join(missing, ", "))
	}
	return b.String()
}

const legend = `killed: QEMU, which keeps the disk, was killed; every write that was complete is kept. That is the death of a machine,
and of its page cache, whose disk has no volatile cache. replayed: the log of the disk's writes was replayed up to the last flush
before the cut, and of what followed a random part, torn at sectors of 512 bytes. That is the loss of power of a disk
with a volatile cache. aimed: the same, cut where a page of InnoDB and its copy in the doublewrite buffer were written and not
flushed; the copy was lost and the page torn.
`

func (r row) title() string {
	name := map[string]string{"mariadb": "MariaDB", "mysql": "MySQL", "postgres": "PostgreSQL"}[r.engine]
	version := map[string]string{"mariadb" + bookworm: "10.11", "mariadb" + trixie: "11.8", "postgres" + bookworm: "15", "postgres" + trixie: "17", "mysql" + sid: "9"}[r.engine+r.release]
	if kernel, server, here := strings.Cut(r.versions, ", "); here {
		return server + " on this host's kernel " + strings.TrimPrefix(kernel, "Linux ") + ", " + r.says
	}
	return name + " " + version + ", " + r.says
}

// label is a row's name, and where it runs if that is on a host.
func (r row) label() string {
	if r.release == onHost {
		return r.name + " on a host"
	}
	return r.name
}

// count tells sessions apart from trials where they differ.
func (s sums) count() string {
	if s.sessions == s.trials {
		return fmt.Sprint(s.trials)
	}
	plural := "s"
	if s.sessions == 1 {
		plural = ""
	}
	return fmt.Sprintf("%d cuts of %d session%s", s.trials, s.sessions, plural)
}

func (s sums) losses() string {
	if s.lost == 0 {
		return fmt.Sprintf("0 of %d", s.acknowledged)
	}
	return fmt.Sprintf("%d of %d, in %d trials, at most %d", s.lost, s.acknowledged, s.lossy, s.worst)
}

func (s sums) broken() string {
	text := of(s.inconsistent, s.trials)
	if len(s.checks) > 0 {
		text += ": " + strings.Join(s.checks, ", ")
	}
	return text
}

func of(n, all int) string { return fmt.Sprintf("%d of %d", n, all) }

// voids counts the trials of a row that say nothing.
func voids(all []trial, r row, k kind) (n int) {
	for _, t := range all {
		if t.of(r, k) && t.Error != "" {
			n++
		}
	}
	return n
}
