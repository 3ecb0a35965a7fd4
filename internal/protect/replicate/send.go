package replicate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/zfs"
)

// moment is a dataset, snapshot or bookmark.
type moment struct {
	name, guid string
	birth      uint64
}

// dataset is one side of what is sent.
type dataset struct {
	moment
	there   bool
	values  map[string]string
	moments []moment // its snapshots and bookmarks, oldest first as far as zfs tells
}

// newest gives the last snapshot.
func (d dataset) newest() (last moment, ok bool) {
	for _, m := range d.moments {
		if strings.Contains(m.name, "@") && (!ok || m.birth >= last.birth) {
			last, ok = m, true
		}
	}
	return last, ok
}

// of finds a snapshot, or else a bookmark, by its GUID.
func (d dataset) of(guid string) (found moment, ok bool) {
	for _, m := range d.moments {
		if m.guid == guid && (!ok || strings.Contains(m.name, "@")) {
			found, ok = m, true
		}
	}
	return found, ok
}

// read reads one side; run says where.
func read(ctx context.Context, run func(context.Context, ...string) ([]byte, error), name string) (d dataset, err error) {
	out, err := run(ctx, zfs.Properties(name)...)
	if zfs.Missing(err) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	d.values = map[string]string{}
	for _, p := range zfs.ParseProperties(out) {
		if _, had := d.values[p.Name]; !had { // what people set comes last, and a line break in it makes lines
			d.values[p.Name] = p.Value
		}
	}
	if out, err = run(ctx, identities(name)...); err != nil {
		if zfs.Missing(err) { // what a stream that was cut off left went meanwhile
			return dataset{}, nil
		}
		return d, err
	}
	d.there = true
	var m moment
	for _, row := range zfs.ParseRows(out, 3) { // of each name, first the GUID, then the birth
		if row[1] == "guid" {
			m = moment{name: row[0], guid: row[2]}
			continue
		}
		if m.birth, err = strconv.ParseUint(row[2], 10, 64); err != nil || row[0] != m.name {
			return d, fmt.Errorf("the output of zfs get for %s is not understood", name)
		}
		switch {
		case m.name == name:
			d.moment = m
		case strings.HasPrefix(m.name, name+"@"), strings.HasPrefix(m.name, name+"#"):
			d.moments = append(d.moments, m)
		}
	}
	if d.guid == "" {
		return d, fmt.Errorf("zfs get tells no GUID of %s", name)
	}
	return d, nil
}

// send brings one snapshot of the point to the target.
func (s *sending) send(ctx context.Context, m protect.Member) error {
	name, _, _ := strings.Cut(m.Snapshot, "@")
	sent := Sent{Snapshot: m.Snapshot, Dataset: replicaOf(s.t.Dataset, m)}
	source, err := read(ctx, s.d.Run, name)
	if err != nil {
		return err
	}
	if here, ok := source.of(m.GUID); !ok || here.name != m.Snapshot {
		return hint.With(fmt.Errorf("the snapshot %s is gone, or another of its name is there", m.Snapshot), "the point can no longer be used; plumb protect list shows others")
	}
	err = s.complete(ctx, source, m, &sent)
	s.result.Sent = append(s.result.Sent, sent)
	if err != nil {
		return fmt.Errorf("%s to %s: %w", m.Snapshot, sent.Dataset, err)
	}
	return s.mark(ctx, source, m)
}

// patience is how long the receiver of a run that was killed may take to end. A zfs-fuse that has other work took more than 20 s to
// take away what it had received.
const patience = 40 * time.Second

func (s *sending) complete(ctx context.Context, source dataset, m protect.Member, sent *Sent) error {
	return await.Until(ctx, patience, func() (bool, error) {
		done, err := s.step(ctx, source, m, sent)
		again := errors.Is(err, errNothing) || await.Busy(err)
		return done || err != nil && !again, err
	})
}

// step brings a dataset nearer to a snapshot of it.
func (s *sending) step(ctx context.Context, source dataset, m protect.Member, sent *Sent) (done bool, err error) {
	replica, err := read(ctx, s.at, sent.Dataset)
	if err != nil {
		return false, err
	}
	if sent.Way, err = s.way(ctx, source, replica); err != nil {
		return false, err
	}
	if there, ok := replica.of(m.GUID); ok && strings.Contains(there.name, "@") {
		sent.There = sent.Bytes == 0
		return true, nil
	}
	if token := replica.values["receive_resume_token"]; token != "" && token != "-" {
		return false, s.resume(ctx, token, source, sent)
	}
	argv := append([]string{"zfs", "send"}, flags(sent.Way)...)
	if sent.Base, err = baseOf(source, replica, m); err != nil {
		return false, err
	}
	if sent.Base != "" {
		argv = append(argv, "-i", sent.Base)
	}
	had := sent.Bytes
	err = s.stream(ctx, append(argv, m.Snapshot), source, sent)
	s.begun = s.begun || sent.Bytes > had
	return false, err
}

