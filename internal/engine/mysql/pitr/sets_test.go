package pitr

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"plumb/internal/backup/moment"
	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/engine/mysql/point"
	"plumb/internal/hint"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
)

const (
	source      = "11111111-1111-1111-1111-111111111111"
	sourceBytes = "\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11"
)

func eight(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }

// oneTo is the set of GTIDs of a source from 1 to one.
func oneTo(last uint64) []byte {
	return entry(binlog.PreviousGTIDs, born, 0, eight(1)+sourceBytes+eight(1)+eight(1)+eight(last+1))
}

func native(n uint64) []byte {
	return entry(binlog.GTID, born, 0, "\x00"+sourceBytes+eight(n)+strings.Repeat("\x00", 17))
}

// begun is the beginning of a file of MySQL's.
func begun() []byte {
	return append([]byte("\xfebin"), entry(binlog.Format, born, inUse, "\x04\x00"+"9.7.4"+strings.Repeat("\x00", 45)+"\x00\x00\x00\x00\x13\x01")...)
}

// A MySQL that died amid a transaction cuts that off, of which the archive may have a part, and goes on. Without GTIDs too the log leads on
// from a point, whose own log tells that it is the same.
func TestSetBackWithoutGTIDs(t *testing.T) {
	l := newLog(t)
	l.files("binlog.000001")
	anonymous := func(n int) []byte {
		return append(entry(binlog.NoGTID, born, 0, strings.Repeat("\x00", 42)), change(n)...)
	}
	head := append(begun(), entry(binlog.PreviousGTIDs, born, 0, eight(0))...)
	l.write("binlog.000001", head, anonymous(1), anonymous(2))
	l.turns()
	l.write("binlog.000001", head, anonymous(300))
	if l.turns() == "" {
		t.Fatal("it goes on")
	}
	m, told := pointOf("binlog.000001", len(head), "", time.Now().Add(-time.Hour))
	told.Server.Flavor, told.Server.Product, told.Server.Version = product.MySQL, "MySQL 9.7.4", "9.7.4"
	m, err := Engine{}.Based(m, told)
	if err != nil {
		t.Fatal(err)
	}
	all, err := l.shelf.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	w, err := Engine{}.Plan(t.Context(), l.shelf, m, moment.Asked{To: replay.Target{Text: "the end"}})
	if err != nil || w.Count != 1 || w.Inner.(inner).log.series != bySeries(all)[1][0].Series {
		t.Errorf("%+v, %v", w, err)
	}
}

// A file of MySQL's that does not know what the one before it has is of another log, or one between them is missing.
func TestSetsFromFileToFile(t *testing.T) {
	for name, c := range map[string]struct {
		second uint64
		want   string
	}{
		"all before it":      {7, ""},
		"more than is read":  {9, ""},
		"not the last of it": {6, "there is a gap: its set of GTIDs does not have " + source + ":7, which was read before"},
	} {
		l := newLog(t)
		l.files("binlog.000001", "binlog.000002")
		l.write("binlog.000001", begun(), oneTo(5), native(6), change(1), native(7), change(2), rotate("binlog.000002"))
		l.write("binlog.000002", begun(), oneTo(c.second), native(10), change(3))
		l.turns()
		all, err := l.shelf.List(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		sv := protect.Server{Flavor: product.MySQL, Product: "MySQL 9.7.4", Version: "9.7.4", Settings: map[string]string{"log_bin_basename": shelfDir + "/log", "log_bin_index": shelfIndex}}
		from := replay.Start{Position: protect.Position{File: "binlog.000001", Offset: int64(len(begun()) + len(oneTo(5))), GTID: source + ":1-5"}}
		w, err := point.Seek(t.Context(), newShelfLog(l.shelf, bySeries(all)[0], base{}), sv, from, replay.Target{Text: "the end", Time: time.Now().Add(time.Hour)})
		switch {
		case c.want == "" && (err != nil || w.Count != 3 || w.Stop.GTID != source+":10" || len(w.Notes) > 0):
			t.Errorf("%s: %+v, %v", name, w, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || hint.Of(err) == ""):
			t.Errorf("%s: %+v, %v", name, w, err)
		}
	}
}
