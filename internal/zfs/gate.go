package zfs

import "io"

// Gate lets a stream through once its beginning shows that it is of one snapshot, and which: what zfs send -R makes can also rename and
// promote what is there, and set properties of it.
type Gate struct {
	To   io.Writer
	Fits func(Head) error // is nil for what may go through
	head []byte           // until there is enough of it
	open bool
}

// Open tells whether anything has gone through.
func (g *Gate) Open() bool { return g.open }

// Write implements io.Writer.
func (g *Gate) Write(text []byte) (int, error) {
	if g.open {
		return g.To.Write(text)
	}
	g.head = append(g.head, text...)
	if len(g.head) < HeadBytes {
		return len(text), nil
	}
	head, err := ParseHead(g.head)
	if err == nil {
		err = g.Fits(head)
	}
	if err != nil {
		return 0, err
	}
	if _, err := g.To.Write(g.head); err != nil {
		return 0, err
	}
	g.open, g.head = true, nil
	return len(text), nil
}
