package model

import (
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"plumb/internal/hint"
)

func TestReadTable(t *testing.T) {
	x, err := ReadTable("a.csv", []byte("\ufeffsize, Rate,date\n# a remark\n16K,100.5,2026-11-25\n1.5G,7,2026-11-25T06:00:00Z\n95GiB,1,2026-01-02 03:04\n"))
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := x.Sizes("size")
	if err != nil || sizes[0] != 16384 || sizes[1] != 1.5*gib || sizes[2] != 95*gib {
		t.Error(sizes, err)
	}
	if _, err := x.Numbers("size"); err == nil || !strings.Contains(err.Error(), `line 3, size: "16K" is not a number`) || !strings.Contains(hint.Of(err), "letters") {
		t.Errorf("a size is taken for a number: %v, hint %q", err, hint.Of(err))
	}
	if rates, err := x.Numbers("rate"); err != nil || rates[0] != 100.5 {
		t.Error(rates, err)
	}
	if at, err := x.Times("date"); err != nil || !at[0].Equal(time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)) || at[1].Hour() != 6 {
		t.Error(at, err)
	}
	if _, err := x.Numbers("none"); err == nil || !strings.Contains(hint.Of(err), "size, rate, date") {
		t.Error(err)
	}
	if _, err := x.Numbers("date"); err == nil || !strings.Contains(err.Error(), "line 3, date") {
		t.Error(err)
	}
	for bad, todo := range map[string]string{"": "first line", "a,b\n1\n": "as many columns", "a,b\n16G,2,5\n": "no commas", "a\n\"\n": "quote"} {
		if _, err := ReadTable("a.csv", []byte(bad)); err == nil || !strings.Contains(hint.Of(err), todo) {
			t.Errorf("%q: %v, hint %q", bad, err, hint.Of(err))
		}
	}
	if comma, err := ReadTable("a.csv", []byte("size;rate\n16K;7,5\n")); err != nil {
		t.Error(err)
	} else if _, err := comma.Numbers("rate"); err == nil || !strings.Contains(err.Error(), `line 2, rate: "7,5"`) || !strings.Contains(hint.Of(err), "with a point") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
	if signs, err := ReadTable("a.csv", []byte("date,percent\n2026-11-25,14%\n2026-11-26,15 %\n")); err != nil {
		t.Error(err)
	} else if all, err := signs.Percents("percent"); err != nil || all[0] != 14 || all[1] != 15 {
		t.Error(all, err)
	}
	if parts, err := ReadTable("a.csv", []byte("error\n0.05\n5\n")); err != nil {
		t.Error(err)
	} else if _, err := parts.Parts("error"); err == nil || !strings.Contains(err.Error(), `line 3, error: "5" is not between 0 and 1`) || hint.Of(err) != "5 % is 0.05" {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

// TestTablesThatAreTooLong: a file of many short lines is refused before it takes the memory of those beside us. That of
// the test is read from its last but one row on.
func TestTablesThatAreTooLong(t *testing.T) {
	x := Table{name: "a.csv", header: []string{"rate"}, rows: make([][]string, mostTableRows-1)}
	if err := x.read(csv.NewReader(strings.NewReader("7\n"))); err != nil || len(x.rows) != mostTableRows {
		t.Errorf("%d rows, %v", len(x.rows), err)
	}
	if err := x.read(csv.NewReader(strings.NewReader("7\n"))); err == nil || err.Error() != "read a.csv: it has more than 2000000 rows" || hint.Of(err) == "" {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

// TestTablesOfSpreadsheets: with semicolons, and as UTF-16.
func TestTablesOfSpreadsheets(t *testing.T) {
	for _, text := range []string{"size;rate\n16K;7\n", "size\trate\n16K\t7\n", "\xff\xfes\x00i\x00z\x00e\x00;\x00r\x00a\x00t\x00e\x00\n\x001\x006\x00K\x00;\x007\x00\n\x00"} {
		x, err := ReadTable("a.csv", []byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if rates, err := x.Numbers("rate"); err != nil || len(rates) != 1 || rates[0] != 7 {
			t.Errorf("%q: %v, %v", text, rates, err)
		}
	}
}

func FuzzReadTable(f *testing.F) {
	f.Add([]byte("size,rate\n5G,768\n"))
	f.Add([]byte("date,percent\n2026-11-25,3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := ReadTable("fuzz.csv", data)
		if err != nil {
			return
		}
		for _, h := range x.header {
			texts, err := x.Texts(h)
			if err != nil || len(texts) != len(x.rows) {
				t.Fatalf("column %q: %d of %d, %v", h, len(texts), len(x.rows), err)
			}
			_, _ = x.Numbers(h) // must not panic
			_, _ = x.Sizes(h)
			_, _ = x.Times(h)
		}
	})
}

// TestTimesOfATable: what takes readings of drives writes the time since 1970 as well.
func TestTimesOfATable(t *testing.T) {
	x, err := ReadTable("a.csv", []byte("date,percent\n1767225600,3\n1767225600000,3\n2026-01-01,3\n"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := x.Times("date")
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	for _, at := range all {
		if !at.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
			t.Error(at)
		}
	}
}

// TestNumbersThatCannotBe: a rate that no machine has would be an answer that none can give.
func TestNumbersThatCannotBe(t *testing.T) {
	x, err := ReadTable("a.csv", []byte("threads,rate\n1,1e15\n4,1e16\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Numbers("rate"); err == nil || !strings.Contains(err.Error(), `line 3, rate: "1e16" is more than there can be`) || hint.Of(err) != "up to 1e+15" {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}
