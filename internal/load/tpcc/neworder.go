package tpcc

import "plumb/internal/load"

// newOrder is TPC-C 2.4.2. It reads all items at once and inserts all lines at
// once, but stock row by row: an item may be twice in an order. An order that
// will be rolled back does all the rest first.
func (w *work) newOrder() (ending, error) {
	p := &w.p
	if err := w.run(orderCustomer, p.warehouse, p.district, p.customer); err != nil {
		return wrote, err
	}
	if !w.s.Next() {
		return wrote, w.missing("customer", p.warehouse, p.district, p.customer)
	}
	if err := w.run(orderDistrict, p.warehouse, p.district); err != nil {
		return wrote, err
	}
	if !w.s.Next() {
		return wrote, w.missing("district", p.warehouse, p.district)
	}
	order := w.s.Int(0)
	if err := w.run(nextOrder, order+1, p.warehouse, p.district); err != nil {
		return wrote, err
	}
	if err := w.run(insertOrder, p.warehouse, p.district, order, p.customer, int64(p.count), oneIf(p.allLocal)); err != nil {
		return wrote, err
	}
	if err := w.run(insertNewOrder, p.warehouse, p.district, order); err != nil {
		return wrote, err
	}
	var prices [mostLines]int64
	if err := w.prices(&prices); err != nil {
		return wrote, err
	}
	if err := w.orderLines(order, &prices); err != nil {
		return wrote, err
	}
	if p.rollback {
		return rollBack, nil
	}
	return wrote, nil
}

// prices reads the items of the lines; 0 for those that there are not.
func (w *work) prices(prices *[mostLines]int64) error {
	lines := w.p.lines[:w.p.count]
	w.args = w.args[:0]
	for _, l := range lines {
		w.add(l.item)
	}
	if err := w.execute(w.ready.items[len(lines)]); err != nil {
		return err
	}
	for w.s.Next() {
		item, price := w.s.Int(0), centsOf(w.s.Bytes(1))
		for i, l := range lines {
			if l.item == item {
				prices[i] = price
			}
		}
	}
	return nil
}

// orderLines takes from stock what each line wants, and inserts the lines.
func (w *work) orderLines(order int64, prices *[mostLines]int64) error {
	p := &w.p
	var info [mostLines][]byte
	inserted := 0
	for i, l := range p.lines[:p.count] {
		if prices[i] == 0 {
			if p.rollback && l.item == w.draw.unused() {
				continue
			}
			return w.missing("item", l.item)
		}
		var err error
		if info[i], err = w.takeStock(l); err != nil {
			return err
		}
		inserted++
	}
	w.args = w.args[:0]
	for i, l := range p.lines[:p.count] {
		if prices[i] > 0 {
			w.add(p.warehouse, p.district, order, l.number, l.item, l.supply, l.quantity)
			w.args = append(w.args, w.money(prices[i]*l.quantity), load.Str(info[i]))
		}
	}
	return w.execute(w.ready.inserts[inserted])
}

// takeStock gives what the line says of the district.
func (w *work) takeStock(l line) (info []byte, err error) {
	w.args = w.args[:0]
	w.add(l.supply, l.item)
	if err := w.execute(w.ready.stock[w.p.district]); err != nil {
		return nil, err
	}
	if !w.s.Next() {
		return nil, w.missing("stock", l.supply, l.item)
	}
	info = w.keep(w.s.Bytes(1))
	left := w.s.Int(0) - l.quantity
	if left < 10 {
		left += 91
	}
	return info, w.run(updateStock, left, l.quantity, oneIf(l.supply != w.p.warehouse), l.supply, l.item)
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
