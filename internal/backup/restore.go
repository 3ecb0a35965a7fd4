package backup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"filippo.io/age"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/stream"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/relay"
	"plumb/internal/zfs"
)

// Restore brings backups back.
type Restore struct {
	Vault
	Do      host.Streamer
	Keys    []age.Identity
	Workers int
	Pace    *stream.Pace // of what is fetched
	Doing   func(Progress)
	Books   string // directory of the inventory, for what is made beside its target, and for the locks of what it restores to
	Home    string // of whoever restores, for the line of Command; "" for none

	count *tally // of several streams; nil where one is all
}

// Stream writes one stream of a backup to out. What it writes was checked; with an error it is only its beginning.
func (r Restore) Stream(ctx context.Context, m manifest.Manifest, number int, out io.Writer) error {
	s, count := m.Streams[number], r.count
	if count == nil {
		count = newTally(r.Doing, s.Bytes)
	}
	return stream.Read(ctx, stream.Reading{Store: r.Store, ID: m.ID, Stream: number, Of: s, Keys: r.Keys, Workers: r.Workers, Pace: r.Pace, Doing: func(n int64) { count.did(s.Name, n) }}, out)
}

// counted counts towards all that a chain has of datasets or subvolumes.
func (r Restore) counted(chain []manifest.Manifest) Restore {
	r.count = newTally(r.Doing, room(chain))
	return r
}

// room is how many bytes the streams of a chain have, but for those about the point.
func room(chain []manifest.Manifest) (bytes int64) {
	for _, m := range chain {
		for _, s := range datasets(m) {
			bytes += s.Bytes
		}
	}
	return bytes
}

// Received is a dataset or subvolume that was restored.
type Received struct {
	Dataset string `json:"dataset"` // its name, or its path
	From    string `json:"from"`    // its name when it was backed up
	GUID    string `json:"guid"`    // of its newest snapshot; of btrfs the UUID
	Bytes   int64  `json:"bytes"`
}

// Datasets restores a backup, and what it needs, to datasets of ZFS below a target, which are not there yet. They
// are not mounted. What an earlier run has restored whole is kept, and not read again. While another restores to one of them it is
// refused.
func (r Restore) Datasets(ctx context.Context, m manifest.Manifest, target string) (all []Received, err error) {
	return r.datasets(ctx, m, target, nil, nil)
}

