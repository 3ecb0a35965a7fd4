package tpcc

import "plumb/internal/load"

// newOrder is TPC-C 2.4.2. It reads all items at once and inserts all lines at
// once, but stock row by row: an item may be twice in an order. An order that
// will be rolled back does all the rest first.
func (w *work) newOrder() ending {
	p := &w.p
	w.one("customer", orderCustomer, p.warehouse, p.district, p.customer)
	w.one("district", orderDistrict, p.warehouse, p.district)
	order := w.Int(0)
	w.run(nextOrder, order+1, p.warehouse, p.district)
	w.run(insertOrder, p.warehouse, p.district, order, p.customer, int64(p.count), oneIf(p.allLocal))
	w.run(insertNewOrder, p.warehouse, p.district, order)
	var prices [mostLines]int64
	w.prices(&prices)
	w.orderLines(order, &prices)
	if p.rollback {
		return rollBack
	}
	return wrote
}

// prices reads the items of the lines; 0 for those that there are not.
func (w *work) prices(prices *[mostLines]int64) {
	lines := w.p.lines[:w.p.count]
	w.args = w.args[:0]
	for _, l := range lines {
		w.add(l.item)
	}
	w.execute(w.ready.items[len(lines)])
	for w.Next() {
		item, price := w.Int(0), centsOf(w.Bytes(1))
		for i, l := range lines {
			if l.item == item {
				prices[i] = price
			}
		}
	}
}

// orderLines takes from stock what each line wants, and inserts the lines.
func (w *work) orderLines(order int64, prices *[mostLines]int64) {
	p := &w.p
	var info [mostLines][]byte
	inserted := 0
	for i, l := range p.lines[:p.count] {
		if prices[i] == 0 {
			if p.rollback && l.item == w.draw.unused() {
				continue
			}
			w.Fail(w.missing("item", l.item))
			return
		}
		info[i] = w.takeStock(l)
		inserted++
	}
	w.args = w.args[:0]
	for i, l := range p.lines[:p.count] {
		if prices[i] > 0 {
			w.add(p.warehouse, p.district, order, l.number, l.item, l.supply, l.quantity)
			w.args = append(w.args, w.money(prices[i]*l.quantity), load.Str(info[i]))
		}
	}
	w.execute(w.ready.inserts[inserted])
}

// takeStock gives what the line says of the district.
func (w *work) takeStock(l line) (info []byte) {
	w.args = w.args[:0]
	w.add(l.supply, l.item)
	w.execute(w.ready.stock[w.p.district])
	w.must("stock", l.supply, l.item)
	info = w.keep(w.Bytes(1))
	left := w.Int(0) - l.quantity
	if left < 10 {
		left += 91
	}
	w.run(updateStock, left, l.quantity, oneIf(l.supply != w.p.warehouse), l.supply, l.item)
	return info
}

// centsOf reads an amount as a server prints it: "12.34", "12.3", "12".
func centsOf(text []byte) (n int64) {
	places := -1
	for _, c := range text {
		switch {
		case c == '.' && places < 0:
			places = 0
		case c < '0' || c > '9' || places == 2 || n > 1e15:
			return n
		default:
			n = 10*n + int64(c-'0')
			if places >= 0 {
				places++
			}
		}
	}
	for places = max(places, 0); places < 2; places++ {
		n *= 10
	}
	return n
}
