package point

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// Quiesce implements protect.Engine. Nobody waits for a backup, so limit bounds
// nothing: the checkpoint that it begins with takes what it takes.
func (Engine) Quiesce(ctx context.Context, h host.Held, m protect.Mode, _ time.Duration) (protect.Quiet, error) {
	if m.Name != protect.ModeBackupAPI || m.Not != "" {
		return nil, fmt.Errorf("mode %s of PostgreSQL holds nothing", m.Name)
	}
	b := &backup{h: h}
	var err error
	if b.spaces, err = b.tablespaces(ctx); err != nil {
		return nil, err
	}
	for i, statement := range m.Statements {
		if strings.HasPrefix(statement, snapshot) || isStop(statement) { // of one volume the backup ends before the snapshot
			b.rest = m.Statements[i:]
			return b, nil
		}
		if _, err := h.Query(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("begin a backup: %w", err), h.Close()) // the slot may be there
		}
	}
	return nil, errors.New("the mode takes no snapshot")
}

// isStop tells whether a statement ends the backup.
func isStop(statement string) bool { return strings.HasPrefix(statement, stopping) }

// backup is a backup that has begun, and ends with its connection.
type backup struct {
	h      host.Held
	spaces string   // oids of tablespaces
	rest   []string // statements that are to come
	files  map[string]string
}

var _ protect.Staged = (*backup)(nil)

func (b *backup) tablespaces(ctx context.Context) (string, error) {
	row, err := host.One(b.h.Query(ctx, "SELECT string_agg(oid::text, ' ' ORDER BY oid) FROM pg_tablespace"))
	if err != nil {
		return "", fmt.Errorf("list the tablespaces: %w", err)
	}
	return host.Text(row, 0), nil
}

// Position implements protect.Quiet.
func (b *backup) Position(ctx context.Context) (protect.Position, error) {
	return position(b.h.Query(ctx, standing))
}

// Between implements protect.Staged: it ends the backup, which writes down the last
// WAL that the volumes taken so far need.
func (b *backup) Between(ctx context.Context) error {
	spaces, err := b.tablespaces(ctx)
	if err != nil {
		return err
	}
	if spaces != b.spaces { // recovery would make or link it where the server has it
		return hint.With(errors.New("a tablespace was created or dropped meanwhile"), "take the point again")
	}
	for _, statement := range b.rest {
		if strings.HasPrefix(statement, snapshot) {
			continue
		}
		rows, err := b.h.Query(ctx, statement)
		if err != nil {
			return fmt.Errorf("end the backup: %w", err)
		}
		if len(rows.Values) != 1 || host.Text(rows.Values[0], 1) == "" {
			return errors.New("end the backup: the server gave no label")
		}
		b.files = map[string]string{labelFile: host.Text(rows.Values[0], 1)}
	}
	return nil
}

// labelFile is the one file that a copy needs besides. The map of tablespaces is
// not: it would lead the copy to those of its source, and Neutralise links its own.
const labelFile = "data/backup_label"

// startSegment is the first file of WAL that a backup needs.
var startSegment = regexp.MustCompile(`^START WAL LOCATION: [0-9A-F/]+ \(file ([0-9A-F]{24})\)\n`)

// Release implements protect.Quiet. An unfinished backup and the slot go with the session. WAL that is still there now was there when
// the last volume was taken: the server never makes an old file again.
func (b *backup) Release(ctx context.Context) (map[string]string, error) {
	if b.files == nil {
		return nil, errors.New("the backup was not ended before the last volume")
	}
	m := startSegment.FindStringSubmatch(b.files[labelFile])
	if m == nil {
		return nil, errors.New("the backup's label does not say with which WAL it starts")
	}
	rows, err := b.h.Query(ctx, "SELECT count(*) FROM pg_ls_waldir() WHERE name = '"+m[1]+"'")
	if err != nil {
		return nil, fmt.Errorf("look whether the backup's WAL is still there: %w", err)
	}
	if len(rows.Values) != 1 || host.Text(rows.Values[0], 0) != "1" {
		return nil, hint.With(fmt.Errorf("the WAL %s, with which the backup starts, was recycled before it was copied", m[1]),
			"grant REPLICATION and leave a slot free (max_replication_slots), so that Plumb can keep it; or raise wal_keep_size")
	}
	return b.files, nil
}
