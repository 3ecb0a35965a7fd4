package point

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// EBS takes points of the volumes of an EC2 instance. One call of create-snapshots takes all of
// an instance's volumes at one moment, but for those that it is told to leave out.
type EBS struct {
	synced
	Asked bool // only then are new points taken of it: they cost money, and only a few hosts have the right
}

// ebsTag is the tag of a snapshot that names its point.
const ebsTag = "plumb-point"

// Name implements protect.Storage.
func (EBS) Name() string { return "ebs" }

// Volume implements protect.Storage: the disks under the filesystem, by the kernel's names.
func (e EBS) Volume(s *stack.Stack, fs *stack.Thing) (protect.Volume, bool) {
	known := s.Find(stack.Ref{Kind: "filesystem", Name: fs.Text("mountpoint")})
	if !e.Asked || known == nil || known.Text("cloud_volume") != "ebs" {
		return protect.Volume{}, false
	}
	return protect.Volume{Storage: e.Name(), Name: strings.Join(known.List("disk_names"), ","), Mountpoint: fs.Text("mountpoint"), Within: strings.Trim(fs.Text("mount_root"), "/")}, true
}

// Place implements protect.Placer: disks by the names that AWS gave them.
func (EBS) Place(ctx context.Context, h host.Reader, v protect.Volume, _ string) (protect.Volume, error) {
	var ids []string
	for disk := range strings.SplitSeq(v.Name, ",") {
		id := ebsVolume(ctx, h, disk)
		if id == "" {
			return v, fmt.Errorf("on EBS, but the disk %s does not tell which volume it is", disk)
		}
		ids = append(ids, id)
	}
	var err error
	v.Name = strings.Join(ids, ",")
	v.Pool, err = ebsInstance(ctx, h)
	return v, err
}

// ebsVolume reads the serial number of an NVMe disk, which on EBS is the volume's id without its dash.
func ebsVolume(ctx context.Context, h host.Reader, disk string) string {
	text, err := h.ReadFile(ctx, "/sys/class/block/"+disk+"/device/serial")
	id, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "vol")
	if err != nil || !ok {
		return ""
	}
	return "vol-" + strings.TrimPrefix(id, "-")
}

// ebsInstance reads the instance's id, which instances on Nitro have in their firmware.
func ebsInstance(ctx context.Context, h host.Reader) (string, error) {
	text, err := h.ReadFile(ctx, "/sys/class/dmi/id/board_asset_tag")
	id := strings.TrimSpace(string(text))
	if err == nil && !strings.HasPrefix(id, "i-") {
		err = fmt.Errorf("%q is not the ID of an EC2 instance", id)
	}
	if err != nil {
		return "", hint.With(fmt.Errorf("find out which EC2 instance this is: %w", err), "instances older than Nitro do not say: use --with and a command of your own")
	}
	return id, nil
}

// Atomic implements protect.Storage.
func (EBS) Atomic([]protect.Volume) string { return "" }

// Room implements protect.Storage: snapshots are kept elsewhere.
func (EBS) Room(*stack.Stack, []protect.Volume) error { return nil }

// Snapshot implements protect.Storage. AWS knows nothing of the filesystems, which are written out first.
func (e EBS) Snapshot(ctx context.Context, d host.Streamer, vols []protect.Volume, name string, _ map[string]string) ([]protect.Member, error) {
	if err := syncAll(ctx, d, vols); err != nil {
		return nil, err
	}
	spec, err := ebsSpecification(ctx, d, vols)
	if err != nil {
		return nil, err
	}
	tags, err := json.Marshal([]any{map[string]any{"ResourceType": "snapshot", "Tags": []any{map[string]string{"Key": ebsTag, "Value": name}}}})
	if err != nil {
		return nil, err
	}
	out, err := d.Run(ctx, "aws", "ec2", "create-snapshots", "--instance-specification", spec, "--tag-specifications", string(tags), "--description", name, "--output", "json")
	if err != nil {
		return nil, hint.With(err, "it needs the right ec2:CreateSnapshots and ec2:CreateTags, and a login for root")
	}
	return ebsMembers(out, vols, name)
}

