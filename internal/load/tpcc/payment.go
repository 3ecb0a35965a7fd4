package tpcc

import (
	"bytes"
	"strconv"

	"plumb/internal/load"
)

// mostData is how long c_data gets.
const mostData = 500

// payment is TPC-C 2.5.2. Locks are taken in the order warehouse, district,
// customer by all.
func (w *work) payment() {
	p := &w.p
	amount := w.money(p.amount)
	w.runWith(payWarehouse, []load.Arg{amount}, p.warehouse)
	w.one("warehouse", readWarehouse, p.warehouse)
	from := len(w.texts)
	w.texts = append(append(w.texts, w.Bytes(0)...), "    "...)
	w.runWith(payDistrict, []load.Arg{amount}, p.warehouse, p.district)
	w.one("district", readDistrict, p.warehouse, p.district)
	w.texts = append(w.texts, w.Bytes(0)...)
	about := w.texts[from:]
	w.payer(amount)
	w.args = w.args[:0]
	w.add(p.customerWarehouse, p.customerDistrict, w.payerIs, p.warehouse, p.district)
	w.args = append(w.args, amount, load.Str(about))
	w.execute(w.ready.fixed[insertHistory])
}

// payer finds the customer and takes the amount from the balance.
func (w *work) payer(amount load.Arg) {
	p := &w.p
	w.payerIs = p.customer
	if p.byName() {
		w.payerIs = w.byName(customersByName, p.customerWarehouse, p.customerDistrict)
	}
	w.one("customer", lockCustomer, p.customerWarehouse, p.customerDistrict, w.payerIs)
	if !bytes.Equal(w.Bytes(0), []byte("BC")) {
		w.runWith(payCustomer, []load.Arg{amount, amount}, p.customerWarehouse, p.customerDistrict, w.payerIs)
		return
	}
	w.one("customer", lockCustomerData, p.customerWarehouse, p.customerDistrict, w.payerIs)
	data := load.Str(w.history(w.payerIs, w.Bytes(0)))
	w.runWith(payCustomerData, []load.Arg{amount, amount, data}, p.customerWarehouse, p.customerDistrict, w.payerIs)
}

// history puts the payment before what c_data has, and cuts it.
func (w *work) history(customer int64, was []byte) []byte {
	p := &w.p
	from := len(w.texts)
	for _, n := range [...]int64{customer, p.customerDistrict, p.customerWarehouse, p.district, p.warehouse} {
		w.texts = append(strconv.AppendInt(w.texts, n, 10), ' ')
	}
	w.texts = cents(w.texts, p.amount)
	w.texts[len(w.texts)-1] = '|'
	w.texts = append(w.texts, was...)
	w.texts = w.texts[:min(len(w.texts), from+mostData)]
	return w.texts[from:]
}

// byName gives the customer in the middle of those of the name, rounded up.
func (w *work) byName(which statement, warehouse, district int64) int64 {
	w.args = w.args[:0]
	w.add(warehouse, district)
	w.args = append(w.args, w.name())
	w.execute(w.ready.fixed[which])
	w.found = w.found[:0]
	for w.Next() {
		w.found = append(w.found, w.Int(0))
	}
	if len(w.found) == 0 {
		w.Fail(w.missing("customer of a last name", warehouse, district, w.p.lastName))
		return 0
	}
	return w.found[(len(w.found)+1)/2-1]
}
