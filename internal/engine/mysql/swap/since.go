package swap

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"

	"plumb/internal/engine/mysql/point"
	"plumb/internal/host"
	"plumb/internal/provision"
)

// stood is where a server's logs stood at a moment.
type stood struct {
	next int64            // transaction of InnoDB
	gtid map[uint32]int64 // the last number of each domain in its binary log
}

// Since implements provision.Swapper.
func (Swapper) Since(ctx context.Context, h host.Reader, home provision.Home) (lost provision.Lost, err error) {
	file := path.Join(dirOf(home, seriesOf(home.Version)), mark)
	text, err := h.ReadFile(ctx, file)
	if err != nil {
		return lost, fmt.Errorf("see where the new server began: %w", err)
	}
	then, err := parseMark(text)
	if err != nil {
		return lost, fmt.Errorf("%s: %w", file, err)
	}
	now, err := stands(ctx, h, home.Target)
	if err != nil {
		return lost, fmt.Errorf("read the position of %s: %w", home.Server, err)
	}
	return between(then, now)
}

// between counts what was written from one moment to another.
func between(then, now stood) (lost provision.Lost, err error) {
	if now.next < then.next {
		return lost, fmt.Errorf("the ID of the next transaction went back, from %d to %d", then.next, now.next)
	}
	lost = provision.Lost{Transactions: now.next - then.next, In: "InnoDB", But: "what was written to tables of other engines"}
	if now.gtid == nil {
		return lost, nil
	}
	var logged int64
	for domain, last := range now.gtid {
		n := last - then.gtid[domain]
		if n < 0 {
			return lost, nil // somebody has begun the log anew
		}
		logged += n
	}
	lost.Logged = &logged
	return lost, nil
}

// stands asks a server. InnoDB gives each transaction a number as it begins, and one as it commits.
func stands(ctx context.Context, h host.Reader, t host.Target) (s stood, err error) {
	row, err := host.One(h.Query(ctx, t, "SHOW ENGINE INNODB STATUS"))
	if err != nil {
		return s, err
	}
	if s.next, err = parseCounter(host.Text(row, 2)); err != nil {
		return s, err
	}
	if row, err = host.One(h.Query(ctx, t, "SELECT @@GLOBAL.log_bin, @@GLOBAL.gtid_binlog_pos")); err != nil || host.Text(row, 0) != "1" {
		return s, err
	}
	s.gtid, err = point.Domains(host.Text(row, 1))
	return s, err
}

var counter = regexp.MustCompile(`(?m)^Trx id counter ([0-9]{1,18})\b`)

// parseCounter reads which transaction is next from what SHOW ENGINE INNODB STATUS prints.
func parseCounter(text string) (int64, error) {
	m := counter.FindStringSubmatch(text)
	if m == nil {
		return 0, errors.New("InnoDB does not say which transaction is next")
	}
	return strconv.ParseInt(m[1], 10, 64)
}

var marked = regexp.MustCompile(`^from [0-9.]+\nnext ([0-9]{1,18})\ngtid ([0-9,-]*)\n$`)

// parseMark reads the file that the upgrade wrote.
func parseMark(text []byte) (s stood, err error) {
	m := marked.FindStringSubmatch(string(text))
	if m == nil {
		return s, errors.New("it does not say where the new server began")
	}
	if s.next, err = strconv.ParseInt(m[1], 10, 64); err != nil {
		return s, err
	}
	s.gtid, err = point.Domains(m[2])
	return s, err
}
