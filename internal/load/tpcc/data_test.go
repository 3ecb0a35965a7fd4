package tpcc

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plumb/internal/load"
)

// engine is a server that is only asked what it is.
type engine struct {
	load.Server
	name string
}

func (e engine) Engine() string { return e.name }

// small are sizes at which everything can be looked at.
var small = size{items: 50, customers: 30, orders: 30, undelivered: 9}

func config(e string, compat bool, z size) Config {
	return Config{Server: engine{name: e}, Warehouses: 2, Seed: 7, Compat: compat, size: z}
}

// modes calls f for each mode on each engine.
func modes(t *testing.T, z size, f func(t *testing.T, c Config)) {
	for _, e := range []string{"mysql", "postgres"} {
		for _, compat := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s compat %t", e, compat), func(t *testing.T) { f(t, config(e, compat, z)) })
		}
	}
}

// rows gives all rows of a table, each a map by column.
func rows(t *testing.T, c Config, name string) []map[string]string {
	t.Helper()
	p, err := plan(c)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]string
	for _, table := range p.Tables {
		if table.Name != c.table(name, 1) {
			continue
		}
		var text []byte
		for n := range table.Units {
			text = table.Row(text, n)
		}
		for line := range strings.Lines(string(text)) {
			cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(cells) != len(table.Columns) {
				t.Fatalf("%s has %d fields of %d: %q", name, len(cells), len(table.Columns), line)
			}
			row := map[string]string{}
			for i, column := range table.Columns {
				row[column] = cells[i]
			}
			all = append(all, row)
		}
	}
	return all
}

// whole gives a cell as a number, NULL as 0.
func whole(t *testing.T, row map[string]string, column string) int64 {
	t.Helper()
	if row[column] == `\N` {
		return 0
	}
	n, err := strconv.ParseInt(strings.Replace(row[column], ".", "", 1), 10, 64)
	if err != nil {
		t.Fatalf("%s of %v: %v", column, row, err)
	}
	return n
}

func TestRowsFitTheirTypes(t *testing.T) {
	z := size{items: 300, customers: 1100, orders: 40, undelivered: 30}
	modes(t, z, func(t *testing.T, c Config) {
		c.Warehouses = 1
		types := dialect(c.Server.Engine(), c.Compat)
		for _, d := range definitions {
			all := rows(t, c, d.name)
			for _, column := range d.columns {
				kind := types.Replace(column.kind)
				for _, row := range all {
					cell, there := row[column.name]
					if there != (column.kind != "NUMBER" || numbered(c.Server.Engine(), c.Compat)) || there && !fits(cell, kind) {
						t.Fatalf("%s.%s %s is %q", d.name, column.name, kind, cell)
					}
				}
			}
		}
	})
}

// fits tells whether a server prints a value of a type exactly so.
func fits(cell, kind string) bool {
	kind, need := strings.CutSuffix(kind, " NOT NULL")
	if cell == `\N` {
		return !need
	}
	var a, b int
	name, arguments, _ := strings.Cut(kind, "(")
	_, _ = fmt.Sscanf(arguments, "%d", &a)
	if _, after, two := strings.Cut(arguments, ","); two {
		_, _ = fmt.Sscanf(after, "%d", &b)
	}
	switch name {
	case "char":
		return len(cell) == a && !strings.HasSuffix(cell, " ")
	case "varchar":
		return len(cell) <= a && cell != ""
	case "text":
		return len(cell) >= 300 && len(cell) <= 500
	case "datetime", "timestamp":
		return cell == loaded
	case "tinyint":
		n, err := strconv.ParseInt(cell, 10, 8)
		return err == nil && strconv.FormatInt(n, 10) == cell
	case "smallint":
		n, err := strconv.ParseInt(cell, 10, 16)
		return err == nil && strconv.FormatInt(n, 10) == cell
	case "decimal":
		before, after, _ := strings.Cut(strings.TrimPrefix(cell, "-"), ".")
		return len(after) == b && len(before) <= max(1, a-b) && strings.Trim(before+after, "0123456789") == "" && (before == "0" || before[0] != '0')
	}
	_, err := strconv.ParseInt(cell, 10, 64) // int and bigint
	return err == nil
}

func TestOrdersAndLinesAgree(t *testing.T) {
	modes(t, small, func(t *testing.T, c Config) {
		key := func(row map[string]string, w, d, o string) string { return row[w] + "/" + row[d] + "/" + row[o] }
		lines, open := map[string][]map[string]string{}, map[string]bool{}
		for _, l := range rows(t, c, orderLine) {
			k := key(l, "ol_w_id", "ol_d_id", "ol_o_id")
			lines[k] = append(lines[k], l)
		}
		for _, n := range rows(t, c, newOrders) {
			open[key(n, "no_w_id", "no_d_id", "no_o_id")] = true
		}
		customers := map[string]bool{}
		all := rows(t, c, orders)
		for _, o := range all {
			k := key(o, "o_w_id", "o_d_id", "o_id")
			mine := lines[k]
			if n := whole(t, o, "o_ol_cnt"); n != int64(len(mine)) || n < 5 || n > 15 {
				t.Fatalf("order %s has %d lines, not %d", k, len(mine), n)
			}
			if (o["o_carrier_id"] == `\N`) != open[k] {
				t.Fatalf("order %s: carrier %s, new order %t", k, o["o_carrier_id"], open[k])
			}
			for i, l := range mine {
				amount := whole(t, l, "ol_amount")
				if (l["ol_delivery_d"] == `\N`) != open[k] || (amount > 0) != open[k] || whole(t, l, "ol_number") != int64(i+1) {
					t.Fatalf("order %s has the line %v", k, l)
				}
			}
			customers[key(o, "o_w_id", "o_d_id", "o_c_id")] = true
		}
		if len(all) != 600 || len(customers) != 600 || len(open) != 180 || len(lines) != 600 {
			t.Errorf("%d orders of %d customers, %d open, %d with lines", len(all), len(customers), len(open), len(lines))
		}
	})
}

