package private

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
)

// rules say which settings a server of the lab may have: none that would lead
// it out of its box, or that its files cannot say.
type rules struct {
	canonical func(name string) string // as the server shows it
	noun      string                   // what the server calls a setting
	name      *regexp.Regexp           // of those there can be
	controls  string                   // characters no value can have
	ours      []string                 // the lab sets them, or others like them
	box       string                   // what they are
	leaves    func(key string) bool    // those by which the server would leave the box
	would     string                   // what it would do
	more      func(name, key, value string) error
	create    func(name, value string) error // for a setting that counts when the data is made
}

// validate refuses what the rules forbid.
func (r rules) validate(s experiment.Server) error {
	for _, name := range slices.Sorted(maps.Keys(s.Create)) {
		if err := r.create(name, s.Create[name]); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
		if err := r.setting(name, s.Settings[name]); err != nil {
			return err
		}
	}
	return nil
}

func (r rules) setting(name, value string) error {
	key := r.canonical(name)
	switch {
	case !r.name.MatchString(name):
		return fmt.Errorf("the setting %q has a name no %s can have", name, r.noun)
	case strings.ContainsAny(value, r.controls):
		return fmt.Errorf("the setting %s has control characters in its value", name)
	case slices.Contains(r.ours, key):
		return hint.With(fmt.Errorf("the setting %s is the lab's own: %s keep the server in its box", name, r.box), "leave it out")
	case r.leaves(key):
		return hint.With(fmt.Errorf("the setting %s would have the server %s, or reach other servers", name, r.would), "leave it out")
	}
	return r.more(name, key, value)
}

// spelled gives settings by the server's own spelling of their names; the
// later maps win.
func (r rules) spelled(from ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, settings := range from {
		for name, value := range settings {
			all[r.canonical(name)] = strings.TrimSpace(value)
		}
	}
	return all
}
