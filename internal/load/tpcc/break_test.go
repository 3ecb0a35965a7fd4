package tpcc_test

import (
	"slices"
	"testing"

	"plumb/internal/load/tpcc"
)

// breakages change a consistent set of tables, with eight delivered orders a
// district and four new ones, and name the conditions that are broken then.
var breakages = []struct {
	what    string
	tables  []string // changed
	changes []string
	broken  []int
}{
	{"a warehouse's total", []string{"warehouse"}, []string{"UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 1"}, []int{1, 8}},
	{"a warehouse's total unknown", []string{"warehouse"}, []string{"UPDATE warehouse SET w_ytd = NULL WHERE w_id = 1"}, []int{1, 8}},
	{"no such warehouse", []string{"warehouse"}, []string{"DELETE FROM warehouse WHERE w_id = 2"}, []int{1, 8, 13}},
	{"all districts of a warehouse", []string{"district"}, []string{"DELETE FROM district WHERE d_w_id = 1"}, []int{1, 2, 9, 11, 13}},
	{"all districts", []string{"district"}, []string{"DELETE FROM district"}, []int{1, 2, 9, 11, 13}},
	{"the next order", []string{"district"}, []string{"UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 2 AND d_id = 10"}, []int{2}},
	{"the last order", []string{"orders", "new_orders", "order_line"}, []string{"DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 12",
		"DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 2 AND no_o_id = 12", "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 12"}, []int{2}},
	{"the last new order", []string{"new_orders"}, []string{"DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 2 AND no_o_id = 12"}, []int{2, 5, 11}},
	{"all orders of a district", []string{"orders"}, []string{"DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 1"}, []int{2, 4, 5, 6, 7, 11}},
	{"all orders and lines of a district", []string{"orders", "order_line", "new_orders"}, []string{"DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 1",
		"DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1", "DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 1"}, []int{2, 11}},
	{"a new order's number", []string{"new_orders"}, []string{"UPDATE new_orders SET no_o_id = 100 WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 10"}, []int{2, 3, 5}},
	{"new orders in the middle", []string{"new_orders"}, []string{"DELETE FROM new_orders WHERE no_w_id = 1 AND no_o_id = 10"}, []int{3, 5, 11}},
	{"all new orders of a district", []string{"new_orders"}, []string{"DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 4"}, []int{5, 11}},
	{"a new order of no order", []string{"new_orders"}, []string{"INSERT INTO new_orders (no_w_id, no_d_id, no_o_id) VALUES (1, 1, 8)"}, []int{5, 11}},
	{"lines of an order", []string{"orders"}, []string{"UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 7"}, []int{4, 6}},
	{"lines of an order unknown", []string{"orders"}, []string{"UPDATE orders SET o_ol_cnt = NULL WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 7"}, []int{4, 6}},
	{"lines of two orders", []string{"orders"}, []string{"UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 7",
		"UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 8"}, []int{6}},
	{"all lines of a district", []string{"order_line"}, []string{"DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 5"}, []int{4, 6}},
	{"all lines of an order", []string{"order_line"}, []string{"DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 5 AND ol_o_id = 3"}, []int{4, 6}},
	{"all lines of a warehouse", []string{"order_line"}, []string{"DELETE FROM order_line WHERE ol_w_id = 2"}, []int{4, 6}},
	{"an order of lines", []string{"orders"}, []string{"DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 5 AND o_id = 3"}, []int{4, 6, 7, 11}},
	{"lines of a warehouse that is none", []string{"order_line"}, []string{"UPDATE order_line SET ol_w_id = 7 WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 1"}, []int{4, 6, 7}},
	{"a carrier taken away", []string{"orders"}, []string{"UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1"}, []int{5, 7}},
	{"a carrier too early", []string{"orders"}, []string{"UPDATE orders SET o_carrier_id = 3 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 12"}, []int{5, 7, 15}},
	{"a delivery date taken away", []string{"order_line"}, []string{"UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1"}, []int{7}},
	{"a delivery date too early", []string{"order_line"}, []string{"UPDATE order_line SET ol_delivery_d = '2025-01-01' WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 12 AND ol_number = 1"}, []int{7, 10, 12}},
	{"a payment's amount", []string{"history"}, []string{"UPDATE history SET h_amount = h_amount + 1 WHERE h_w_id = 1 AND h_d_id = 2 AND h_c_id = 3"}, []int{8, 9, 10}},
	{"all payments of a warehouse", []string{"history"}, []string{"DELETE FROM history WHERE h_w_id = 1"}, []int{8, 9, 10, 14}},
	{"all payments", []string{"history"}, []string{"DELETE FROM history"}, []int{8, 9, 10, 14}},
	{"a payment's district", []string{"history"}, []string{"UPDATE history SET h_d_id = 3 WHERE h_w_id = 1 AND h_d_id = 2 AND h_c_id = 3"}, []int{9}},
	{"a district's total", []string{"district"}, []string{"UPDATE district SET d_ytd = d_ytd + 5 WHERE d_w_id = 1 AND d_id = 2"}, []int{1, 9}},
	{"two districts' totals", []string{"district"}, []string{"UPDATE district SET d_ytd = d_ytd + 5 WHERE d_w_id = 1 AND d_id = 2",
		"UPDATE district SET d_ytd = d_ytd - 5 WHERE d_w_id = 1 AND d_id = 3"}, []int{9}},
	{"a customer's balance", []string{"customer"}, []string{"UPDATE customer SET c_balance = c_balance - 0.01 WHERE c_w_id = 2 AND c_d_id = 3 AND c_id = 4"}, []int{10, 12}},
	{"a customer's balance unknown", []string{"customer"}, []string{"UPDATE customer SET c_balance = NULL WHERE c_w_id = 2 AND c_d_id = 3 AND c_id = 4"}, []int{10, 12}},
	{"all customers of a district", []string{"customer"}, []string{"DELETE FROM customer WHERE c_w_id = 1 AND c_d_id = 3"}, []int{10, 12, 13, 14}},
	{"what a customer paid", []string{"customer"}, []string{"UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 2 AND c_d_id = 3 AND c_id = 4"}, []int{12}},
	{"amounts of lines", []string{"order_line"}, []string{"UPDATE order_line SET ol_amount = 1 WHERE ol_w_id = 2 AND ol_d_id = 3 AND ol_o_id = 4"}, []int{10, 12}},
	{"an order delivered as it should be", []string{"new_orders", "orders", "order_line", "customer"}, []string{
		"DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 9",
		"UPDATE orders SET o_carrier_id = 3 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 9",
		"UPDATE order_line SET ol_delivery_d = '2025-01-01' WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 9",
		"UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1, c_balance = c_balance + (SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 9)" +
			" WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = (SELECT o_c_id FROM orders WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 9)"}, []int{11}},
	{"an item", []string{"item"}, []string{"DELETE FROM item WHERE i_id = 1"}, []int{13}},
	{"the stock of a warehouse", []string{"stock"}, []string{"DELETE FROM stock WHERE s_w_id = 1"}, []int{13}},
	{"payments counted", []string{"customer"}, []string{"UPDATE customer SET c_payment_cnt = 0 WHERE c_w_id = 2 AND c_d_id = 3 AND c_id = 4"}, []int{14}},
	{"deliveries counted", []string{"customer"}, []string{"UPDATE customer SET c_delivery_cnt = 1 WHERE c_w_id = 2 AND c_d_id = 3 AND c_id = 4"}, []int{15}},
	{"stock taken", []string{"stock"}, []string{"UPDATE stock SET s_ytd = 5 WHERE s_w_id = 2 AND s_i_id = 3"}, []int{16}},
	{"orders of stock counted", []string{"stock"}, []string{"UPDATE stock SET s_remote_cnt = 1 WHERE s_w_id = 2 AND s_i_id = 3"}, []int{16}},
}

// breakAll breaks the tables in one way after the other, and repairs them.
func breakAll(t *testing.T, c tpcc.Config) {
	a := admin(t, c.Server)
	kept := map[string]bool{}
	for _, b := range breakages {
		for _, table := range b.tables {
			if !kept[table] {
				ok(t, a.Exec(t.Context(), "CREATE TABLE kept_"+table+" AS SELECT * FROM "+table))
				kept[table] = true
			}
		}
		ok(t, a.Exec(t.Context(), b.changes...))
		if numbers, r := broken(t, c); !slices.Equal(numbers, b.broken) {
			t.Errorf("%s: broken are %v, want %v: %+v", b.what, numbers, b.broken, r.Broken())
		}
		for _, table := range b.tables {
			ok(t, a.Exec(t.Context(), "DELETE FROM "+table, "INSERT INTO "+table+" SELECT * FROM kept_"+table))
		}
	}
	if numbers, _ := broken(t, c); numbers != nil {
		t.Errorf("repaired: %v", numbers)
	}
	for table := range kept {
		ok(t, a.Exec(t.Context(), "DROP TABLE kept_"+table))
	}
}
