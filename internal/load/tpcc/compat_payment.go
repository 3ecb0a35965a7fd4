package tpcc

import (
	"bytes"

	"plumb/internal/load"
)

// compatPayment is 9 statements, 2 more by name, 1 more for bad credit.
func (w *work) compatPayment() {
	p := &w.p
	home, district, amount := load.Int(p.warehouse), load.Int(p.district), load.Int(p.amount/100)
	w.say("UPDATE warehouse# SET w_ytd = w_ytd + ? WHERE w_id = ?", amount, home)
	w.ask("warehouse", "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse# WHERE w_id = ?", home)
	from := len(w.texts)
	w.texts = append(append(w.texts, w.Bytes(5)...), ' ')
	w.say("UPDATE district# SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?", amount, home, district)
	w.ask("district", "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district# WHERE d_w_id = ? AND d_id = ?", home, district)
	w.texts = append(w.texts, w.Bytes(5)...)
	about := w.texts[from:]
	about = about[:min(len(about), 24)]
	w.compatPayer(amount)
	w.say("INSERT INTO history# (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
		load.Int(p.customerDistrict), load.Int(p.customerWarehouse), load.Int(w.payerIs), district, home, amount, load.Str(about))
}

// compatPayer finds the customer and takes the amount from the balance;
// c_payment_cnt stays as it is: quirkCounters.
func (w *work) compatPayer(amount load.Arg) {
	p := &w.p
	warehouse, district := load.Int(p.customerWarehouse), load.Int(p.customerDistrict)
	w.payerIs = p.customer
	if p.byName() {
		w.payerIs = w.compatMiddle(warehouse, district)
	}
	customer := load.Int(w.payerIs)
	w.ask("customer", "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, c_credit_lim,"+
		" c_discount, c_balance, c_ytd_payment, c_since FROM customer# WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE", warehouse, district, customer)
	if !bytes.Equal(w.Bytes(9), []byte("BC")) {
		w.say("UPDATE customer# SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
			amount, amount, warehouse, district, customer)
		return
	}
	w.ask("customer", "SELECT c_data FROM customer# WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", warehouse, district, customer)
	data := load.Str(w.history(w.payerIs, w.Bytes(0)))
	w.say("UPDATE customer# SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
		amount, amount, data, warehouse, district, customer)
}

// compatStatus is 5 statements, 6 by name.
func (w *work) compatStatus() {
	p := &w.p
	home, district, customer := load.Int(p.warehouse), load.Int(p.district), p.customer
	if p.byName() {
		customer = w.compatMiddle(home, district)
	} else {
		w.ask("customer", "SELECT c_balance, c_first, c_middle, c_last FROM customer# WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", home, district, load.Int(customer))
	}
	w.say("SELECT o_id, o_carrier_id, o_entry_d FROM orders# WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC", home, district, load.Int(customer))
	w.say("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line# WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
		home, district, district) // quirkDistrictAsOrder
}
