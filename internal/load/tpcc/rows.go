package tpcc

import "plumb/internal/draw"

func (d *data) warehouse(dst []byte, n int64) []byte {
	s := draw.Keyed(d.seed, fromWarehouse, n)
	dst = number(dst, n+1)
	dst = d.label(dst, &s, "name-", 6, 10, 10)
	dst = d.address(dst, &s)
	dst = d.rate(dst, &s, 20)
	return end(cents(dst, districts*d.customers*paid))
}

// paid is what every customer has paid when the tables are loaded, in cents:
// one row of history. So 30,000.00 a district of full size.
const paid = 1000

func (d *data) district(dst []byte, n int64) []byte {
	s := draw.Keyed(d.seed, fromDistrict, n)
	dst = number(dst, n%districts+1)
	dst = number(dst, n/districts+1)
	dst = d.label(dst, &s, "name-", 6, 10, 10)
	dst = d.address(dst, &s)
	dst = d.rate(dst, &s, 20)
	dst = cents(dst, d.customers*paid)
	return end(number(dst, d.orders+1))
}

func (d *data) customer(dst []byte, n int64) []byte {
	s := draw.Keyed(d.seed, fromCustomer, n)
	w, dis, c := place(n, d.customers)
	dst = number(number(number(dst, c+1), dis), w)
	dst = d.label(dst, &s, "first-", 8, 16, 0)
	dst = append(dst, "OE\t"...)
	name := c
	if c >= 1000 {
		constant := d.names
		if d.compat {
			constant = s.Between(0, draw.NURandLastName) // drawn anew each time, as there
		}
		name = s.NURand(draw.NURandLastName, 0, 999, constant)
	}
	dst = append(draw.LastName(dst, name), '\t')
	dst = d.address(dst, &s)
	dst = append(s.Numerals(dst, 16, 16), '\t')
	credit := "GC\t"
	if s.Below(10) == 0 {
		credit = "BC\t"
	}
	dst = append(append(dst, loaded+"\t"...), credit...)
	if d.compat {
		dst = append(dst, "50000\t"...)
	} else {
		dst = append(dst, "50000.00\t"...)
	}
	dst = d.rate(dst, &s, 50)
	dst = cents(cents(dst, -paid), paid)
	dst = append(dst, "1\t0\t"...)
	return end(d.filler(dst, &s, 300, 500))
}

func (d *data) history(dst []byte, n int64) []byte {
	s := draw.Keyed(d.seed, fromHistory, n)
	w, dis, c := place(n, d.customers)
	if d.numbered {
		dst = number(dst, n+1)
	}
	dst = number(number(number(dst, c+1), dis), w)
	dst = number(number(dst, dis), w)
	dst = cents(append(dst, loaded+"\t"...), paid)
	return end(d.filler(dst, &s, 12, 24))
}

// delivered tells whether an order was, by its number from 0.
func (d *data) delivered(o int64) bool { return o < d.orders-d.undelivered }

// ordered gives what both the order and its lines must know.
func (d *data) ordered(n int64) (s draw.Stream, lines int64) {
	s = draw.Keyed(d.seed, fromOrder, n)
	return s, s.Between(5, 15)
}

func (d *data) order(dst []byte, n int64) []byte {
	s, lines := d.ordered(n)
	w, dis, o := place(n, d.orders)
	dst = number(number(number(dst, o+1), dis), w)
	which := n / d.orders
	if d.compat {
		which = 0 // the same customers in all districts
	}
	p := draw.Keyed(d.seed, fromPermutation, which)
	dst = number(dst, draw.Permute(p.Uint64(), o%d.customers, d.customers)+1)
	dst = append(dst, loaded+"\t"...)
	if d.delivered(o) {
		dst = number(dst, s.Between(1, 10))
	} else {
		dst = append(dst, `\N`+"\t"...)
	}
	return end(append(number(dst, lines), "1\t"...))
}

func (d *data) newOrder(dst []byte, n int64) []byte {
	w, dis, o := place(n, d.undelivered)
	return end(number(number(number(dst, d.orders-d.undelivered+o+1), dis), w))
}

// lines appends all lines of an order.
func (d *data) lines(dst []byte, n int64) []byte {
	_, lines := d.ordered(n)
	s := draw.Keyed(d.seed, fromLine, n)
	w, dis, o := place(n, d.orders)
	delivered := d.delivered(o)
	for line := range lines {
		dst = number(number(number(dst, o+1), dis), w)
		dst = number(dst, line+1)
		dst = number(dst, s.Between(1, d.items))
		dst = number(dst, w)
		if delivered {
			dst = append(dst, loaded+"\t5\t0.00\t"...)
		} else {
			dst = append(dst, `\N`+"\t5\t"...)
			dst = cents(dst, s.Between(1, 999999))
		}
		dst = end(d.filler(dst, &s, 24, 24))
	}
	return dst
}

func (d *data) stock(dst []byte, n int64) []byte {
	s := draw.Keyed(d.seed, fromStock, n)
	dst = number(number(dst, n%d.items+1), n/d.items+1)
	dst = number(dst, s.Between(10, 100))
	for range districts {
		dst = d.filler(dst, &s, 24, 24)
	}
	dst = append(dst, "0\t0\t0\t"...)
	return end(d.remark(dst, &s))
}

func (d *data) item(dst []byte, n int64) []byte {
	s := draw.Keyed(d.seed, fromItem, n)
	dst = number(dst, n+1)
	dst = number(dst, s.Between(1, 10000))
	dst = d.label(dst, &s, "item-", 14, 24, 24)
	dst = cents(dst, s.Between(100, 10000))
	if d.compat {
		return end(d.label(dst, &s, "data-item-", 26, 50, 36))
	}
	return end(d.remark(dst, &s))
}
