package forecast

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"plumb/internal/hint"
)

func TestParseCSV(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		days int
		last float64
		size float64
	}{
		"a date and bytes":              {"date,used_bytes\n2026-01-01,5\n2026-01-02,6\n", 2, 6, 0},
		"with a size":                   {"t,used,size\n1767225600,5,100\n2026-01-02T03:04:05Z,6,200\n", 2, 6, 200},
		"nothing known":                 {"date,bytes\n2026-01-01,\n2026-01-02,6\n2026-01-03,NA\n2026-01-04,null\n2026-01-05,-\n", 1, 6, 0},
		"other columns":                 {"host,\"Date\",Bytes\ndb1,2026-01-01,1e9\n", 1, 1e9, 0},
		"lines of a Macintosh":          {"date,bytes\r2026-01-01,1\r2026-01-02,2\r", 2, 2, 0},
		"tabs, as columns of df":        {"date\tFilesystem\tSize\tUsed\n2026-01-01\t/\t4G\t2G\n", 1, 2 << 30, 4 << 30},
		"a size that is in GiB":         {"date,used,size\n2026-01-01,107374182400,200\n", 1, 100 << 30, 0},
		"a mark at the start":           {"\ufeffdate,bytes\r\n2026-01-01,1\r\n", 1, 1, 0},
		"the newest first":              {"date,bytes,size\n2026-01-02,6,200\n2026-01-01,5,100\n", 2, 5, 200},
		"semicolons":                    {"date;used\n2026-01-01;5\n", 1, 5, 0},
		"remarks":                       {"# of tank\n\ndate;used\n# in May\n2026-01-01;5\n", 1, 5, 0},
		"tabs":                          {"date\tused\n2026-01-01\t5\n", 1, 5, 0},
		"a comma at the end":            {"date,used\n2026-01-01,5,\n", 1, 5, 0},
		"a remark to a spreadsheet":     {"sep=;\r\ndate;used\r\n2026-01-01;5\r\n", 1, 5, 0},
		"no header":                     {"2026-01-01,5\n2026-01-02,6\n", 2, 6, 0},
		"no header, decimal comma":      {"2026-01-01;5,25G\n2026-01-02;6,5G\n", 2, 6.5 * (1 << 30), 0},
		"a unit in the header":          {"Date,Used (GiB),Size (GiB)\n2026-01-01,1.5,4\n", 1, 1.5 * (1 << 30), 4 << 30},
		"a unit in its name":            {"date,used_mb,total_mb\n2026-01-01,3,4\n", 1, 3e6, 4e6},
		"a unit joined to its name":     {"Date,UsedGB,SizeGB\n2026-01-01,3,4\n", 1, 3e9, 4e9},
		"a unit in the cells":           {"date,used,size\n2026-01-01,5.5 GiB,1T\n", 1, 5.5 * (1 << 30), 1 << 40},
		"a unit in cells is the nearer": {"date,used_gib\n2026-01-01,5M\n", 1, 5 << 20, 0},
		"groups of digits":              {"date,used\n2026-01-01,\"1,234\"\n", 1, 1234, 0},
		"groups of a part of the file":  {"date,used_gb\n2026-01-01,\"1,234\"\n2026-01-02,\"1,235.5\"\n", 2, 1235.5e9, 0},
		"a decimal comma":               {"date;used_gb\n2026-01-01;1,234\n2026-01-02;1,2\n", 2, 1.2e9, 0},
		"groups by points":              {"date;used\n2026-01-01;1.234.567\n2026-01-02;1.234\n", 2, 1234, 0},
		"groups by spaces":              {"date;used\n2026-01-01;1 234 567\n2026-01-02;1\u202f234\u202f568\n", 2, 1234568, 0},
		"per cent of a size":            {"date,use%,size\n2026-01-01,50,200\n2026-01-02,51%,200\n", 2, 102, 200},
		"per cent beside bytes":         {"date,use%,used,size\n2026-01-01,50,101,200\n", 1, 101, 200},
		"columns of df":                 {"date,Filesystem,1K-blocks,Used,Available,Use%,Mounted on\n2026-01-01,/dev/sda1,100,50,45,53%,/\n", 1, 50 << 10, 95 << 10},
		"words around them":             {"snapped_at,C: Used GB\n2026-01-01,3\n", 1, 3e9, 0},
		"spaces":                        {"2026-01-01  5\n2026-01-02  6\n", 2, 6, 0},
		"spaces below a header":         {"date        used\r\n2026-01-01  5\r\n2026-01-02  6\r\n", 2, 6, 0},
		"zfs list with days before it":  {"date name used avail refer mountpoint\n2026-01-01 tank/db 5G 15G 5G /db\n", 1, 5 << 30, 20 << 30},
		"commas in quotes":              {"\"Date\";\"Used\";\"notes, if any, of whom\"\n2026-01-01;5;\n", 1, 5, 0},
		"what psql prints":              {"    day     | used_bytes \n------------+------------\n 2026-01-01 |          5\n 2026-01-02 |          6\n(2 rows)\n\n", 2, 6, 0},
		"what mysql prints":             {"+------------+------+\n| date       | used |\n+------------+------+\n| 2026-01-01 |    5 |\n+------------+------+\n", 1, 5, 0},
		"what PowerShell prints":        {"Date       Used\n----       ----\n2026-01-01 5\n", 1, 5, 0},
		"only sizes":                    {"Date,DB Size (GB)\n2026-01-01,3\n", 1, 3e9, 0},
		"groups by points, semicolons":  {"date;used\n2026-01-01;1.234\n2026-01-02;1.235\n", 2, 1235, 0},
		"a point that parts wholes":     {"date;used_gb\n2026-01-01;1.234\n2026-01-02;0.5\n", 2, 5e8, 0},
		"parts of a per cent":           {"date;use%;size\n2026-01-01;12.345;100000\n", 1, 12345, 100000},
		"a cell of a broken formula":    {"date,used\n2026-01-01,5\n2026-01-02,#N/A\n", 1, 5, 0},
		"used and free":                 {"date,used,free,size\n2026-01-01,50,30,100\n", 1, 50, 80},
		"size and free":                 {"Date,Drive,Size (GB),FreeSpaceGB\n2026-01-01,C:,100,30\n2026-01-02,C:,100,\n", 1, 70e9, 100e9},
		"a time in its own column":      {"date,time,used\n2026-01-01,23:00,6\n2026-01-01,22:00,5\n", 2, 5, 0},
	} {
		got, err := ParseCSV([]byte(c.text), time.Time{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		table := got.Tables[0]
		if n := len(table.Days); len(got.Tables) != 1 || n != c.days || table.Days[n-1].Value != c.last || table.Size != c.size || table.Of != "" || table.Percent {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestFormsOfADate: one day, as programs write it.
func TestFormsOfADate(t *testing.T) {
	for _, text := range []string{"2026-03-04", "2026-03-04T00:00:00Z", "2026-03-04T02:00:00+02:00", "2026-03-04T00:00:00.5Z", "2026-03-04 00:00:00", "2026-03-04 00:00:00.123",
		"2026-03-04T00:00", "2026-03-04 02:00:00+02", "2026-03-04 02:00:00+02:00", "2026-03-04 02:00:00 +0200", "2026-03-04T02:00:00+0200", "2026-03-04 00:00:00 UTC",
		"2026/03/04", "2026/03/04 00:00", "2026/3/4", "20260304", "20260304123000", "202603041230", "2026-03-04T02:00+02:00", "2026-03-04T00:00Z", "2026-03-04 02:00:00 +0200 CEST", "2026-03-04T02:00:00+02", "2026-03-04 02:00:00 +02:00", "2026.3.4", "2026.03.04 10:00", "1772582400", "1772582400.7", "1.7725824e9", "1772582400000",
		"4 March 2026", "04-Mar-2026", "04-MAR-26", "\"Mar 4, 2026\"", "\"Mar 4, 2026 3:07 PM\"", "Wed Mar  4 23:07:08 CET 2026", "Wed Mar  4 23:07:08 2026", "Wed 04 Mar 2026 11:07:08 PM CET",
		"\"Wed, 4 Mar 2026 12:00:00 +0100\""} {
		got, err := ParseCSV([]byte("date,bytes\n"+text+",1\n"), time.Time{})
		if err != nil || !Daily(Quantity{}, got.Tables[0].Days).Days[0].Date.Equal(time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%q: %v, %v", text, got.Tables, err)
		}
	}
	for _, text := range []string{"03/04/2026", "04.03.2026", "4-3-2026", "03/04/26", "3", "20261399", "2026-02-30", "99999999", "1e14", "-1772582400", "13/14/2026", "1/0/2026", "0/1/2026", "1.2/2026"} {
		if got, err := ParseCSV([]byte("date,bytes\n"+text+",1\n"), time.Time{}); err == nil {
			t.Errorf("%q is taken for %v", text, got.Tables)
		}
	}
}

// TestTheFileShowsWhichIsTheDay: one date that can only be read in one way tells how to read the others.
func TestTheFileShowsWhichIsTheDay(t *testing.T) {
	for text, note := range map[string]string{
		"date,bytes\n03/04/2026,1\n03/25/2026,2\n":                                "dates have the month first, as 03/25/2026 in line 3 shows",
		"date;bytes\n04.03.2026;1\n25.03.2026;2\n":                                "dates have the day first, as 25.03.2026 in line 3 shows",
		"date,bytes\n03/04/2026 11:00:00 PM,1\n03/25/2026 12:30 AM,2\n":           "dates have the month first, as 03/25/2026 in line 3 shows",
		"date,time,bytes\n04.03.2026,23:59,1\n25.03.2026,0:30,2\n":                "dates have the day first, as 25.03.2026 in line 3 shows",
		"04/03/2026 1:02\t1\n25/03/2026 1:02\t2\n":                                "dates have the day first, as 25/03/2026 in line 2 shows",
		"when;date;used\n;04.03.2026, 10:00;\"5,5 GB\"\n;25.03.2026;\"6,5 GB\"\n": "dates have the day first, as 25.03.2026 in line 3 shows",
	} {
		got, err := ParseCSV([]byte(text), time.Time{})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		days := Daily(Quantity{}, got.Tables[0].Days).Days
		if !strings.Contains(strings.Join(got.Notes, "\n"), note) || days[0].Date != time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC) || days[1].Date != time.Date(2026, 3, 25, 0, 0, 0, 0, time.UTC) {
			t.Errorf("%q: %v, %q", text, days, got.Notes)
		}
	}
}

func TestParseCSVSaysWhatIsWrong(t *testing.T) {
	if _, err := ParseCSV([]byte("date,used\n45900,5\n"), time.Time{}); err == nil || err.Error() != `line 2: "45900" is not a date` || !strings.Contains(hint.Of(err), "where a spreadsheet counts days") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
	for header, todo := range map[string]string{"NAME USED AVAIL\ntank 1G 2G\n": "what df and zfs list print has no date", "Datum;Used\n1;2\n": "call one of them date"} {
		if _, err := ParseCSV([]byte(header), time.Time{}); err == nil || !strings.HasPrefix(hint.Of(err), todo) {
			t.Errorf("%q: %v, hint %q", header, err, hint.Of(err))
		}
	}
	for text, want := range map[string]string{
		"": "the file is empty", "date,bytes\n": "no row", "a,b\n1,2\n": "no column for the date",
		"date,bytes\nyesterday,5\n": `line 2: "yesterday" is not a date`, "date,bytes\n2026-01-01,-5\n": "not a number of bytes",
		"date,bytes\n0002-01-01,5\n": "not a date of a disk", "date,bytes\n2026-01-01\n": "line 2: it is too short",
		"date,bytes\n1970-01-01T00:00:00+05:00,5\n":                        "not a date of a disk",
		"date,bytes\n\"2026\n":                                             "quote",
		"date,used in a,used in b\n2026-01-01,5,6\n":                       "no column for the bytes: date, used in a, used in b",
		"date,size,free\n2026-01-01,5,6\n":                                 "line 2: more is free (6) than there is (5)",
		"date,written_gb\n2026-01-01,5\n":                                  "no column for the bytes: date, written_gb",
		"date,bytes\n2026-01-01,1,234,567\n":                               "line 2: it has more columns than the header",
		"date,used_gb\n2026-01-01,\"1,234\"\n":                             `line 2: "1,234" can be 1234 and 1.234`,
		"date,used\n2026-01-01,5\n2026-01-02,\"1,23,456\"\n":               `line 3: "1,23,456" is not a number of bytes`,
		"date,used\n2026-01-01,1.5G\n2026-01-02,\"1,5G\"\n":                "line 3 has a decimal comma (1,5), and line 2 a decimal point (1.5)",
		"date;used_gb\n2026-01-01;1.234\n2026-01-02;1.235\n":               `line 2: "1.234" can be 1234 and 1.234`,
		"NAME  USED  AVAIL  REFER  MOUNTPOINT\ntank  1G  2G  1G  /tank\n":  "no column for the date: NAME, USED",
		"date,bytes\n2026-01-01,5X\n":                                      "not a number of bytes",
		"date,bytes\n2026-01-01,0x10p2\n":                                  "not a number of bytes",
		"date,used\n03/25/2026,5\n25/03/2026,6\n":                          "line 3 has the day first (25/03/2026), and line 2 the month (03/25/2026)",
		"date,used\n03/04/2026,5\n":                                        `line 2: "03/04/2026" can have the day or the month first`,
		"date,used\n03/04/26,5\n":                                          "a year of two digits",
		"date,use%\n2026-01-01,101%\n":                                     "more than the whole",
		"date,used\n2026-01-01,5%\n2026-01-02,7\n":                         "5% in line 2 is in per cent and has no size; 7 in line 3",
		"date,used,size\n2026-01-01,5,7%\n":                                `"7%" is not a size`,
		"2026-01-01,tank,5\n":                                              "there is no header that says what its columns are: 3",
		"date,used\n2026-01-01,9223372036854775808\n":                      "is more than 8E",
		"date,used\n2026-01-01,1e19\n":                                     `line 2: "1e19" is more than 8E`,
		"date,used\n2026-01-01,Inf\n":                                      `line 2: "Inf" is not a number of bytes`,
		"d\x00a\x00t\x00e\x00":                                             "UTF-16 without a mark",
		"\xff\xfed\x00a":                                                   "ends in the middle of a character",
		"date,mount,used\n2026-01-01," + strings.Repeat("x", 201) + ",5\n": "more than 200 characters",
	} {
		_, err := ParseCSV([]byte(text), time.Time{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err != nil && hint.Of(err) == "" {
			t.Errorf("%q: %v has no hint", text, err)
		}
	}
}

// TestWhatMayBeAMistake: a file that can be read, and is hardly meant so, is read and doubted.
func TestWhatMayBeAMistake(t *testing.T) {
	for name, c := range map[string]struct{ text, note string }{
		"bytes or GiB":        {"date,used\n2026-01-01,100.5\n2026-01-02,101\n", "numbers without a unit are bytes: if they are not, name the unit"},
		"more than the quota": {"date,used,limit\n2026-01-01,3G,2G\n", "in line 2 more is in use (3G) than there is (2G)"},
		"a lone size":         {"date,size\n2026-01-01,100G\n2026-01-02,101G\n", "the column size is used for the used space: there is no other candidate"},
		"a size in its unit":  {"date,used,size\n2026-01-01,107374182400,200\n", "in line 2 more is in use (107374182400) than there is (200): are both in the same unit?"},
	} {
		got, err := ParseCSV([]byte(c.text), time.Time{})
		if err != nil || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], c.note) {
			t.Errorf("%s: %q, %v", name, got.Notes, err)
		}
	}
	for name, text := range map[string]string{
		"filled from nothing": "date,used\n2026-01-01,0\n2026-01-02,0\n2026-01-03,101G\n",
		"few bytes":           "date,bytes\n2026-01-01,100\n",
		"a unit in the cell":  "date,used\n2026-01-01,100M\n",
		"emptied":             "date,used\n2026-01-01,100G\n2026-01-02,1M\n",
		"0 per cent":          "date,use%\n2026-01-01,5\n2026-01-02,0\n",
	} {
		got, err := ParseCSV([]byte(text), time.Time{})
		if err != nil || strings.Contains(strings.Join(got.Notes, "\n"), "unit") {
			t.Errorf("%s: %q, %v", name, got.Notes, err)
		}
	}
}

// TestOnlyWhatWasKnown: with an end, a file is read as it was then, by its sizes and
// its names too.
func TestOnlyWhatWasKnown(t *testing.T) {
	const text = "date,mount,used,size\n2026-01-01,/a,5G,10G\n2026-01-02,/a,6G,10G\n2026-01-03,/a,7G,20G\n2026-01-03,/b,1G,2G\n"
	got, err := ParseCSV([]byte(text), at(2))
	if err != nil || len(got.Tables) != 1 || got.Tables[0].Of != "/a" || got.Tables[0].Size != 10<<30 || len(got.Tables[0].Days) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	const log = "2026-01-01 /dev/sda1 ext4 1000 500 400 56% /\n2026-01-02 /dev/sda1 ext4 2000 501 1399 56% /\n"
	if got, err := ParseCSV([]byte(log), at(1)); err != nil || len(got.Tables[0].Days) != 1 || got.Tables[0].Size != 900<<10 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ParseCSV([]byte(text), at(0)); err == nil || err.Error() != "it has no row before 2026-01-01" || hint.Of(err) == "" {
		t.Errorf("%v", err)
	}
}

// TestDaysThatItWasFull are found by what the same row has for the size, or what is free.
func TestDaysThatItWasFull(t *testing.T) {
	for name, text := range map[string]string{
		"a size":    "date,used,size\n2026-01-01,9G,10G\n2026-01-02,10G,10G\n2026-01-03,10G,20G\n",
		"free":      "date,used,free\n2026-01-01,9G,1G\n2026-01-02,10G,1K\n2026-01-03,10G,10G\n",
		"an offset": "date,used,size\n2026-01-02T23:30:00-05:00,10G,10G\n2026-01-03T23:30:00-05:00,10G,20G\n",
		"df":        "2026-01-01 /dev/sda1 ext4 1000 500 400 56% /\n2026-01-02 /dev/sda1 ext4 1000 900 0 100% /\n2026-01-03 /dev/sda1 ext4 2000 900 1000 48% /\n",
	} {
		got, err := ParseCSV([]byte(text), time.Time{})
		if err != nil || len(got.Tables[0].Full) != 1 || !got.Tables[0].Full[0].Equal(at(1)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestPrettySizes: the kB, MB and GB of pg_size_pretty are powers of 1024, whatever those of others are.
func TestPrettySizes(t *testing.T) {
	const rows = "2026-01-01,800 bytes\n2026-01-02,7461 MB\n2026-01-03,12 GB\n"
	for head, want := range map[string][2]float64{"pg_size_pretty": {7461 << 20, 12 << 30}, "used": {7461e6, 12e9}} {
		got, err := ParseCSV([]byte("date,"+head+"\n"+rows), time.Time{})
		if err != nil || got.Tables[0].Days[1].Value != want[0] || got.Tables[0].Days[2].Value != want[1] {
			t.Errorf("%s: %+v, %v", head, got, err)
		}
		if told := slices.Contains(got.Notes, "GB of pg_size_pretty is read as a power of 1024 bytes, as it is written"); told != (head != "used") {
			t.Errorf("%s: %q", head, got.Notes)
		}
	}
}

// TestOtherWordsForUsed: as appliances and zpool list call it.
func TestOtherWordsForUsed(t *testing.T) {
	for text, size := range map[string]float64{
		"Snapshot Date,Space Consumed (GiB)\n2026-01-01,5\n":        0,
		"date,name,SIZE,ALLOC,FREE\n2026-01-01,tank,10G,5G,5G\n":    10 << 30,
		"date,occupied,capacity\n2026-01-01,5G,10G\n":               10 << 30,
		"date,allocated_gib,used_gib,size_gib\n2026-01-01,9,5,10\n": 10 << 30,
	} {
		got, err := ParseCSV([]byte(text), time.Time{})
		if err != nil || got.Tables[0].Days[0].Value != 5<<30 || got.Tables[0].Size != size {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// TestFilesThatAreTooWide or of too many things are refused.
func TestFilesThatAreTooWide(t *testing.T) {
	things := "date,mount,used\n"
	for i := range mostSeries + 1 {
		things += fmt.Sprintf("2026-01-01,/%d,5G\n", i)
	}
	for want, text := range map[string]string{
		"more than 64 columns":              "date,used" + strings.Repeat(",x", mostCells) + "\n2026-01-01,5\n",
		"more than 500 things":              things,
		"two columns are called used_bytes": "date,used_bytes,used_bytes\n2026-01-01,5,6\n",
	} {
		if _, err := ParseCSV([]byte(text), time.Time{}); err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestFilesOfTooManyRows are refused. That of the test is read from its last but one row on.
func TestFilesOfTooManyRows(t *testing.T) {
	for text, want := range map[string]string{
		"date,used\n2026-01-01,5\n":               "",
		"date,used\n2026-01-01,5\n2026-01-02,6\n": "there are more than 2000000 rows",
	} {
		f := file{count: mostRows - 1, of: map[string]*Table{}}
		err := f.rows([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) != "a row a day is enough") {
			t.Errorf("%v, hint %q, want %q", err, hint.Of(err), want)
		}
	}
}

// TestUTF16 is what spreadsheets save as Unicode text.
func TestUTF16(t *testing.T) {
	letters := utf16.Encode([]rune("\ufeffdate\tused\r\n2026-01-01\t5\r\n"))
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		var text []byte
		for _, l := range letters {
			text = order.AppendUint16(text, l)
		}
		if got, err := ParseCSV(text, time.Time{}); err != nil || len(got.Tables) != 1 || got.Tables[0].Days[0].Value != 5 {
			t.Errorf("%s: %v, %v", order, got, err)
		}
	}
}

// TestSeveralThingsInOneFile: each is read for itself.
func TestSeveralThingsInOneFile(t *testing.T) {
	text := "date,host,mount,used_bytes,size\n"
	for day := range 20 {
		date := at(day).Format(time.DateOnly)
		text += fmt.Sprintf("%s,db1,/data,%d,1000\n%s,db1,/,%d,300\n%s,db2,/,%d,\n", date, 100+day, date, 7, date, 50)
	}
	got, err := ParseCSV([]byte(text), time.Time{})
	if err != nil || len(got.Tables) != 3 || len(got.Notes) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, want := range []Table{{Of: "db1 /data", Size: 1000}, {Of: "db1 /", Size: 300}, {Of: "db2 /"}} {
		if got := got.Tables[i]; got.Of != want.Of || got.Size != want.Size || len(got.Days) != 20 {
			t.Errorf("%s: %d days of %g, want %s and %g", got.Of, len(got.Days), got.Size, want.Of, want.Size)
		}
	}
	// Where no column is known to name them, they are not taken for one thing.
	unnamed := strings.Replace(text, "date,host,mount", "date,where,what", 1)
	if _, err := ParseCSV([]byte(unnamed), time.Time{}); err == nil || !strings.Contains(err.Error(), "line 3: 2026-01-01 00:00:00 has another value than in line 2") || !strings.Contains(hint.Of(err), "such as mount") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

// TestClocksThatAreSet: local times have an hour twice when clocks are set back, and lack
// one when they are set forward.
func TestClocksThatAreSet(t *testing.T) {
	for name, c := range map[string]struct {
		day   string
		hours []int
		notes int
	}{
		"back":    {"25.10.2026", []int{0, 1, 2, 2, 3, 22, 23}, 2},
		"forward": {"29.03.2026", []int{0, 1, 3, 4, 22, 23}, 1},
	} {
		text := "date;used_bytes\n"
		for i, hour := range c.hours {
			text += fmt.Sprintf("%s %02d:30;%d\n", c.day, hour, 100+i)
		}
		got, err := ParseCSV([]byte(text), time.Time{})
		if err != nil || len(got.Notes) != c.notes {
			t.Errorf("%s: %q, %v", name, got.Notes, err)
			continue
		}
		if days := Daily(Quantity{}, got.Tables[0].Days).Days; len(days) != 1 || days[0].Value != float64(99+len(c.hours)) {
			t.Errorf("%s: %v", name, days)
		}
	}
}

// TestALogOfDF: dates before the lines, in the lines, and without a header.
func TestALogOfDF(t *testing.T) {
	blocks := "Filesystem     1K-blocks     Used Available Use% Mounted on\n"
	for name, c := range map[string]struct {
		text string
		data Table
		note string
	}{
		"a date before each": {"Thu Jan  1 03:00:01 CET 2026\n" + blocks + "udev 100 0 100 0% /dev\n/dev/sda1 1000 500 400 56% /\n/dev/mapper/vg-a_long_name\n   2000 700 1200 37% /my data\n" +
			"Fri Jan  2 03:00:01 CET 2026\n" + blocks + "/dev/sda1 1000 510 390 57% /\n/dev/mapper/vg-a_long_name 2000 800 1100 42% /my data\ndf: /run/user/0: Permission denied\n",
			Table{Of: "/my data", Days: []Day{{at(0).Add(10801 * time.Second), 700 << 10}, {at(1).Add(10801 * time.Second), 800 << 10}}, Size: 1900 << 10}, ""},
		"a date in each line": {"2026-01-01 /dev/sda1 ext4 1000 500 400 56% /\n2026-01-01 tank/data zfs 2000 700 1200 37% /data\n2026-01-02 /dev/sda1 ext4 1000 501 399 56% /\n2026-01-02 tank/data zfs 2000 800 1100 42% /data\n",
			Table{Of: "/data", Days: []Day{{at(0), 700 << 10}, {at(1), 800 << 10}}, Size: 1900 << 10}, "df without its header"},
		"seconds, and units": {"1767225600\nFilesystem      Size  Used Avail Use% Mounted on\n/dev/sda1 40G 12G 26G 32% /\n/dev/sdb1 2,0T 1,5T 500G 75% /data\n1767312000\n/dev/sda1 40G 12G 26G 32% /\n/dev/sdb1 2,0T 1,6T 400G 80% /data\n",
			Table{Of: "/data", Days: []Day{{at(0), 1.5 * (1 << 40)}, {at(1), dfTera(1.6)}}, Size: dfTera(1.6) + 400*(1<<30)}, "df -H has powers of 1000"},
		"fuller than full": {"2026-01-01\n" + blocks + "/dev/sda1 100 50 40 56% /\n/dev/sdb1 1000 900 100 90% /data\n2026-01-02\n" + blocks + "/dev/sda1 100 50 40 56% /\n/dev/sdb1 1000 1050 -50 105% /data\n",
			Table{Of: "/data", Days: []Day{{at(0), 900 << 10}, {at(1), 1050 << 10}}, Size: 1000 << 10}, ""},
		"macOS, and blocks of 512": {"2026-01-01\nFilesystem 512-blocks Used Available Capacity iused ifree %iused Mounted on\n/dev/disk1 1000 400 500 45% 1 2 33% /\nmap auto_home 0 0 0 100% 0 0 100% /home\n2026-01-02\n/dev/disk1 1000 401 499 45% 1 2 33% /\n",
			Table{Of: "/", Days: []Day{{at(0), 400 * 512}, {at(1), 401 * 512}}, Size: 900 * 512}, ""},
	} {
		got, err := ParseCSV([]byte(c.text), time.Time{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found := false
		for _, table := range got.Tables {
			if table.Of == c.data.Of {
				found = true
				if fmt.Sprint(table.Days) != fmt.Sprint(c.data.Days) || table.Size != c.data.Size {
					t.Errorf("%s: %v of %g", name, table.Days, table.Size)
				}
			}
		}
		if !found || len(got.Tables) != 2 || !strings.Contains(strings.Join(got.Notes, "\n"), c.note) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for text, want := range map[string]string{
		blocks + "/dev/sda1 1000 500 400 56% /\n":                                             "line 2: it has no date, and none before it",
		"2026-01-01\nFilesystem Inodes IUsed IFree IUse% Mounted on\n/dev/sda1 9 5 4 56% /\n": "line 2: these are inodes",
		"2026-01-01\n" + blocks + "lost\n":                                                    `line 3: "lost" is neither a line of df nor a date`,
		"01/02/2026\n" + blocks + "/dev/sda1 1000 500 400 56% /\n":                            `line 1: "01/02/2026" can have the day or the month first`,
	} {
		if _, err := ParseCSV([]byte(text), time.Time{}); err == nil || !strings.Contains(err.Error(), want) || hint.Of(err) == "" {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func dfTera(n float64) float64 { return n * (1 << 40) }

func FuzzParseCSV(f *testing.F) {
	f.Add([]byte("date,used_bytes\n2026-01-01,5\n"))
	f.Add([]byte("t,used,size\n1767225600,5,100\n"))
	f.Add([]byte("Date;Mount;Used (GB)\n25.11.2026 3:07 PM;/;1.234,5\n"))
	f.Add([]byte("2026-01-01\nFilesystem 1K-blocks Used Available Use% Mounted on\n/dev/sda1 1000 500 400 56% /\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ParseCSV(text, time.Time{})
		if err != nil {
			return
		}
		for _, table := range got.Tables {
			for _, d := range table.Days {
				if !(d.Value >= 0) || math.IsInf(d.Value, 0) || d.Date.Year() < 1970 || d.Date.Year() > 2200 {
					t.Errorf("%v", d)
				}
			}
			s := Daily(Quantity{}, table.Days)
			s.Added()
		}
	})
}