// ebsSpecification names the instance and the volumes that are left out.
func ebsSpecification(ctx context.Context, h host.Reader, vols []protect.Volume) (string, error) {
	boot, err := ebsBoot(ctx, h)
	if err != nil {
		return "", err
	}
	files, err := h.Glob(ctx, "/sys/class/block/nvme*/device/serial")
	if err != nil {
		return "", err
	}
	var wanted []string
	for _, v := range vols {
		wanted = append(wanted, strings.Split(v.Name, ",")...)
	}
	spec := struct {
		InstanceID string   `json:"InstanceId"`
		Boot       bool     `json:"ExcludeBootVolume"`
		Data       []string `json:"ExcludeDataVolumeIds,omitempty"`
	}{vols[0].Pool, !slices.Contains(wanted, boot), nil}
	for _, file := range files {
		id := ebsVolume(ctx, h, path.Base(path.Dir(path.Dir(file))))
		if id != "" && id != boot && !slices.Contains(wanted, id) && !slices.Contains(spec.Data, id) {
			spec.Data = append(spec.Data, id)
		}
	}
	text, err := json.Marshal(spec)
	return string(text), err
}

// ebsBoot gives the volume of the root filesystem.
func ebsBoot(ctx context.Context, h host.Reader) (string, error) {
	all, err := observe.MountTable(ctx, h, "self")
	for _, m := range all {
		if m.Point != "/" {
			continue
		}
		name := kernelName(ctx, h, m.Source)
		if id := ebsVolume(ctx, h, name); id != "" {
			return id, nil
		}
		to, err := h.Readlink(ctx, "/sys/class/block/"+name) // …/nvme0n1/nvme0n1p1
		if id := ebsVolume(ctx, h, path.Base(path.Dir(to))); err == nil && id != "" {
			return id, nil
		}
	}
	return "", errors.Join(errors.New("find which volume the instance boots from, which must be named in its own way: / is on none"), err)
}

// ebsMembers reads what create-snapshots and describe-snapshots tell. A member with several
// volumes has several snapshots: one of each, or it is a part.
func ebsMembers(out []byte, vols []protect.Volume, name string) ([]protect.Member, error) {
	said, err := parseEBS(out)
	if err != nil {
		return nil, err
	}
	var all []protect.Member
	for _, v := range vols {
		var ids []string
		part := false
		for volume := range strings.SplitSeq(v.Name, ",") {
			had := len(ids)
			for _, s := range said {
				if s.VolumeID == volume {
					ids = append(ids, s.SnapshotID)
					part = part || s.State == "error"
				}
			}
			part = part || len(ids) != had+1
		}
		if slices.Sort(ids); len(ids) > 0 {
			id := strings.Join(ids, ",")
			all = append(all, protect.Member{Volume: v, Snapshot: id, GUID: id, Birth: name, Part: part})
		}
	}
	return all, nil
}

// Find implements protect.Storage: by the description, which nobody can change. A tag can be taken away.
func (EBS) Find(ctx context.Context, h host.Reader, vols []protect.Volume, name string) ([]protect.Member, error) {
	out, err := h.Output(ctx, "aws", "ec2", "describe-snapshots", "--owner-ids", "self", "--filters", "Name=description,Values="+name, "--output", "json")
	if err != nil {
		return nil, err
	}
	return ebsMembers(out, vols, name)
}

// State implements protect.Storage. An id is never given to another snapshot.
func (e EBS) State(ctx context.Context, h host.Reader, m protect.Member) (protect.MemberState, error) {
	a := e.States(ctx, h, []protect.Member{m})[0]
	return a.MemberState, a.Err
}

// States implements protect.Surveyor: all are asked for with one command, and each of which nothing is found again. Of a member with
// several volumes some snapshots can be gone.
func (e EBS) States(ctx context.Context, h host.Reader, members []protect.Member) []protect.Answer {
	var ids []string
	for _, m := range members {
		ids = append(ids, strings.Split(m.GUID, ",")...)
	}
	there, err := e.there(ctx, h, ids)
	all := make([]protect.Answer, len(members))
	for i, m := range members {
		all[i] = protect.Answer{MemberState: protect.MemberState{Space: -1}, Err: err}
		if err == nil {
			all[i].Gone, all[i].Lacks, all[i].Err = ebsState(ctx, h, m, there)
		}
	}
	return all
}

// ebsState tells of a member which of its snapshots are gone or failed, while others are there.
func ebsState(ctx context.Context, h host.Reader, m protect.Member, there map[string]ebsSnapshot) (gone bool, lacks []string, err error) {
	own := strings.Split(m.GUID, ",")
	var failed []string
	for _, id := range own {
		s, is := there[id]
		switch {
		case !is:
			lacks = append(lacks, id)
		case s.of(m) != nil:
			return false, nil, s.of(m)
		case s.State == "error":
			failed = append(failed, id+" (EBS could not finish it)")
		}
	}
	if len(lacks) < len(own) {
		return false, append(lacks, failed...), nil
	}
	err = ebsSeen(ctx, h, m)
	return err == nil, nil, err
}

