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
func (w *work) payment() error {
	p := &w.p
	amount := w.money(p.amount)
	w.args = append(w.args[:0], amount, load.Int(p.warehouse))
	if err := w.execute(w.ready.fixed[payWarehouse]); err != nil {
		return err
	}
	if err := w.run(readWarehouse, p.warehouse); err != nil {
		return err
	}
	if !w.s.Next() {
		return w.missing("warehouse", p.warehouse)
	}
	from := len(w.texts)
	w.texts = append(append(w.texts, w.s.Bytes(0)...), "    "...)
	w.args = append(w.args[:0], amount, load.Int(p.warehouse), load.Int(p.district))
	if err := w.execute(w.ready.fixed[payDistrict]); err != nil {
		return err
	}
	if err := w.run(readDistrict, p.warehouse, p.district); err != nil {
		return err
	}
	if !w.s.Next() {
		return w.missing("district", p.warehouse, p.district)
	}
	w.texts = append(w.texts, w.s.Bytes(0)...)
	about := w.texts[from:]
	if err := w.payer(amount); err != nil {
		return err
	}
	w.args = w.args[:0]
	w.add(p.customerWarehouse, p.customerDistrict, w.payerIs, p.warehouse, p.district)
	w.args = append(w.args, amount, load.Str(about))
	return w.execute(w.ready.fixed[insertHistory])
}

// payer finds the customer and takes the amount from the balance.
func (w *work) payer(amount load.Arg) error {
	p := &w.p
	customer := p.customer
	if p.byName() {
		var err error
		if customer, err = w.byName(customersByName, p.customerWarehouse, p.customerDistrict); err != nil {
			return err
		}
	}
	if err := w.run(lockCustomer, p.customerWarehouse, p.customerDistrict, customer); err != nil {
		return err
	}
	if !w.s.Next() {
		return w.missing("customer", p.customerWarehouse, p.customerDistrict, customer)
	}
	how, data := payCustomer, []byte(nil)
	if bytes.Equal(w.s.Bytes(0), []byte("BC")) {
		if err := w.run(lockCustomerData, p.customerWarehouse, p.customerDistrict, customer); err != nil {
			return err
		}
		if !w.s.Next() {
			return w.missing("customer", p.customerWarehouse, p.customerDistrict, customer)
		}
		how, data = payCustomerData, w.history(customer, w.s.Bytes(0))
	}
	w.args = append(w.args[:0], amount, amount)
	if data != nil {
		w.args = append(w.args, load.Str(data))
	}
	w.add(p.customerWarehouse, p.customerDistrict, customer)
	if err := w.execute(w.ready.fixed[how]); err != nil {
		return err
	}
	w.payerIs = customer
	return nil
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
func (w *work) byName(which statement, warehouse, district int64) (int64, error) {
	w.args = w.args[:0]
	w.add(warehouse, district)
	w.args = append(w.args, w.name())
	if err := w.execute(w.ready.fixed[which]); err != nil {
		return 0, err
	}
	w.found = w.found[:0]
	for w.s.Next() {
		w.found = append(w.found, w.s.Int(0))
	}
	if len(w.found) == 0 {
		return 0, w.missing("customer of a last name", warehouse, district, w.p.lastName)
	}
	return w.found[(len(w.found)+1)/2-1], nil
}
