package volume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/zfs"
)

// datasets are the golden data and their clone as two datasets. Both inherit
// their properties from one above them, which is mounted nowhere.
type datasets struct {
	tree
	name   string // of the one above
	fuse   bool   // ZFS is zfs-fuse
	manual bool   // the machine does not mount them as it starts
}

const snapshot = "golden@lab"

// add makes a dataset, empty or a clone of a snapshot, and mounts it in the
// volume's directory.
func (s *datasets) add(ctx context.Context, name, of string) error {
	dir := filepath.Join(s.dir, name)
	options := []string{"mountpoint=" + dir}
	if s.manual {
		options = append(options, "canmount=noauto")
	}
	argv := zfs.Create(s.name+"/"+name, options...)
	if of != "" {
		argv = zfs.Clone(of, s.name+"/"+name, options...)
	}
	err := s.run(ctx, argv...)
	if err == nil && s.manual && s.mounted(ctx, dir) != nil { // zfs-fuse mounts clones all the same
		err = s.run(ctx, zfs.Mount(s.name+"/"+name)...)
	}
	return err
}

// has tells whether there is a dataset or snapshot.
func (s *datasets) has(ctx context.Context, name string) bool {
	return s.run(ctx, zfs.Exists(s.name+"/"+name)...) == nil
}

// mounted is an error when no dataset is mounted on a directory: its data
// would be written to the filesystem of the host.
func (s *datasets) mounted(ctx context.Context, dir string) error {
	f, point, err := mountFacts(ctx, s.do, dir)
	at := dir
	if st, err := s.do.Stat(ctx, dir); err == nil && st.Resolved != "" {
		at = st.Resolved
	}
	if err == nil && (point != at || !strings.HasSuffix(f.Filesystem, "zfs")) {
		err = fmt.Errorf("no dataset is mounted on %s", dir)
	}
	return err
}

// readySets is an error unless there are golden data and no clone.
func (s *datasets) readySets(ctx context.Context) error {
	if !s.has(ctx, "golden") {
		return fmt.Errorf("clone %s: there are no golden data yet", s.golden())
	}
	if s.has(ctx, "data") {
		return fmt.Errorf("clone %s: the clone of the last trial is still there", s.golden())
	}
	return nil
}

// cloneBy makes the clone. auto is a clone of a snapshot.
func (s *datasets) cloneBy(ctx context.Context) (how string, err error) {
	if s.v.Clone == byCopy {
		return byCopy, s.copyData(ctx)
	}
	from := s.name + "/" + snapshot
	if !s.has(ctx, snapshot) {
		if err := s.run(ctx, zfs.TakeSnapshot(from)...); err != nil {
			return bySnapshot, err
		}
	}
	return bySnapshot, s.add(ctx, "data", from)
}

func (s *datasets) copyData(ctx context.Context) error {
	err := s.mounted(ctx, s.golden())
	if err == nil {
		err = s.add(ctx, "data", "")
	}
	if err == nil {
		err = s.mounted(ctx, s.clone())
	}
	if err != nil {
		return err
	}
	return lab.CopyTree(ctx, s.do, s.golden()+"/.", s.clone())
}

// logs is the dataset that is mounted within the clone.
const logs = "logs"

// makeLogs makes the dataset of the logs, within the clone.
func (s *datasets) makeLogs(ctx context.Context, dir string, uid, gid int) error {
	at := filepath.Join(s.clone(), dir)
	options := []string{"mountpoint=" + at}
	for _, k := range slices.Sorted(maps.Keys(s.v.Logs)) {
		options = append(options, k+"="+s.v.Logs[k])
	}
	err := s.run(ctx, zfs.Create(s.name+"/"+logs, options...)...)
	if err == nil {
		err = s.mounted(ctx, at)
	}
	if err == nil {
		err = own(ctx, s.do, at, uid, gid)
	}
	if err != nil {
		return fmt.Errorf("put the logs on a dataset of their own: %w", err)
	}
	return nil
}

