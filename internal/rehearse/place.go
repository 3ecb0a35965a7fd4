package rehearse

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host/paths"
	"plumb/internal/lab/experiment"
	"plumb/internal/stack"
)

// Site is where a sandbox for a server's data can lie, so that it is on the
// same filesystem and devices as the data are.
type Site struct {
	Filesystem stack.Ref         // that holds the server's data
	Kind       string            // of the volume: experiment.Directory or experiment.Dataset
	Dir        string            // Directory: the lab makes its own directory below it; "" for a dataset, where any will do
	Parent     string            // Dataset: the dataset it is made below
	Properties map[string]string // Dataset: those of the data's dataset that are not the defaults, as zfs set takes them
	Says       []string          // for people: where it lies, and how that differs from the server's own; a sentence each
}

const placeHint = "--dir names a directory for the sandbox, and --volume makes a volume of its own instead"

// findPlace finds where a sandbox for a server can lie: on ZFS in a dataset beside
// that of the data, elsewhere in a directory of the same filesystem. It is
// never inside a directory that a server keeps its data in: to MySQL a
// directory there is a database, and a base backup would copy it. The
// error has a hint when there is no such place, or it is not known.
func findPlace(s *stack.Stack, server stack.Ref) (Site, error) {
	site, err := place(s, server)
	if err != nil {
		return Site{}, hint.With(fmt.Errorf("find a place for a sandbox on the filesystem of %s: %w", server, err), placeHint)
	}
	return site, nil
}

func place(s *stack.Stack, server stack.Ref) (Site, error) {
	db := s.Find(server)
	if db == nil {
		return Site{}, errors.New("there is no such server")
	}
	on, known := s.Follow(db, "data")
	if !known || len(on) == 0 {
		why := "where it keeps its data is not known"
		if gap, ok := s.GapFor(server, "data"); ok {
			why = gap.Why
		}
		return Site{}, errors.New(why)
	}
	f := on[0]
	if only, _ := f.Bool("read_only"); only {
		return Site{}, fmt.Errorf("%s is mounted read-only", pointOf(f))
	}
	site := Site{Filesystem: f.Ref}
	if dataset := datasetOf(s, f); dataset != nil && s.Root {
		site.beside(s, f, dataset)
	} else if err := site.below(s, server, f); err != nil {
		return Site{}, err
	}
	site.elsewhere(s, server)
	return site, nil
}

// pointOf names a filesystem by where it is mounted.
func pointOf(f *stack.Thing) string {
	if p := f.Text("mountpoint"); p != "" {
		return p
	}
	return f.Ref.Name
}

