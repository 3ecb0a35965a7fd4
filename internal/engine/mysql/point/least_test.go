package point

import (
	"context"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/internal/protect"
)

// A copy that stands before the position that was read is wrong only where the server's settings make that a bound.
func TestLeast(t *testing.T) {
	durable := map[string]string{"sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1"}
	with := func(name, value string) map[string]string {
		return map[string]string{"sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1", name: value}
	}
	at := func(file string, offset int64) protect.Position { return protect.Position{File: file, Offset: offset} }
	applied := func(gtids string) protect.Position { return protect.Position{Applied: gtids} }
	for name, c := range map[string]struct {
		flavor         string
		settings       map[string]string
		was, is        protect.Position
		wrong, unknown string
	}{
		"the same place":              {"mariadb", durable, at("bin.000002", 400), at("bin.000002", 400), "", ""},
		"further":                     {"mariadb", durable, at("bin.000002", 400), at("bin.000002", 401), "", ""},
		"a later file":                {"mysql", durable, at("bin.000009", 400), at("bin.000010", 4), "", ""},
		"more digits":                 {"mysql", durable, at("bin.999999", 400), at("bin.1000000", 4), "", ""},
		"short":                       {"mariadb", durable, at("bin.000002", 400), at("bin.000002", 399), "bin.000002:399, unless RESET", ""},
		"an earlier file":             {"mysql", durable, at("bin.000010", 4), at("bin.000009", 400), "stood at bin.000010:4", ""},
		"another name":                {"mysql", durable, at("bin.000010", 4), at("log.000010", 4), "", "was called bin"},
		"no log in the copy":          {"mysql", durable, at("bin.000010", 4), protect.Position{}, "", "no binary log"},
		"no log":                      {"mysql", durable, protect.Position{GTID: "a:1-3"}, protect.Position{GTID: "a:1-3"}, "", ""},
		"no log, whatever its sync":   {"mysql", with("sync_binlog", "0"), protect.Position{GTID: "a:1-9"}, protect.Position{GTID: "a:1-3"}, "GTID a:1-9", ""},
		"an empty set":                {"mysql", durable, at("bin.000002", 400), at("bin.000002", 400), "", ""},
		"fewer GTIDs":                 {"mysql", durable, protect.Position{File: "bin.1", Offset: 4, GTID: "a:1-9"}, protect.Position{File: "bin.1", Offset: 4, GTID: "a:1-3"}, "GTID a:1-9", ""},
		"GTIDs of MariaDB":            {"mariadb", durable, protect.Position{File: "bin.1", Offset: 4, GTID: "0-1-9"}, protect.Position{File: "bin.1", Offset: 4, GTID: "0-1-3"}, "", ""},
		"log not synced":              {"mariadb", with("sync_binlog", "0"), at("bin.000002", 400), at("bin.000002", 4), "", "bin.000002:4; sync_binlog was 0"},
		"log not synced, and further": {"mariadb", with("sync_binlog", "100"), at("bin.000002", 400), at("bin.000002", 400), "", ""},
		"redo log not synced":         {"mysql", with("innodb_flush_log_at_trx_commit", "2"), at("bin.000002", 400), at("bin.000002", 400), "", "innodb_flush_log_at_trx_commit was 2"},
		"not known how it syncs":      {"mysql", nil, at("bin.000002", 400), at("bin.000002", 4), "", "was not noted"},
		"nor its log":                 {"mysql", map[string]string{"innodb_flush_log_at_trx_commit": "1"}, at("bin.000002", 400), at("bin.000002", 4), "", "sync_binlog was not noted"},
		"a replica":                   {"mariadb", durable, applied("0-1-9,1-2-4"), applied("0-3-10,1-2-4,2-1-1"), "", ""},
		"a replica, short":            {"mariadb", with("gtid_strict_mode", "ON"), applied("0-1-9,1-2-4"), applied("0-1-9,1-2-3"), "applied GTID 1-2-4", ""},
		"a replica without a domain":  {"mariadb", with("gtid_strict_mode", "ON"), applied("0-1-9,1-2-4"), applied("0-1-9"), "applied GTID 1-2-4", ""},
		"numbers that may go back":    {"mariadb", durable, applied("0-1-9"), applied("0-2-3"), "", "gtid_strict_mode"},
	} {
		sv := protect.Server{Flavor: c.flavor, Settings: c.settings}
		ask := func(_ context.Context, q string) (host.Rows, error) {
			yes := "0"
			if strings.HasPrefix(q, "SELECT GTID_SUBSET('"+c.is.GTID+"'") {
				yes = "1"
			}
			return host.Rows{Values: [][]*string{{&yes}}}, nil
		}
		got, err := least(t.Context(), ask, sv, c.was, c.is)
		if err != nil || (got.Wrong != "") != (c.wrong != "") || !strings.Contains(got.Wrong, c.wrong) || (got.Unknown != "") != (c.unknown != "") || !strings.Contains(got.Unknown, c.unknown) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzBehind(f *testing.F) {
	f.Add("0-1-9,1-2-4", "0-1-9")
	f.Fuzz(func(t *testing.T, was, is string) {
		if ahead := behind(was, is); ahead != "" && !strings.Contains(was, ahead) {
			t.Errorf("%q is not of %q", ahead, was)
		}
	})
}
