package pitr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"plumb/internal/backup/moment"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// mostPrepared are transactions that were prepared: a server with room for fewer than there are does not start.
const mostPrepared = "1000"

// Copied implements moment.Engine. A copy starts by its label, as a base does without an archive: it replays what
// lies in pg_wal, and must come to where the base was whole.
func (Engine) Copied(ctx context.Context, d host.Launcher, w moment.Way, a moment.At) (protect.Point, error) {
	in, ok := w.Inner.(inner)
	if !ok {
		return protect.Point{}, errors.New("it was planned by another")
	}
	var text bytes.Buffer
	if err := a.Sh(ctx, d, nil, &text, `cd -P -- "$1" && head -c 65536 -- backup_label`, a.Data); err != nil {
		return protect.Point{}, fmt.Errorf("read its backup_label: %w", err)
	}
	major := strconv.Itoa(in.base.major)
	p := protect.Point{Files: map[string]string{"data/backup_label": text.String()}, Position: protect.Position{LSN: w.Last, Timeline: in.base.timeline}}
	p.Server = protect.Server{Ref: stack.Ref{Kind: product.Postgres, Name: "restored"}, Flavor: product.Postgres, Product: "PostgreSQL " + major, Version: major,
		Identity: strconv.FormatUint(in.base.system, 10), UID: a.UID, GID: a.GID, Settings: map[string]string{"max_prepared_transactions": mostPrepared}}
	if w.Last == "" {
		p.Position.LSN = textOf(in.base.end)
	}
	if p.Position.LSN == "" {
		p.Position = protect.Position{}
	}
	return p, nil
}
