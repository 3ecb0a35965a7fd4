package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"plumb/internal/host"
	"plumb/internal/host/identity"
	"plumb/internal/host/mounts"
	"plumb/internal/zfs"
)

// Thing is what a Make brings into being, or the directory that a Copy fills. It is there or it is not;
// if it is, its identity tells it from another one of the same name. Exactly one of Path, Dataset and
// Inspect is set.
type Thing struct {
	Path    string      `json:"path,omitempty"`    // a directory: its inode and time of birth, or its device where that is not told
	Dataset string      `json:"dataset,omitempty"` // a dataset or snapshot of ZFS: its GUID
	Inspect *Inspection `json:"inspect,omitempty"` // anything else: what this reads, None when it is not there
	Name    string      `json:"name,omitempty"`    // of what Inspect reads, for people
}

// markProperty of a dataset holds the mark of the act that made it, and is set by the command that makes it: so it can be
// recognised if the machine dies before its GUID is written down.
const markProperty = "org.plumb:act"

// place names the thing, for people and to find two acts on one place.
func (t Thing) place() string { return cmp.Or(t.Path, t.Dataset, t.Name) }

// identity reads which thing is there. None means that it certainly does not exist; anything that could not be read is
// an error.
func (t Thing) identity(ctx context.Context, d host.Doer) (id string, err error) {
	switch {
	case t.Path != "":
		id, err = directoryID(ctx, d, t.Path)
	case t.Dataset != "":
		id, err = datasetID(ctx, d, t.Dataset)
	default:
		id, err = inspect(ctx, d, *t.Inspect)
	}
	if err != nil {
		return "", fmt.Errorf("look for %s: %w", t.place(), err)
	}
	return id, nil
}

// is tells whether the thing there is the one of an identity.
func (t Thing) is(ctx context.Context, d host.Doer, id string) (bool, error) {
	now, err := t.identity(ctx, d)
	return identity.Same(now, id) && id != None, err
}

// aside is where the directory is made and removed: beside its place, under a name that only the act with
// this mark uses.
func (t Thing) aside(mark string) Thing {
	dir, base := path.Split(t.Path)
	return Thing{Path: dir + "." + base + ".plumb-" + mark}
}

// publish gives a directory that was made aside its real name, once its identity is written down.
func (t Thing) publish(ctx context.Context, k *Executor, c *Change, p *Recorded, state string) error {
	aside := t.aside(p.Made.Mark)
	id, err := aside.identity(ctx, k.Doer)
	if err != nil {
		return err
	}
	if err := k.note(ctx, c, kindMade, result{N: p.N, Got: id, What: state}); err != nil {
		return err
	}
	if err := k.Doer.Rename(ctx, aside.Path, t.Path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return taken(t.Path)
		}
		return err
	}
	if ours, err := t.is(ctx, k.Doer, id); err != nil || !ours {
		return errors.Join(fmt.Errorf("%s is not the thing that was just made there", t.Path), err)
	}
	return nil
}

// withdraw moves the directory with an identity aside, so that what is removed there later can be no other.
// If another one was moved, because it took the place in between, that one goes back.
func (t Thing) withdraw(ctx context.Context, d host.Doer, mark, id string) error {
	ours, err := t.is(ctx, d, id)
	if err != nil || !ours {
		return err
	}
	aside := t.aside(mark)
	if err := d.Rename(ctx, t.Path, aside.Path); err != nil {
		return err
	}
	now, err := aside.identity(ctx, d)
	if err == nil && !identity.Same(now, id) {
		err = errors.Join(&Drifted{[]Drift{{Place: t.Path, Want: id, Found: now}}}, d.Rename(ctx, aside.Path, t.Path))
	}
	return err
}

// Looking begins the names of the directories on which the undo of a dataset mounts it, to see whether anything is in it. If
// that is killed it leaves the mount, which the next undo removes.
const Looking = "/run/plumb-look."

// contents lists what is in a directory, or in and below a dataset, where that is mounted for others to see.
func (t Thing) contents(ctx context.Context, d host.Doer) ([]string, error) {
	if t.Path != "" {
		return inside(ctx, d, t.Path)
	}
	if t.Dataset == "" || strings.Contains(t.Dataset, "@") {
		return nil, nil
	}
	out, err := d.Output(ctx, zfs.Everything(t.Dataset)...)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(zfs.Names(out), func(name string) bool { return name == t.Dataset })
	here, err := mounts.Read(ctx, d)
	for _, m := range here {
		if m.Source == t.Dataset && err == nil && !strings.HasPrefix(m.Mountpoint, Looking) {
			var in []string
			in, err = inside(ctx, d, m.Mountpoint)
			all = append(all, in...)
		}
	}
	return all, err
}

