package forecast

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
)

// TestUnitsAreSpelledOut: a unit that a word spells is not taken for bytes.
func TestUnitsAreSpelledOut(t *testing.T) {
	for header, want := range map[string]float64{
		"used_kilobytes": 3e3, "Used (Megabytes)": 3e6, "gigabytes used": 3e9, "used terabyte": 3e12, "used_mbytes": 3e6, "used kibibytes": 3 << 10, "used_gibibytes": 3 << 30,
		"UsedSpaceGB": 3e9, "used_mi": 3 << 20, "used_mibytes": 3 << 20, "bytes_used": 3, "owner_used": 3,
	} {
		got, err := ParseCSV([]byte("date,"+header+"\n2026-01-01,3\n"), time.Time{})
		if err != nil || got.Tables[0].Days[0].Value != want {
			t.Errorf("%s: %+v, %v, want %g", header, got.Tables, err, want)
		}
	}
	for cell, want := range map[string]float64{"3 Gigabytes": 3e9, "3 mebibytes": 3 << 20, "3kb": 3e3, "3Ki": 3 << 10, "3e3": 3e3} {
		if got, err := ParseCSV([]byte("date,used\n2026-01-01,"+cell+"\n"), time.Time{}); err != nil || got.Tables[0].Days[0].Value != want {
			t.Errorf("%s: %+v, %v, want %g", cell, got.Tables, err, want)
		}
	}
}

// TestWhatIsNotCountedInBytes: how many bytes a block or a page has only its unit tells.
func TestWhatIsNotCountedInBytes(t *testing.T) {
	for header, want := range map[string]string{
		"date,used_blocks": "the column used_blocks does not count bytes", "date,inodes_used": "the column inodes_used does not count bytes",
		"date,size_pages": "the column size_pages does not count bytes", "date,Blocks,Used": "the column Blocks does not count bytes",
		"date,free_bytes": "no column for the bytes", "date,data_bytes,wal_bytes": "no column for the bytes",
	} {
		_, err := ParseCSV([]byte(header+"\n2026-01-01,3,4\n"), time.Time{})
		if err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%s: %v, hint %q", header, err, hint.Of(err))
		}
	}
	for header, todo := range map[string]string{"date,free_bytes": "add a column size_bytes", "date,data_bytes,wal_bytes": "a row for each, as date,name,used_bytes"} {
		if _, err := ParseCSV([]byte(header+"\n2026-01-01,3,4\n"), time.Time{}); !strings.Contains(hint.Of(err), todo) {
			t.Errorf("%s: hint %q", header, hint.Of(err))
		}
	}
}

// TestTimesSince1970: in seconds and in parts of them, whatever the column is called.
func TestTimesSince1970(t *testing.T) {
	day := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"1772625600": day, "1772625600.5": day.Add(500 * time.Millisecond), "1772625600000": day, "1772625600001": day.Add(time.Millisecond),
		"1772625600000000": day, "1772625600000000000": day, "1.7726256e18": day,
	} {
		for _, column := range []string{"epoch", "unixtime", "timestamp_ms", "ts"} {
			got, err := ParseCSV([]byte(column+",bytes\n"+text+",1\n"), time.Time{})
			if err != nil || got.Tables[0].Days[0].Date.Sub(want).Abs() > time.Microsecond {
				t.Errorf("%s %s: %+v, %v", column, text, got.Tables, err)
			}
		}
	}
	for _, text := range []string{"1e14", "1e17", "1e20", "17726256", "9223372036854775807"} {
		if got, err := ParseCSV([]byte("epoch,bytes\n"+text+",1\n"), time.Time{}); err == nil {
			t.Errorf("%s is taken for %v", text, got.Tables[0].Days)
		}
	}
}

// TestOwnersInOneFile: what a row is about is told by an owner too; files one behind the other are one.
func TestOwnersInOneFile(t *testing.T) {
	const text = "date,owner,used_bytes\n2026-01-01,data,5\n2026-01-01,binlog,7\n"
	got, err := ParseCSV([]byte(text+"date,owner,used_bytes\n2026-01-02,data,6\n2026-01-02,binlog,7\n"), time.Time{})
	if err != nil || len(got.Tables) != 2 || got.Tables[0].Of != "data" || got.Tables[1].Of != "binlog" || len(got.Tables[0].Days) != 2 || got.Tables[0].Days[1].Value != 6 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ParseCSV([]byte(text+"date,owner,used_gib\n2026-01-02,data,6\n"), time.Time{}); err == nil || !strings.Contains(err.Error(), `line 4: "date" is not a date`) {
		t.Errorf("another header: %v", err)
	}
}
