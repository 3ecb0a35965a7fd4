package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"

	"plumb/internal/lab/experiment"
)

//go:embed layouts.yaml
var layoutsText []byte

// layout is what somebody says of the layout of a server's data.
type layout struct {
	Layout   string
	Engine   string
	Pool     map[string]string
	Above    map[string]string // of the dataset above the others
	Data     map[string]string
	Log      map[string]string // nil: the log lies with the data
	Settings map[string]string // of the server
	Unsafe   struct {
		Settings map[string]string
		Data     map[string]string
	}
	Notes []string
}

// others are the layouts that are not ours.
func others() (all []layout) {
	if err := yaml.Unmarshal(layoutsText, &all); err != nil {
		panic(err) // it is part of the program
	}
	return all
}

// Names of arms that every cell has.
const (
	byDefault   = "ZFS's defaults"
	byProvision = "plumb provision"
	onExt4      = "ext4, as Plumb sets it"
	unsafe      = "(not crash-safe) "
)

// arm is one set-up of a cell.
type arm struct {
	name   string
	volume experiment.Volume
	server map[string]string
	unsafe bool
}

// arms gives the set-ups of a cell, ZFS's defaults first, and what has to be said about them.
func arms(c cell, ours made) (all []arm, notes []string) {
	var atRisk []arm
	for _, l := range others() {
		if l.Engine != c.engine.name {
			continue
		}
		all = append(all, arm{name: l.Layout, volume: c.pool(l), server: l.Settings})
		notes = append(notes, l.Notes...)
		if (len(l.Unsafe.Settings) > 0 || len(l.Unsafe.Data) > 0) && c.showsUnsafe() {
			atRisk = append(atRisk, c.risky(l))
		}
	}
	pool := c.pool(ours.layout)
	all = append(all, arm{name: byProvision, volume: pool, server: ours.layout.Settings},
		arm{name: onExt4, volume: experiment.Volume{Kind: experiment.Loop, Filesystem: "ext4", Mount: ours.mount}, server: ours.onExt4})
	return append(all, atRisk...), notes
}

// showsUnsafe tells whether the cell has arms that are not crash-safe beside the others.
func (c cell) showsUnsafe() bool { return c.load == "rw" && c.form == whole }

// risky is a layout with what a crash may cost data.
func (c cell) risky(l layout) arm {
	l.Settings, l.Data = joined(l.Settings, l.Unsafe.Settings), joined(l.Data, l.Unsafe.Data)
	return arm{name: unsafe + l.Layout, volume: c.pool(l), server: l.Settings, unsafe: true}
}

// usual are ZFS's own values of what layouts set for the data alone: a dataset for the log beside them has these.
var usual = map[string]string{"recordsize": "128K", "primarycache": "all", "logbias": "latency", "redundant_metadata": "all"}

// pool is the volume of a layout. The lab's datasets inherit of one above them, which has what the data have;
// what the log has not is set back there.
func (c cell) pool(l layout) experiment.Volume {
	v := experiment.Volume{Kind: experiment.Zpool, Pool: l.Pool, Properties: c.known(joined(l.Above, l.Data)), ARC: c.size().arc}
	if l.Log == nil {
		return v
	}
	log := joined(l.Above, l.Log)
	for name := range l.Data {
		if _, said := log[name]; !said {
			log[name] = usual[name]
		}
	}
	if log["recordsize"] == "" { // a dataset of its own needs a word to be asked for
		log["recordsize"] = usual["recordsize"]
	}
	v.Logs = c.known(log)
	return v
}

// known says properties as this ZFS knows them.
func (c cell) known(properties map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range properties {
		switch {
		case c.zfs.fuse && (name == "redundant_metadata" || name == "xattr"):
		case c.zfs.fuse && name == "compression" && value == "lz4":
			out[name] = "lzjb"
		default:
			out[name] = value
		}
	}
	return out
}

// joined gives maps as one; the later win.
func joined(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// pairs are what the verdicts are about: provision against every other layout that is crash-safe.
func pairs(all []arm) (out []experiment.FilePair) {
	for _, a := range all {
		if a.name != byProvision && !a.unsafe {
			out = append(out, experiment.FilePair{byProvision, a.name})
		}
	}
	return out
}

// sets says an arm as paths of a set-up.
func (a arm) sets() map[string]string {
	set := map[string]string{"volume.kind": a.volume.Kind}
	put := func(path, value string) {
		if value != "" {
			set[path] = value
		}
	}
	put("volume.filesystem", a.volume.Filesystem)
	put("volume.mount", a.volume.Mount)
	if a.volume.ARC > 0 {
		set["volume.arc"] = a.volume.ARC.String()
	}
	for part, of := range map[string]map[string]string{"volume.pool.": a.volume.Pool, "volume.properties.": a.volume.Properties,
		"volume.log_properties.": a.volume.Logs, "server.settings.": a.server} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			set[part+name] = of[name]
		}
	}
	return set
}

// checked is an error where the contest has no arm of ZFS's defaults.
func checked(all []arm) error {
	for _, name := range []string{byDefault, byProvision, onExt4} {
		if !slices.ContainsFunc(all, func(a arm) bool { return a.name == name }) {
			return fmt.Errorf("there is no arm %q", name)
		}
	}
	return nil
}
