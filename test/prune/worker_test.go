package prune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/prune"
	"plumb/internal/backup/store"
	"plumb/internal/host"
	"plumb/internal/protect/keep"
	"plumb/internal/store/dir"
	"plumb/internal/store/s3"
)

// Times of a world in which a day is some seconds. What is waited for is always an event; these say only which
// of them are met.
const (
	grace = 4 * time.Second
	beat  = 200 * time.Millisecond
	lease = time.Second
	stay  = 4 * time.Second
)

// task is what a process of its own does, so that it can be killed.
type task struct {
	Do    string // "backup" or "prune"
	Dir   string // the store, when it is a directory
	S3    *s3.Options
	State string
	Line  string // what the command gives
	Base  bool   // begin at a backup before
}

// told is what came of it.
type told struct {
	ID     string
	GoesOn bool
	Err    string
	Done   prune.Done
}

const asked = "PLUMB_TEST_TASK"

func TestMain(m *testing.M) {
	text := os.Getenv(asked)
	if text == "" {
		os.Exit(m.Run())
	}
	var k task
	err := json.Unmarshal([]byte(text), &k)
	if err == nil {
		err = k.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// open opens the store.
func (k task) open() (store.Store, error) {
	if k.S3 == nil {
		return dir.Open(k.Dir)
	}
	b, err := s3.Open(*k.S3)
	return store.Patiently(b, store.Patience{For: 30 * time.Second, First: 10 * time.Millisecond, Most: time.Second}, 6, nil), err
}

// host is this host, and what it trusts.
func (k task) host(ctx context.Context) (d *host.LiveDoer, v backup.Vault, sign note.Signer, public string, err error) {
	d = host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	if v.Store, err = k.open(); err != nil {
		return
	}
	if sign, public, err = backup.HostKey(ctx, d, k.State, "db1"); err != nil {
		return
	}
	own, err := note.NewVerifier(public)
	v.Trust = []note.Verifier{own}
	return d, v, sign, public, err
}

func (k task) run() error {
	ctx := context.Background()
	d, v, sign, public, err := k.host(ctx)
	if err != nil {
		return err
	}
	var t told
	if k.Do == "backup" {
		t, err = k.backup(ctx, d, v, sign, public)
	} else {
		t.Done, err = k.prune(ctx, v, sign)
	}
	if err != nil {
		t.Err = err.Error()
	}
	return json.NewEncoder(os.Stdout).Encode(t)
}

// backup makes one. Its stream begins at another as that of a dataset does, although a command gives it.
func (k task) backup(ctx context.Context, d *host.LiveDoer, v backup.Vault, sign note.Signer, public string) (t told, err error) {
	key, err := os.ReadFile(filepath.Join(k.State, "recipient"))
	if err != nil {
		return t, err
	}
	to, err := age.ParseRecipients(strings.NewReader(string(key)))
	if err != nil {
		return t, err
	}
	b := backup.Backup{Do: d, Store: v.Store, Dir: k.State, Host: "db1", Plumb: "test", Sign: sign, Public: public, To: to, Words: []string{string(key)},
		Chunk: 16 << 10, Workers: 3, Beat: beat, Now: time.Now}
	source := backup.Source{Stream: manifest.Stream{Name: "tank/db", Kind: manifest.ZFS, GUID: k.Line}, Argv: []string{"sh", "-c", k.Line}}
	if k.Base {
		all, err := v.List(ctx)
		if err != nil {
			return t, err
		}
		if len(all) > 0 { // any: the newest is the one that no prune would touch
			m := all[rand.IntN(len(all))].Manifest
			if chain, err := v.Chain(ctx, m); err == nil && len(chain) < 5 {
				source.Base = &manifest.Base{Backup: m.ID, GUID: m.Streams[0].GUID}
			}
		}
		time.Sleep(rand.N(200 * time.Millisecond)) // a prune may begin and end between
	}
	res, err := b.Run(ctx, backup.Job{Name: k.Line, Server: "mariadb:3306", Sources: []backup.Source{source}})
	return told{ID: res.ID, GoesOn: res.GoesOn}, err
}

func (k task) prune(ctx context.Context, v backup.Vault, sign note.Signer) (prune.Done, error) {
	p := prune.Pruner{Vault: v, Own: v.Trust, Sign: sign, Host: "db1", Grace: grace, Lease: lease, Stay: stay, Now: time.Now}
	o := prune.Options{Rules: keep.Rules{Last: 3}}
	plan, err := p.Plan(ctx, o)
	if err != nil {
		return prune.Done{}, err
	}
	for _, s := range plan.Servers { // somebody looked at it
		for _, f := range s.Fates {
			if f.Goes {
				o.AllRight++
			}
		}
	}
	if plan, err = p.Plan(ctx, o); err != nil {
		return prune.Done{}, err
	}
	done, err := p.Carry(ctx, plan, o)
	if err == nil && len(done.Plan.Brakes) > 0 {
		err = errors.New("stopped: " + done.Plan.Brakes[0].Why)
	}
	return done, err
}
