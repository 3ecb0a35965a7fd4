package protect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/paths"
	"plumb/internal/host/processes"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// findSet finds the volumes a server keeps data on: those of its directories, as the process itself sees them, of whatever is
// mounted in those, and of every file it has open for writing.
func (k *Keeper) findSet(ctx context.Context, h host.Reader, s *stack.Stack, e Engine, sv Server) (Set, error) {
	if sv.PID == 0 {
		return Set{}, fmt.Errorf("find what %s keeps its data on: it has no process on this host", sv.Ref)
	}
	mounts, err := observe.MountTable(ctx, h, strconv.Itoa(sv.PID))
	if err != nil {
		return Set{}, fmt.Errorf("find what %s keeps its data on: %w", sv.Ref, err)
	}
	f := finding{ctx: ctx, h: h, s: s, storages: k.Storages, mounts: mounts}
	for _, d := range sv.Dirs {
		if !passing(d.Role) {
			f.link = d.Link
			f.directory(d.Path)
		}
	}
	f.link = ""
	if err := f.opened(e, sv); err != nil {
		return Set{}, fmt.Errorf("find which files %s has open: %w", sv.Ref, err)
	}
	slices.SortStableFunc(f.set.Volumes, func(a, b Volume) int { return strings.Compare(a.Mountpoint, b.Mountpoint) })
	f.set.Apart = apart(k.Storages, f.set.Volumes)
	f.set.Others = others(s, sv, f.set)
	return f.set, nil
}

// passing tells whether a copy can do without the directories of a role.
func passing(role string) bool { return role == "temporary" || role == "log" || role == "pid" }

// finding is a set that is being found.
type finding struct {
	ctx      context.Context
	h        host.Reader
	s        *stack.Stack
	storages []Storage
	mounts   []observe.Mount
	link     string   // Dir.Link of the directory that is being looked at
	dirs     []string // that have been looked at
	set      Set
}

// directory adds the volume of a directory, and those mounted in it.
func (f *finding) directory(dir string) {
	f.dirs = append(f.dirs, dir)
	f.file(dir)
	for _, m := range f.mounts {
		if m.Point != dir && paths.Within(m.Point, dir) {
			f.file(m.Point)
		}
	}
}

// looked tells whether a file lies in a directory that has been looked at. If so, its volume or the lack of one is known.
func (f *finding) looked(file string) bool {
	return slices.ContainsFunc(f.dirs, func(dir string) bool { return paths.Within(file, dir) })
}

// opened adds the volumes of the files that the server has open for writing outside of its directories. A server can have very many:
// as files in one directory and on one mount are on one volume, only one of them is looked at.
func (f *finding) opened(e Engine, sv Server) error {
	files, err := written(f.ctx, f.h, sv.PID, f.looked)
	had := map[string]bool{}
	for _, file := range files {
		if f.set.outside(file) || e.Aside(f.s, sv, file) {
			continue
		}
		m, _ := observe.Holding(f.mounts, file)
		if at := m.Point + "\x00" + path.Dir(file); !had[at] {
			had[at] = true
			f.file(file)
		}
	}
	return err
}

// file adds the volume that a file lies on, or notes that it lies on none.
func (f *finding) file(name string) {
	m, ok := observe.Holding(f.mounts, name)
	if !ok {
		f.stray(name, errors.New("no mount of the server's leads to it"))
		return
	}
	v, err := f.volume(m, name)
	if err != nil {
		f.stray(name, err)
		return
	}
	if !slices.ContainsFunc(f.set.Volumes, func(w Volume) bool { return w.holds(v) }) {
		f.set.Volumes = append(slices.DeleteFunc(f.set.Volumes, v.holds), v)
	}
}

// holds tells whether w is seen through v too, because the directory mounted for w lies in the directory mounted for v, in the
// same place. One directory mounted in two places counts as two.
func (v Volume) holds(w Volume) bool {
	rest, below := paths.Cut(w.Mountpoint, v.Mountpoint)
	return v == w || below && v.Storage == w.Storage && v.Pool == w.Pool && v.Name == w.Name && v.Within != "" &&
		w.Within == path.Join(v.Within, rest)
}

func (f *finding) volume(m observe.Mount, name string) (Volume, error) {
	fs := m.Thing(m.Point)
	var why error
	for _, storage := range f.storages {
		v, ok := storage.Volume(f.s, fs)
		if !ok {
			continue
		}
		p, ok := storage.(Placer)
		if !ok {
			return v, nil
		}
		if v, err := p.Place(f.ctx, f.h, v, name); err == nil {
			return v, nil
		} else if why == nil { // but another storage can still fit, as for XFS on a logical volume that is not thin
			why = err
		}
	}
	if why != nil {
		return Volume{}, why
	}
	return Volume{}, errors.New("on " + m.Type + " (" + m.Source + "), where no snapshots can be taken")
}

