package made

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/host"
)

// patience is how long each way of taking a thing away is tried before a
// harder one.
const patience = 10 * time.Second

// holder takes things away, knowing what else is in their book.
type holder struct {
	d     host.Doer
	pages *pages
	live  bool // the lab that made them does it: nobody else was here since
}

// remover is how a kind of thing is handled. away checks the proof immediately
// before it takes away, and gives nil when there is nothing of that name, and
// ErrForeign when there is and it is not ours.
type remover struct {
	free  func(ctx context.Context, d host.Doer, t Thing) error  // whether the name is free; optional
	prove func(ctx context.Context, d host.Doer, t *Thing) error // completes the proof; optional
	away  func(h holder, ctx context.Context, e entry) error
}

func removers() map[string]remover {
	return map[string]remover{
		Process: {away: holder.process},
		Limit:   {away: holder.limit},
		Sysctl:  {away: holder.sysctl},
		Mount:   {free: freeMount, away: holder.mount},
		Pool:    {away: holder.pool},
		Dataset: {free: freeDataset, away: holder.dataset},
		Loop:    {away: holder.loop},
		Group:   {free: freeName, away: holder.group},
		File:    {free: freeName, prove: proveInode, away: holder.file},
		Tree:    {free: freeName, prove: proveTree, away: holder.tree},
	}
}

// takeAway takes one thing away, whether its making ended or not.
func (h holder) takeAway(ctx context.Context, e entry) error {
	r, ok := removers()[e.thing.Kind]
	if !ok {
		return fmt.Errorf("take %s %s away: a later Plumb made it: this one knows no such kind", e.thing.Kind, e.thing.Name)
	}
	if err := r.away(h, ctx, e); err != nil {
		return fmt.Errorf("take %s %s away: %w", e.thing.Kind, e.thing.Name, err)
	}
	return nil
}

func prove(ctx context.Context, d host.Doer, t *Thing) error {
	if p := removers()[t.Kind].prove; p != nil {
		return p(ctx, d, t)
	}
	return nil
}

// rebooted tells whether the kernel that knew the things has ended, and with
// it processes, limits, settings.
func (h holder) rebooted(ctx context.Context) bool {
	now := boot(ctx, h.d)
	return now != "" && h.pages.begin.Boot != "" && now != h.pages.begin.Boot
}

// trees are the directories of ours that are there and proved.
func (h holder) trees(ctx context.Context) []string {
	var all []string
	for _, e := range h.pages.entries {
		if e.thing.Kind == Tree && !e.gone && h.ownTree(ctx, e) == nil {
			all = append(all, e.thing.Name)
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
	return fmt.Errorf("%w: "+format, append([]any{ErrForeign}, args...)...)
}
