package tpcc

import "plumb/internal/load"

// compatOrder is 7 statements and 4 for each line.
func (w *work) compatOrder() (ending, error) {
	p := &w.p
	home, district := load.Int(p.warehouse), load.Int(p.district)
	if err := w.row("customer", "SELECT c_discount, c_last, c_credit, w_tax FROM customer#, warehouse# WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
		home, district, load.Int(p.customer)); err != nil {
		return wrote, err
	}
	discount, tax := centsOf(w.s.Bytes(0)), centsOf(w.s.Bytes(3))
	if err := w.row("district", "SELECT d_next_o_id, d_tax FROM district# WHERE d_w_id = ? AND d_id = ? FOR UPDATE", home, district); err != nil {
		return wrote, err
	}
	order := w.s.Int(0)
	tax += centsOf(w.s.Bytes(1))
	if err := w.say("UPDATE district# SET d_next_o_id = ? WHERE d_id = ? AND d_w_id = ?", load.Int(order+1), district, home); err != nil {
		return wrote, err
	}
	if err := w.say("INSERT INTO orders# (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, NOW(), ?, ?)",
		load.Int(order), district, home, load.Int(p.customer), load.Int(int64(p.count)), load.Int(oneIf(p.allLocal))); err != nil {
		return wrote, err
	}
	if err := w.say("INSERT INTO new_orders# (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)", load.Int(order), district, home); err != nil {
		return wrote, err
	}
	for _, l := range p.lines[:p.count] {
		found, err := w.compatLine(order, l, (100+tax)*(100-discount))
		if err != nil {
			return wrote, err
		}
		if !found {
			return rollBack, nil
		}
	}
	return wrote, nil
}

// stockQuestions read a row of stock for each district.
var stockQuestions = [districts + 1]string{
	1:  "SELECT s_quantity, s_data, s_dist_01 FROM stock# WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
	2:  "SELECT s_quantity, s_data, s_dist_02 FROM stock# WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
	3:  "SELECT s_quantity, s_data, s_dist_03 FROM stock# WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
	4:  "SELECT s_quantity, s_data, s_dist_04 FROM stock# WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
	5:  "SELECT s_quantity, s_data, s_dist_05 FROM stock# WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
	6:  "SELECT s_quantity, s_data, s_dist_06 FROM stock# WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
	7:  "SELECT s_quantity, s_data, s_dist_07 FROM stock# WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
	8:  "SELECT s_quantity, s_data, s_dist_08 FROM stock# WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
	9:  "SELECT s_quantity, s_data, s_dist_09 FROM stock# WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
	10: "SELECT s_quantity, s_data, s_dist_10 FROM stock# WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE",
}

// compatLine is one line; false when there is no such item. rate is what tax
// and discount make of a price, in ten-thousandths.
func (w *work) compatLine(order int64, l line, rate int64) (found bool, err error) {
	p := &w.p
	if err := w.say("SELECT i_price, i_name, i_data FROM item# WHERE i_id = ?", load.Int(l.item)); err != nil || !w.s.Next() {
		if err == nil && l.item != w.draw.unused() {
			err = w.missing("item", l.item)
		}
		return false, err
	}
	price := centsOf(w.s.Bytes(0))
	if err := w.row("stock", stockQuestions[p.district], load.Int(l.item), load.Int(l.supply)); err != nil {
		return false, err
	}
	left, info := w.s.Int(0), load.Str(w.keep(w.s.Bytes(2)))
	if left <= l.quantity { // quirkCounters: the specification renews below quantity + 10
		left += 91
	}
	left -= l.quantity
	if err := w.say("UPDATE stock# SET s_quantity = ? WHERE s_i_id = ? AND s_w_id = ?", load.Int(left), load.Int(l.item), load.Int(l.supply)); err != nil {
		return false, err
	}
	amount := price * l.quantity * rate / (100 * 10_000) // quirkCounters: whole
	return true, w.say("INSERT INTO order_line# (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", load.Int(order), load.Int(p.district), load.Int(p.warehouse), load.Int(l.number), load.Int(l.item),
		load.Int(l.supply), load.Int(l.quantity), load.Int(amount), info)
}

// compatStock is 4 statements.
func (w *work) compatStock() error {
	home, district := load.Int(w.p.warehouse), load.Int(w.p.district)
	if err := w.row("district", "SELECT d_next_o_id FROM district# WHERE d_id = ? AND d_w_id = ?", district, home); err != nil {
		return err
	}
	next := w.s.Int(0)
	return w.say("SELECT COUNT(DISTINCT s_i_id) FROM order_line#, stock# WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ?"+
		" AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?", home, district, load.Int(next), load.Int(next-recentOrders), home, load.Int(w.p.threshold))
}
