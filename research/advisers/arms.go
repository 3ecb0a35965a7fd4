package main

import (
	"maps"
	"slices"
	"strings"

	"plumb/internal/lab/experiment"
)

// Names of arms that every experiment has.
const (
	byDefault = "default"
	byPlumb   = "plumb"
	unsafe    = "(not crash-safe) "
	same      = " = " // between the names of advisers that say the same
)

// arm is one set-up of the contest.
type arm struct {
	names    []string // of the advisers that say the same
	settings map[string]string
	host     map[string]string
	unsafe   bool
}

func (a arm) name() string {
	name := strings.Join(a.names, same)
	if a.unsafe {
		return unsafe + name
	}
	return name
}

func (a arm) equal(b arm) bool {
	return a.unsafe == b.unsafe && maps.Equal(a.settings, b.settings) && maps.Equal(a.host, b.host)
}

// arms gives the set-ups of a cell, the default first and plumb after it, and
// what has to be said about them. Advisers that say the same share one.
func arms(c cell, ours advised) (all []arm, notes []string) {
	add := func(a arm) {
		if i := slices.IndexFunc(all, a.equal); i >= 0 {
			all[i].names = append(all[i].names, a.names...)
			return
		}
		all = append(all, a)
	}
	add(arm{names: []string{byDefault}})
	add(arm{names: []string{byPlumb}, settings: ours.of(c)})
	var atRisk []arm
	for _, a := range otherAdvisers() {
		if a.Engine != c.engine.name || len(a.Host) > 0 && !c.volume.host {
			continue
		}
		one := arm{names: []string{a.Adviser}, settings: a.Settings, host: a.Host}
		add(one)
		notes = append(notes, a.Notes...)
		if len(a.Unsafe) > 0 && c.volume.unsafe {
			one.settings, one.unsafe = maps.Clone(a.Settings), true
			maps.Copy(one.settings, a.Unsafe)
			atRisk = append(atRisk, one)
		}
	}
	return append(all, atRisk...), notes
}

// pairs compares plumb with every other arm that is crash-safe.
func pairs(all []arm) (out []experiment.FilePair) {
	i := slices.IndexFunc(all, func(a arm) bool { return slices.Contains(a.names, byPlumb) })
	for j, a := range all {
		if j != i && !a.unsafe {
			out = append(out, experiment.FilePair{all[i].name(), a.name()})
		}
	}
	return out
}
