package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"plumb/internal/stack"
)

// chain is what lies at the end of the chain below one thing.
type chain struct {
	disks []stack.Ref
	err   error // why not all of them are known
}

// poolParts pairs the facts in which a pool probe lists the paths of vdevs
// with the links that are made of them.
var poolParts = []struct{ paths, link string }{
	{"vdev_paths", "disks"},
	{"log_paths", "log_disks"},
	{"cache_paths", "cache_disks"},
	{"special_paths", "special_disks"},
}

// linkDisks links a thing to the whole disks below it.
func (j *joiner) linkDisks(ctx context.Context, t *stack.Thing) {
	if t.Ref.Kind == "pool" {
		j.linkPool(ctx, t)
		return
	}
	if _, known := t.Links["disks"]; known {
		return
	}
	c := j.below(ctx, t.Ref)
	if c.err != nil {
		j.gap(t.Ref, c.err, "disks")
		return
	}
	t.Link("disks", c.disks...)
}

// gap adds a gap unless a probe already said why the link is not known.
func (j *joiner) gap(of stack.Ref, err error, facts ...string) {
	if _, said := j.s.GapFor(of, facts[0]); said {
		return
	}
	if _, said := (&stack.Stack{Gaps: j.obs.Gaps}).GapFor(of, facts[0]); !said {
		j.obs.Gap(of, err.Error(), HintFor(err), facts...)
	}
}

// linkPool links a pool to disks and to the filesystems of its vdev files.
func (j *joiner) linkPool(ctx context.Context, pool *stack.Thing) {
	for _, part := range poolParts {
		v, _ := pool.Get(part.paths)
		paths, known := v.List()
		if _, done := pool.Links[part.link]; done || !known {
			continue
		}
		c := j.vdevs(ctx, pool, paths, part.link == "disks")
		if c.err != nil {
			j.gap(pool.Ref, c.err, part.link)
			continue
		}
		pool.Link(part.link, c.disks...)
	}
}

func (j *joiner) vdevs(ctx context.Context, pool *stack.Thing, paths []string, data bool) chain {
	var all chain
	backing := []stack.Ref{}
	for _, name := range paths {
		under, err := j.device(ctx, name)
		if err != nil {
			all.err = errors.Join(all.err, fmt.Errorf("find the device of vdev %s: %w", name, err))
			continue
		}
		if under.Kind == "filesystem" {
			backing = append(backing, under)
		}
		all.join(j.below(ctx, under))
	}
	if _, done := pool.Links["backing"]; data && !done && all.err == nil {
		pool.Link("backing", backing...)
	}
	return all
}

func (c *chain) join(o chain) {
	for _, d := range o.disks {
		if !slices.Contains(c.disks, d) {
			c.disks = append(c.disks, d)
		}
	}
	c.err = errors.Join(c.err, o.err)
}

var (
	errCircle  = errors.New("the chain of devices is circular")
	errNoDisks = errors.New("its disks are not known")
)

// below follows the chain from a thing down to whole disks. A loop device on a
// filesystem on itself cannot be made, but a foreign tape can say so.
func (j *joiner) below(ctx context.Context, ref stack.Ref) chain {
	if c, ok := j.found[ref]; ok {
		return *c
	}
	j.found[ref] = &chain{err: errCircle}
	var c chain
	t := j.s.Find(ref)
	switch {
	case t == nil:
		c.err = fmt.Errorf("%s was not seen", ref)
	case ref.Kind == "pool":
		j.linkPool(ctx, t)
		c = j.through(ctx, t, "disks")
	case ref.Kind == "dataset":
		c = j.through(ctx, t, "pool")
	case ref.Kind == "filesystem":
		c = j.belowFilesystem(ctx, t)
	default:
		c = j.belowBlock(ctx, t)
	}
	j.found[ref] = &c
	return c
}

// through joins the chains of everything a link leads to.
func (j *joiner) through(ctx context.Context, t *stack.Thing, link string) chain {
	refs, known := t.Links[link]
	if !known {
		return chain{err: fmt.Errorf("the %s of %s is not known", link, t.Ref)}
	}
	var c chain
	for _, r := range refs {
		c.join(j.below(ctx, r))
	}
	return c
}

func (j *joiner) belowFilesystem(ctx context.Context, f *stack.Thing) chain {
	if sets, known := f.Links["dataset"]; !known || len(sets) > 0 {
		return j.through(ctx, f, "dataset")
	}
	if f.Text("fstype") != "overlay" {
		return j.through(ctx, f, "block")
	}
	upper, ok := optionOf(f, "upperdir")
	if !ok { // without an upper directory nothing can be written
		return chain{}
	}
	under, err := j.holder(ctx, upper)
	if err != nil {
		return chain{err: fmt.Errorf("find the filesystem of upper directory %s: %w", upper, err)}
	}
	return j.below(ctx, under)
}

func optionOf(f *stack.Thing, name string) (string, bool) {
	v, _ := f.Get("options")
	options, _ := v.List()
	return Mount{Options: options}.Option(name)
}

// belowBlock: what lies on nothing else is a disk.
func (j *joiner) belowBlock(ctx context.Context, b *stack.Thing) chain {
	switch b.Text("layer") {
	case "loop":
		return j.through(ctx, b, "backing")
	case "zvol":
		return j.through(ctx, b, "dataset")
	case "drbd":
		return chain{err: errors.New("the devices below a DRBD device are not read")}
	}
	on, known := b.Links["on"]
	if known && len(on) == 0 {
		return chain{disks: []stack.Ref{b.Ref}}
	}
	return j.through(ctx, b, "on")
}
