package change

// Spare says how an undo keeps what was made, once others may have written to it: it gets another name, and nothing in it
// is lost.
type Spare struct {
	Keep []Op `json:"keep,omitempty"` // done in place of Undo
	// KeepFrom is the place of that act of the same change after which others may write to it. The journal says
	// whether that act was begun, and nobody else can change the journal, as they could a mark on the thing itself.
	// "", as an earlier Plumb wrote: it is not known, and the thing is always kept.
	KeepFrom string `json:"keep_from,omitempty"`
}

// spare says how the thing of an act is kept; the zero Spare if it is not.
func (a Act) spare() (s Spare) {
	switch {
	case a.Make != nil:
		s = a.Make.Spare
	case a.Switch != nil:
		s = a.Switch.Spare
	}
	return s
}

// Spared tells whether an undo puts what was made aside instead of removing it.
func (p Recorded) Spared() bool {
	s := p.Act.spare()
	return s.Keep != nil && (p.used || s.KeepFrom == "")
}
