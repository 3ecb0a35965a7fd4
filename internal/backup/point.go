package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/zfs"
)

// Full says when a backup is a full one, and does not build on an earlier one.
type Full struct {
	Asked bool
	After int // backups that need each other; 0: 30
	// In are the stores that get this backup: it builds only on a backup that all of them have. The first must be readable; any
	// other that cannot be read is not waited for.
	In []Vault
	// For are the recipients, as they were named: the backup builds only on one that all of them can open.
	For []string
}

// snapshot is one of a point, as it is on this host.
type snapshot interface {
	// begins tells whether it can be sent as the difference from a backup: the snapshot which that ends with is still here, and is
	// not this one.
	begins(m manifest.Manifest) bool
	// source says how it is sent: as the difference from a backup, or as a whole.
	source(base *manifest.Manifest) Source
}

// Tops tells where the top of a filesystem of btrfs is mounted.
type Tops interface {
	Top(ctx context.Context, h host.Reader, uuid string) (dir string, err error)
}

// Point makes the job that backs up a point on ZFS or btrfs. told is what a copy elsewhere must know of the point, and is sent
// encrypted like everything else. The job builds on the newest backup of the same server in the stores whose snapshots are still
// here, so that only the difference is sent.
func Point(ctx context.Context, d host.Reader, tops Tops, p protect.Point, told []byte, full Full) (j Job, err error) {
	j = Job{Name: "point " + p.ID, Server: p.Server.Ref.String(), Point: p.ID, Facts: facts(p)}
	defer func() {
		if err != nil {
			err = fmt.Errorf("back up point %s: %w", p.ID, err)
		}
	}()
	all, err := snapshots(ctx, d, tops, p)
	if err != nil {
		return j, err
	}
	base, whole, err := newest(ctx, j.Server, all, full)
	if err != nil {
		return j, err
	}
	j.Whole = whole
	if len(full.For) > 0 {
		j.Facts[recipients] = strings.Join(marks(full.For), " ")
	}
	for _, s := range all {
		source := s.source(base)
		j.Sources = append(j.Sources, source)
		if len(source.Unsent) > 0 {
			j.Facts[Unsent+source.Name] = strings.Join(source.Unsent, " ")
		}
	}
	j.Sources = append(j.Sources, Source{Stream: manifest.Stream{Name: "point", Kind: manifest.Point}, Text: told})
	return j, nil
}

// recipients is the fact that says for whom a backup is encrypted, by hashes that tell the recipients apart.
const recipients = "recipients"