// way says in which way a dataset is sent, and writes it on the target before the first byte.
func (s *sending) way(ctx context.Context, source, replica dataset) (string, error) {
	encrypted := source.values["encryption"] != "" && source.values["encryption"] != "off" && source.values["encryption"] != "-"
	want := wayCompressed
	switch {
	case encrypted && s.theirFuse && !s.o.Decrypted:
		return "", errors.New("the target's zfs-fuse has no encryption: the data would be stored there unencrypted")
	case s.Fuse || s.theirFuse:
		want = wayPlain
	case encrypted && !s.o.Decrypted:
		want = wayRaw
	}
	had := s.holder[chainPrefix+source.guid]
	switch {
	case had != "" && !isWay(had):
		return "", fmt.Errorf("a newer Plumb began it: it was sent %q, which this one does not know", had)
	case had != "" && (had == wayRaw) != (want == wayRaw):
		return "", hint.With(fmt.Errorf("it was sent %s before, and would be sent %s now: after a mix, later raw streams would be refused", had, want), "continue as before, or start over with another target")
	case had != "":
		return had, nil
	case replica.there:
		return "", hint.With(errors.New("the target has a dataset of that name that did not come from this one"), "look at it, and name another target or rename it")
	}
	s.holder[chainPrefix+source.guid] = want
	_, err := s.at(ctx, setChain(s.t.Dataset, source.guid, want)...)
	return want, err
}

// errNothing is what a receiver that is just being ended leaves for a moment.
var errNothing = hint.With(errors.New("the target has a dataset without any snapshot there"), "destroy it with zfs destroy, if nothing in it is needed")

// baseOf gives what both sides have, which must be the newest that the target has: nothing of it is
// rolled back.
func baseOf(source, replica dataset, m protect.Member) (string, error) {
	if !replica.there {
		return "", nil
	}
	last, ok := replica.newest()
	if !ok {
		return "", errNothing
	}
	base, ok := source.of(last.guid)
	this, _ := source.of(m.GUID)
	common := slices.ContainsFunc(replica.moments, func(m moment) bool { _, both := source.of(m.guid); return both })
	switch {
	case !ok && common:
		return "", hint.With(fmt.Errorf("the target's newest snapshot %s does not exist here: it was taken there after the newest common one, or destroyed here", last.name),
			"Plumb rolls nothing back at the target: destroy it there if nobody needs it, or start over with another target")
	case !ok:
		return "", hint.With(fmt.Errorf("the target's newest snapshot %s does not exist here, and neither does any other: the common ones were destroyed here", last.name),
			"Plumb rolls nothing back at the target: start over with another target")
	case base.birth > this.birth:
		return "", hint.With(fmt.Errorf("the target already has a newer point: %s", last.name), "send a point that is newer than that")
	case replica.values["written"] != "" && replica.values["written"] != "-" && replica.values["written"] != "0":
		return "", hint.With(fmt.Errorf("the target was written to since %s", last.name), "Plumb rolls nothing back there: zfs rollback "+last.name+" discards that at the target, or start over with another target")
	}
	return base.name, nil
}

// resume completes a stream that was cut. What can never be completed, because its snapshot is gone here, is
// thrown away; it never was a point.
func (s *sending) resume(ctx context.Context, token string, source dataset, sent *Sent) error {
	err := s.stream(ctx, []string{"zfs", "send", "-t", token}, source, sent)
	if err == nil {
		s.result.Resumed = true
		return nil
	}
	if strings.Contains(err.Error(), "cannot resume send") {
		_, err = s.at(ctx, abort(sent.Dataset)...)
		err = hint.With(err, "the rest of a stream that cannot be completed is in the way; remove it as root at the target: "+strings.Join(abort(sent.Dataset), " "))
	}
	return err
}

var errTaken = errors.New("the target accepts no more")

// stream runs both ends. When one fails the other is ended: a stream that is cut is never taken for a whole one.
func (s *sending) stream(ctx context.Context, argv []string, source dataset, sent *Sent) error {
	out, in := io.Pipe()
	through := &zfs.Gate{To: in, Fits: meant(source, sent)}
	ended := make(chan error, 1)
	var flow host.Flow
	go func() {
		var err error
		flow, err = s.d.Pipe(ctx, host.Pipe{Argv: argv, Out: through})
		in.CloseWithError(err) // nil is the end
		ended <- err
	}()
	_, err := s.d.Pipe(ctx, host.Pipe{Argv: s.t.reach(s.SSH, receive(s.theirFuse, sent.Dataset)), In: out})
	out.CloseWithError(errTaken)
	sentErr := <-ended
	if through.Open() {
		sent.Bytes += flow.Out
	}
	if sentErr != nil && !errors.Is(sentErr, errTaken) {
		return sentErr
	}
	return s.reached(err)
}

// mark keeps the base of the next stream as a bookmark, which takes no space, and drops the one before.
func (s *sending) mark(ctx context.Context, source dataset, m protect.Member) error {
	if s.Fuse {
		return nil
	}
	dataset, _, _ := strings.Cut(m.Snapshot, "@")
	prefix := dataset + "#plumb-" + path.Base(s.file("")) + "-"
	name := prefix + s.p.ID
	there := false
	for _, b := range source.moments {
		there = there || b.name == name
	}
	if !there {
		if _, err := s.d.Run(ctx, "zfs", "bookmark", m.Snapshot, name); err != nil {
			return err
		}
	}
	for _, b := range source.moments {
		if strings.HasPrefix(b.name, prefix) && b.name != name {
			if _, err := s.d.Run(ctx, zfs.Destroy(b.name)...); err != nil {
				return err
			}
		}
	}
	return nil
}
