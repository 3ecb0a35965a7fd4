package archive

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

// Stretcher finds the stretches of one product's logs among pieces, which are in the order of Shelf.List.
type Stretcher interface {
	Stretches(all []Piece) []Stretch
}