// linked gives the first thing that a link of another leads to; nil when there is
// none, or nothing that it could lead from.
func linked(s *stack.Stack, from *stack.Thing, link string) *stack.Thing {
	if from == nil {
		return nil
	}
	all, _ := s.Follow(from, link)
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// datasetOf gives the ZFS dataset that a filesystem shows, or nil.
func datasetOf(s *stack.Stack, f *stack.Thing) *stack.Thing { return linked(s, f, "dataset") }

// beside places the sandbox in a dataset beside that of the data. Beside a
// root filesystem are those that a machine can boot from: there it goes
// to the top of the pool.
func (site *Site) beside(s *stack.Stack, f, dataset *stack.Thing) {
	name := dataset.Ref.Name
	site.Kind, site.Parent = experiment.Dataset, path.Dir(name)
	if pool, _, below := strings.Cut(name, "/"); !below || pointOf(f) == "/" {
		site.Parent = pool
	}
	site.Properties = propertiesOf(dataset)
	site.say("The sandbox is a dataset of its own below %s, in the pool of the server's data, with the properties that %s has.", site.Parent, name)
	site.say("The ARC is that of the whole machine: the sandbox shares it with the server, and it is not part of the sandbox's memory.")
	if encrypted(dataset) && !encrypted(s.Find(stack.Ref{Kind: "dataset", Name: site.Parent})) {
		site.say("%s is encrypted, and %s is not known to be: the sandbox may not be encrypted.", name, site.Parent)
	}
}

func encrypted(dataset *stack.Thing) bool {
	if dataset == nil {
		return false
	}
	how := dataset.Text("encryption")
	return how != "" && how != "off"
}

// carried are the properties that a sandbox takes over. Left out are those
// that say where a dataset is, who may see it, how much it may take, and
// dedup, whose table is that of the pool.
func carried() []string {
	return []string{"recordsize", "compression", "checksum", "sync", "logbias", "primarycache", "secondarycache", "prefetch", "direct",
		"atime", "relatime", "xattr", "dnodesize", "redundant_metadata", "special_small_blocks", "copies"}
}

// propertiesOf gives the properties of a dataset that somebody set, here or
// further up.
func propertiesOf(dataset *stack.Thing) map[string]string {
	out := map[string]string{}
	for _, name := range carried() {
		fact, ok := dataset.Facts[name]
		if !ok || fact.Value.IsAbsent() || fact.Origin == nil {
			continue
		}
		if from := fact.Origin.From; from != stack.FromLocal && from != stack.FromInherited && from != stack.FromReceived {
			continue
		}
		out[name] = fact.Value.String()
		if n, ok := fact.Value.Int(); ok && name != "copies" {
			out[name] = experiment.Bytes(n).String()
		}
	}
	return out
}

// below places the sandbox in the highest directory above the data that is on
// the same filesystem and holds no data of any server. The root itself is
// left out: nothing of a lab lies directly below it.
func (site *Site) below(s *stack.Stack, server stack.Ref, f *stack.Thing) error {
	point := path.Clean(pointOf(f))
	if strings.HasPrefix(f.Ref.Name, "/proc/") || !path.IsAbs(point) {
		return fmt.Errorf("%s is mounted for the server alone, as in a container", point)
	}
	data := dataPath(s, server)
	if contained, _ := s.Find(server).Bool("in_container"); contained || !path.IsAbs(data) || !paths.Within(data, point) {
		data = point // what is above it in the container is not so here
	}
	dir := ""
	for at := data; paths.Within(at, point) && at != "/"; at = path.Dir(at) {
		if !keptIn(s, at) {
			dir = at
		}
	}
	if dir == "" {
		return fmt.Errorf("%s has no directory above its data, below the root and without data of a server", point)
	}
	site.Kind, site.Dir = experiment.Directory, dir
	site.say("The sandbox is below %s, on the filesystem of the server's data (%s).", dir, describe(f))
	if datasetOf(s, f) != nil {
		site.say("Without root it cannot have a dataset of its own, so changes of ZFS properties cannot be tried.")
	}
	return nil
}

func describe(f *stack.Thing) string {
	if fstype := f.Text("fstype"); fstype != "" {
		return fstype + ", mounted on " + pointOf(f)
	}
	return "mounted on " + pointOf(f)
}

func (site *Site) say(format string, args ...any) {
	site.Says = append(site.Says, fmt.Sprintf(format, args...))
}

// dataPath gives the server's data directory without links, "" when unknown.
func dataPath(s *stack.Stack, server stack.Ref) string {
	for _, r := range s.Roles {
		if r.DB == server && r.Name == "data" && !r.Filesystem.IsZero() {
			return rolePath(r)
		}
	}
	return ""
}

func rolePath(r stack.Role) string {
	if r.Resolved != "" {
		return path.Clean(r.Resolved)
	}
	return path.Clean(r.Path)
}

// kept are the roles in whose directories nothing else may lie, in the order
// and by the names in which they are told.
var kept = []struct{ role, words string }{
	{"data", "data"}, {"redo", "redo log"}, {"wal", "WAL"}, {"binlog", "binary log"}, {"journal", "journal"}, {"undo", "undo tablespaces"},
	{"doublewrite", "doublewrite files"}, {"relaylog", "relay log"}, {"tablespace", "tablespaces"},
}

// keptIn tells whether a directory is one that a server keeps something in, or
// lies inside it.
func keptIn(s *stack.Stack, dir string) bool {
	for _, r := range s.Roles {
		for _, k := range kept {
			if r.Name == k.role && r.Path != "" && paths.Within(dir, rolePath(r)) {
				return true
			}
		}
	}
	return false
}

// elsewhere tells what the server keeps on other filesystems than its data:
// in the sandbox all is on one.
func (site *Site) elsewhere(s *stack.Stack, server stack.Ref) {
	for _, k := range kept {
		var points []string
		for _, r := range s.Roles {
			if r.DB != server || r.Name != k.role || r.Filesystem.IsZero() || r.Filesystem == site.Filesystem {
				continue
			}
			point := r.Filesystem.Name
			if f := s.Find(r.Filesystem); f != nil {
				point = pointOf(f)
			}
			if !slices.Contains(points, point) {
				points = append(points, point)
			}
		}
		if len(points) > 0 {
			site.say("The server keeps its %s on another filesystem (%s); the sandbox has everything on one.", k.words, strings.Join(points, ", "))
		}
	}
}
