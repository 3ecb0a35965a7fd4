// Package known is what this host knows of its backups without asking a store: what the verbs that make, copy, prove and
// list backups wrote down of each place. A check judges by that, and watch shows it; neither
// goes over a network, or waits for a disk that hangs.
//
// Only backups of this host are written down. What nobody saw is not there: a proof that another machine gave is known
// when somebody listed the place here.
package known

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// form of the files. A newer one is refused.
const form = 1

// Place is what is known of the backups in one place.
type Place struct {
	Form     int       `json:"form"`
	URL      string    `json:"url"` // as the command line named it last
	Endpoint string    `json:"endpoint,omitempty"`
	Lies     Lies      `json:"lies"`            // when it was last written to
	Keys     []string  `json:"keys,omitempty"`  // files here with the keys of all who can open its newest backup
	Listed   time.Time `json:"listed,omitzero"` // when all that is there was last looked at
	Unusable int       `json:"unusable"`        // backups that were not believed then, or lacked another
	Servers  []Server  `json:"servers"`         // by name
}

// Server is what a place has of one server, or of what a command gives.
type Server struct {
	Name     string      `json:"name"`
	Provable bool        `json:"provable,omitempty"` // plumb verify --restore can start a server on one
	Backups  int         `json:"backups,omitempty"`  // when they were listed
	First    time.Time   `json:"first,omitzero"`     // when the first ended that is known of
	Newest   time.Time   `json:"newest,omitzero"`    // when the newest ended that is there; zero when all are gone
	Ends     []time.Time `json:"ends,omitempty"`     // of the last ones that were made there, oldest first, whether they are there or not
	Restored time.Time   `json:"restored,omitzero"`  // when a server last started on one
	Failed   time.Time   `json:"failed,omitzero"`    // when one did not, if none did since
	Why      string      `json:"why,omitempty"`      // not
	Log      string      `json:"log,omitempty"`      // behind the newest base, when they were listed; "" when nobody looked, or there is no base
}

// MostKeys is how many files with keys are written down of a place.
const MostKeys = 5

// mostEnds is of how many backups it is kept when they ended, and mostServers of how many servers a place is.
const (
	mostEnds    = 20
	mostServers = 1000
)

// Has notes a backup that is there.
func (p *Place) Has(m manifest.Manifest) {
	s := p.server(m.Of())
	if s == nil {
		return
	}
	s.Provable = s.Provable || m.Provable()
	if s.First.IsZero() || m.Ended.Before(s.First) {
		s.First = m.Ended
	}
	if m.Ended.After(s.Newest) {
		s.Newest = m.Ended
	}
}

// Made notes a backup that was just made there. How far apart they are is told by those alone: of old ones only some are kept.
func (p *Place) Made(m manifest.Manifest) {
	p.Has(m)
	s := p.server(m.Of())
	if s == nil {
		return
	}
	if i, had := slices.BinarySearchFunc(s.Ends, m.Ended, time.Time.Compare); !had {
		s.Ends = slices.Insert(s.Ends, i, m.Ended)
	}
	s.Ends = slices.Clone(s.Ends[max(0, len(s.Ends)-mostEnds):])
}

// Tried notes what came of starting a server on a backup.
func (p *Place) Tried(m manifest.Manifest, proof manifest.Proof) {
	s := p.server(m.Of())
	switch {
	case s == nil:
	case proof.OK && proof.At.After(s.Restored):
		if s.Restored = proof.At; !s.Failed.After(proof.At) {
			s.Failed, s.Why = time.Time{}, ""
		}
	case !proof.OK && proof.At.After(s.Failed) && proof.At.After(s.Restored):
		s.Failed, s.Why = proof.At, proof.Why
	}
}

// server gives what is known of one, which is made; nil when there are too many.
func (p *Place) server(name string) *Server {
	i, had := slices.BinarySearchFunc(p.Servers, name, func(s Server, name string) int { return cmp.Compare(s.Name, name) })
	if !had {
		if len(p.Servers) >= mostServers {
			return nil
		}
		p.Servers = slices.Insert(p.Servers, i, Server{Name: name})
	}
	return &p.Servers[i]
}

// See notes all that a list of the place shows. What is known and not there any more is gone.
func (p *Place) See(all []backup.Found, now time.Time) {
	p.Listed, p.Unusable = now.UTC(), 0
	for i := range p.Servers {
		p.Servers[i].Backups, p.Servers[i].Newest = 0, time.Time{}
	}
	lacks := backup.Lacks(all)
	for _, f := range all {
		if f.Err != nil || lacks[f.ID] != "" {
			p.Unusable++
			continue
		}
		p.Has(f.Manifest)
		if s := p.server(f.Of()); s != nil {
			s.Backups++
		}
		if f.Proof != nil {
			p.Tried(f.Manifest, *f.Proof)
		}
	}
}

// Directory is where it is written down, below that of the host's key.
func Directory(state string) string { return path.Join(state, "known") }

// File is that of a place: another login to the same is the same place.
func File(state string, at At) string {
	sum := sha256.Sum256([]byte(strings.TrimRight(at.Plain, "/") + "\n" + at.Endpoint))
	return path.Join(Directory(state), hex.EncodeToString(sum[:8])+".json")
}

// At is a place as the command line names it, and as it is whatever login is used.
type At struct{ URL, Plain, Endpoint string }

// lockTime is longer than another changes what is known of one place.
const lockTime = 10 * time.Second

// Note changes what is known of a place. One at a time does.
func Note(ctx context.Context, d host.Doer, state string, at At, change func(*Place)) error {
	unlock, err := host.LockWithin(ctx, d, path.Join(Directory(state), "lock"), lockTime)
	if err != nil {
		return fmt.Errorf("record what is known about the backups in %s: %w", at.URL, err)
	}
	defer unlock()
	p, err := Of(ctx, d, state, at)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		p.Form, p.URL, p.Endpoint = form, at.URL, at.Endpoint
		change(&p)
		err = protect.WriteKept(ctx, d, File(state, at), p, 0o644)
	}
	if err != nil {
		return fmt.Errorf("record what is known about the backups in %s: %w", at.URL, err)
	}
	return nil
}

// Of reads what is known of a place; fs.ErrNotExist when nothing is.
func Of(ctx context.Context, h host.Reader, state string, at At) (Place, error) {
	return read(ctx, h, File(state, at))
}

func read(ctx context.Context, h host.Reader, file string) (p Place, err error) {
	if err := protect.ReadKept(ctx, h, file, "what is known of backups", form, &p); err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			err = hint.With(err, cmp.Or(hint.Of(err), "remove it: plumb backup list --from URL --note writes it again"))
		}
		return Place{}, fmt.Errorf("read %s: %w", file, err)
	}
	return p, nil
}

// All reads what is known of all places, by URL. Without a directory nothing is known, which is no error. The error
// names what could not be read; the others are given with it.
func All(ctx context.Context, h host.Reader, state string) (all []Place, err error) {
	files, err := h.Glob(ctx, path.Join(host.Verbatim(Directory(state)), "*.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var bad []error
	for _, file := range files {
		p, err := read(ctx, h, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // just removed
		}
		if err != nil {
			bad = append(bad, err)
			continue
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Place) int { return cmp.Compare(a.URL, b.URL) })
	return all, errors.Join(bad...)
}
