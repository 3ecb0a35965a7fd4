package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/engine/private"
	"plumb/internal/host/hosttest"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/test/program"
	"plumb/test/sandbox"
)

// rounds is how often plumb check is asked at most. What a server is short of
// next shows when it has what it was short of first.
const rounds = 3

// TestPlumbAdvises asks plumb check what plumb.yaml says: a server in the
// contest's control group, with its data, under its load for a minute, on a
// disk of each cell's requests a second; first with its defaults, then again
// with what was advised, until nothing new is.
func TestPlumbAdvises(t *testing.T) {
	sandbox.NeedFull(t, "servers of sixteen cells are loaded for an hour: make test-real FULL=1 does it")
	p := program.ForTest(t)
	ours, err := readPlumb()
	ok(t, err)
	for _, c := range cells() {
		t.Run(c.name(), func(t *testing.T) {
			e := private.MySQL()
			if c.engine.flavour == "" {
				e = private.PostgreSQL()
			}
			compare(t, e, ours.of(c), askUntilQuiet(t, p, c))
		})
	}
}

// askUntilQuiet follows the advice and asks again.
func askUntilQuiet(t *testing.T, p program.Program, c cell) map[string]string {
	t.Helper()
	all := map[string]string{}
	for round := range rounds {
		advised := ask(t, p, c, all)
		t.Logf("asked %d times: %v", round+1, advised)
		if len(advised) == 0 {
			break
		}
		maps.Copy(all, advised)
	}
	return all
}

// byRate are settings that are advised when the load writes fast enough, or
// waits long enough, and as large as it does. On a machine that does other things besides they
// are not.
var byRate = []string{"max_wal_size", "checkpoint_timeout", "wal_compression", "innodb_log_file_size", "commit_delay"}

// compare tells where the settings differ, as the server would see them.
func compare(t *testing.T, e lab.Engine, written, advised map[string]string) {
	t.Helper()
	for name, value := range advised {
		t.Logf("%s: %s", name, value)
		was, there := written[name]
		if !there || !e.Same(name, value, was) && !(slices.Contains(byRate, name) && alike(value, was)) {
			t.Errorf("plumb check advises %s = %s, and plumb.yaml has %q", name, value, was)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if _, there := advised[name]; there {
			continue
		}
		say := t.Errorf
		if slices.Contains(byRate, name) {
			say = t.Logf
		}
		say("plumb.yaml has %s = %s, and plumb check does not advise it", name, written[name])
	}
}

// alike tells whether of two sizes neither is more than twice the other.
func alike(a, b string) bool {
	one, err := experiment.ParseBytes(a)
	two, err2 := experiment.ParseBytes(b)
	return err == nil && err2 == nil && one <= 2*two && two <= 2*one
}

// ask sets a server up, loads it, and gives the settings that plumb check
// advises for it under the load: what clients wait for shows only then.
func ask(t *testing.T, p program.Program, c cell, set map[string]string) map[string]string {
	t.Helper()
	b, err := sandbox.New("/var/tmp")
	ok(t, err)
	defer func() { ok(t, b.Close()) }()
	wrap, err := b.Cgroup(memory)
	sandbox.Need(t, err)
	dir, err := b.Filesystem("data", "ext4", 6144, nil, "")
	sandbox.Need(t, err)
	s, kind, err := start(b, c, filepath.Join(dir, "server"), lines(set), wrap)
	sandbox.Need(t, err)
	ok(t, s.Exec("CREATE DATABASE sbtest"))
	at := login(s, kind)
	what := []string{"load", "tpcc"}
	size := []string{fmt.Sprintf("--scale=%d", c.engine.warehouses)}
	if c.load == "rw" {
		what, size = []string{"load", "oltp", "oltp_read_write"}, []string{fmt.Sprintf("--tables=%d", tables), fmt.Sprintf("--table-size=%d", rows)}
	}
	ok(t, drive(t.Context(), p, slices.Concat(what, []string{"prepare"}, at, size)))
	limit, err := experiment.ParseProfile(c.volume.profile)
	ok(t, err)
	if limit.IOPS.Both > 0 {
		sandbox.Need(t, b.Throttle(dir, int(limit.IOPS.Both)))
	}
	var load sync.WaitGroup
	load.Go(func() {
		if err := drive(t.Context(), p, slices.Concat(what, []string{"run", "--time=75", fmt.Sprintf("--threads=%d", threads)}, at, size)); err != nil {
			t.Error(err)
		}
	})
	defer load.Wait()
	time.Sleep(time.Minute)
	return settings(t, p, kind, fmt.Sprintf("%s:%d", kind, s.Port))
}

// drive runs plumb for as long as a slow machine may take.
func drive(ctx context.Context, p program.Program, args []string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, p.Path, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("plumb %v: %w\n%s", args, err, out)
	}
	return nil
}

// lines gives settings as both servers' files take them.
func lines(set map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(&b, "%s = %s\n", name, set[name])
	}
	return b.String()
}

func start(b *sandbox.Box, c cell, dir, settings string, wrap []string) (*sandbox.Server, string, error) {
	if c.engine.flavour == "" {
		s, err := b.Postgres(sandbox.PostgresOptions{Datadir: dir, Settings: settings, Port: 54933, Wrap: wrap})
		return s, "postgres", err
	}
	s, err := b.MySQL(sandbox.MySQLOptions{Datadir: dir, Settings: settings, Port: 33933, Wrap: wrap})
	return s, "mysql", err
}

func login(s *sandbox.Server, kind string) []string {
	if kind == "mysql" {
		return []string{"--mysql-socket=" + s.Socket, "--mysql-user=" + s.User, "--mysql-db=sbtest"}
	}
	return []string{"--pgsql-host=" + s.Socket, fmt.Sprintf("--pgsql-port=%d", s.Port), "--pgsql-user=" + s.User, "--pgsql-db=sbtest"}
}

// settings gives the steps of the plan for a server, as its configuration file
// has them.
func settings(t *testing.T, p program.Program, kind, server string) map[string]string {
	t.Helper()
	out, _ := p.Run(t, 0, "check", "--json", "--only", server)
	var doc struct {
		Findings []struct{ Rule, Title string }
		Plan     advise.Plan
	}
	ok(t, json.Unmarshal([]byte(out), &doc))
	cat := hosttest.Catalog(t)
	all := map[string]string{}
	for _, step := range doc.Plan.Steps {
		if f := cat.Fact(kind, step.Knob.Name); f != nil && step.Knob.Of.Kind == kind {
			all[step.Knob.Name] = catalog.Native(kind, f.Type, step.To)
		}
	}
	t.Logf("%s: %v", server, doc.Findings)
	return all
}
