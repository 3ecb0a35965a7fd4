package tpcc

import "plumb/internal/load"

// compatDeliver delivers in one district: a delivery is 72 statements where
// all districts have something.
func (w *work) compatDeliver(number int64) (found bool) {
	home, district := load.Int(w.p.warehouse), load.Int(number)
	w.say("SELECT no_o_id FROM new_orders# WHERE no_d_id = ? AND no_w_id = ? ORDER BY no_o_id ASC LIMIT 1 FOR UPDATE", district, home)
	if !w.Next() {
		return false
	}
	order := load.Int(w.Int(0))
	w.say("DELETE FROM new_orders# WHERE no_o_id = ? AND no_d_id = ? AND no_w_id = ?", order, district, home)
	w.say("SELECT o_c_id FROM orders# WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?", order, district, home)
	if !w.Next() {
		w.Fail(w.tooYoung())
		return false
	}
	customer := load.Int(w.Int(0))
	w.say("UPDATE orders# SET o_carrier_id = ? WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?", load.Int(w.p.carrier), order, district, home)
	w.say("UPDATE order_line# SET ol_delivery_d = NOW() WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?", order, district, home)
	w.ask("sum of lines", "SELECT SUM(ol_amount) FROM order_line# WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?", order, district, home)
	sum := load.Int(centsOf(w.Bytes(0)))
	w.say("UPDATE customer# SET c_balance = c_balance + $, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = ? AND c_d_id = ? AND c_w_id = ?",
		sum, customer, district, home)
	return true
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
func (w *work) purge() {
	home, district := load.Int(w.p.warehouse), load.Int(w.p.district)
	w.ask("answer", "SELECT MIN(no_o_id) FROM new_orders# WHERE no_w_id = ? AND no_d_id = ?", home, district)
	limit := w.Int(0) // 0: nothing is certain to be delivered
	w.ask("answer", "SELECT MIN(o_id) FROM orders# WHERE o_w_id = ? AND o_d_id = ?", home, district)
	if order := w.Int(0); order < limit {
		w.say("DELETE FROM order_line# WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", home, district, load.Int(order))
		w.say("DELETE FROM orders# WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", home, district, load.Int(order))
	}
	w.say(w.forget, home, district)
}