// datasets does that, and has then, unless it is nil, something done with them before another restore may come to them. born is as in
// Mounting, as far as it is known.
func (r Restore) datasets(ctx context.Context, m manifest.Manifest, target string, born map[string]string, then func([]Received) error) (all []Received, err error) {
	if !zfs.IsDataset(target) {
		return nil, hint.Usage(fmt.Sprintf("%q is not a dataset", target), "name one: tank/restored")
	}
	chain, err := r.Chain(ctx, m)
	if err != nil {
		return nil, err
	}
	if err := linked(chain, manifest.ZFS); err != nil {
		return nil, err
	}
	r = r.counted(chain)
	streams := datasets(m)
	names := under(streams, target)
	if err := oddDatasets(names); err != nil {
		return nil, err
	}
	unlock, err := r.alone(ctx, names)
	if err != nil {
		return nil, err
	}
	defer unlock()
	there, err := r.there(ctx, target)
	if err != nil {
		return nil, err
	}
	had, err := r.had(ctx, names, there)
	if err == nil {
		err = r.free(ctx, chain, names, had, born)
	}
	if err == nil {
		err = r.opens(ctx, chain)
	}
	if err != nil {
		return nil, err
	}
	open, err := r.target(ctx, target, names, there)
	if err == nil {
		err = r.takeBack(ctx, chain, names, had)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range streams {
		got := Received{Dataset: names[s.Name], From: s.Name, GUID: s.GUID}
		for _, one := range chain {
			n, err := r.receive(ctx, one, s.Name, got.Dataset, open)
			if got.Bytes += n; err != nil {
				return append(all, got), fmt.Errorf("restore %s to %s: %w", s.Name, got.Dataset, err)
			}
		}
		all = append(all, got)
	}
	if then != nil {
		err = then(all)
	}
	return all, err
}

// oddDatasets refuses names that would lead out of the target: a signed manifest is trusted for data, and not for where they are written.
func oddDatasets(names map[string]string) error {
	for _, from := range slices.Sorted(maps.Keys(names)) {
		if path.Clean(names[from]) != names[from] || strings.ContainsAny(names[from], "@#%\t\n") {
			return hint.With(fmt.Errorf("%.100q is not the name of a dataset", from), "restore it to a file or a command: --output FILE, --command 'LINE'")
		}
	}
	return nil
}

// alone keeps other restores from some datasets, and is refused while one is at them: also by what a restore that was killed has left of
// itself, since zfs receive can go on for as long as its pool does not answer. What it has made until then would look like somebody else's.
func (r Restore) alone(ctx context.Context, names map[string]string) (unlock func(), err error) {
	var locks []func()
	unlock = func() {
		for _, one := range locks {
			one()
		}
	}
	for _, name := range slices.Sorted(maps.Values(names)) {
		sum := sha256.Sum256([]byte(name))
		one, err := host.LockOnce(ctx, r.Do, path.Join(r.Books, restores+hex.EncodeToString(sum[:8])+".lock"))
		if err != nil {
			unlock()
			return nil, fmt.Errorf("restore to %s: %w", name, host.HeldBy(err, "another Plumb is restoring to it", "wait until it has ended"))
		}
		locks = append(locks, one)
	}
	return unlock, nil
}

// had reads the properties of those datasets that are there, by the dataset.
func (r Restore) had(ctx context.Context, names map[string]string, there []string) (map[string][]zfs.Property, error) {
	all := map[string][]zfs.Property{}
	for _, dataset := range names {
		if !slices.Contains(there, dataset) {
			continue
		}
		out, err := r.Do.Output(ctx, zfs.Properties(dataset)...)
		if err != nil {
			return nil, err
		}
		all[dataset] = zfs.ParseProperties(out)
	}
	return all, nil
}

// free refuses, before anything is made, to restore over a dataset that is not what an earlier run left, to go on with.
func (r Restore) free(ctx context.Context, chain []manifest.Manifest, names map[string]string, had map[string][]zfs.Property, born map[string]string) error {
	for _, from := range slices.Sorted(maps.Keys(names)) {
		properties, there := had[names[from]]
		if !there {
			continue
		}
		if err := r.left(ctx, chain, from, names[from], born[from], properties); err != nil {
			return err
		}
	}
	return nil
}

// left is nil for a dataset that an earlier run left: all its snapshots are of this backup, nobody has written to it since and it is not
// mounted, or what that run did with it besides was not finished. (The dataset that was backed up has those snapshots too. Where it is
// known in which transaction group they were born, it is told by that.)
func (r Restore) left(ctx context.Context, chain []manifest.Manifest, from, dataset, born string, properties []zfs.Property) error {
	snapshots, err := r.snapshots(ctx, dataset)
	if err != nil {
		return err
	}
	all, newest := len(snapshots), snapshots[streamOf(chain[len(chain)-1], from).GUID]
	for _, m := range chain {
		delete(snapshots, streamOf(m, from).GUID)
	}
	const help = "name another dataset to restore to: nothing is replaced"
	switch {
	case len(snapshots) == all: // it has none of the chain
		return hint.With(fmt.Errorf("%s already exists, and has nothing of this backup", dataset), help)
	case len(snapshots) > 0:
		return hint.With(fmt.Errorf("%s already exists, and was not restored from this backup alone: it has %s", dataset, slices.Min(slices.Collect(maps.Values(snapshots)))), help)
	}
	if source, err := r.born(ctx, from, newest, born); err != nil {
		return err
	} else if source {
		return hint.With(fmt.Errorf("%s has the very snapshot that was backed up: it is no restore of it", dataset), help)
	}
	switch markOf(properties) {
	case changing:
		return nil // it is taken back
	case changed:
		return hint.With(fmt.Errorf("%s already exists, and was brought to a moment", dataset),
			help+"; what was replayed and written there since is given up, and only what was received is kept, after zfs set "+momentProperty+"="+changing+" "+dataset)
	}
	if written := zfs.Named(properties, "written").Value; written != "" && written != "0" { // zfs-fuse does not tell
		return hint.With(fmt.Errorf("%s already exists, and was written to since", dataset), help)
	}
	if zfs.Named(properties, "mounted").Value == "yes" && !zfs.IsFuse(properties) { // which mounts what it receives
		return hint.With(fmt.Errorf("%s already exists, and is mounted: somebody uses it", dataset), help+"; what an earlier run restored is continued once it is unmounted")
	}
	return nil
}

// born tells whether a snapshot was made in a transaction group of the pool of a dataset, as far as they are known.
func (r Restore) born(ctx context.Context, of, snapshot, group string) (bool, error) {
	if snapshot == "" || group == "" || zfs.PoolOf(of) != zfs.PoolOf(snapshot) {
		return false, nil
	}
	out, err := r.Do.Output(ctx, zfs.Value("createtxg", snapshot)...)
	return strings.TrimSpace(string(out)) == group, err
}

// opens makes sure that the keys open every backup of a chain, by the first chunk of its smallest stream, before anything is made.
// The backups of a chain can have different recipients, and without this an error would come after hours.
func (r Restore) opens(ctx context.Context, chain []manifest.Manifest) error {
	for _, m := range chain {
		number := 0
		for i, s := range m.Streams {
			if s.Bytes < m.Streams[number].Bytes {
				number = i
			}
		}
		first := func(chunk int64) bool { return chunk == 0 }
		if err := stream.Read(ctx, stream.Reading{Store: r.Store, ID: m.ID, Stream: number, Of: m.Streams[number], Keys: r.Keys, Workers: 1, Only: first}, nil); err != nil {
			return err
		}
	}
	return nil
}

// datasets gives the streams that are of datasets.
func datasets(m manifest.Manifest) (all []manifest.Stream) {
	for _, s := range m.Streams {
		if s.Kind != manifest.Point {
			all = append(all, s)
		}
	}
	return all
}

// KindOf tells what reads the streams of a backup.
func KindOf(m manifest.Manifest) manifest.Kind {
	if all := datasets(m); len(all) > 0 {
		return all[0].Kind
	}
	return ""
}

// elsewhere says where a backup of a kind can be restored to.
var elsewhere = map[manifest.Kind]string{manifest.ZFS: "it is of ZFS: name a dataset, as tank/restored", manifest.Btrfs: "it is of btrfs: name a new directory on one, as /srv/restored"}

// linked is an error unless every stream of every backup of a chain is of a kind, and begins where the same stream of the one before
// ends.
func linked(chain []manifest.Manifest, kind manifest.Kind) error {
	for i, m := range chain {
		help := cmp.Or(elsewhere[KindOf(m)], "restore it to a file or a command: --output FILE, --command 'LINE'")
		if len(datasets(m)) == 0 {
			return hint.With(fmt.Errorf("backup %s has no stream of %s", m.ID, kind), help)
		}
		for _, s := range m.Streams {
			switch {
			case s.Kind == manifest.Point:
				continue
			case s.Kind != kind:
				return hint.With(fmt.Errorf("%s of %s is not a stream of %s", s.Name, m.ID, kind), help)
			case i == 0 && s.Base != nil:
				return fmt.Errorf("%s of %s needs another backup", s.Name, m.ID)
			case i == 0:
				continue
			}
			before := streamOf(chain[i-1], s.Name)
			if before == nil || s.Base == nil || s.Base.GUID != before.GUID || s.Base.Backup != chain[i-1].ID {
				return fmt.Errorf("%s of %s does not begin where %s ends", s.Name, m.ID, chain[i-1].ID)
			}
		}
	}
	return nil
}

// target makes the dataset below which all lies, and those between. It tells whether this is OpenZFS.
func (r Restore) target(ctx context.Context, target string, names map[string]string, there []string) (open bool, err error) {
	var wanted []string
	received := slices.Collect(maps.Values(names))
	for _, name := range received {
		for parent := name; parent != target; {
			parent = parent[:strings.LastIndexByte(parent, '/')]
			if !slices.Contains(wanted, parent) && !slices.Contains(received, parent) {
				wanted = append(wanted, parent)
			}
		}
	}
	slices.Sort(wanted)
	for _, name := range wanted {
		if slices.Contains(there, name) {
			continue
		}
		if _, err := r.Do.Run(ctx, zfs.Create(name, "canmount=off")...); err != nil {
			return false, err
		}
	}
	fuse, err := r.Fuse(ctx, target)
	return !fuse, err
}

// Fuse tells whether a dataset is one of zfs-fuse.
func (r Restore) Fuse(ctx context.Context, dataset string) (bool, error) {
	out, err := r.Do.Output(ctx, zfs.Properties(dataset)...)
	return zfs.IsFuse(zfs.ParseProperties(out)), err
}

// receive gives zfs one stream, unless its snapshot is there.
func (r Restore) receive(ctx context.Context, m manifest.Manifest, name, dataset string, open bool) (int64, error) {
	number := slices.IndexFunc(m.Streams, func(s manifest.Stream) bool { return s.Name == name })
	s := m.Streams[number]
	if there, err := r.has(ctx, dataset, s.GUID); err != nil {
		return 0, err
	} else if there {
		r.count.had(name, s.Bytes)
		return 0, nil
	}
	argv := []string{"zfs", "receive", dataset}
	if open {
		argv = []string{"zfs", "receive", "-u", "-x", "mountpoint", "-o", "canmount=noauto", dataset}
		if s.Base != nil { // the properties are set already
			argv = []string{"zfs", "receive", "-u", dataset}
		}
	}
	err := r.feed(ctx, argv, func(ctx context.Context, to io.Writer) error {
		return r.Stream(ctx, m, number, &zfs.Gate{To: to, Fits: func(is zfs.Head) error { return meant(s, is) }})
	})
	if err != nil {
		return 0, err
	}
	if there, err := r.has(ctx, dataset, s.GUID); err != nil || !there {
		return 0, errors.Join(fmt.Errorf("it was received, and has no snapshot with the GUID %s", s.GUID), err)
	}
	return s.Bytes, nil
}

// meant is nil for the beginning of what a manifest says that a stream is. Who signed that may not be the one any more whom we trust.
func meant(s manifest.Stream, is zfs.Head) error {
	if is.To != s.GUID || is.Raw != s.Raw {
		return fmt.Errorf("it is of the snapshot with the GUID %s (raw: %t), and the manifest says %s (raw: %t)", is.To, is.Raw, s.GUID, s.Raw)
	}
	return nil
}

// there lists the datasets of the pool in which a dataset lies, or will lie.
func (r Restore) there(ctx context.Context, dataset string) ([]string, error) {
	out, err := r.Do.Output(ctx, zfs.Below(zfs.PoolOf(dataset))...)
	return zfs.Names(out), err
}

// has tells whether a dataset has a snapshot, by its GUID.
func (r Restore) has(ctx context.Context, dataset, guid string) (bool, error) {
	there, err := r.there(ctx, dataset)
	if err != nil || !slices.Contains(there, dataset) {
		return false, err
	}
	snapshots, err := r.snapshots(ctx, dataset)
	return snapshots[guid] != "", err
}

// snapshots gives the names of the snapshots of a dataset that is there, by their GUIDs.
func (r Restore) snapshots(ctx context.Context, dataset string) (map[string]string, error) {
	out, err := r.Do.Output(ctx, zfs.Moments(dataset)...)
	if err != nil {
		return nil, err
	}
	all := zfs.ParseMoments(out, dataset)
	maps.DeleteFunc(all, func(_, moment string) bool { return !strings.Contains(moment, "@") })
	return all, nil
}

// Command gives one stream to a line for the shell. It ends well only when it was given all of it.
func (r Restore) Command(ctx context.Context, m manifest.Manifest, number int, line string) error {
	if err := r.Feed(ctx, m, number, Line(ctx, r.Do, r.Home, line), nil); err != nil {
		return fmt.Errorf("restore %s with %q: %w", m.Streams[number].Name, Told(line), err)
	}
	return nil
}

// Feed gives a stream to a command. If the stream breaks off, the command is ended, so that it cannot take the part for the whole.
// sieve, unless it is nil, filters the stream: it passes on what is good, and fails otherwise.
func (r Restore) Feed(ctx context.Context, m manifest.Manifest, number int, argv []string, sieve func(in io.Reader, out io.Writer) error) error {
	return r.feed(ctx, argv, func(ctx context.Context, to io.Writer) (whole error) {
		if sieve == nil {
			return r.Stream(ctx, m, number, to)
		}
		stream := func(ctx context.Context, out io.Writer) error {
			whole = r.Stream(ctx, m, number, out)
			return whole
		}
		err := relay.Run(ctx, stream, func(in io.Reader) error { return sieve(in, to) })
		return cmp.Or(err, whole) // a sieve is not to stop before the end
	})
}

// feed gives a command what is written.
func (r Restore) feed(ctx context.Context, argv []string, write func(ctx context.Context, to io.Writer) error) error {
	return relay.Run(ctx, write, func(in io.Reader) error {
		flow, err := r.Do.Pipe(ctx, host.Pipe{Argv: argv, In: in, Progress: quiet})
		if err == nil && flow.Unread {
			err = errors.New("it ended before it had read everything")
		}
		return err
	})
}
