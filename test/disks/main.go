// Command disks tries what provision knows of disks, in a machine that a test has made:
//
//	disks look PATH [serial=S] [size=BYTES] [erase=S]   says whether a disk may be used
//	disks make SPEC AT                                  makes what a spec asks for, and a volume at a place
//	disks undo NUMBER                                   takes a change back
//	disks force NUMBER                                  the same, with what somebody changed since
//
// It is no part of Plumb.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/provision"
	"plumb/internal/provision/disk"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	"plumb/internal/storage/layout"
)

func main() {
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{CommandTime: time.Minute, FileTime: time.Minute}))
	err := run(context.Background(), d, os.Args[1:])
	if err != nil {
		fmt.Println("refused:", err)
		fmt.Println("hint:", hint.Of(err))
		os.Exit(1)
	}
}

func run(ctx context.Context, d *host.LiveDoer, args []string) error {
	keeper := &change.Executor{Doer: d, Dir: "/var/lib/plumb", Plumb: "test", Now: time.Now}
	switch {
	case len(args) >= 2 && args[0] == "look":
		return look(ctx, d, args[1:])
	case len(args) == 3 && args[0] == "make":
		return build(ctx, d, keeper, args[1], args[2])
	case len(args) == 2 && (args[0] == "undo" || args[0] == "force"):
		number, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return keeper.Undo(ctx, []int{number}, change.UndoOptions{Force: args[0] == "force"})
	}
	return fmt.Errorf("usage: disks look|make|undo|force …")
}

func look(ctx context.Context, d *host.LiveDoer, args []string) error {
	s := spec.Disk{Path: args[0]}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "serial":
			s.Serial = value
		case "erase":
			s.Serial, s.Erase = value, value
		case "size":
			s.Size, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	found, err := disk.Look(ctx, d, s)
	if err != nil {
		return err
	}
	if err := disk.Refuse(found); err != nil {
		return err
	}
	fmt.Printf("taken: %s, serial %q from %s, %d bytes, sectors of %d and %d, %d bytes read\n", found.Name, found.Serial, found.Identity, found.Size, found.Logical, found.Physical, found.Read)
	return nil
}

func build(ctx context.Context, d *host.LiveDoer, keeper *change.Executor, file, at string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s, err := spec.Parse(file, text)
	if err != nil {
		return err
	}
	var all provision.Making
	add := func(m provision.Making, err error) error {
		all.Acts, all.Lasting, all.Notes = append(all.Acts, m.Acts...), append(all.Lasting, m.Lasting...), append(all.Notes, m.Notes...)
		if len(m.Made) > 0 {
			fmt.Println("made:", m.Made)
		}
		return err
	}
	l, owner := layout.New(), provision.Owner{User: "mysql", Group: "mysql"}
	if s.Pool != nil {
		if err := add(l.Pool(ctx, d, *s.Pool, provision.Birth{Pool: map[string]string{"autotrim": "on"}, Root: map[string]string{"compression": "lz4"}})); err != nil {
			return err
		}
		for _, v := range []provision.Volume{{Dataset: s.Pool.Name + "/db"}, {Dataset: s.Pool.Name + "/db/data", At: at, Properties: map[string]string{"recordsize": "16K"}}} {
			if err := add(l.Volume(ctx, d, v, owner)); err != nil {
				return err
			}
		}
	} else {
		if err := add(l.Filesystem(ctx, d, *s.Filesystem, at, provision.Birth{Mount: []string{"noatime"}})); err != nil {
			return err
		}
		if err := add(l.Volume(ctx, d, provision.Volume{At: at + "/data"}, owner)); err != nil {
			return err
		}
	}
	fmt.Println("lasting:", strings.Join(all.Lasting, "; "))
	fmt.Println("acts:", len(all.Acts))
	if len(all.Acts) == 0 {
		return nil
	}
	draft := change.Draft{Steps: []change.Prepared{{Step: change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "host", Name: "test"}, Name: "it"}}, Recipe: change.Recipe{Acts: all.Acts}}}}
	out, err := keeper.Apply(ctx, draft, change.ApplyOptions{})
	fmt.Println("change:", out.Number)
	return err
}
