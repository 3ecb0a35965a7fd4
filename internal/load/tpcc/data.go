package tpcc

import (
	"slices"
	"strconv"

	"plumb/internal/draw"
)

// loaded is the time that everything happened at: rows are a function of the
// seed, not of when they were made.
const loaded = "2024-01-01 00:00:00"

// data makes the rows of one set of tables (TPC-C 4.3.3.1). It is unchanging.
type data struct {
	size
	seed       uint64
	compat     bool
	numbered   bool // history has a number
	warehouses int64
	names      int64 // C of NURand for last names
}

// Streams of random numbers, one for each table and some beside them.
const (
	fromWarehouse = 0x7cc0 + iota
	fromDistrict
	fromCustomer
	fromHistory
	fromOrder
	fromLine
	fromStock
	fromItem
	fromPermutation
)

// newData gives the rows of a set. Sets differ, but the first is as if it
// were alone.
func newData(c Config, engine string, set int) *data {
	seed := c.Seed
	if set > 1 {
		s := draw.Keyed(c.Seed, uint64(set), 0)
		seed = s.Uint64()
	}
	return &data{
		size: c.sizes(), seed: seed, compat: c.Compat, numbered: numbered(engine, c.Compat),
		warehouses: c.Warehouses, names: draw.LoadConstants(seed).LastName,
	}
}

// units is how many units a table has, each a row, but for order_line an
// order's rows.
func (d *data) units(table string) int64 {
	switch table {
	case warehouse:
		return d.warehouses
	case district:
		return d.warehouses * districts
	case customer, history:
		return d.warehouses * districts * d.customers
	case orders, orderLine:
		return d.warehouses * districts * d.orders
	case newOrders:
		return d.warehouses * districts * d.undelivered
	case stock:
		return d.warehouses * d.items
	}
	return d.items
}

// row gives the function that makes the units of a table.
func (d *data) row(table string) func(dst []byte, unit int64) []byte {
	switch table {
	case warehouse:
		return d.warehouse
	case district:
		return d.district
	case customer:
		return d.customer
	case history:
		return d.history
	case orders:
		return d.order
	case newOrders:
		return d.newOrder
	case orderLine:
		return d.lines
	case stock:
		return d.stock
	}
	return d.item
}

// sums are the columns of whole numbers that a load is checked by.
var sums = map[string][]string{
	warehouse: {"w_id"},
	district:  {"d_w_id", "d_next_o_id"},
	customer:  {"c_id", "c_d_id", "c_payment_cnt"},
	history:   {"h_c_id", "h_d_id"},
	orders:    {"o_id", "o_c_id", "o_carrier_id", "o_ol_cnt"},
	newOrders: {"no_o_id", "no_d_id"},
	orderLine: {"ol_o_id", "ol_i_id", "ol_quantity"},
	stock:     {"s_i_id", "s_quantity"},
	item:      {"i_id", "i_im_id"},
}

// place gives warehouse and district, from 1, and the rest, from 0, of unit n
// of a table that has so many units a district.
func place(n, each int64) (w, d, rest int64) {
	all := n / each
	return all/districts + 1, all%districts + 1, n % each
}

// number appends a whole number and a tab.
func number(dst []byte, n int64) []byte {
	if n >= 0 && n < 10 { // most are: quantities, districts
		return append(dst, byte('0'+n), '\t')
	}
	return append(strconv.AppendInt(dst, n, 10), '\t')
}

// cents appends an amount of money and a tab.
func cents(dst []byte, n int64) []byte {
	if n < 0 {
		dst, n = append(dst, '-'), -n
	}
	dst = strconv.AppendInt(dst, n/100, 10)
	return append(dst, '.', byte('0'+n/10%10), byte('0'+n%10), '\t')
}

// end makes the last tab the end of the line.
func end(dst []byte) []byte {
	dst[len(dst)-1] = '\n'
	return dst
}

// rate appends a tax or discount of at most highest hundredths, and a tab.
// The specification has it in hundredths of a percent.
func (d *data) rate(dst []byte, s *draw.Stream, highest int64) []byte {
	if d.compat {
		return cents(dst, s.Between(0, highest))
	}
	n := s.Between(0, highest*100)
	return append(dst, '0', '.', byte('0'+n/1000), byte('0'+n/100%10), byte('0'+n/10%10), byte('0'+n%10), '\t')
}

// filler appends random characters and a tab. In compat mode it is one letter
// repeated, which compresses to next to nothing.
func (d *data) filler(dst []byte, s *draw.Stream, least, most int) []byte {
	if !d.compat {
		return append(s.Letters(dst, least, most), '\t')
	}
	letter := byte('a' + s.Below(26))
	from := len(dst)
	n := int(s.Between(int64(least), int64(most)))
	dst = slices.Grow(dst, n+1)[:from+n]
	for i := from; i < len(dst); i++ {
		dst[i] = letter
	}
	return append(dst, '\t')
}

// label appends a name and a tab. In compat mode names begin with what they
// are, and have so many characters; 0: least to most as well.
func (d *data) label(dst []byte, s *draw.Stream, prefix string, least, most, compat int) []byte {
	if d.compat {
		if compat > 0 {
			least, most = compat, compat
		}
		dst = append(dst, prefix...)
		least, most = max(1, least-len(prefix)), most-len(prefix)
	}
	return append(s.Letters(dst, least, most), '\t')
}

// address appends street to zip code (TPC-C 4.3.2.7).
func (d *data) address(dst []byte, s *draw.Stream) []byte {
	dst = d.label(dst, s, "street1-", 10, 20, 18)
	dst = d.label(dst, s, "street2-", 10, 20, 18)
	dst = d.label(dst, s, "city-", 10, 20, 14)
	dst = d.filler(dst, s, 2, 2)
	if d.compat {
		return append(s.Numerals(append(dst, "zip-"...), 5, 5), '\t')
	}
	return append(s.Numerals(dst, 4, 4), "11111\t"...)
}

// remark appends i_data or s_data and a tab: random characters, in every
// tenth row with ORIGINAL somewhere (TPC-C 4.3.3.1). Compat mode has none.
func (d *data) remark(dst []byte, s *draw.Stream) []byte {
	from := len(dst)
	dst = d.filler(dst, s, 26, 50)
	if !d.compat && s.Below(10) == 0 {
		const original = "ORIGINAL"
		at := from + int(s.Between(0, int64(len(dst)-1-from-len(original))))
		copy(dst[at:], original)
	}
	return dst
}
