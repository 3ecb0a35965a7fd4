package change

// Spare says how an undo spares what was made, once others may have written to it: it is put aside under another name, and
// nothing of it is lost.
type Spare struct {
	Keep []Op `json:"keep,omitempty"` // done in place of Undo
	// KeepFrom is the place of the act of the same change from which on others may write to it. That
	// this was begun is in the journal before it is done, and nobody but us can take it out: a mark on
	// the thing itself, others can take off. With "", as an earlier Plumb wrote it, nobody knows, and
	// it is put aside in any case.
	KeepFrom string `json:"keep_from,omitempty"`
}

// spare is how the thing of an act is spared; nothing where it is not.
func (a Act) spare() (s Spare) {
	switch {
	case a.Make != nil:
		s = a.Make.Spare
	case a.Switch != nil:
		s = a.Switch.Spare
	}
	return s
}

// Spared tells whether an undo puts what was made aside, in place of removing it.
func (p Recorded) Spared() bool {
	s := p.Act.spare()
	return s.Keep != nil && (p.used || s.KeepFrom == "")
}
