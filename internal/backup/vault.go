package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/signed"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/hint"
)

// Vault is a store with backups, for who reads them.
type Vault struct {
	Store store.Store
	Trust []note.Verifier // whose backups are believed
	// Retired are keys that were given up: of theirs only what had ended then is believed.
	Retired []manifest.Retired
	Only    *Only       // which are meant, where the newest of some alone is looked for; nil for any backup
	Doubt   func(Found) // told of a backup that is newer than the one that was found, and is not believed; nil for nobody
}

// Only are the backups that are meant.
type Only struct {
	Is   func(manifest.Manifest) bool
	What string // base backup
	Help string // what is done with others
}

// Found is a backup that was found, or what is wrong with it.
type Found struct {
	manifest.Manifest
	By    string          // who signed it
	Proof *manifest.Proof // what came of the last start of a server on it; nil when nobody who is trusted says that he tried
	Err   error
}

// List gives all backups, oldest first. One that cannot be read or is not believed is listed with why.
func (v Vault) List(ctx context.Context) ([]Found, error) {
	all, err := v.list(ctx)
	return unpruned(all), err
}

// unpruned leaves out those that prune is removing.
func unpruned(all []Found) []Found {
	return slices.DeleteFunc(slices.Clone(all), func(f Found) bool { return errors.Is(f.Err, signed.ErrRemoved) })
}

