package pgbackrest

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"plumb/internal/backup/driven"
	"plumb/internal/backup/moment"
	"plumb/internal/engine/postgres"
	"plumb/internal/engine/postgres/pitr"
	"plumb/internal/engine/postgres/wal"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// Choose implements driven.Whole: the newest that was whole before the moment.
func (Tool) Choose(all []driven.Taken, a moment.Asked) (b driven.Taken, err error) {
	if len(all) == 0 {
		return b, errNone
	}
	if a.To.GTID != "" || a.To.File != "" {
		return b, hint.Usage(a.To.Text+" is not a moment of PostgreSQL", "--to takes a date with its zone, an LSN, or latest")
	}
	want, isPlace := wal.Place(a.To.LSN)
	for _, one := range all {
		place, known := wal.Place(one.ToLSN)
		switch {
		case !a.To.Time.IsZero() && !one.Ended.Before(a.To.Time):
		case isPlace && (!known || place > want):
		default:
			b = one
		}
	}
	if b.Label == "" {
		return b, hint.With(fmt.Errorf("no backup had ended at %s", a.To.Text), "the first ended at "+all[0].Ended.Format(time.RFC3339)+", "+all[0].ToLSN)
	}
	return b, nil
}

// Unpack implements driven.Whole. The type none has the tool write no settings of a recovery: those are Plumb's.
func (Tool) Unpack(ctx context.Context, d host.Streamer, s driven.Set, b driven.Taken, data string) error {
	return call(ctx, d, s, asked{command: []string{"restore", "--type=none", "--set=" + b.Label, "--pg1-path=" + data}, limit: 30 * time.Minute})
}

// mostReplayed is how many files of the log a copy is given behind its backup: 16 GiB of the usual size.
const mostReplayed = 1000

// mostPrepared are transactions that were prepared: a server with room for fewer than there are does not start.
const mostPrepared = "1000"

// Copied implements driven.Whole. A copy has no way to the archive, whose key it must not see: it is given what it replays.
func (t Tool) Copied(ctx context.Context, d host.Streamer, s driven.Set, b driven.Taken, f driven.Found, data string) (p protect.Point, notes []string, err error) {
	a := moment.At{Data: data, As: s.Server.As(d.About().Root)}
	var text bytes.Buffer
	if err := a.Sh(ctx, d, nil, &text, `cd -P -- "$1" && head -c 65536 -- backup_label`, data); err != nil {
		return p, nil, fmt.Errorf("read its backup_label: %w", err)
	}
	last := b.To
	for n := 0; last != "" && s.Segment > 0 && f.Newest > last && f.Newest[:8] == last[:8]; n++ {
		one := next(last, s.Segment)
		if n == mostReplayed {
			notes = append(notes, fmt.Sprintf("the archive continues to %s; the first %d files after the backup were replayed", f.Newest, n))
			break
		}
		err := call(ctx, d, s, asked{command: []string{"archive-get", one, path.Join(data, "pg_wal", one), "--pg1-path=" + data}, limit: 10 * time.Minute})
		if is(err, 1) {
			notes = append(notes, one+" is missing in the archive, which continues to "+f.Newest+": nothing after it can be replayed")
			break
		}
		if err != nil {
			return p, notes, err
		}
		last = one
	}
	if f.Newest != "" && last != "" && f.Newest[:8] != last[:8] {
		notes = append(notes, "the archive continues on a later timeline, of which nothing was replayed")
	}
	sv := s.Server
	sv.Ref = stack.Ref{Kind: product.Postgres, Name: "restored"}
	sv.Settings = map[string]string{"max_prepared_transactions": mostPrepared}
	for name, value := range s.Server.Settings {
		sv.Settings[name] = value
	}
	p = protect.Point{Server: sv, Files: map[string]string{"data/backup_label": text.String()}}
	if b.ToLSN != "" && b.To != "" {
		p.Position = protect.Position{LSN: b.ToLSN, Timeline: timeline(b.To)}
	}
	return p, notes, nil
}

// Finish implements driven.Whole.
func (Tool) Finish(ctx context.Context, d host.Streamer, s driven.Set, b driven.Taken, a moment.At) (next, notes []string, err error) {
	var said bytes.Buffer
	if err := a.Sh(ctx, d, nil, &said, `cd -P -- "$1" && head -c 64 -- PG_VERSION`, a.Data); err != nil {
		return nil, nil, fmt.Errorf("read its PG_VERSION: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(said.String()))
	if err != nil || major < 12 {
		return nil, nil, hint.With(fmt.Errorf("it is of PostgreSQL %.20q", said.String()), "Plumb restores 12 and later; pgbackrest restore itself does others")
	}
	if notes, err = pitr.Settle(ctx, d, a, major, recovery(s, a)); err != nil {
		return nil, nil, err
	}
	after := "it fetches the log from the repository up to the moment, with " + s.Config + ", and then continues on a timeline of its own; when the archive does not reach the moment, it says so in its log and ends"
	return pitr.Next(a, major, after, "backup"), notes, nil
}

// recovery are the settings by which it ends before the moment.
func recovery(s driven.Set, a moment.At) []postgres.Assignment {
	to := "latest"
	if a.Timeline > 0 {
		to = strconv.Itoa(a.Timeline)
	}
	all := []postgres.Assignment{{"restore_command", fetch(s, a.Dir)}, {"recovery_target_timeline", to}, {"primary_conninfo", ""}, {"primary_slot_name", ""}}
	switch {
	case !a.To.Time.IsZero():
		all = append(all, postgres.Assignment{"recovery_target_time", a.To.Time.UTC().Format("2006-01-02 15:04:05.000000+00")})
	case a.To.LSN != "":
		all = append(all, postgres.Assignment{"recovery_target_lsn", a.To.LSN})
	default:
		return all
	}
	return append(all, postgres.Assignment{"recovery_target_inclusive", "off"}, postgres.Assignment{"recovery_target_action", "promote"})
}
