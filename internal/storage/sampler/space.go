package sampler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// space adds up what the files of one server take, by what they are for.
type space struct {
	of     stack.Ref
	places []place
	local  observe.Local
}

// place is a directory, or a file, that a server keeps something in.
type place struct {
	role string
	dir  string // as the server names it, without symbolic links
}

// ofSpace are the roles whose files are added up. Others are data: what is kept
// in the data directory and for nothing else that is named here.
var ofSpace = []string{"data", "tablespace", "redo", "wal", "journal", "undo", "binlog", "relaylog", "temporary"}

// reading is what the bytes of a role are called.
func reading(role string) string { return "space_" + role }

// logical is what they would take uncompressed and without holes.
const logical = "space_data_logical"

func spaces(s *stack.Stack, locals map[int]observe.Local) []sample.Source {
	var order []stack.Ref
	found := map[stack.Ref]*space{}
	for _, r := range s.Roles {
		l := locals[r.PID]
		if l.PID == 0 || r.Resolved == "" || !slices.Contains(ofSpace, r.Name) {
			continue
		}
		if found[r.DB] == nil {
			found[r.DB] = &space{of: r.DB, local: l}
			order = append(order, r.DB)
		}
		found[r.DB].places = append(found[r.DB].places, place{r.Name, r.Resolved})
	}
	var out []sample.Source
	for _, db := range order[:min(len(order), maxOfKind)] {
		out = append(out, sample.Made("space "+db.String(), sample.Minute, found[db].take))
	}
	return out
}

func (s *space) take(ctx context.Context, h host.Reader, b *series.Batch) error {
	uid, known := s.local.Process.Int("uid")
	if !known {
		return errors.New("the user of the server is not known")
	}
	w := walk{ctx: ctx, h: h, root: s.local.Root, uid: uid, left: maxFiles, done: map[string]bool{}}
	sort := sorter{places: s.places, files: product.Of(s.of.Kind).Files}
	sums, largest := map[string]taken{}, tables{of: product.Of(s.of.Kind).Tables, sums: map[string]taken{}}
	for _, r := range sort.roles() {
		sums[r] = taken{}
	}
	lost := map[string]string{}
	for _, top := range sort.tops() {
		var err error
		if top.role == "temporary" && sort.shared(top) {
			err = w.only(top.dir, sort.patterns("temporary"), func(f found) { sums["temporary"] = sums["temporary"].with(f) })
		} else {
			err = w.all(top, sort, func(f found) {
				role, rest := sort.roleOf(f.name)
				if role != "" {
					sums[role] = sums[role].with(f)
				}
				if role == "data" || role == "tablespace" {
					largest.add(rest, f)
				}
			})
		}
		if err != nil {
			sort.spoil(lost, top, w.done, err)
		}
	}
	s.set(b, sums, lost)
	if lost["data"] == "" && lost["tablespace"] == "" {
		largest.set(b, s.of)
	}
	return nil
}

// taken is what files take: on the device, and as their lengths say.
type taken struct{ bytes, length int64 }

func (t taken) with(f found) taken { return taken{t.bytes + f.bytes, t.length + f.length} }

// set records what was added up; of what was not read whole nothing is known.
func (s *space) set(b *series.Batch, sums map[string]taken, lost map[string]string) {
	for _, role := range slices.Sorted(maps.Keys(sums)) {
		if why, is := lost[role]; is {
			b.Gap(s.of, why, fmt.Sprintf("the space of %s is then only known by its filesystem or dataset", role), reading(role))
			continue
		}
		b.Set(s.of, reading(role), float64(sums[role].bytes))
		if role == "data" {
			b.Set(s.of, logical, float64(sums[role].length))
		}
	}
}
