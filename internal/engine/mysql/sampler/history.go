package sampler

import (
	"context"
	"errors"
	"strconv"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/series"
)

// historyQuery reads the length of InnoDB's history list where no status counter has it: MySQL counts it in a table that
// the server fills anew for each question.
const historyQuery = "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len' AND STATUS = 'enabled'"

// historyLength is the reading, and its counter.
const (
	historyLength  = "history_list_length"
	historyCounter = "innodb_history_list_length"
)

// history reads how many transactions wait to be purged, where the server's status was read and does not tell: MariaDB, whose
// status does, has another table of that name. The counter is on by default.
func (v *Server) history(ctx context.Context, h host.Reader, b *series.Batch) error {
	if !v.historyUntold.Load() {
		return nil
	}
	rows, err := v.Ask(ctx, h, historyQuery)
	if errors.Is(err, host.ErrDenied) {
		b.Gap(v.Ref, err.Error(), hint.Of(err), historyLength)
		return nil
	}
	if err != nil {
		return err
	}
	if len(rows.Values) != 1 {
		b.Gap(v.Ref, "the counter trx_rseg_history_len of INNODB_METRICS is off", "SET GLOBAL innodb_monitor_enable = 'trx_rseg_history_len'", historyLength)
		return nil
	}
	n, err := strconv.ParseFloat(host.Text(rows.Values[0], 0), 64)
	if err == nil && n >= 0 {
		b.Set(v.Ref, historyLength, n)
	}
	return nil
}
