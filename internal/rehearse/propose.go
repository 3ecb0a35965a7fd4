package rehearse

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/product"
	"plumb/internal/stack"
)

// defaultBudget is that of a person who names none.
const defaultBudget = 20 * time.Minute

// Propose makes the experiments that put a plan to the test on a sandbox that
// is like the server. stake tells what a rule is about; nil: nothing is known
// of any. Of a plan of which nothing can be tried it gives a
// proposal without stages, whose steps say why. The error has a hint.
//
// Where all cannot be had, data and caches are made smaller together, and so
// many steps are left out that the rest can be decided within the budget.
func Propose(s *stack.Stack, cat *catalog.Catalog, plan advise.Plan, stake func(rule string) Importance, w Want) (Proposal, error) {
	d, err := newDraft(s, cat, w)
	if err != nil {
		return Proposal{}, err
	}
	if err := d.lay(); err != nil {
		return Proposal{}, err
	}
	plan.Steps = d.concerning(plan.Steps)
	p, err := d.propose(plan, stake)
	if err != nil {
		return Proposal{}, err
	}
	d.leave(&p, plan)
	return p, nil
}

// propose finds the most data with which the budget is enough.
func (d *draft) propose(plan advise.Plan, stake func(rule string) Importance) (Proposal, error) {
	most := int64(usualData)
	if d.want.Data > 0 {
		most = int64(d.want.Data)
	}
	if real := d.realData(); real >= leastData {
		most = min(most, real)
	}
	for ; ; most = most * 3 / 4 {
		if err := d.fit(plan, most); err != nil {
			return Proposal{}, err
		}
		steps := d.steps(plan, stake)
		last := most <= leastData || d.want.Like != nil || d.want.Loaded
		p, err := d.stages(steps, plan, last)
		p.Data = most
		if err == nil || !errors.Is(err, errTime) || last {
			return p, err
		}
	}
}

// leave says of the steps that the budget leaves no time for how much time
// would do.
func (d *draft) leave(p *Proposal, plan advise.Plan) {
	lacks := func(p Proposal) (n int) {
		for _, s := range p.Steps {
			if s.Left == "" && s.Arm == "" {
				n++
			}
		}
		return n
	}
	if lacks(*p) == 0 {
		return
	}
	longer := *d
	would := ""
	for longer.want.Budget < 24*time.Hour && would == "" {
		longer.want.Budget = (longer.want.Budget*4/3 + time.Minute).Truncate(time.Minute)
		if q, err := longer.propose(plan, nil); err == nil && lacks(q) == 0 {
			would = fmt.Sprintf(": %s more would be enough for all", minutes(longer.want.Budget-d.want.Budget))
		}
	}
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Left == "" && s.Arm == "" {
			s.Left = "--max-time leaves no time to try it by itself" + would
		}
	}
}

// draft is a proposal while it is made.
type draft struct {
	stack   *stack.Stack
	cat     *catalog.Catalog
	want    Want
	server  *stack.Thing
	engine  string // of the lab
	version string // of the server that the lab is to find
	basedir string // where it is, when that is no usual place

	site    Site
	volume  experiment.Volume
	on      string   // what the data is on, for the title
	remarks []string // of the place and the program; more is said at the end

	size     sizes
	settings map[string]string // of the server as it is
	create   map[string]string
	excluded []string // what could not be taken over, a sentence each
	tried    []unit
}

// newDraft chooses the server and looks whether a private one can be like it.
func newDraft(s *stack.Stack, cat *catalog.Catalog, w Want) (*draft, error) {
	if w.Budget <= 0 {
		w.Budget = defaultBudget
	}
	server, err := serverOf(s, w.Server)
	if err != nil {
		return nil, err
	}
	d := &draft{stack: s, cat: cat, want: w, server: server, engine: engineOf(server)}
	name := server.Ref.String()
	if remote, _ := server.Bool("remote"); remote {
		return nil, hint.With(fmt.Errorf("%s runs on another machine, and a sandbox here would say nothing about it", name), "run plumb rehearse on the machine where it runs, or --sandbox for a server with defaults")
	}
	if in, known := server.Bool("logged_in"); known && !in {
		return nil, hint.With(fmt.Errorf("the settings of %s could not be read", name), unread(s, server.Ref))
	}
	if server.Text("version") == "" {
		return nil, hint.With(fmt.Errorf("the version of %s is not known, so no private server like it can be made", name), unread(s, server.Ref))
	}
	if w.Like == nil {
		d.program()
	} else {
		d.version, d.basedir = w.Like.Server.Version, w.Like.Server.Basedir
	}
	return d, nil
}

// unread gives the hint of the probe that could not read the server.
func unread(s *stack.Stack, server stack.Ref) string {
	if gap, ok := s.GapFor(server, "version"); ok && gap.Hint != "" {
		return gap.Hint
	}
	return "plumb stack shows what could not be read, and why"
}

// serverOf finds the server that is rehearsed.
func serverOf(s *stack.Stack, name stack.Ref) (*stack.Thing, error) {
	if !name.IsZero() {
		t := s.Find(name)
		switch {
		case t == nil:
			return nil, hint.With(fmt.Errorf("there is no server %s here", name), "plumb stack shows what there is")
		case engineOf(t) == "":
			return nil, hint.With(fmt.Errorf("no private server like %s can be made", name), "MariaDB, MySQL, Percona Server and PostgreSQL can be rehearsed")
		}
		return t, nil
	}
	var all []*stack.Thing
	var names []string
	for _, kind := range product.Kinds() {
		for _, t := range s.OfKind(kind) {
			if engineOf(t) != "" {
				all, names = append(all, t), append(names, t.Ref.String())
			}
		}
	}
	switch len(all) {
	case 0:
		return nil, hint.With(errors.New("no MariaDB, MySQL or PostgreSQL that could be rehearsed was found here"), "start it and run as root, or use --sandbox mariadb or --sandbox postgres")
	case 1:
		return all[0], nil
	}
	return nil, hint.With(fmt.Errorf("there are %d servers here: %s", len(all), strings.Join(names, ", ")), "name one of them, such as --server "+names[0])
}

// engineOf is what the lab calls the product of a server; "" when it makes no
// such servers. A server that could not be asked is no product yet.
func engineOf(t *stack.Thing) string {
	is := product.Of(t.Ref.Kind)
	engine := t.Text("flavor")
	if len(is.Flavors) > 0 && (engine == "" || len(is.Flavors) == 1) { // what could not be asked is refused for that, and not for its flavour
		engine = is.Flavors[0].Name
	}
	if product.OfFlavor(engine).Kind != t.Ref.Kind {
		return ""
	}
	return engine
}

// labelOf is what people call an engine.
func labelOf(engine string) string { return product.OfFlavor(engine).Label(engine) }

func (d *draft) say(format string, args ...any) {
	d.remarks = append(d.remarks, fmt.Sprintf(format, args...))
}
