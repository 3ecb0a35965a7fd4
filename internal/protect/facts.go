package protect

import (
	"context"
	"maps"
	"strconv"
)

// Names of the facts that are written on the snapshots themselves, so that they tell what they are on whatever host they get to.
// FactPoint is the ID of the point.
const (
	FactPoint    = "org.plumb:point"
	FactServer   = "org.plumb:server"
	FactProduct  = "org.plumb:product"
	FactIdentity = "org.plumb:identity"
	FactMode     = "org.plumb:mode"
	FactPosition = "org.plumb:position"
	FactLabel    = "org.plumb:label"
	FactHost     = "org.plumb:host"
)

// facts are what is known of the point before its snapshots are taken. markAll adds the rest.
func (t *taking) facts() map[string]string {
	p := t.point
	facts := map[string]string{FactPoint: p.ID, FactServer: p.Server.Ref.String(), FactProduct: p.Server.Product,
		FactIdentity: p.Server.Identity, FactMode: p.Mode, FactHost: p.Host, FactPosition: p.Position.String()}
	maps.DeleteFunc(facts, func(_, value string) bool { return value == "" })
	return facts
}

// markAll writes on the snapshots the facts that are known only once they were taken.
func (t *taking) markAll(ctx context.Context) error {
	return t.k.mark(ctx, t.point, map[string]string{FactLabel: string(t.point.Label), FactPosition: t.point.Position.String()})
}

func (k *Keeper) mark(ctx context.Context, p Point, facts map[string]string) error {
	for _, m := range p.Members {
		s, err := k.StorageOf(m.Volume)
		if err != nil {
			return err
		}
		if err := s.Mark(ctx, k.Do, m, facts); err != nil {
			return err
		}
	}
	return nil
}

// String writes a position as people compare it: "binlog.000012:4711, GTID 0-1-42".
func (p Position) String() (text string) {
	add := func(name, value string) {
		switch {
		case value == "":
		case text == "":
			text = name + value
		default:
			text += ", " + name + value
		}
	}
	if p.File != "" {
		add("", p.File+":"+strconv.FormatInt(p.Offset, 10))
	}
	add("GTID ", p.GTID)
	add("applied ", p.Applied)
	add("LSN ", p.LSN)
	if p.Timeline != 0 {
		add("timeline ", strconv.Itoa(p.Timeline))
	}
	add("time ", p.Time)
	return text
}
