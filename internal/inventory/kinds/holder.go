// Package kinds knows how each kind of thing in the inventory is proved to be
// ours and removed: what the kernel has, files, control groups, processes, and
// datasets and pools of ZFS.
package kinds

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/inventory"
)

// All gives the kinds that Plumb makes.
func All() inventory.Kinds {
	return inventory.Kinds{
		inventory.Process:       {Remove: on(holder.process)},
		inventory.Limit:         {Remove: on(holder.limit)},
		inventory.Sysctl:        {Remove: on(holder.sysctl)},
		inventory.Mount:         {Free: freeMount, Remove: on(holder.mount)},
		inventory.Pool:          {Prove: proveGUID, Adopt: adoptPool, Remove: on(holder.pool)},
		inventory.Dataset:       {Free: freeDataset, Prove: proveGUID, Adopt: adoptDataset, Remove: on(holder.dataset)},
		inventory.LogicalVolume: {Remove: on(holder.logicalVolume)},
		inventory.Image:         {Remove: on(holder.image)},
		inventory.Mapping:       {Remove: on(holder.mapping)},
		inventory.Subvolume:     {Free: freeName, Prove: proveSubvolume, Remove: on(holder.subvolume)},
		inventory.Received:      {Free: freeName, Remove: on(holder.received)},
		inventory.Loop:          {Remove: on(holder.loop)},
		inventory.Group:         {Free: freeName, Remove: on(holder.group)},
		inventory.File:          {Free: freeName, Prove: proveInode, Adopt: adoptFile, Remove: on(holder.file)},
		inventory.Tree:          {Free: freeName, Prove: proveTree, Adopt: adoptTree, Remove: on(holder.tree)},
	}
}

// Books are the books of a directory, with all those kinds.
func Books(d host.Doer, directory string) inventory.Books {
	return inventory.Books{Do: d, Kinds: All(), Directory: directory}
}

// holder removes things, knowing what else is in their book.
type holder struct{ inventory.Holder }

func on(remove func(holder, context.Context, inventory.Entry) error) func(context.Context, inventory.Holder, inventory.Entry) error {
	return func(ctx context.Context, h inventory.Holder, e inventory.Entry) error {
		return remove(holder{h}, ctx, e)
	}
}

// patience is how long each way of removing a thing is tried before a harder one.
const patience = 10 * time.Second

// rebooted tells whether the kernel that knew the things has ended, and with
// it processes, limits, settings.
func (h holder) rebooted(ctx context.Context) bool {
	now := inventory.Boot(ctx, h.Do)
	return now != "" && h.Boot != "" && now != h.Boot
}

// trees are the directories of ours that are there and proved.
func (h holder) trees(ctx context.Context) []string {
	var all []string
	for _, e := range h.Entries {
		if e.Thing.Kind == inventory.Tree && !e.Gone && h.ownTree(ctx, e) == nil {
			all = append(all, e.Thing.Name)
		}
	}
	return all
}

// belowTree tells whether a path is in a directory of ours.
func (h holder) belowTree(ctx context.Context, name string) bool {
	return ordinary(name) && slices.ContainsFunc(h.trees(ctx), func(tree string) bool { return strings.HasPrefix(name, tree+"/") })
}

// foreign says why a thing is left alone.
func foreign(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{inventory.ErrForeign}, args...)...)
}
