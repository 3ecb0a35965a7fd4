package mysql

import "testing"

// What MariaDB 10.11.19 told of five tables, and MySQL 9.7.4 of the last: it
// shows no width.
func TestParseIncrements(t *testing.T) {
	counters := rowsFrom("TABLE_SCHEMA\tTABLE_NAME\tAUTO_INCREMENT\nx\tm\t32001\nx\ta\t241\nx\tbig\t9000000000\nx\tfull\t4294967296\nx\tv\t200")
	columns := rowsFrom("TABLE_SCHEMA\tTABLE_NAME\tCOLUMN_NAME\tCOLUMN_TYPE\nx\tm\tid\tsmallint(6)\nx\ta\tid\ttinyint(3) unsigned\nx\tbig\tid\tbigint(20)\nx\tv\tid\tdouble")
	used, column := parseIncrements(counters, columns)
	if column != "x.m.id smallint(6)" || used < 0.97 || used > 0.98 {
		t.Errorf("%v of %s", used, column)
	}
	columns = rowsFrom("TABLE_SCHEMA\tTABLE_NAME\tCOLUMN_NAME\tCOLUMN_TYPE\nx\tfull\tid\tint unsigned")
	if used, column = parseIncrements(counters, columns); used != 1 || column != "x.full.id int unsigned" {
		t.Errorf("%v of %s", used, column)
	}
	if used, column = parseIncrements(rowsFrom("a"), columns); used != 0 || column != "none" {
		t.Errorf("%v of %s", used, column)
	}
}

func TestLargest(t *testing.T) {
	for kind, want := range map[string]float64{"tinyint(4)": 127, "tinyint unsigned": 255, "smallint(5) unsigned zerofill": 65535, "mediumint": 8388607,
		"int(11)": 2147483647, "int unsigned": 4294967295, "bigint(20) unsigned": 18446744073709551615} {
		if got, ok := largest(kind); !ok || got != want {
			t.Errorf("%s: %v, %v", kind, got, ok)
		}
	}
	if _, ok := largest("float"); ok {
		t.Error("a float has no end")
	}
}

// A member that recovers has a vote, but is no copy yet.
func TestParseGroup(t *testing.T) {
	total, online, reachable := parseGroup(rowsFrom("MEMBER_STATE\tCOUNT(*)\nONLINE\t1\nRECOVERING\t1\nUNREACHABLE\t1\nOFFLINE\t1"))
	if total != 3 || online != 1 || reachable != 2 {
		t.Errorf("%d members, %d online, %d reachable", total, online, reachable)
	}
}

// As Galera 26.4 shows them, with fewer options.
func TestParseProviderOptions(t *testing.T) {
	o := parseProviderOptions("base_port = 4567; gcache.size = 128M; pc.ignore_quorum = false; pc.ignore_sb = true; pc.npvo = false; ")
	if o["gcache.size"] != "128M" || o["pc.ignore_sb"] != "true" || o["pc.ignore_quorum"] != "false" || o["pc"] != "" {
		t.Errorf("%v", o)
	}
}

func TestReadsXARecover(t *testing.T) {
	for query, want := range map[string]bool{"XA RECOVER": true, "xa  recover": true, "XA RECOVER; XA COMMIT 'a'": false, "XA COMMIT 'a'": false, "XA ROLLBACK 'recover'": false} {
		if got := (Dialer{}).Reads(query); got != want {
			t.Errorf("%s: %v", query, got)
		}
	}
}
