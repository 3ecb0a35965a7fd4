package archive

import "plumb/internal/backup/manifest"

// Stretch is a part of a log that is archived without a gap, as the names of its pieces say.
type Stretch struct {
	Server string `json:"server"`
	Series string `json:"series"`
	From   string `json:"from"` // place in the log, as the product writes it
	To     string `json:"to"`
	Pieces int    `json:"pieces"`
	Bytes  int64  `json:"bytes"`          // of the log
	Hole   string `json:"hole,omitempty"` // what is missing between the stretch before and this one
}

// Place is a place in the log of a server.
type Place struct {
	Key  string `json:"key"`            // of two in one log the earlier has the lesser; "" for none
	Text string `json:"text"`           // as the product writes it
	Line int    `json:"line,omitempty"` // of a log that branches the branch: a later one has the larger
}

// Before tells whether a place is known, and comes before another of its log.
func (p Place) Before(other Place) bool { return p.Key != "" && p.Key < other.Key }

// Product knows the logs of one product by the names of their pieces. None is opened: who prunes has no key.
type Product interface {
	// Stretches finds the stretches among pieces, which are in the order of Shelf.List.
	Stretches(all []Piece) []Stretch
	// Places tells for each piece of a server where the last of it is. One without a Key is not this product's, or stays
	// whatever happens.
	Places(log []Piece) []Place
	// Knows tells whether a backup is a base of this product, which says where in a log it begins.
	Knows(m manifest.Manifest) bool
	// Begins tells where in the log of a server, of which these are the pieces, a base begins: what lies before that is of
	// no use to it. It has no Key for the base of another server. in are the pieces that have that place, by their names.
	Begins(m manifest.Manifest, log []Piece) (at Place, in []Piece, err error)
	// Alone tells whether a server starts on a base without any of the log, where that is known.
	Alone(m manifest.Manifest) (is, known bool)
}

// Logs sorts pieces, which are in the order of Shelf.List, by server.
func Logs(all []Piece) (logs [][]Piece) {
	for i, p := range all {
		if i == 0 || p.Server != all[i-1].Server {
			logs = append(logs, nil)
		}
		logs[len(logs)-1] = append(logs[len(logs)-1], p)
	}
	return logs
}

// Since parts from the pieces of a log those that were pruned and are still there.
func Since(product Product, log []Piece, gone Place) (kept []Piece, left int) {
	for i, at := range product.Places(log) {
		if at.Before(gone) {
			left++
		} else {
			kept = append(kept, log[i])
		}
	}
	return kept, left
}
