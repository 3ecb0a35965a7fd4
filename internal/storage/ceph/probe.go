// Package ceph asks the cluster behind mapped images how it keeps what is on them.
package ceph

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// Probe adds to the block devices that are images of Ceph what their cluster tells. It comes after the
// probe of devices: a cluster that does not answer costs nobody else their time.
type Probe struct{}

// Name implements observe.Probe.
func (Probe) Name() string { return "ceph" }

// Cost implements observe.Probe.
func (Probe) Cost() observe.Cost {
	return observe.Cost{Every: time.Minute, Waits: true, Once: observe.Requests{Files: 1, Commands: 5}, Each: map[string]observe.Requests{"block": {Files: 1}}}
}

// Collect implements observe.Probe.
func (Probe) Collect(ctx context.Context, h host.Reader, seen *stack.Stack) (obs stack.Observation, err error) {
	var images []string
	for _, b := range seen.OfKind("block") {
		if b.Text("layer") == "rbd" {
			images = append(images, b.Ref.Name)
		}
	}
	if len(images) == 0 {
		return obs, nil
	}
	c, err := ask(ctx, h)
	for _, name := range images {
		t := obs.New("block", name)
		pool, err := h.ReadFile(ctx, path.Join("/sys/bus/rbd/devices", strings.TrimPrefix(name, "rbd"), "pool"))
		if err != nil {
			obs.Gap(t.Ref, err.Error(), "", "ceph_*")
			continue
		}
		t.Set("ceph_pool", stack.Text(strings.TrimSpace(string(pool))), "/sys/bus/rbd")
		if c != nil {
			c.tell(t, &obs)
		}
	}
	if err != nil {
		obs.Gap(stack.Ref{}, fmt.Sprintf("how Ceph is doing is not known: %v", err), "let root read the cluster: ceph osd dump", "block")
	}
	return obs, nil
}

// asks begins each question. The program may neither write a log nor make a socket.
var asks = []string{"ceph", "--connect-timeout", "10", "--log-to-file=false", "--admin-socket=", "--format", "json"}

// ask asks the cluster that the host's configuration names. All questions are asked at a time: most
// of what one takes is the start of a program in Python.
func ask(ctx context.Context, h host.Reader) (*Cluster, error) {
	questions := []string{"osd dump", "osd tree", "df", "config get osd osd_scrub_begin_hour", "config get osd osd_scrub_end_hour"}
	const needed = 3 // a client's key may not read the settings
	texts, errs := make([][]byte, len(questions)), make([]error, len(questions))
	var all sync.WaitGroup
	for i, q := range questions {
		all.Go(func() {
			if texts[i], errs[i] = h.Output(ctx, slices.Concat(asks, strings.Fields(q))...); errs[i] != nil {
				texts[i] = nil
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs[:needed]...); err != nil {
		return nil, err
	}
	c, err := parse(texts[0], texts[1], texts[2])
	if err == nil {
		c.Scrubs = hours(texts[3], texts[4])
	}
	return c, err
}