func inside(ctx context.Context, d host.Doer, dir string) ([]string, error) {
	names, err := d.Glob(ctx, host.Verbatim(dir)+"/*")
	for i, name := range names {
		names[i] = path.Base(name)
	}
	return names, err
}

const (
	aGUID = "guid "  // begins the identity of a dataset
	aLink = "a link" // in place of the identity of a directory, where there is a link
)

// directoryID tells one directory from another. A link is no directory.
func directoryID(ctx context.Context, d host.Doer, name string) (string, error) {
	_, err := d.Readlink(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return None, nil
	}
	if err == nil {
		return aLink, nil
	}
	return followedID(ctx, d, name)
}

// followedID tells one directory from another, and follows links: if somebody changes where a link leads, it is another.
func followedID(ctx context.Context, d host.Reader, name string) (string, error) {
	st, err := d.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return None, nil
	}
	if err != nil {
		return "", err
	}
	if !st.Mode.IsDir() {
		return "no directory", nil
	}
	return identity.Of(st), nil
}

// datasetID gives the GUID of a dataset. Whether it exists is told by the list of its parent, because an error of zfs
// about the dataset itself can mean anything.
func datasetID(ctx context.Context, d host.Doer, name string) (string, error) {
	there, err := datasetThere(ctx, d, name)
	if err != nil || !there {
		return None, err
	}
	out, err := d.Output(ctx, zfs.Value("guid", name)...)
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(out))
	if id == "" || strings.Trim(id, "0123456789") != "" {
		return "", fmt.Errorf("zfs gives %q as the GUID of %s", id, name)
	}
	return aGUID + id, nil
}

func datasetThere(ctx context.Context, d host.Doer, name string) (bool, error) {
	list, parent := zfs.Pools(), ""
	if of, _, snapshot := strings.Cut(name, "@"); snapshot {
		parent, list = of, zfs.SnapshotsOf(of)
	} else if i := strings.LastIndexByte(name, '/'); i > 0 {
		parent, list = name[:i], zfs.ChildrenOf(name[:i])
	}
	if parent != "" {
		if there, err := datasetThere(ctx, d, parent); err != nil || !there {
			return false, err
		}
	}
	out, err := d.Output(ctx, list...)
	if err != nil {
		return false, err
	}
	if slices.Contains(zfs.Names(out), name) {
		return true, nil
	}
	if parent == "" { // not imported, its datasets may be there all the same
		return false, fmt.Errorf("the pool %s is not imported", name)
	}
	return false, nil
}

// marked tells whether a dataset was made by the act of a mark.
func marked(ctx context.Context, d host.Doer, dataset, mark string) (bool, error) {
	out, err := d.Output(ctx, zfs.Marks(markProperty, dataset)...)
	if err != nil {
		return false, err
	}
	marks, err := zfs.ParseMarks(out)
	return err == nil && marks[dataset] == (zfs.Mark{Value: mark, Source: "local"}), err
}

// known says why a thing that a journal names cannot be acted on.
func (t Thing) known() error {
	of, snapshot, isSnapshot := strings.Cut(t.Dataset, "@")
	switch {
	case !one(t.Path != "", t.Dataset != "", t.Inspect != nil):
		return unknown("a thing that is neither a directory, a dataset nor read otherwise")
	case t.Path != "" && (!path.IsAbs(t.Path) || path.Clean(t.Path) != t.Path || t.Path == "/"):
		return unknown(fmt.Sprintf("a directory %q", t.Path))
	case t.Dataset != "" && (!zfs.IsDataset(of) || isSnapshot && (snapshot == "" || strings.ContainsAny(snapshot, "/@#% ")) || !isSnapshot && zfs.IsPool(of)):
		return unknown(fmt.Sprintf("a dataset %q", t.Dataset))
	case t.Inspect != nil && (t.Name == "" || t.Inspect.known(t.Name) != nil):
		return unknown(fmt.Sprintf("a thing %q that does not say how it is read", t.Name))
	}
	return nil
}
