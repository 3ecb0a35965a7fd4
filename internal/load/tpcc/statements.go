package tpcc

import (
	"fmt"
	"strings"

	"plumb/internal/load/durability"
)

// statement is one of those that are prepared, besides the three families
// below.
type statement int

const (
	orderCustomer statement = iota
	orderDistrict
	nextOrder
	insertOrder
	insertNewOrder
	updateStock
	payWarehouse
	readWarehouse
	payDistrict
	readDistrict
	customersByName
	lockCustomer
	lockCustomerData
	payCustomer
	payCustomerData
	insertHistory
	statusByNumber
	statusByName
	lastOrder
	readLines
	oldestNewOrder
	deleteNewOrder
	carryOrder
	dateLines
	sumLines
	creditCustomer
	readNext
	countLow
	statements
)

const ofCustomer = " WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"

// texts are good for both engines. Two things must stay as they are for
// InnoDB at REPEATABLE READ, where what is read without a lock is as old as
// the transaction's first such reading: whatever a change depends on is read
// FOR UPDATE; and deliveries read customer and sum after they changed the
// rows, because rows of one's own are always seen.
var texts = [statements]string{
	orderCustomer:  "SELECT w_tax, c_discount, c_last, c_credit FROM warehouse JOIN customer ON c_w_id = w_id WHERE w_id = ? AND c_d_id = ? AND c_id = ?",
	orderDistrict:  "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE",
	nextOrder:      "UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?",
	insertOrder:    "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)",
	insertNewOrder: "INSERT INTO new_orders (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)",
	updateStock: "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ?" +
		" WHERE s_w_id = ? AND s_i_id = ?",
	payWarehouse:  "UPDATE warehouse SET w_ytd = w_ytd + CAST(? AS DECIMAL(12,2)) WHERE w_id = ?",
	readWarehouse: "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?",
	payDistrict:   "UPDATE district SET d_ytd = d_ytd + CAST(? AS DECIMAL(12,2)) WHERE d_w_id = ? AND d_id = ?",
	readDistrict:  "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = ? AND d_id = ?",
	// The first column is what byName wants.
	customersByName: "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
	lockCustomer: "SELECT c_credit, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since," +
		" c_credit_lim, c_discount, c_balance FROM customer" + ofCustomer + " FOR UPDATE",
	lockCustomerData: "SELECT c_data FROM customer" + ofCustomer + " FOR UPDATE",
	payCustomer: "UPDATE customer SET c_balance = c_balance - CAST(? AS DECIMAL(12,2)), c_ytd_payment = c_ytd_payment + CAST(? AS DECIMAL(12,2))," +
		" c_payment_cnt = c_payment_cnt + 1" + ofCustomer,
	payCustomerData: "UPDATE customer SET c_balance = c_balance - CAST(? AS DECIMAL(12,2)), c_ytd_payment = c_ytd_payment + CAST(? AS DECIMAL(12,2))," +
		" c_payment_cnt = c_payment_cnt + 1, c_data = ?" + ofCustomer,
	insertHistory: "INSERT INTO history (h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_date, h_amount, h_data)" +
		" VALUES (?, ?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)",
	statusByNumber: "SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer" + ofCustomer,
	statusByName:   "SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
	lastOrder: "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ?" +
		" ORDER BY o_id DESC LIMIT 1",
	readLines: "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line" +
		" WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
	oldestNewOrder: "SELECT no_o_id FROM new_orders WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
	deleteNewOrder: "DELETE FROM new_orders WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
	carryOrder:     "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
	dateLines:      "UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
	sumLines: "SELECT o_c_id, SUM(ol_amount) FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id" +
		" WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? GROUP BY o_c_id",
	creditCustomer: "UPDATE customer SET c_balance = c_balance + CAST(? AS DECIMAL(12,2)), c_delivery_cnt = c_delivery_cnt + 1" + ofCustomer,
	readNext:       "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?",
	countLow: "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id" +
		" WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? AND s_quantity < ?",
}

// leastInserted is how few lines an order inserts: five, one of them for an
// item that there is not.
const (
	leastLines    = 5
	leastInserted = leastLines - 1
)

// prepared are the numbers of a session's statements.
type prepared struct {
	fixed   [statements]int
	items   [mostLines + 1]int // reads so many items at once
	inserts [mostLines + 1]int // inserts so many lines at once
	stock   [districts + 1]int // locks a row and reads what its district needs
	ledger  int
}

// statements is how many a session prepares.
func (c Config) statements() int {
	n := 0
	if !c.Compat {
		n = int(statements) + mostLines - leastLines + 1 + mostLines - leastInserted + 1 + districts
	}
	if c.Ledger != nil {
		n++
	}
	return n
}

func itemsText(n int) string {
	return "SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN (?" + strings.Repeat(", ?", n-1) + ")"
}

func insertsText(n int) string {
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?)"
	return "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES " +
		row + strings.Repeat(", "+row, n-1)
}

func stockText(district int) string {
	return fmt.Sprintf("SELECT s_quantity, s_dist_%02d, s_data FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE", district)
}

// prepare makes all statements ready.
func (w *work) prepare() error {
	var err error
	ready := func(text string) (n int) {
		if err == nil {
			if n, err = w.Session.Prepare(text); err != nil {
				err = fmt.Errorf("prepare a statement: %w", err)
			}
		}
		return n
	}
	if w.c.Ledger != nil {
		w.ready.ledger = ready(durability.Insert)
	}
	if w.c.Compat {
		if err == nil && w.sql.SkipLinks != "" {
			err = w.Session.Text([]byte(w.sql.SkipLinks)) // quirkUnchecked
		}
		return err
	}
	for i, text := range texts {
		w.ready.fixed[i] = ready(text)
	}
	for n := leastLines; n <= mostLines; n++ {
		w.ready.items[n] = ready(itemsText(n))
	}
	for n := leastInserted; n <= mostLines; n++ {
		w.ready.inserts[n] = ready(insertsText(n))
	}
	for d := 1; d <= districts; d++ {
		w.ready.stock[d] = ready(stockText(d))
	}
	return err
}
