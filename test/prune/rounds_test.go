// Package prune has backups made, pruned and killed beside each other, in processes of their own.
package prune

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/store/s3"
	"plumb/test/sandbox"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// process is a task that runs.
type process struct {
	cmd *exec.Cmd
	out bytes.Buffer
	err bytes.Buffer
}

func start(t *testing.T, k task) *process {
	t.Helper()
	text, err := json.Marshal(k)
	must(t, err)
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), asked+"="+string(text))
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	must(t, p.cmd.Start())
	return p
}

// end waits for it, or kills it first; nil when it was killed in time.
func (p *process) end(t *testing.T, kill bool) *told {
	t.Helper()
	if kill {
		_ = p.cmd.Process.Kill()
	}
	if err := p.cmd.Wait(); err != nil && !kill {
		t.Fatalf("%v\n%s", err, &p.err)
	}
	var got told
	if json.Unmarshal(p.out.Bytes(), &got) != nil {
		return nil
	}
	return &got
}

func TestRoundsInADirectory(t *testing.T) {
	rounds(t, task{Dir: t.TempDir()}, 12)
}

func TestRoundsOnS3(t *testing.T) {
	sandbox.NeedTime(t, "a server of S3 is built in two minutes: make test-real does")
	box := sandbox.ForTest(t, "")
	c := box.S3(t)
	rounds(t, task{S3: &s3.Options{Endpoint: c.Endpoint, Region: "us-east-1", Bucket: c.Bucket, Prefix: "db1", Key: c.Key, Secret: c.Secret}}, 200)
}

// certain makes what has to come about in the end, whatever chance has done: backups of which one must go, and one that is
// killed and never goes on.
func certain(t *testing.T, k task, v backup.Vault, m *met) {
	t.Helper()
	k.Do = "backup"
	for i := range 4 {
		k.Line = fmt.Sprintf("seq %d 9000", i)
		if !m.backup(t, start(t, k).end(t, false), false) {
			t.Fatal("there is no backup")
		}
	}
	k.Line = "seq 9000; while sleep 0.1; do echo; done" // ends when nobody reads
	before := len(orphans(t, v))
	p := start(t, k)
	for end := time.Now().Add(time.Minute); len(orphans(t, v)) == before; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never began")
		}
	}
	p.end(t, true)
}

// met counts what came about.
type met struct {
	backups, goesOn, killed, prunes, killedPrunes, marked, back, givenUp, removed, refused int
}

// rounds makes, prunes and kills, and looks after each round whether every backup that is there comes back.
func rounds(t *testing.T, k task, n int) {
	if os.Getenv("PLUMB_REAL") != "" {
		n = 200
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	k.State = t.TempDir()
	key, err := age.GenerateX25519Identity()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(k.State, "recipient"), []byte(key.Recipient().String()), 0o600))
	_, v, _, _, err := k.host(t.Context())
	must(t, err)
	var m met
	line := ""
	for round := range n {
		if line == "" {
			line = fmt.Sprintf("seq %d %d", round, 20_000+round)
			if r.IntN(4) == 0 { // gives something else when it runs again
				line = "cat /proc/sys/kernel/random/uuid; " + line
			}
		}
		job := k
		job.Do, job.Line, job.Base = "backup", line, r.IntN(3) > 0
		pruner := k
		pruner.Do = "prune"
		b, p := start(t, job), start(t, pruner)
		killB, killP := r.IntN(2) == 0, r.IntN(2) == 0
		time.Sleep(time.Duration(r.IntN(800)) * time.Millisecond) // when it is killed
		if killP {
			m.prune(t, p.end(t, true), true)
		}
		got := b.end(t, killB)
		if m.backup(t, got, killB) {
			line = ""
		} else if r.IntN(4) == 0 {
			line = "" // nobody goes on with it
		}
		if !killP {
			m.prune(t, p.end(t, false), false)
		}
		if r.IntN(12) == 0 {
			time.Sleep(grace + time.Second) // "a day later"
		}
		whole(t, v, fmt.Sprintf("seed %d, round %d", seed, round))
	}
	certain(t, k, v, &m)
	pruner := k
	pruner.Do = "prune"
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		m.prune(t, start(t, pruner).end(t, false), false)
		whole(t, v, "in the end")
		left := orphans(t, v)
		if len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("seed %d: left: %q", seed, left)
		}
	}
	t.Logf("seed %d: %+v", seed, m)
	if m.marked == 0 || m.removed == 0 || m.givenUp == 0 || n >= 100 && (m.killed == 0 || m.killedPrunes == 0 || m.goesOn == 0) {
		t.Errorf("something never came about: %+v", m)
	}
}

// backup notes what came of one, and tells whether there is one now.
func (m *met) backup(t *testing.T, got *told, killed bool) bool {
	t.Helper()
	switch {
	case got == nil && killed:
		m.killed++
		return false
	case got == nil:
		t.Fatal("a backup says nothing")
	case got.Err != "":
		if !strings.Contains(got.Err, "it builds on backup") && !strings.Contains(got.Err, "can no longer be completed") {
			t.Fatal(got.Err)
		}
		m.refused++
		return false
	}
	m.backups++
	if got.GoesOn {
		m.goesOn++
	}
	return true
}

func (m *met) prune(t *testing.T, got *told, killed bool) {
	t.Helper()
	switch {
	case got == nil && killed:
		m.killedPrunes++
		return
	case got == nil:
		t.Fatal("a prune says nothing")
	case got.Err != "" && !strings.Contains(got.Err, "is pruning this store"):
		t.Fatal(got.Err)
	}
	m.prunes++
	m.marked, m.back, m.givenUp, m.removed = m.marked+len(got.Done.Marked), m.back+len(got.Done.Back), m.givenUp+len(got.Done.GivenUp), m.removed+len(got.Done.Removed)
}

// whole verifies every object of every backup, and of what it needs.
func whole(t *testing.T, v backup.Vault, when string) {
	t.Helper()
	all, err := v.List(t.Context())
	must(t, err)
	for _, f := range all {
		if f.Err != nil {
			t.Fatalf("%s: backup %s: %v", when, f.ID, f.Err)
		}
		if _, err := v.Chain(t.Context(), f.Manifest); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if _, err := (backup.Verify{Vault: v, Percent: 100}).Run(t.Context(), f.Manifest); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
	}
}

// orphans are the objects that no backup names which is there.
func orphans(t *testing.T, v backup.Vault) (left []string) {
	t.Helper()
	all, err := v.List(t.Context())
	must(t, err)
	must(t, v.Store.List(t.Context(), manifest.Prefix, func(i store.Info) error {
		for _, f := range all {
			if f.Names(i.Name) {
				return nil
			}
		}
		left = append(left, i.Name)
		return nil
	}))
	return left
}