func TestMoneyAddsUp(t *testing.T) {
	modes(t, small, func(t *testing.T, c Config) {
		var paidIn, ytd, next, ofDistricts int64
		for _, h := range rows(t, c, history) {
			paidIn += whole(t, h, "h_amount")
		}
		for _, w := range rows(t, c, warehouse) {
			ytd += whole(t, w, "w_ytd")
		}
		for _, d := range rows(t, c, district) {
			ofDistricts += whole(t, d, "d_ytd")
			next += whole(t, d, "d_next_o_id")
		}
		if paidIn != ytd || ytd != ofDistricts || ytd != 2*10*30*1000 || next != 20*31 {
			t.Errorf("history %d, warehouses %d, districts %d, next orders %d", paidIn, ytd, ofDistricts, next)
		}
	})
}

func TestSpecifiedShares(t *testing.T) {
	z := size{items: 20000, customers: 3000, orders: 30, undelivered: 9}
	c := config("mysql", false, z)
	c.Warehouses = 1
	share := func(what string, all []map[string]string, is func(map[string]string) bool, low, high float64) {
		n := 0
		for _, row := range all {
			if is(row) {
				n++
			}
		}
		if s := float64(n) / float64(len(all)); s < low || s > high {
			t.Errorf("%s: %.4f of %d", what, s, len(all))
		}
	}
	people := rows(t, c, customer)
	share("bad credit", people, func(r map[string]string) bool { return r["c_credit"] == "BC" }, 0.093, 0.107)
	share("items with ORIGINAL", rows(t, c, item), func(r map[string]string) bool { return strings.Contains(r["i_data"], "ORIGINAL") }, 0.092, 0.108)
	share("stock with ORIGINAL", rows(t, c, stock), func(r map[string]string) bool { return strings.Contains(r["s_data"], "ORIGINAL") }, 0.092, 0.108)
	share("customers who are BARBARBAR", people, func(r map[string]string) bool { return r["c_last"] == "BARBARBAR" }, 1.0/3000, 0.003)
	names := map[string]int{}
	for _, p := range people {
		names[p["c_last"]]++
	}
	counts := make([]int, 0, len(names))
	for _, n := range names {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	if len(counts) != 1000 || counts[999] < 2*counts[500] {
		t.Errorf("%d last names, the most frequent %d times, the middle one %d", len(counts), counts[len(counts)-1], counts[len(counts)/2])
	}
}

func TestUnitsAreInOrderAndRepeatable(t *testing.T) {
	modes(t, small, func(t *testing.T, c Config) {
		c.Sets = 2
		p, err := plan(c)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := plan(c)
		for i, table := range p.Tables {
			previous := []byte(nil)
			for n := table.Units - 1; n >= 0; n-- {
				was := table.Row(nil, n)
				if is := again.Tables[i].Row([]byte("x"), n); !bytes.Equal(is[1:], was) || is[0] != 'x' {
					t.Fatalf("%s unit %d differs", table.Name, n)
				}
				if bytes.Equal(previous, was) {
					t.Fatalf("%s unit %d repeats", table.Name, n)
				}
				previous = was
			}
		}
	})
}

func TestSeedsAndSetsDiffer(t *testing.T) {
	c := config("mysql", true, small)
	other := c
	other.Seed++
	for _, d := range definitions {
		if d.name == newOrders {
			continue // there is nothing random in it
		}
		one := newData(c, "mysql", 1).row(d.name)(nil, 0)
		if bytes.Equal(one, newData(other, "mysql", 1).row(d.name)(nil, 0)) || bytes.Equal(one, newData(c, "mysql", 2).row(d.name)(nil, 0)) {
			t.Errorf("%s: %q", d.name, one)
		}
	}
}

func TestRowsAllocateNothing(t *testing.T) {
	modes(t, full, func(t *testing.T, c Config) {
		p, err := plan(c)
		if err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 0, 4096)
		for _, table := range p.Tables {
			n := int64(0)
			if a := testing.AllocsPerRun(100, func() { table.Row(buffer, n%table.Units); n++ }); a != 0 {
				t.Errorf("a row of %s allocates %g times", table.Name, a)
			}
		}
	})
}

func TestRefusedScales(t *testing.T) {
	for _, w := range []int64{-1, 0, 32768} {
		if _, err := plan(Config{Server: engine{name: "mysql"}, Warehouses: w}); err == nil {
			t.Errorf("%d warehouses are not refused", w)
		}
	}
	if _, err := plan(Config{Server: engine{name: "mongo"}, Warehouses: 1}); err == nil {
		t.Error("mongo is not refused")
	}
}

func BenchmarkRows(b *testing.B) {
	p, err := plan(Config{Server: engine{name: "mysql"}, Warehouses: 10})
	if err != nil {
		b.Fatal(err)
	}
	for _, table := range p.Tables {
		b.Run(table.Name, func(b *testing.B) {
			buffer := make([]byte, 0, 4096)
			n, size := int64(0), int64(0)
			for b.Loop() {
				size += int64(len(table.Row(buffer, n%table.Units)))
				n++
			}
			b.SetBytes(size / n)
		})
	}
}
