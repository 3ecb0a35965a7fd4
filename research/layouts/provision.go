package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/product"
	"plumb/internal/provision"
	place "plumb/internal/provision/disk"
	"plumb/internal/provision/predict"
	"plumb/internal/stack"
	"plumb/test/captured"
)

// made is what plumb provision makes for a cell: what its rules say of a server that has its defaults, asked
// about the host as a spec with one disk would make it. Nothing of it is written down by hand.
type made struct {
	layout layout            // on a pool
	mount  string            // options of ext4's; it is made as mkfs makes one of this size, which is what provision asks for
	onExt4 map[string]string // settings of the server there
}

// asking is what provision's rules are asked with.
type asking struct {
	know  check.Knowledge
	tapes string // the directory of captured hosts
}

func newAsking(tapes string) (asking, error) {
	know, err := captured.Knowledge()
	return asking{know, tapes}, err
}

// recorded reads a captured host.
func (k asking) recorded(ctx context.Context, name string) (*stack.Stack, error) {
	return captured.Stack(ctx, filepath.Join(k.tapes, name+".tape.gz"), k.know.Catalog)
}

// pool is the name of the pool that is to be.
const pool = "lab"

// made asks provision's rules.
func (k asking) made(ctx context.Context, c cell) (m made, err error) {
	s, err := k.recorded(ctx, c.engine.tape)
	if err != nil {
		return m, err
	}
	with, err := k.recorded(ctx, c.zfs.tape)
	if err != nil {
		return m, err
	}
	module := stack.Ref{Kind: "zfs", Name: "module"}
	if s.Find(module) != nil || with.Find(module) == nil {
		return m, fmt.Errorf("the tape %s must have no ZFS, and %s must", c.engine.tape, c.zfs.tape)
	}
	s.Add("the tape "+c.zfs.tape, stack.Observation{Things: []*stack.Thing{with.Find(module)}})
	s.Add("the contest", stack.Observation{Things: []*stack.Thing{volume()}})
	db, data, err := captured.Server(s)
	if err != nil {
		return m, err
	}
	m.layout = k.onPool(s, c, db, data)
	m.mount, m.onExt4 = k.onExt4(s, c, db, data)
	return m, nil
}

// volume is the disk of all cells: as a cloud's volume, it has a limit of requests, and does not say what it is made of.
func volume() *stack.Thing {
	t := stack.NewThing("block", "volume")
	t.Set("layer", stack.Text("disk"), "the contest")
	t.Set("virtual_disk", stack.Bool(true), "the contest")
	return t
}

// onPool is the layout on a new pool: a dataset above, one for the data, one for the log.
func (k asking) onPool(s *stack.Stack, c cell, db stack.Ref, data string) layout {
	role, at := "wal", data+"/pg_wal"
	if db.Kind == product.MySQL {
		role, at = "redo", data+"-log"
	}
	l := predict.Layout{Server: db, FSType: map[bool]string{true: "fuse.zfs", false: "zfs"}[c.zfs.fuse], Pool: pool, Memory: int64(c.size().memory), Disks: []stack.Ref{volume().Ref},
		Made: map[string]stack.Value{"ashift": stack.Int(place.LeastShift), "layout": stack.Text("single"), "redundant": stack.Bool(false)},
		Volumes: []provision.Volume{{Dataset: pool + "/db"}, {Role: "data", Dataset: pool + "/db/data", At: data},
			{Role: role, Dataset: pool + "/db/log", At: at}}}
	p := predict.Predict(s, l, k.know.Catalog, k.know.Verdicts)
	l.Volumes = p.Volumes
	return layout{Layout: byProvision, Engine: c.engine.name, Pool: map[string]string{"ashift": strconv.Itoa(place.LeastShift)},
		Above: p.Volumes[0].Properties, Data: p.Volumes[1].Properties, Log: p.Volumes[2].Properties, Settings: k.settings(s, l, c)}
}

// onExt4 gives the options of the mount, and the settings of the server on it.
func (k asking) onExt4(s *stack.Stack, c cell, db stack.Ref, data string) (mount string, settings map[string]string) {
	l := predict.Layout{Server: db, FSType: "ext4", Memory: int64(c.size().memory), Disks: []stack.Ref{volume().Ref}, Volumes: []provision.Volume{{Role: "data", At: data, Aside: "/srv/aside"}}}
	var options []string
	for _, step := range predict.Settings(loaded(l.Stack(s, k.know.Catalog), db), l, k.know.Catalog, k.know.Verdicts) {
		if step.Knob.Of.Kind == "filesystem" {
			options = append(options, step.To.String())
		}
	}
	return strings.Join(options, ","), k.settings(s, l, c)
}

// settings are what provision sets of the server once it has carried a load, but for what all arms have alike.
func (k asking) settings(s *stack.Stack, l predict.Layout, c cell) map[string]string {
	out, base := map[string]string{}, c.engine.base(c.cache())
	for _, step := range predict.Settings(loaded(l.Stack(s, k.know.Catalog), l.Server), l, k.know.Catalog, k.know.Verdicts) {
		if _, alike := base[step.Knob.Name]; alike || step.Knob.Of != l.Server {
			continue
		}
		out[step.Knob.Name] = configured(step)
	}
	return out
}

// configured writes a value as the server's configuration takes it.
func configured(step advise.Step) string {
	if on, is := step.To.Bool(); is {
		return map[bool]string{true: "ON", false: "OFF"}[on]
	}
	return step.To.String()
}

// written is how many pages the server of a loaded cell writes in a second: about what a disk of 200 requests lets it.
const written = 100.0

// loaded tells of a server that it has carried a load that makes it write pages. As the lab's, it has no binary log.
func loaded(s *stack.Stack, db stack.Ref) *stack.Stack {
	if db.Kind == product.MySQL {
		s.Find(db).Set("pages_written_per_second", stack.Float(written), "the contest")
		s.Find(db).Set("log_bin", stack.Bool(false), "the contest")
	}
	return s
}
