package change

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/host/mirror"
	"plumb/internal/host/tree"
	"plumb/internal/units"
)

// Phases of a move. The acts between them stop the server, mount, and start it.
const (
	// MoveCopy copies while others write there; what changes or vanishes meanwhile is left to the next phase. Undoing
	// it empties the new places.
	MoveCopy = "copy"
	// MoveAside copies what changed since, now that nobody writes; compares all; and gives the old
	// directories their names of before. Undoing it copies back what was written since, if anything was.
	MoveAside = "aside"
	// MoveGive lets others into the new places, once they are mounted. Undoing it copies back
	// what was written there, while they are still in place: nothing is lost when that is cut short.
	MoveGive = "give"
)

// Move is one phase of moving directories to other filesystems. How each file was when it was copied is
// written down beside the journal, with its SHA-256: so it goes on where it was, and copies only what changed
// since, there and back.
type Move struct {
	Phase string `json:"phase"`
	On    string `json:"on"`   // whose directories: mysql:3306
	List  string `json:"list"` // file in which is written down what was copied, of all phases
	Pairs []Pair `json:"pairs"`
}

// Pair is one directory, and where it goes.
type Pair struct {
	From   string `json:"from"`             // where it is
	Aside  string `json:"aside"`            // where the new one is until it takes the place: empty at first, in a directory that only root can enter
	At     string `json:"at"`               // where the new one is afterwards
	Before string `json:"before,omitempty"` // the name that From gets; "" when it lies in one that gets another
	Old    string `json:"old"`              // where it is then
	// Of patterns (path.Match), for names in From itself: only these go there; those stay, with all below. In the
	// place of a directory that stays is an empty one, to mount something on.
	Only []string `json:"only,omitempty"`
	Skip []string `json:"skip,omitempty"`
}

// sitting is how long somebody who is just leaving is waited for.
const sitting = 30 * time.Second

func (o *Move) place() string {
	return map[string]string{MoveCopy: "data of ", MoveAside: "data at rest of ", MoveGive: "data in place of "}[o.Phase] + o.On
}

// Moves tells whether a change moves a server's data.
func (c *Change) Moves() bool {
	return slices.ContainsFunc(c.Acts, func(p Recorded) bool { return p.Act.Move != nil })
}

func (o *Move) found(ctx context.Context, k *Executor) (made Made, need bool, err error) {
	made.Mark = newMark()
	if o.Phase == MoveGive {
		return made, true, nil
	}
	made.Before, err = identities(o.Pairs, func(p Pair) string { return p.From })
	return made, true, err
}

// identities tells which directories are in some places.
func identities(pairs []Pair, where func(Pair) string) (string, error) {
	var all []string
	for _, p := range pairs {
		r, err := tree.Open(where(p))
		if err != nil {
			return "", err
		}
		id, err := r.Identity()
		r.Close()
		if err != nil {
			return "", err
		}
		all = append(all, id)
	}
	return strings.Join(all, "\n"), nil
}

func (o *Move) do(ctx context.Context, k *Executor, c *Change, p *Recorded) (string, error) {
	stream, ok := k.Doer.(host.Streamer)
	if !ok {
		return "", &Refusal{Why: "nothing can be moved here: no commands run"}
	}
	done, err := mirror.Open(ctx, stream, o.List)
	if err == nil {
		m := moving{k: k, do: stream, o: o, c: c, p: p, done: done}
		switch o.Phase {
		case MoveCopy:
			err = m.copy(ctx)
		case MoveAside:
			err = m.aside(ctx)
		case MoveGive:
			err = m.give(ctx)
		}
	}
	if ctx.Err() != nil && o.Phase == MoveCopy {
		err = fmt.Errorf("%w: %w", errStopped, errors.Join(err, ctx.Err()))
	}
	return "", err
}

// drift finds none: a server's data change all the time, and whose they are undo itself looks at.
func (o *Move) drift(context.Context, *Executor, *Recorded) (*Drift, error) { return nil, nil }

func (o *Move) undo(ctx context.Context, k *Executor, c *Change, p *Recorded, _ bool) error {
	stream, ok := k.Doer.(host.Streamer)
	if !ok {
		return &Refusal{Why: "nothing can be moved here: no commands run"}
	}
	done, err := mirror.Open(ctx, stream, o.List)
	if err != nil {
		return err
	}
	m := moving{k: k, do: stream, o: o, c: c, p: p, done: done}
	switch o.Phase {
	case MoveCopy:
		return m.empty(ctx)
	case MoveAside:
		return m.back(ctx)
	}
	return m.take(ctx)
}

func (o *Move) known(m Made) error {
	ok := slices.Contains([]string{MoveCopy, MoveAside, MoveGive}, o.Phase) && isMark(m.Mark) && len(o.Pairs) > 0 && clean(o.List)
	for _, p := range o.Pairs {
		ok = ok && clean(p.From) && clean(p.Aside) && clean(p.At) && clean(p.Old) && (p.Before == "" || clean(p.Before))
		for _, pattern := range slices.Concat(p.Only, p.Skip) {
			_, err := path.Match(pattern, "")
			ok = ok && err == nil
		}
	}
	if !ok {
		return unknown(fmt.Sprintf("a move of %s in phase %q", o.On, o.Phase))
	}
	return nil
}

func clean(name string) bool { return path.IsAbs(name) && path.Clean(name) == name && name != "/" }

func (o *Move) words(p *Recorded) (before, after string) {
	var from, to []string
	for _, q := range o.Pairs {
		from, to = append(from, q.From), append(to, q.Aside)
	}
	switch o.Phase {
	case MoveCopy:
		after = "copied to " + strings.Join(to, ", ") + " as well, while it is written to"
	case MoveAside:
		after = "copied, compared, and kept"
		if n, err := strconv.ParseInt(p.Kept, 10, 64); err == nil {
			after = fmt.Sprintf("compared, %s of it copied again, and kept", units.Bytes(n))
		}
		for _, q := range o.Pairs {
			if q.Before != "" {
				after += " as " + q.Before
			}
		}
	default:
		after = "open to the server in its new place"
	}
	return "in " + strings.Join(from, ", "), after
}

func (o *Move) back(*Recorded) []Op { return nil }