// dropData destroys the clone and its logs, when there are any: first what is
// mounted within the other.
func (s *datasets) dropData(ctx context.Context) error {
	for _, name := range []string{logs, "data"} {
		if !s.has(ctx, name) {
			continue
		}
		if err := s.insist(ctx, zfs.Destroy(s.name+"/"+name)...); err != nil {
			return fmt.Errorf("drop the clone: %w", err)
		}
	}
	return nil
}

// makeGoldenSet makes the golden dataset.
func (s *datasets) makeGoldenSet(ctx context.Context, uid, gid int) (string, error) {
	err := s.add(ctx, "golden", "")
	if err == nil {
		err = s.mounted(ctx, s.golden())
	}
	if err != nil {
		return "", fmt.Errorf("make %s: %w", s.golden(), err)
	}
	return s.golden(), own(ctx, s.do, s.golden(), uid, gid)
}

// setFacts tells what the clone is. Its device is in no single line of
// /proc/diskstats. asked are the properties of the pool that were asked for.
func (s *datasets) setFacts(ctx context.Context, asked map[string]string) (experiment.VolumeFacts, error) {
	f, _, err := mountFacts(ctx, s.do, s.clone())
	f.Path, f.Cloned, f.Device = s.clone(), s.cloned, ""
	set, err2 := s.do.Run(ctx, zfs.ShownValues(s.name+"/data")...)
	tools := zfs.Tools{Fuse: s.fuse}
	pool, err3 := s.do.Run(ctx, tools.PoolProperties(zfs.PoolOf(s.name))...)
	f.Properties = lasting(zfs.ParseValues(set))
	for _, p := range tools.ParsePool(pool) {
		if p.Name == "ashift" || p.Name == "version" || p.Name == "autotrim" || asked[p.Name] != "" {
			f.Properties["pool "+p.Name] = p.Value
		}
	}
	if len(s.v.Logs) > 0 {
		text, err4 := s.do.Run(ctx, zfs.ShownValues(s.name+"/"+logs)...)
		err = errors.Join(err, err4)
		for name, value := range lasting(zfs.ParseValues(text)) {
			f.Properties["log "+name] = value
		}
	}
	f.Properties["implementation"] = "OpenZFS"
	if s.fuse {
		f.Properties["implementation"] = "zfs-fuse, which also uses the page cache"
		if s.v.ARC > 0 {
			f.Properties["implementation"] = fmt.Sprintf("zfs-fuse, which has %s with its ARC and all of its page cache", s.v.ARC+fuseNeeds)
		}
	}
	return f, errors.Join(err, err2, err3)
}

// countSpace adds what the clone and its logs refer to, shared with the golden
// data or not. How well it compresses is told of the data alone.
func (s *datasets) countSpace(ctx context.Context, out map[string]float64) {
	text, err := s.do.Run(ctx, zfs.Values(s.name+"/data")...)
	if err != nil {
		return
	}
	all := zfs.ParseValues(text)
	ratio := all["refcompressratio"]
	if ratio == "" && s.cloned == byCopy {
		ratio = all["compressratio"] // of a snapshot's clone, it would be that of what was written since
	}
	for name, value := range map[string]string{spaceUsed: all["referenced"], compression: ratio} {
		if n, ok := number(value); ok {
			out[name] = n
		}
	}
	if len(s.v.Logs) > 0 {
		s.countLogs(ctx, out)
	}
}

// countLogs adds the room of the logs. Where it is not known, neither is that of both.
func (s *datasets) countLogs(ctx context.Context, out map[string]float64) {
	text, err := s.do.Run(ctx, zfs.Values(s.name+"/"+logs)...)
	n, ok := number(zfs.ParseValues(text)["referenced"])
	if data, known := out[spaceUsed]; known && ok && err == nil {
		out[spaceUsed] = data + n
		return
	}
	delete(out, spaceUsed)
}
