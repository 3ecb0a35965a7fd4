package change

import (
	"context"
	"fmt"

	"plumb/internal/units"
)

// unseen is written down of an act that is forgotten.
const unseen = "forgotten: its present state was not read"

// Forget closes a change that can never be undone completely, because a server is gone for good or a disk is dead. It reads
// and writes only the journal. What is in force stays so; the journal then says that this is not known. each is called for
// every act. The error is a *Refusal if nothing is in force, or the change is on trial.
func (k *Executor) Forget(ctx context.Context, number int, each func(*Change, Recorded, error)) error {
	return k.with(ctx, number, func(c *Change) error {
		switch {
		case !c.Open():
			return Refuse("plumb history lists what is", "nothing of change %d is in force", number)
		case !c.Try.IsZero() && !c.Confirmed && !c.Overdue(k.Now()): // who undoes it then would still restart its servers
			return Refuse(fmt.Sprintf("plumb undo %d reverts it now; it can be forgotten once its time is over", number),
				"change %d is on trial until %s", number, units.Moment(c.Try))
		}
		for i := len(c.Acts) - 1; i >= 0; i-- {
			if !c.Acts[i].open() {
				continue
			}
			if err := k.note(ctx, c, kindLeft, result{N: c.Acts[i].N, Why: unseen, Forgotten: true}); err != nil {
				return err
			}
			each(c, c.Acts[i], nil)
		}
		return nil
	})
}

// Forgotten counts the acts that were ended unseen, of which nobody knows whether they are in force.
func (c *Change) Forgotten() (acts int) {
	for _, p := range c.Acts {
		if p.Forgotten {
			acts++
		}
	}
	return acts
}
