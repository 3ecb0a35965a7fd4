package fill

import (
	"context"
	"fmt"

	"plumb/internal/product"
)

// Checksum gives the checksum over all rows that a table shall have, made
// without a server, and their number.
func Checksum(engine string, t Table) (sum string, rows int64, err error) {
	known, err := prepared(t)
	if err != nil {
		return "", 0, err
	}
	all, err := known.tally(context.Background(), []span{{0, t.Units}}, product.DialectOf(engine).Hash)
	return fmt.Sprintf("%016x", all.hash), all.rows, err
}
