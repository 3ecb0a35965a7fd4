package tpcc

import "plumb/internal/load"

// compatDelivery is 72 statements where all districts have something.
func (w *work) compatDelivery() (ending, error) {
	for district := int64(1); district <= districts; district++ {
		found, err := w.compatDeliver(load.Int(district))
		if err != nil {
			return wrote, err
		}
		if found {
			w.delivered++
		}
	}
	if w.delivered == 0 {
		return onlyRead, nil
	}
	return wrote, nil
}

func (w *work) compatDeliver(district load.Arg) (found bool, err error) {
	home := load.Int(w.p.warehouse)
	if err := w.say("SELECT no_o_id FROM new_orders# WHERE no_d_id = ? AND no_w_id = ? ORDER BY no_o_id ASC LIMIT 1 FOR UPDATE", district, home); err != nil || !w.s.Next() {
		return false, err
	}
	order := load.Int(w.s.Int(0))
	if err := w.say("DELETE FROM new_orders# WHERE no_o_id = ? AND no_d_id = ? AND no_w_id = ?", order, district, home); err != nil {
		return false, err
	}
	if err := w.say("SELECT o_c_id FROM orders# WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?", order, district, home); err != nil {
		return false, err
	}
	if !w.s.Next() {
		return false, w.tooYoung()
	}
	customer := load.Int(w.s.Int(0))
	if err := w.say("UPDATE orders# SET o_carrier_id = ? WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?", load.Int(w.p.carrier), order, district, home); err != nil {
		return false, err
	}
	if err := w.say("UPDATE order_line# SET ol_delivery_d = NOW() WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?", order, district, home); err != nil {
		return false, err
	}
	if err := w.row("sum of lines", "SELECT SUM(ol_amount) FROM order_line# WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?", order, district, home); err != nil {
		return false, err
	}
	sum := load.Int(centsOf(w.s.Bytes(0)))
	return true, w.say("UPDATE customer# SET c_balance = c_balance + $, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = ? AND c_d_id = ? AND c_w_id = ?",
		sum, customer, district, home)
}

// tooYoung is what happens at REPEATABLE READ when the order was made after
// the transaction's snapshot: locks find it, plain reading does not. The
// transaction is tried again.
func (w *work) tooYoung() error {
	return &load.Failure{Class: load.Retry, Doing: opNames[w.p.kind], Message: "the order is younger than the snapshot"}
}

// purge deletes the oldest order of a district, if it is delivered, and ten
// rows of its history. sysbench-tpcc chooses its orders in another way, but
// deletes as much.
func (w *work) purge() (ending, error) {
	home, district := load.Int(w.p.warehouse), load.Int(w.p.district)
	if err := w.row("answer", "SELECT MIN(no_o_id) FROM new_orders# WHERE no_w_id = ? AND no_d_id = ?", home, district); err != nil {
		return wrote, err
	}
	limit := w.s.Int(0) // 0: nothing is certain to be delivered
	if err := w.row("answer", "SELECT MIN(o_id) FROM orders# WHERE o_w_id = ? AND o_d_id = ?", home, district); err != nil {
		return wrote, err
	}
	if order := w.s.Int(0); order < limit {
		for _, text := range [...]string{"DELETE FROM order_line# WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
			"DELETE FROM orders# WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?"} {
			if err := w.say(text, home, district, load.Int(order)); err != nil {
				return wrote, err
			}
		}
	}
	return wrote, w.say(w.forget, home, district)
}