// ebsAtOnce is how many values a filter has.
const ebsAtOnce = 100

// there gives those of some snapshots that there are.
func (EBS) there(ctx context.Context, h host.Reader, ids []string) (map[string]ebsSnapshot, error) {
	there := map[string]ebsSnapshot{}
	for some := range slices.Chunk(ids, ebsAtOnce) {
		out, err := h.Output(ctx, "aws", "ec2", "describe-snapshots", "--owner-ids", "self", "--filters", "Name=snapshot-id,Values="+strings.Join(some, ","), "--output", "json")
		if err != nil {
			return nil, err
		}
		said, err := parseEBS(out)
		if err != nil {
			return nil, err
		}
		for _, s := range said {
			there[s.SnapshotID] = s
		}
	}
	return there, nil
}

// ebsSeen is an error unless the volumes of a snapshot are seen: a login for another account or region finds no
// snapshot either, and that says nothing.
func ebsSeen(ctx context.Context, h host.Reader, m protect.Member) error {
	argv := append([]string{"aws", "ec2", "describe-volumes", "--output", "json", "--volume-ids"}, strings.Split(m.Name, ",")...)
	if _, err := h.Output(ctx, argv...); err != nil {
		return hint.With(fmt.Errorf("neither %s nor its volume is found, so nothing is known about it: %w", m.Snapshot, err), "look at the account and the region of root's login: aws configure list")
	}
	return nil
}

// ebsSnapshot is one as aws lists it.
type ebsSnapshot struct {
	SnapshotID string `json:"SnapshotId"`
	VolumeID   string `json:"VolumeId"`
	State      string
	Tags       []struct{ Key, Value string }
}

// of is an error where a snapshot is of another volume or point than a member: what was written of the member is wrong then.
func (s ebsSnapshot) of(m protect.Member) error {
	if !slices.Contains(strings.Split(m.Name, ","), s.VolumeID) {
		return fmt.Errorf("%s is a snapshot of %s, and not of %s: left alone", s.SnapshotID, s.VolumeID, m.Name)
	}
	for _, tag := range s.Tags {
		if tag.Key == ebsTag && tag.Value != m.Birth {
			return fmt.Errorf("%s is tagged as %s, and not as %s: left alone", s.SnapshotID, tag.Value, m.Birth)
		}
	}
	return nil
}

func parseEBS(out []byte) ([]ebsSnapshot, error) {
	var said struct{ Snapshots []ebsSnapshot }
	if err := json.Unmarshal(out, &said); err != nil {
		return nil, fmt.Errorf("read the answer of aws: %w", err)
	}
	return said.Snapshots, nil
}

// Mark implements protect.Storage: facts are in the point's file.
func (EBS) Mark(context.Context, host.Streamer, protect.Member, map[string]string) error { return nil }

// Clone implements protect.Storage.
func (EBS) Clone(_ context.Context, _ host.Streamer, m protect.Member, _ protect.CloneAt) error {
	return hint.With(fmt.Errorf("a volume of %s is not made and attached by Plumb", m.Snapshot), "aws ec2 create-volume --snapshot-id, attach-volume, and mount it; XFS needs -o nouuid on the same instance")
}

// Destroy implements protect.Storage: each by its id. All are looked at before the first goes, and what is gone already is not asked for
// again.
func (e EBS) Destroy(ctx context.Context, d host.Streamer, members []protect.Member) error {
	var there []string
	for i, a := range e.States(ctx, d, members) {
		if a.Err != nil {
			return a.Err
		}
		for id := range strings.SplitSeq(members[i].GUID, ",") {
			if !a.Gone && !slices.Contains(a.Lacks, id) && !slices.Contains(there, id) {
				there = append(there, id)
			}
		}
	}
	for i, id := range there {
		if _, err := d.Run(ctx, "aws", "ec2", "delete-snapshot", "--snapshot-id", id); err != nil {
			return hint.With(fmt.Errorf("still there: %s: %w", strings.Join(there[i:], ", "), err), "it needs the right ec2:DeleteSnapshot; a snapshot that is locked or of an image stays")
		}
	}
	return nil
}
