package tpcc

import (
	"fmt"

	"plumb/internal/load"
)

// compatOrder is 7 statements and 4 for each line.
func (w *work) compatOrder() ending {
	p := &w.p
	home, district := load.Int(p.warehouse), load.Int(p.district)
	w.ask("customer", "SELECT c_discount, c_last, c_credit, w_tax FROM customer#, warehouse# WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
		home, district, load.Int(p.customer))
	discount, tax := centsOf(w.Bytes(0)), centsOf(w.Bytes(3))
	w.ask("district", "SELECT d_next_o_id, d_tax FROM district# WHERE d_w_id = ? AND d_id = ? FOR UPDATE", home, district)
	order := w.Int(0)
	tax += centsOf(w.Bytes(1))
	w.say("UPDATE district# SET d_next_o_id = ? WHERE d_id = ? AND d_w_id = ?", load.Int(order+1), district, home)
	w.say("INSERT INTO orders# (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, NOW(), ?, ?)",
		load.Int(order), district, home, load.Int(p.customer), load.Int(int64(p.count)), load.Int(oneIf(p.allLocal)))
	w.say("INSERT INTO new_orders# (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)", load.Int(order), district, home)
	for _, l := range p.lines[:p.count] {
		if !w.compatLine(order, l, (100+tax)*(100-discount)) {
			return rollBack
		}
	}
	return wrote
}

// stockQuestions read a row of stock for each district.
var stockQuestions = func() (all [districts + 1]string) {
	for d := 1; d <= districts; d++ {
		all[d] = fmt.Sprintf("SELECT s_quantity, s_data, s_dist_%02d FROM stock# WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE", d)
	}
	return all
}()

// compatLine is one line; false when there is no such item. rate is what tax
// and discount make of a price, in ten-thousandths.
func (w *work) compatLine(order int64, l line, rate int64) (found bool) {
	p := &w.p
	w.say("SELECT i_price, i_name, i_data FROM item# WHERE i_id = ?", load.Int(l.item))
	if !w.Next() {
		if l.item != w.draw.unused() {
			w.Fail(w.missing("item", l.item))
		}
		return false
	}
	price := centsOf(w.Bytes(0))
	w.ask("stock", stockQuestions[p.district], load.Int(l.item), load.Int(l.supply))
	left, info := w.Int(0), load.Str(w.keep(w.Bytes(2)))
	if left <= l.quantity { // quirkCounters: the specification renews below quantity + 10
		left += 91
	}
	left -= l.quantity
	w.say("UPDATE stock# SET s_quantity = ? WHERE s_i_id = ? AND s_w_id = ?", load.Int(left), load.Int(l.item), load.Int(l.supply))
	amount := price * l.quantity * rate / (100 * 10_000) // quirkCounters: whole
	w.say("INSERT INTO order_line# (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", load.Int(order), load.Int(p.district), load.Int(p.warehouse), load.Int(l.number), load.Int(l.item),
		load.Int(l.supply), load.Int(l.quantity), load.Int(amount), info)
	return true
}

// compatStock is 4 statements.
func (w *work) compatStock() {
	home, district := load.Int(w.p.warehouse), load.Int(w.p.district)
	w.ask("district", "SELECT d_next_o_id FROM district# WHERE d_id = ? AND d_w_id = ?", district, home)
	next := w.Int(0)
	w.say("SELECT COUNT(DISTINCT s_i_id) FROM order_line#, stock# WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ?"+
		" AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?", home, district, load.Int(next), load.Int(next-recentOrders), home, load.Int(w.p.threshold))
}