func marks(of []string) (all []string) {
	for _, one := range of {
		sum := sha256.Sum256([]byte(strings.TrimSpace(one)))
		all = append(all, hex.EncodeToString(sum[:6]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Unsent is before the name of a dataset in the fact that says which of its properties its stream lacks, as zfs set takes them.
const Unsent = "zfs set "

// Lacking says of a dataset that was restored which of its properties are in no stream, and how it gets them; "" for none. Root types
// that, so what is no property is left out: the manifest is of another host.
func Lacking(m manifest.Manifest, r Received) string {
	words := slices.DeleteFunc(strings.Fields(m.Facts[Unsent+r.From]), func(word string) bool { return !zfs.IsUnsent(word) })
	if len(words) == 0 {
		return ""
	}
	return "its properties are in no stream: zfs set " + strings.Join(words, " ") + " " + r.Dataset
}

// facts are what whoever restores must know, and has only the manifest to know it from.
func facts(p protect.Point) map[string]string {
	f := map[string]string{"label": string(p.Label), "mode": p.Mode, "product": p.Server.Product, "version": p.Server.Version, "flavor": p.Server.Flavor, "taken": p.Times.Snapshot.UTC().Format("2006-01-02T15:04:05.000Z"),
		"identity": p.Server.Identity, "gtid": p.Position.GTID, "applied": p.Position.Applied, "lsn": p.Position.LSN, "binlog": p.Position.File}
	if p.Position.Timeline > 0 {
		f["timeline"] = fmt.Sprint(p.Position.Timeline)
	}
	if p.Position.File != "" {
		f["binlog_position"] = fmt.Sprint(p.Position.Offset)
	}
	for _, dir := range p.Server.Dirs {
		f["dir_"+dir.Role] = dir.Path
	}
	for name, value := range f {
		if value == "" {
			delete(f, name)
		}
	}
	return f
}

// snapshots gives those of a point, each once.
func snapshots(ctx context.Context, d host.Reader, tops Tops, p protect.Point) (all []snapshot, err error) {
	if p.State != protect.Taken || len(p.Members) == 0 {
		return nil, errors.New("it is not a complete point")
	}
	members := p.Snapshots()
	for _, m := range members {
		if m.Storage != members[0].Storage {
			return nil, hint.With(fmt.Errorf("%s is on %s, and %s on %s", members[0].Name, members[0].Storage, m.Name, m.Storage), "only points on one kind of storage can be sent; otherwise back up the output of a command: --command 'mariadb-backup --backup --stream=mbstream'")
		}
	}
	switch members[0].Storage {
	case "zfs", "zfs-fuse":
		return datasetsOf(ctx, d, members)
	case "btrfs":
		return subvolumesOf(ctx, d, tops, members)
	}
	return nil, hint.With(fmt.Errorf("%s is on %s, whose snapshots cannot be sent", members[0].Name, members[0].Storage),
		"only points on ZFS and btrfs can be sent; otherwise back up the output of a command: --command 'mariadb-backup --backup --stream=mbstream', or --command 'pg_basebackup -D - -Ft -X fetch'")
}

// newest finds the backup to build on. nil: it is a full backup, and whole says why if the server has backups already.
func newest(ctx context.Context, server string, all []snapshot, full Full) (base *manifest.Manifest, whole string, err error) {
	if full.Asked {
		return nil, "", nil
	}
	if full.After == 0 {
		full.After = 30
	}
	found, err := full.In[0].List(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, f := range slices.Backward(found) {
		if f.Err != nil || f.Server != server {
			continue
		}
		chain, why, err := full.unfit(ctx, f.Manifest, all)
		if err != nil {
			return nil, "", err
		}
		if why == "" {
			if spent := full.spent(chain); spent != "" { // one before it would only make the same chain again
				return nil, spent, nil
			}
			return &f.Manifest, "", nil
		}
		if whole == "" { // of the newest
			whole = fmt.Sprintf("no increment to backup %s can be sent: %s", f.ID, why)
		}
	}
	return nil, whole, nil
}

// unfit says why a backup cannot be built on, so that an older one is looked at. "": it can, and chain is what ends with it.
func (full Full) unfit(ctx context.Context, m manifest.Manifest, all []snapshot) (chain []manifest.Manifest, why string, err error) {
	if slices.ContainsFunc(all, func(s snapshot) bool { return !s.begins(m) }) {
		return nil, "this host no longer has all of its snapshots, or they are this point's own", nil
	}
	if had := strings.Fields(m.Facts[recipients]); len(had) > 0 && slices.ContainsFunc(marks(full.For), func(one string) bool { return !slices.Contains(had, one) }) {
		return nil, "not all recipients of the new backup can open it", nil
	}
	chain, err = full.In[0].sound(ctx, m)
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case err != nil: // what cannot be restored is nothing to build on
		return nil, err.Error(), nil
	case !full.everywhere(ctx, m.ID):
		return nil, "not every place has it", nil
	}
	return chain, "", nil
}

// spent says why a new chain begins; "" if this one goes on. A new one begins if the differences of the chain are larger than its
// full backup: another full backup is then hardly larger than what would be sent instead, and is restored in half the time.
func (full Full) spent(chain []manifest.Manifest) string {
	var changed int64
	for _, m := range chain[1:] {
		changed += m.Bytes()
	}
	switch {
	case len(chain) >= full.After:
		return fmt.Sprintf("the chain that begins with backup %s has %d backups, which is the maximum", chain[0].ID, len(chain))
	case changed > chain[0].Bytes():
		return fmt.Sprintf("the changes since the full backup %s are larger than the full backup", chain[0].ID)
	}
	return ""
}

// sound gives the chain that must be restored for a backup. It is an error unless the store has all objects of it: nothing that
// builds on a backup with missing objects could be restored.
func (v Vault) sound(ctx context.Context, m manifest.Manifest) ([]manifest.Manifest, error) {
	chain, err := v.Chain(ctx, m)
	for _, one := range chain {
		if err == nil {
			_, err = whole(ctx, v.Store, one)
		}
	}
	return chain, err
}

// everywhere tells whether the other stores have a backup, and what it needs.
func (full Full) everywhere(ctx context.Context, id string) bool {
	for _, v := range full.In[1:] {
		m, err := v.Get(ctx, id)
		if err == nil {
			_, err = v.sound(ctx, m)
		}
		if _, away := errors.AsType[*store.Trouble](err); err != nil && !away {
			return false
		}
	}
	return true
}

func streamOf(m manifest.Manifest, name string) *manifest.Stream {
	for i := range m.Streams {
		if m.Streams[i].Name == name {
			return &m.Streams[i]
		}
	}
	return nil
}
