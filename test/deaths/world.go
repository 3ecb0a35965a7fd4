package deaths

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// World says what is on the machine of a scene: the files of its source, what the storage has, files written
// down and of copies, mounts, processes and control groups.
func (s *Scene) World(t testing.TB) string {
	t.Helper()
	var all []string
	add := func(what, of string) { all = append(all, what+" "+of) }
	for _, v := range s.Plan.Set.Volumes {
		add("source", sh(t, "cd "+v.Mountpoint+"; find . -type f | sort | xargs cksum"))
	}
	add("storage", sh(t, s.List))
	for _, dir := range []string{s.State, s.Copies} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !passing(d.Name()) {
				add("file", name)
				whole(t, name)
			}
			return nil
		})
		must(t, err)
	}
	left, err := filepath.Glob(s.Copies + "/*")
	must(t, err)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); strings.HasPrefix(f[4], s.Copies) || strings.HasPrefix(f[4], s.Box.Dir) {
			left = append(left, "mount "+f[3]+" on "+f[4])
		}
	}
	return strings.Join(slices.Concat(all, left, s.processes(t), s.groups(t)), "\n")
}

// passing tells of a file whether it is no record: a lock, or a log or journal that only grows.
func passing(name string) bool {
	return name == "lock" || strings.HasSuffix(name, "-lock") || strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, ".log") || strings.HasSuffix(name, ".journal")
}

// whole wants that a record can be read.
func whole(t testing.TB, name string) {
	text, err := os.ReadFile(name)
	if err == nil && strings.HasSuffix(name, ".json") && !strings.HasPrefix(filepath.Base(name), ".") && !json.Valid(text) {
		t.Errorf("%s is not whole: %s", name, text)
	}
}

// processes lists those that run on copies.
func (s *Scene) processes(t testing.TB) (all []string) {
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, name := range files {
		text, _ := os.ReadFile(name) // of one that has ended: nothing
		line := strings.ReplaceAll(string(text), "\x00", " ")
		// Who is just being enclosed names all that it covers, also the copies of tests beside this one.
		if _, run, ok := strings.Cut(line, " standin "); ok {
			line = run
		}
		if strings.Contains(line, s.Copies) {
			all = append(all, "process "+line)
		}
	}
	return all
}

// groups lists control groups of copies. Those of tests that run beside this one have other names.
func (s *Scene) groups(t testing.TB) (all []string) {
	var found []string
	for _, pattern := range []string{"/sys/fs/cgroup/plumb-*", "/sys/fs/cgroup/*/plumb-*", "/sys/fs/cgroup/*/*/plumb-*"} {
		some, err := filepath.Glob(pattern)
		must(t, err)
		found = append(found, some...)
	}
	for _, dir := range found {
		name := filepath.Base(dir)
		if slices.ContainsFunc(s.runs, func(run string) bool { return name == "plumb-"+run }) {
			all = append(all, dir)
		}
	}
	return all
}

// note keeps the names of runs whose books there are: by them their control groups are known.
func (s *Scene) note(t testing.TB) {
	t.Helper()
	books, err := filepath.Glob(s.State + "/lab/*.book")
	must(t, err)
	for _, book := range books {
		s.runs = append(s.runs, strings.TrimSuffix(filepath.Base(book), ".book"))
	}
}
