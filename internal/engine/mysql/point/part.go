package point

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
)

// Unfollow has a copy that runs follow nobody when it is started again. MySQL keeps in tables whom it follows; MariaDB keeps that in
// files, which Part removes.
func (*Engine) Unfollow(ctx context.Context, a load.Admin, sv protect.Server) error {
	if isMariaDB(sv) {
		return nil
	}
	reset := "RESET SLAVE ALL"
	if since(sv, "8.0.22") {
		reset = "RESET REPLICA ALL"
	}
	return a.Exec(ctx, reset)
}

// Part takes from a copy that was stopped what makes it the server that it was: its UUID, its persisted variables, whom it follows.
func (*Engine) Part(ctx context.Context, d host.Streamer, c protect.Copy) error {
	c.Purpose = protect.ForUse
	n := &neutral{ctx: ctx, d: d, o: ownerOf(d, c.Server), c: c}
	err := n.whole()
	if err == nil {
		err = n.identity()
	}
	if err != nil {
		return fmt.Errorf("take from the copy of %s what tells who it is: %w", c.Server.Ref, err)
	}
	return nil
}

// Startable is an error for a server of which Plumb starts no copy.
func Startable(sv protect.Server) error {
	if keys := sv.Settings[keysSetting]; keys != "" {
		return hint.With(fmt.Errorf("the server gets keys for encrypted tables from %s, and a copy would use the same place as the server itself", keys),
			"start this copy by hand, with the keys in a place of its own")
	}
	return nil
}

// Exact is an error for a point of which its copy cannot tell exactly where in the binary log it stands. Under a lock nothing was written
// meanwhile. Without one it is what the recovery makes of it: InnoDB writes to its redo log that a transaction is prepared, then the server
// writes it to the binary log, and then it is committed (trx_prepare in trx0trx.cc, MYSQL_BIN_LOG in log.cc and binlog.cc). A snapshot has
// all that was written before, synced or not, so that sync_binlog does not matter; with innodb_flush_log_at_trx_commit = 0 the redo
// log is written later than the binary log.
func Exact(p protect.Point) error {
	flush := p.Server.Settings["innodb_flush_log_at_trx_commit"]
	const help = "plumb snapshot --mode locked takes points with a lock; without --to this one is restored as it is"
	switch {
	case p.Position.File == "":
		return hint.With(errors.New("its server kept no binary log, or where that stood was not noted"), "let the server keep one (log_bin), on a dataset of the point, and take another point; without --to this one is restored as it is")
	case !p.OneMoment():
		return hint.With(errors.New("its snapshots are not of one moment"), help)
	case Locked(p):
		return nil
	case flush != "1" && flush != "2":
		return hint.With(fmt.Errorf("it was taken without a lock, and with innodb_flush_log_at_trx_commit = %q its data may lack what its binary log has", flush), help)
	case strings.Contains(strings.ToUpper(p.Server.Settings["plugin_load_add"]), "ROCKSDB"):
		return hint.With(errors.New("it was taken without a lock, and for MyRocks nothing proves that its data is of the moment of its binary log"), help)
	}
	return nil
}

// Locked tells whether nothing was committed while the snapshots of a point were taken, as far as was noted.
func Locked(p protect.Point) bool { return p.Mode == protect.ModeLocked && p.Label != protect.Crash }
