package files

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"plumb/internal/host/scratch"
	"plumb/internal/load"
	"plumb/internal/stats"
)

// MarkPageCache marks a result whose reads were answered by memory.
const MarkPageCache = "page-cache"

// IOResult is what a run over files measured.
type IOResult struct {
	*load.Result
	Config   IOConfig
	Place    scratch.Place
	Cache    *CacheUse       // nil: nothing was read, or it cannot be told
	End      *EndSync        // nil: not asked for
	Analysis *stats.Analysis // of the requests a second; nil in runs too short for it
}

// CacheUse says how many of the reads came from memory.
type CacheUse struct {
	Asked   int64   // bytes that were read by the workload, warm-up included
	Storage int64   // bytes that the kernel fetched for this process
	Part    float64 // of the bytes asked that were surely not fetched
}

// EndSync is the round of fsyncs after the last operation. It is not in the
// figures of the run.
type EndSync struct {
	Files int
	Took  time.Duration
	Err   error
}

// analyseFrom is the shortest series worth looking for periods in.
const analyseFrom = 60

// Run drives a workload of files. The seed is the workload's own. It changes
// GOMAXPROCS of the process while it runs, so nothing else should be
// measured meanwhile.
func Run(ctx context.Context, w *IO, o load.Options) (*IOResult, error) {
	if w.c.Mode == SeqWrite {
		if o.Warmup > 0 || o.Until.Window > 0 {
			return nil, fmt.Errorf("%s has no warm-up: every block is written once", SeqWrite)
		}
		if o.Events == 0 || o.Events > w.plan.operations() {
			o.Events = w.plan.operations()
		}
	}
	o.Seed = w.c.Seed
	place, err := scratch.Where(w.c.Dir)
	if err != nil {
		return nil, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors(o.Threads)))
	before, known := scratch.Fetched()
	res, err := load.Run(ctx, w, o)
	if err != nil {
		return nil, err
	}
	out := &IOResult{Result: res, Config: w.c, Place: place}
	if after, ok := scratch.Fetched(); ok && known {
		out.judgeCache(after - before)
	}
	if w.c.FsyncEnd && w.c.Writes() && !w.c.FsyncAll {
		out.End = w.endSync()
	}
	served := func(s load.Second) int64 { return s.DoneOf(opRead) + s.DoneOf(opWrite) }
	if rates := load.RatesOf(out.Series, served); len(rates) >= analyseFrom {
		a := stats.Analyse(rates)
		out.Analysis = &a
	}
	return out, nil
}

// processors is how many threads may run Go code: one for each that may be
// within a system call, because one that must first be handed on waits for
// the scheduler's watch, which looks only every 20 µs to 10 ms.
func processors(threads int) int { return max(runtime.GOMAXPROCS(0), threads+2) }

// endSync syncs every file.
func (w *IO) endSync() *EndSync {
	e := &EndSync{Files: len(w.files)}
	start := time.Now()
	for i := range w.files {
		if err := w.sync(i); err != nil {
			e.Err = err
			break
		}
	}
	e.Took = time.Since(start)
	return e
}

// judgeCache compares what was read with what the kernel fetched. Reading
// ahead only makes the part smaller than it is.
func (r *IOResult) judgeCache(fetched int64) {
	c := CacheUse{Storage: fetched}
	for _, s := range r.Series {
		for _, op := range s.Ops {
			c.Asked += op.ReadBytes
		}
	}
	if c.Asked == 0 || r.Place.Type == "zfs" || r.Place.Type == "nfs" || r.Place.Type == "fuse" {
		return
	}
	c.Part = max(0, 1-float64(c.Storage)/float64(c.Asked))
	r.Cache = &c
	if c.Part >= 0.05 {
		why := "use direct I/O, or files of more than twice the memory"
		if r.Config.Direct {
			why = "although direct I/O was requested"
		}
		r.Marks = append(r.Marks, load.Mark{Kind: MarkPageCache, Text: fmt.Sprintf("%.0f %% of what was read came from the page cache, not from the device: %s", 100*c.Part, why)})
	}
}
