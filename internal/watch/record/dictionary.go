package record

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"sync"
)

// dictionary numbers what blocks have in common: schemas, lists of gaps, digests, pictures. The numbers are assigned in memory,
// because the disk may hang, and a new word is written with the first block that needs it.
type dictionary struct {
	table string
	mu    sync.Mutex
	known map[[16]byte]*word
	next  int64
}

type word struct {
	id    int64
	tier  tier
	used  int64  // t0 of the last block that needs it
	data  []byte // until it is stored
	dirty bool   // used later than what is stored says
}

// lateBy is how far the stored time of last use may lag behind, in nanoseconds.
const lateBy = int64(3600e9)

func (d *dictionary) load(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, `SELECT id, tier, columns, used FROM `+d.table)
	if err != nil {
		return err
	}
	defer rows.Close()
	d.known, d.next = map[[16]byte]*word{}, 1
	for rows.Next() {
		w, data := &word{}, []byte(nil)
		if err := rows.Scan(&w.id, &w.tier, &data, &w.used); err != nil {
			return err
		}
		plain, err := unpack(data)
		if err == nil { // one that is damaged is not used again
			d.known[keyOf(w.tier, plain)] = w
		}
		d.next = max(d.next, w.id+1)
	}
	return rows.Err()
}

func keyOf(t tier, data []byte) [16]byte {
	sum := sha256.Sum256(append([]byte{byte(t)}, data...))
	return [16]byte(sum[:16])
}

// id gives the number of what is used by a block of a tier.
func (d *dictionary) id(t tier, t0 int64, data []byte) int64 {
	key := keyOf(t, data)
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.known[key]
	if w == nil {
		w = &word{id: d.next, tier: t, used: t0, data: pack(data)}
		d.known[key] = w
		d.next++
	}
	if t0 > w.used+lateBy {
		w.used, w.dirty = t0, true
	}
	return w.id
}

// store writes new words, and the times of those that were used again. done must be called once that is durable. No lock is held
// meanwhile, because the disk may hang.
func (d *dictionary) store(ctx context.Context, tx *sql.Tx) (done func(), err error) {
	fresh, again := d.unsaved()
	for _, w := range fresh {
		if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO `+d.table+` VALUES (?, ?, ?, ?)`, w.id, w.tier, w.data, w.used); err != nil {
			return nil, fmt.Errorf("write %s %d: %w", d.table, w.id, err)
		}
	}
	for _, w := range again {
		if _, err := tx.ExecContext(ctx, `UPDATE `+d.table+` SET used = ? WHERE id = ?`, w.used, w.id); err != nil {
			return nil, fmt.Errorf("write %s %d: %w", d.table, w.id, err)
		}
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for key := range fresh {
			d.known[key].data = nil
		}
		for key, w := range again {
			d.known[key].dirty = d.known[key].used > w.used
		}
	}, nil
}

func (d *dictionary) unsaved() (fresh, again map[[16]byte]word) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fresh, again = map[[16]byte]word{}, map[[16]byte]word{}
	for key, w := range d.known {
		if w.data != nil {
			fresh[key] = *w
		} else if w.dirty {
			again[key] = *w
		}
	}
	return fresh, again
}

// forget removes the words that no block of their tier needs any more. Words that wait to be written are never that old.
func (d *dictionary) forget(ctx context.Context, tx *sql.Tx, needed func(word) bool) error {
	for _, id := range d.drop(needed) {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+d.table+` WHERE id = ?`, id); err != nil {
			return err
		}
	}
	return nil
}

func (d *dictionary) drop(needed func(word) bool) (ids []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, w := range d.known {
		if w.data == nil && !needed(*w) {
			delete(d.known, key)
			ids = append(ids, w.id)
		}
	}
	return ids
}