func (f *finding) stray(file string, why error) {
	for _, s := range f.set.Strays {
		if paths.Within(file, s.Path) && s.Why == why.Error() {
			return // that is said already: many roles can have one directory
		}
	}
	f.set.Strays = append(f.set.Strays, Stray{Path: file, Why: why.Error(), Hint: hint.Of(why), Link: f.link})
}

// apart says why snapshots of these volumes would not be of one moment; "" when they would.
func apart(storages []Storage, vols []Volume) string {
	for _, v := range vols {
		if first := vols[0]; v.Storage != first.Storage || v.Pool != first.Pool {
			return fmt.Sprintf("%s and %s are in two pools, and no snapshot covers both", first.Name, v.Name)
		}
	}
	for _, storage := range storages {
		if len(vols) > 0 && storage.Name() == vols[0].Storage {
			return storage.Atomic(vols)
		}
	}
	return ""
}

// others lists the other servers of the host that keep something on the volumes of a set.
func others(s *stack.Stack, sv Server, set Set) (names []string) {
	for _, r := range s.Roles {
		if _, in := set.Of(cmp.Or(r.Resolved, r.Path)); in && r.DB != sv.Ref && !slices.Contains(names, r.DB.String()) {
			names = append(names, r.DB.String())
		}
	}
	return names
}

// written lists the files that a process and its children have open, or mapped, for writing. It leaves out deleted files, which no
// copy could have, and those for which known is true.
func written(ctx context.Context, h host.Reader, pid int, known func(file string) bool) (all []string, err error) {
	seen := map[string]bool{}
	for _, pid := range family(ctx, h, pid) {
		files, err := writtenBy(ctx, h, pid, known)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a child that has ended since
		}
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if !seen[file] && !known(file) {
				seen[file] = true
				all = append(all, file)
			}
		}
	}
	slices.Sort(all)
	return all, nil
}

// family returns a process and its children. With PostgreSQL the children have the files open, and not the process that started them.
func family(ctx context.Context, h host.Reader, pid int) []int {
	all := []int{pid}
	text, err := h.ReadFile(ctx, fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return all // the kernel was built without this file; the server's directories are known all the same
	}
	for _, word := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(word); err == nil {
			all = append(all, child)
		}
	}
	return all
}

func writtenBy(ctx context.Context, h host.Reader, pid int, known func(file string) bool) (files []string, err error) {
	dir := fmt.Sprintf("/proc/%d", pid)
	links, err := processes.Descriptors(ctx, h, strconv.Itoa(pid))
	if err != nil {
		return nil, err
	}
	for _, link := range links {
		to, err := h.Readlink(ctx, link)
		if n := path.Base(link); err != nil || !onDisk(to) || known(to) || n == "1" || n == "2" {
			continue // closed meanwhile, not a file, or standard output and error, which carry messages for people
		}
		info, err := h.ReadFile(ctx, dir+"/fdinfo/"+path.Base(link))
		if err != nil || forWriting(info) {
			files = append(files, to)
		}
	}
	maps, err := h.ReadFile(ctx, dir+"/maps")
	if err != nil {
		return files, err
	}
	return append(files, mapped(maps)...), nil
}

// onDisk tells whether the target of a descriptor is a file that has a name on a disk.
func onDisk(to string) bool {
	return strings.HasPrefix(to, "/") && !strings.HasSuffix(to, " (deleted)") &&
		!paths.Within(to, "/dev") && !paths.Within(to, "/proc") && !paths.Within(to, "/sys") && !strings.HasPrefix(to, "/memfd:")
}

// forWriting reads from /proc/PID/fdinfo whether a file is open for writing: the last two bits of the flags of open(2). If they cannot
// be read it is taken to be.
func forWriting(info []byte) bool {
	for line := range strings.Lines(string(info)) {
		if text, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseInt(strings.TrimSpace(text), 8, 64)
			return err != nil || flags&3 != 0
		}
	}
	return true
}

// mapped lists from /proc/PID/maps the files that are mapped shared and for writing.
func mapped(maps []byte) (files []string) {
	for line := range strings.Lines(string(maps)) {
		f := strings.Fields(line)
		if len(f) < 6 || len(f[1]) != 4 || f[1][1] != 'w' || f[1][3] != 's' {
			continue
		}
		if name := strings.TrimSpace(line[strings.Index(line, f[5]):]); onDisk(name) {
			files = append(files, name)
		}
	}
	return files
}