// list also gives those that prune is removing.
func (v Vault) list(ctx context.Context) (all []Found, err error) {
	var ids []string
	tried := map[string]bool{}
	err = v.Store.List(ctx, manifest.Prefix, func(i store.Info) error {
		if id := manifest.OfManifest(i.Name); id != "" {
			ids = append(ids, id)
		}
		if id, rest := manifest.Split(i.Name); rest == "proof" {
			tried[id] = true
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the backups of %s: %w", v.Store.URL(), err)
	}
	all = make([]Found, len(ids))
	err = store.Each(ctx, stream.Workers, ids, func(ctx context.Context, i int, id string) error {
		all[i] = v.look(ctx, id, tried[id])
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read the backups of %s: %w", v.Store.URL(), err)
	}
	all = slices.DeleteFunc(all, func(f Found) bool { return errors.Is(f.Err, store.ErrNotFound) }) // removed just now
	slices.SortFunc(all, func(a, b Found) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// look reads a backup, and what came of the last start on it if it was tried.
func (v Vault) look(ctx context.Context, id string, tried bool) (f Found) {
	f.Manifest, f.By, f.Err = v.reader().Manifest(ctx, id)
	f.ID = id
	if tried && f.Err == nil {
		if p, _, err := v.Proof(ctx, id); err == nil {
			f.Proof = &p
		}
	}
	return f
}

// Show gives a backup, as Find does, and what it needs, which comes before it. Where some of that is not there the error says so, and the
// backup is given alone.
func (v Vault) Show(ctx context.Context, id, server string) (all []Found, err error) {
	m, err := v.Find(ctx, id, server)
	if err != nil {
		return nil, err
	}
	chain, err := v.Chain(ctx, m)
	if err != nil {
		chain, err = []manifest.Manifest{m}, fmt.Errorf("backup %s cannot be restored: %w", m.ID, err)
	}
	for _, one := range chain {
		f := v.look(ctx, one.ID, true)
		if f.Err != nil {
			return nil, fmt.Errorf("backup %s: %w", f.ID, f.Err)
		}
		all = append(all, f)
	}
	return all, err
}

// Get reads the manifest of a backup.
func (v Vault) Get(ctx context.Context, id string) (manifest.Manifest, error) {
	m, _, err := v.reader().Manifest(ctx, id)
	return m, err
}

// Open reads the manifest of a backup, if somebody signed it who is trusted, or was when he signed it.
func (v Vault) Open(text []byte, id string) (m manifest.Manifest, by string, err error) {
	return v.reader().Open(text, id)
}

func (v Vault) reader() signed.Reader {
	return signed.Reader{Store: v.Store, Trust: v.Trust, Retired: v.Retired}
}

// OpenStone reads the stone of a backup, if somebody signed it who is trusted, or was when he signed it.
func (v Vault) OpenStone(text []byte, id string) (manifest.Stone, error) {
	return manifest.Believe(v.Trust, v.Retired, func(keys ...note.Verifier) (manifest.Stone, time.Time, error) {
		s, err := manifest.OpenStone(text, id, keys...)
		return s, manifest.SignedAt(id, s.At), err
	})
}

// Find gives the one backup whose id begins so; "" or "latest" for the newest of a server.
func (v Vault) Find(ctx context.Context, id, server string) (manifest.Manifest, error) {
	all, err := v.list(ctx)
	if err != nil {
		return manifest.Manifest{}, err
	}
	if id == "" || id == "latest" {
		m, err := v.latest(unpruned(all), server)
		v.hidden(ctx, all, m.ID)
		return m, err
	}
	all = unpruned(all)
	var fit []Found
	for _, f := range all {
		if strings.HasPrefix(f.ID, id) && (server == "" || f.Server == server) {
			fit = append(fit, f)
		}
	}
	switch len(fit) {
	case 0:
		return manifest.Manifest{}, v.gone(ctx, id, server)
	case 1:
		return fit[0].Manifest, fit[0].Err
	}
	return manifest.Manifest{}, hint.With(fmt.Errorf("%s can be any of %d backups", id, len(fit)), "give more of its id")
}

// latest gives the newest backup of a server that is believed.
func (v Vault) latest(all []Found, server string) (manifest.Manifest, error) {
	var fit []Found
	var doubt error // why the newest is not believed of those that are not
	believed := false
	for _, f := range all {
		if f.Err != nil {
			doubt = fmt.Errorf("backup %s: %w", f.ID, f.Err)
			continue
		}
		believed = true
		if (server == "" || f.Server == server) && (v.Only == nil || v.Only.Is(f.Manifest)) {
			fit = append(fit, f)
		}
	}
	switch {
	case len(fit) > 0:
		newest := v.newest(fit, time.Now())
		v.doubt(all, newest)
		return newest.Manifest, nil
	case doubt != nil && !believed:
		return manifest.Manifest{}, fmt.Errorf("none of the backups in %s is trusted: %w", v.Store.URL(), doubt)
	case v.Only != nil && len(all) > 0:
		return manifest.Manifest{}, hint.With(fmt.Errorf("%s has no %s%s", v.Store.URL(), v.Only.What, ofServer(server)), v.Only.Help)
	}
	return manifest.Manifest{}, v.None(server)
}

// gone is the error of a backup that is not listed: one that was pruned may come back yet.
func (v Vault) gone(ctx context.Context, id, server string) error {
	if manifest.IsID(id) {
		if _, err := v.Get(ctx, id); errors.Is(err, signed.ErrRemoved) {
			return hint.With(err, "plumb backup prune --undo "+id+" brings it back, as long as its objects are there")
		}
	}
	return hint.With(fmt.Errorf("%s has no backup %s%s", v.Store.URL(), id, ofServer(server)), "plumb backup list shows them")
}

// None is the error of a store that has no backup at all, or none of a server: most often it is the wrong place.
func (v Vault) None(server string) error {
	if server != "" {
		return hint.With(fmt.Errorf("%s has no backup%s", v.Store.URL(), ofServer(server)), "plumb backup list shows whose backups are there")
	}
	return hint.With(fmt.Errorf("%s has no backup at all", v.Store.URL()), "check the URL and its prefix: plumb backup sheet prints where a host backs up to")
}

func ofServer(name string) string {
	if name == "" {
		return ""
	}
	return " of " + name
}

// newest gives the newest of some. One whose name is still to come was named by a clock that was wrong: those that were made
// since come before it by name, and are newer.
func (v Vault) newest(all []Found, now time.Time) Found {
	i := len(all) - 1
	for i > 0 && !manifest.Made(all[i].ID).Before(now.Add(manifest.Ahead)) {
		i--
	}
	if !manifest.Made(all[i].ID).Before(now.Add(manifest.Ahead)) { // all are: then it is our clock that is wrong
		return all[len(all)-1]
	}
	for _, f := range all[i+1:] {
		if f.Err = errToCome; v.Doubt != nil {
			v.Doubt(f)
		}
	}
	return all[i]
}

// errToCome is why a backup is not taken for the newest that is that by name.
var errToCome = errors.New("its name has a time in the future: a clock was wrong when it was made, or is wrong now")

// doubt tells of those that are newer than one, and not believed: without them it would be taken for the newest.
func (v Vault) doubt(all []Found, than Found) {
	for _, f := range all {
		if f.Err != nil && f.ID > than.ID && v.Doubt != nil {
			v.Doubt(f)
		}
	}
}

// hidden tells of those that are newer than one and seem to be pruned, when nobody who is trusted says so: who may write to the store can put
// that in the place of any manifest.
func (v Vault) hidden(ctx context.Context, all []Found, than string) {
	for _, f := range all {
		if v.Doubt == nil || f.ID <= than || !errors.Is(f.Err, signed.ErrRemoved) {
			continue
		}
		text, _, err := store.Read(ctx, v.Store, manifest.Name(f.ID), manifest.MaxStone)
		if err != nil || !manifest.IsStone(text) {
			continue // gone just now, or taken back
		}
		if _, err := v.OpenStone(text, f.ID); err != nil {
			f.Err = fmt.Errorf("its manifest was replaced by a note that it was pruned: %w", err)
			v.Doubt(f)
		}
	}
}

// Chain gives what must be restored for a backup, in order: the full one first.
func (v Vault) Chain(ctx context.Context, m manifest.Manifest) (all []manifest.Manifest, err error) {
	all = []manifest.Manifest{m}
	for seen := map[string]bool{m.ID: true}; ; {
		base := ""
		if bases := all[0].Bases(); len(bases) > 0 { // all its streams begin at the same
			base = bases[0]
		}
		if base == "" {
			return all, nil
		}
		if seen[base] {
			return nil, fmt.Errorf("the backups up to %s depend on each other in a circle", m.ID)
		}
		seen[base] = true
		before, err := v.Get(ctx, base)
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, signed.ErrRemoved) {
			err = errors.New("it is no longer there")
		}
		if err != nil {
			return nil, fmt.Errorf("%s needs %s: %w", all[0].ID, base, err)
		}
		all = slices.Insert(all, 0, before)
	}
}
