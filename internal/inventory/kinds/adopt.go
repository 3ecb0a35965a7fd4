package kinds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/identity"
	"plumb/internal/inventory"
	"plumb/internal/zfs"
)

// Proof names the entry of a kind's proof that a person can give, to say which
// of all things of a name is meant; "" for kinds that are not adopted.
func Proof(kind string) string {
	switch kind {
	case inventory.Dataset, inventory.Pool:
		return guidProof
	case inventory.File, inventory.Tree:
		return inodeProof
	}
	return ""
}

const (
	guidProof  = "guid"
	inodeProof = "inode"
)

var errNamed = errors.New("nothing proves that Plumb made it")

// unnamed says what a person can give who wants a thing adopted that nothing
// says is ours.
func unnamed(how string) error {
	return hint.With(errNamed, "--id says which one you mean: "+how)
}

// guid gives the number that ZFS gave a dataset or pool when it was made, ""
// where it tells none: zfs-fuse knows only those of pools.
func guid(ctx context.Context, d host.Doer, t inventory.Thing) (string, error) {
	argv := zfs.Value(guidProof, t.Name)
	if t.Kind == inventory.Pool {
		argv = zfs.Tools{}.PoolProperties(t.Name)
	}
	out, err := d.Run(ctx, argv...)
	if t.Kind != inventory.Pool {
		return strings.TrimSpace(string(out)), err
	}
	read := zfs.Tools{}.ParsePool
	if err != nil {
		fuse := zfs.Tools{Fuse: true}
		read = fuse.ParsePool
		if out, err = d.Run(ctx, fuse.PoolProperties(t.Name)...); err != nil {
			return "", err
		}
	}
	for _, p := range read(out) {
		if p.Of == t.Name && p.Name == guidProof {
			return p.Value, nil
		}
	}
	return "", errors.New("zpool get tells no guid of it")
}

// sameGUID checks that a dataset or pool is the one that was made or adopted,
// and not another of its name. Books of form 1 have no GUID, nor has zfs-fuse
// one of its datasets.
func (h holder) sameGUID(ctx context.Context, t inventory.Thing) error {
	want := t.Proof[guidProof]
	if want == "" {
		return nil
	}
	now, err := guid(ctx, h.Do, t)
	if err == nil && now != want {
		err = foreign("its guid is %s, and that of the one in the inventory %s", now, want)
	}
	return err
}

// proveGUID notes the GUID of what was just made, where ZFS tells it.
func proveGUID(ctx context.Context, d host.Doer, t *inventory.Thing) error {
	if now, err := guid(ctx, d, *t); err == nil && now != "" {
		t.Proof[guidProof] = now
	}
	return nil
}

// adoptDataset takes a dataset whose mark says that a run of Plumb made it, or
// whose GUID the caller named.
func adoptDataset(ctx context.Context, d host.Doer, t *inventory.Thing) error {
	if !datasetNamed(t.Name) {
		return errors.New("that is not a dataset below another")
	}
	out, err := d.Run(ctx, zfs.Marks(RunProperty, t.Name)...)
	if err != nil {
		return err
	}
	says, err := zfs.ParseMarks(out)
	if err != nil {
		return err
	}
	made := says[t.Name].Source == "local" && says[t.Name].Value != ""
	if run := t.Proof["run"]; run != "" && (!made || says[t.Name].Value != run) {
		return foreign("its property %s is %q", RunProperty, says[t.Name].Value)
	}
	return adoptGUID(ctx, d, t, made, "zfs get -H -o value guid "+t.Name)
}

func adoptPool(ctx context.Context, d host.Doer, t *inventory.Thing) error {
	if !zfs.IsPool(t.Name) {
		return errors.New("that is not a pool name")
	}
	return adoptGUID(ctx, d, t, t.Proof["run"] != "", "zpool get guid "+t.Name)
}

func adoptGUID(ctx context.Context, d host.Doer, t *inventory.Thing, made bool, how string) error {
	want := t.Proof[guidProof]
	if want == "" && !made {
		return unnamed(how + " shows it")
	}
	now, err := guid(ctx, d, *t)
	if err != nil {
		return err
	}
	if want != "" && now != want {
		return hint.With(fmt.Errorf("its guid is %s and not %s: it is another of that name", now, want), how+" tells it")
	}
	t.Proof[guidProof] = now
	return nil
}

// adoptFile takes a file that a dead run made, or whose inode the caller named.
func adoptFile(ctx context.Context, d host.Doer, t *inventory.Thing) error {
	st, err := plain(ctx, d, *t)
	if err != nil {
		return err
	}
	if !st.Mode.IsRegular() {
		return errors.New("it is not a regular file")
	}
	return adoptInode(t, st)
}

// adoptTree takes a directory that a run of Plumb marked. One without a mark is
// not adopted: it would be removed with all that is in it.
func adoptTree(ctx context.Context, d host.Doer, t *inventory.Thing) error {
	st, err := plain(ctx, d, *t)
	if err != nil {
		return err
	}
	if !st.Mode.IsDir() {
		return errors.New("it is not a directory")
	}
	text, err := d.ReadFile(ctx, t.Name+"/"+inventory.Marker)
	if err != nil {
		return hint.With(fmt.Errorf("no run of Plumb marked it: %w", err), "only directories with the file "+inventory.Marker+" are adopted, because they are removed with all that is in them")
	}
	run := string(bytes.TrimSpace(text))
	if had := t.Proof["run"]; had != "" && run != "" && run != had {
		return foreign("it is marked as of the run %s", run)
	}
	if t.Proof["run"] == "" {
		t.Proof["run"] = run
	}
	return adoptInode(t, st)
}

// plain looks at a file or directory that is no link.
func plain(ctx context.Context, d host.Doer, t inventory.Thing) (host.Stat, error) {
	if !ordinary(t.Name) {
		return host.Stat{}, errors.New("name it in full, without detours, and not directly below the root")
	}
	if to, err := d.Readlink(ctx, t.Name); err == nil {
		return host.Stat{}, fmt.Errorf("it is a link to %s, and links are not followed", to)
	}
	return d.Stat(ctx, t.Name)
}

// adoptInode compares the inode with the one that a book has, or a person named.
func adoptInode(t *inventory.Thing, st host.Stat) error {
	switch want := t.Proof[inodeProof]; {
	case want == fmt.Sprint(st.Inode) || sameInode(st, want):
	case want == "" && t.Kind == inventory.File:
		return unnamed("ls -i " + t.Name + " shows its inode")
	case want != "":
		return foreign("its inode is %d and not %s", st.Inode, want)
	}
	t.Proof[inodeProof] = identity.Of(st)
	return nil
}
