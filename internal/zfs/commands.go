package zfs

import (
	"maps"
	"slices"
)

// Tools are the commands of one host, which say what options they take. The
// zero value is OpenZFS before 2.3.
type Tools struct {
	Fuse bool // zfs-fuse: knows neither -t of get, nor -P of status, nor -p of zpool and of dates
	JSON bool // knows -j (OpenZFS 2.3)
}

// Version prints the release, since OpenZFS 0.8; see [ParseVersion].
func Version() []string { return []string{"zfs", "version"} }

// CachedConfiguration prints the vdevs of every pool; see [ParseAshift].
func CachedConfiguration() []string { return []string{"zdb", "-C"} }

// Pools prints the names of the imported pools; see [Names].
func Pools() []string { return []string{"zpool", "list", "-H", "-o", "name"} }

// Space prints eight columns of every pool; see [ParseRows]. The sixth is the
// fragmentation, or the pool's version where zfs-fuse knows of none.
func (t Tools) Space() []string {
	if t.Fuse {
		return []string{"zpool", "list", "-H", "-o", "name,size,allocated,free,capacity,version,dedupratio,health"}
	}
	return []string{"zpool", "list", "-Hp", "-o", "name,size,allocated,free,capacity,fragmentation,dedupratio,health"}
}

// Status prints what pools are made of and how they are; without names, of
// all. See [ParseStatus]. Paths are whole, but for the disks of zfs-fuse.
func (t Tools) Status(pools ...string) []string {
	argv := []string{"zpool", "status", "-P"}
	if t.Fuse {
		argv = argv[:2]
	}
	return append(argv, pools...)
}

// StatusJSON is Status in the form that is exact about times; see [ParseStatusJSON].
func StatusJSON() []string { return []string{"zpool", "status", "-P", "-j", "--json-int"} }

// PoolProperties prints all properties of a pool; [Tools.ParsePool] reads them.
func (t Tools) PoolProperties(pool string) []string {
	if t.Fuse {
		return []string{"zpool", "get", "all", pool}
	}
	return []string{"zpool", "get", "-Hp", "all", pool}
}

// ParsePool reads what PoolProperties printed.
func (t Tools) ParsePool(text []byte) []Property {
	if t.Fuse {
		return parseAligned(text)
	}
	return ParseProperties(text)
}

// PoolValue prints one property of a pool, alone on its line.
func PoolValue(property, pool string) []string {
	return []string{"zpool", "get", "-Hp", "-o", "value", property, pool}
}

// PoolGUIDs prints the name of every pool, and its GUID.
func PoolGUIDs() []string { return []string{"zpool", "list", "-H", "-o", "name,guid"} }

// Roots prints the first dataset of every pool, with its GUID and a property; see [ParseRows].
func Roots(property string) []string {
	return []string{"zfs", "list", "-H", "-o", "name,guid," + property, "-d", "0"}
}

// SetPool sets a property of a pool.
func SetPool(property, value, pool string) []string {
	return []string{"zpool", "set", property + "=" + value, pool}
}

// NewPool says how a pool is made.
type NewPool struct {
	Name       string
	Pool, Root map[string]string // properties of the pool, and of its first dataset
	Vdevs      []string          // as zpool create takes them: "mirror", devices, "log", …
}

// MakePool makes a pool, mounted nowhere, of devices on which nothing is: zpool looks for that
// itself once more. The next start of the machine imports it.
func MakePool(p NewPool) []string {
	return p.create()
}

// CreatePool makes a pool, mounted nowhere, on devices whose content is lost. It is in no cache
// file: the next start of the machine does not import it.
func CreatePool(p NewPool) []string {
	return p.create("-f", "-o", "cachefile=none")
}

func (p NewPool) create(words ...string) []string {
	return slices.Concat([]string{"zpool", "create"}, words, options("-o", p.Pool), options("-O", p.Root), []string{"-m", "none", p.Name}, p.Vdevs)
}

// ImportPool imports a pool from the devices in a directory and from no others.
func ImportPool(pool, directory string) []string {
	return []string{"zpool", "import", "-d", directory, "-o", "cachefile=none", pool}
}

// ExportPool takes a pool off ZFS.
func ExportPool(pool string) []string { return []string{"zpool", "export", pool} }

// DestroyPool destroys a pool with all that is in it.
func DestroyPool(pool string) []string { return []string{"zpool", "destroy", "-f", pool} }

// Datasets prints all properties of every filesystem and volume, from zfs-fuse
// also of snapshots; see [ParseProperties].
func (t Tools) Datasets() []string {
	argv := []string{"zfs", "get", "-Hp", "-o", "name,property,value,source"}
	if !t.Fuse {
		argv = append(argv, "-t", "filesystem,volume")
	}
	return append(argv, "all")
}

