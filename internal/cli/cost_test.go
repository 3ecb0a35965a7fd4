package cli

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"plumb/internal/check"
	"plumb/internal/cli/shell"
	"plumb/internal/engine/dsn"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// unmet are bounds that no captured host comes near, with what would.
var unmet = map[string]string{"block commands": "a drive that tells its health, or device-mapper",
	"ceph files": "mapped images of Ceph", "ceph commands": "mapped images of Ceph"}

// TestProbesCostWhatTheySay counts what each probe asks of every captured host
// and of this one. More than its Cost is a fault; so is a Cost of which no host
// takes half, as nobody could plan by it. Of ProxySQL there is no captured host.
func TestProbesCostWhatTheySay(t *testing.T) {
	a := &app{Shell: shell.Shell{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
	used := map[string]float64{} // the largest part of a bound that a host takes
	for _, name := range capturedHosts(t) {
		h, err := a.openTape(name)
		must(t, err)
		costOn(t, filepath.Base(name), h, dsn.OnTape(h.About().Given), used)
	}
	live, given, err := openLive(shell.Source{})
	must(t, err)
	defer live.Close()
	costOn(t, "this host", host.NewCached(live), given, used)
	for what, part := range used {
		switch needs, excused := unmet[what]; {
		case excused && part >= 0.5:
			t.Errorf("%s: a host comes near the bound now, so it needs no excuse (%s)", what, needs)
		case !excused && part < 0.5:
			t.Errorf("%s: no host takes more than %.0f %% of the bound", what, 100*part)
		}
	}
}

// costOn compares what the probes ask of one host with what they say.
func costOn(t *testing.T, name string, h host.Reader, g dsn.Given, used map[string]float64) {
	a := &app{Shell: shell.Shell{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
	cat, err := a.loadCatalog()
	must(t, err)
	var all []counting
	probes := phases(cat, g)
	for _, phase := range probes {
		for i, p := range phase {
			c := counting{p, &counter{asked: map[string]bool{}}}
			phase[i], all = c, append(all, c)
		}
	}
	s, err := check.Observe(t.Context(), h, cat, probes, check.DefaultTimeout)
	must(t, err)
	running := 0 // as the probes saw it, which ask once each
	for _, file := range []string{"stat", "comm"} {
		if found, err := h.Glob(t.Context(), "/proc/[0-9]*/"+file); err == nil {
			running = max(running, len(found))
		}
	}
	for _, c := range all {
		bound := c.Cost().For(s, running)
		for _, n := range []struct {
			of          string
			asked, most int
		}{
			{"files", c.files, bound.Files}, {"commands", c.commands, bound.Commands}, {"queries", c.queries, bound.Queries},
		} {
			if n.asked > n.most {
				t.Errorf("%s: %s asks for %d %s and says at most %d", name, c.Name(), n.asked, n.of, n.most)
			}
			if what := c.Name() + " " + n.of; n.most > 0 {
				used[what] = max(used[what], float64(n.asked)/float64(n.most))
			}
		}
	}
}

// counting is a probe whose questions are counted.
type counting struct {
	observe.Probe
	*counter
}

func (c counting) Collect(ctx context.Context, h host.Reader, seen *stack.Stack) (stack.Observation, error) {
	c.Reader = h
	return c.Probe.Collect(ctx, c.counter, seen)
}

// counter is a reader that counts every question once.
type counter struct {
	host.Reader
	mu                       sync.Mutex
	asked                    map[string]bool
	files, commands, queries int
}

func (c *counter) count(n *int, question ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := strings.Join(question, "\x00"); !c.asked[key] {
		c.asked[key] = true
		*n++
	}
}

func (c *counter) ReadFile(ctx context.Context, name string) ([]byte, error) {
	c.count(&c.files, "read", name)
	return c.Reader.ReadFile(ctx, name)
}

func (c *counter) Glob(ctx context.Context, pattern string) ([]string, error) {
	c.count(&c.files, "glob", pattern)
	return c.Reader.Glob(ctx, pattern)
}

func (c *counter) Stat(ctx context.Context, name string) (host.Stat, error) {
	c.count(&c.files, "stat", name)
	return c.Reader.Stat(ctx, name)
}

func (c *counter) Readlink(ctx context.Context, name string) (string, error) {
	c.count(&c.files, "link", name)
	return c.Reader.Readlink(ctx, name)
}

func (c *counter) Statfs(ctx context.Context, name string) (host.Statfs, error) {
	c.count(&c.files, "space", name)
	return c.Reader.Statfs(ctx, name)
}

func (c *counter) Output(ctx context.Context, argv ...string) ([]byte, error) {
	c.count(&c.commands, argv...)
	return c.Reader.Output(ctx, argv...)
}

func (c *counter) Query(ctx context.Context, t host.Target, query string) (host.Rows, error) {
	c.count(&c.queries, t.Address, query)
	return c.Reader.Query(ctx, t, query)
}