// Snapshots prints every snapshot, and where it can its moment; see [ParseSnapshots].
func (t Tools) Snapshots() []string {
	if t.Fuse { // prints dates for people only
		return []string{"zfs", "list", "-H", "-t", "snapshot", "-o", "name"}
	}
	return []string{"zfs", "list", "-Hp", "-t", "snapshot", "-o", "name,creation,createtxg"}
}

// Exists prints the name of a dataset or snapshot, or ends with an error that
// says "does not exist".
func Exists(name string) []string { return []string{"zfs", "list", "-H", "-o", "name", name} }

// Below prints the names of a dataset and of the datasets below it; see [Names].
func Below(name string) []string { return []string{"zfs", "list", "-H", "-r", "-o", "name", name} }

// ChildrenOf prints the names of a dataset and of those directly below it; see [Names].
func ChildrenOf(name string) []string {
	return []string{"zfs", "list", "-H", "-d", "1", "-t", "filesystem,volume", "-o", "name", name}
}

// Volumes prints the names of all volumes; see [Names].
func Volumes() []string { return []string{"zfs", "list", "-H", "-t", "volume", "-o", "name"} }

// SnapshotsOf prints the names of the snapshots of a dataset; see [Names].
func SnapshotsOf(name string) []string {
	return []string{"zfs", "list", "-H", "-d", "1", "-t", "snapshot", "-o", "name", name}
}

// Everything prints the names of a dataset, of all below it and of their
// snapshots; see [Names].
func Everything(name string) []string {
	return []string{"zfs", "list", "-H", "-r", "-t", "all", "-o", "name", name}
}

// Rename gives a dataset or snapshot another name.
func Rename(from, to string) []string { return []string{"zfs", "rename", from, to} }

// Values prints all properties of a dataset, sizes in bytes; see [ParseValues].
func Values(name string) []string {
	return []string{"zfs", "get", "-Hp", "-o", "property,value", "all", name}
}

// ShownValues is Values with sizes as people read them.
func ShownValues(name string) []string {
	return []string{"zfs", "get", "-H", "-o", "property,value", "all", name}
}

// Value prints one property of a dataset, alone on its line.
func Value(property, name string) []string {
	return []string{"zfs", "get", "-Hp", "-o", "value", property, name}
}

// LocalValue is Value of a property that is set on the dataset itself, and
// prints nothing otherwise.
func LocalValue(property, name string) []string {
	return []string{"zfs", "get", "-Hp", "-o", "value", "-s", "local", property, name}
}

// Marks prints one property of a dataset and of all below it; see [ParseMarks].
func Marks(property, name string) []string {
	return []string{"zfs", "get", "-H", "-r", "-o", "name,value,source", property, name}
}

// Set sets a property of a dataset.
func Set(property, value, name string) []string {
	return []string{"zfs", "set", property + "=" + value, name}
}

// Inherit takes a property off a dataset.
func Inherit(property, name string) []string { return []string{"zfs", "inherit", property, name} }

// InheritReceived takes a property off a dataset, so that what zfs receive brought is in force again.
func InheritReceived(property, name string) []string {
	return []string{"zfs", "inherit", "-S", property, name}
}

// Create makes a dataset; the options are in the order given.
func Create(name string, options ...string) []string {
	return withOptions("create", options, name)
}

// Clone makes a dataset of a snapshot.
func Clone(snapshot, name string, options ...string) []string {
	return append(withOptions("clone", options, snapshot), name)
}

func withOptions(verb string, options []string, name string) []string {
	argv := []string{"zfs", verb}
	for _, o := range options {
		argv = append(argv, "-o", o)
	}
	return append(argv, name)
}

// TakeSnapshot makes a snapshot, named dataset@name.
func TakeSnapshot(name string) []string { return []string{"zfs", "snapshot", name} }

// Rollback takes a dataset back to its newest snapshot.
func Rollback(snapshot string) []string { return []string{"zfs", "rollback", snapshot} }

// Mount mounts a dataset where its mountpoint says.
func Mount(name string) []string { return []string{"zfs", "mount", name} }

// Unmount unmounts a dataset.
func Unmount(name string) []string { return []string{"zfs", "unmount", name} }

// Destroy destroys a dataset that has nothing below it.
func Destroy(name string) []string { return []string{"zfs", "destroy", name} }

// DestroyAll destroys a dataset with its snapshots and all below it, but no
// clone that lies elsewhere.
func DestroyAll(name string) []string { return []string{"zfs", "destroy", "-r", name} }

// options gives a map of properties as arguments, in order.
func options(flag string, of map[string]string) (argv []string) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		argv = append(argv, flag, name+"="+of[name])
	}
	return argv
}
