package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plumb/internal/advise"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory/kinds"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/stack"
)

// kept is what is kept of a rehearsal in a file beside the labs' books, so that
// it can be gone on with: what was proposed, and what was chosen on the
// command line. What was measured is in the ledger.
type kept struct {
	Plumb     int               `json:"plumb"` // keptVersion
	Kind      string            `json:"kind"`  // "rehearsal"
	Name      string            `json:"name"`
	Began     time.Time         `json:"began"`
	Ended     string            `json:"ended,omitempty"` // why; "" while it goes on, or was cut off
	Before    time.Duration     `json:"before"`          // spent before the first trial of the first stage
	Budget    time.Duration     `json:"budget"`
	Ledger    string            `json:"ledger"` // without a password: it is given anew, or in PGPASSWORD
	Dir       string            `json:"dir"`
	Sandbox   string            `json:"sandbox,omitempty"` // engine of a server that was made
	Fetch     bool              `json:"fetch,omitempty"`
	AllowHost bool              `json:"allow_host,omitempty"`
	Search    bool              `json:"search,omitempty"`
	Plan      string            `json:"plan,omitempty"` // file to write what is kept to
	HTML      string            `json:"html,omitempty"`
	Proposal  rehearse.Proposal `json:"proposal"` // its experiments as texts alone
}

const (
	keptVersion = 1
	keptKind    = "rehearsal"
	keptPrefix  = "rehearsal-"
	keptSuffix  = ".json"
	keptMost    = 10 // ended rehearsals of which the file stays
)

func (x *Runner) keptFile(name string) string {
	return filepath.Join(x.Books, keptPrefix+name+keptSuffix)
}

// begin keeps a new rehearsal that has its proposal, and recalls what the
// ledger has of an old one.
func (x *Runner) begin(ctx context.Context) error {
	switch {
	case x.resumed:
		return errors.Join(x.recall(ctx), x.write(ctx, x.kept))
	case len(x.proposal.Stages) > 0:
		return x.keep(ctx)
	}
	return nil
}

// keep writes down what was proposed and chosen, before the first trial.
func (x *Runner) keep(ctx context.Context) (err error) {
	k := kept{Plumb: keptVersion, Kind: keptKind, Name: x.began.UTC().Format("20060102-150405"), Began: x.began.UTC(), Before: time.Since(x.began), Budget: x.Budget,
		Ledger: x.Ledger, Sandbox: x.Sandbox, Fetch: x.Fetch, AllowHost: x.AllowHost, Search: x.Search, Proposal: x.proposal}
	for _, name := range []struct{ from, to *string }{{&x.Dir, &k.Dir}, {&x.Plan, &k.Plan}, {&x.Page, &k.HTML}} {
		if *name.to, err = absolute(*name.from); err != nil {
			return err
		}
	}
	if !strings.Contains(k.Ledger, "://") {
		if k.Ledger, err = filepath.Abs(k.Ledger); err != nil {
			return err
		}
	}
	x.kept = k
	return x.write(ctx, k)
}

func (x *Runner) write(ctx context.Context, k kept) error {
	if k.Proposal.Server.IsZero() { // which has no text
		k.Proposal.Server = stack.Ref{Kind: k.Proposal.Engine, Name: "sandbox"}
	}
	k.Ledger = ledger.Apart(k.Ledger)
	k.Proposal.Stages = slices.Clone(k.Proposal.Stages)
	for i := range k.Proposal.Stages {
		k.Proposal.Stages[i].Experiment = experiment.Experiment{}
	}
	text, err := json.MarshalIndent(k, "", "  ")
	if err == nil {
		err = x.Live.Replace(ctx, x.keptFile(k.Name), append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the rehearsal so that it can be resumed: %w", err)
	}
	return nil
}

// Close notes how a rehearsal ended. One with nothing left to do is forgotten;
// one that its budget ended can be given a larger one.
func (x *Runner) Close(ctx context.Context) error {
	switch {
	case x.kept.Name == "" || x.ended == interrupted || x.ended == brokenOff:
		return nil
	case x.ended != timeOver:
		return x.Live.Remove(ctx, x.keptFile(x.kept.Name))
	}
	x.kept.Ended = x.ended
	return errors.Join(x.write(ctx, x.kept), x.prune(ctx))
}

// prune removes the files of the oldest rehearsals that ended.
func (x *Runner) prune(ctx context.Context) error {
	all, err := readAllKept(ctx, x.Live, x.Books)
	ended := slices.DeleteFunc(all, func(k kept) bool { return k.Ended == "" })
	for len(ended) > keptMost && err == nil {
		err = x.Live.Remove(ctx, x.keptFile(ended[0].Name))
		ended = ended[1:]
	}
	return err
}

// readAllKept reads what is known of rehearsals, the oldest first.
func readAllKept(ctx context.Context, h host.Doer, books string) (all []kept, err error) {
	files, err := h.Glob(ctx, filepath.Join(host.Verbatim(books), keptPrefix+"*"+keptSuffix))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := h.Raw(ctx, file)
		if err != nil {
			return nil, fmt.Errorf("read what is known of a rehearsal: %w", err)
		}
		k, err := readKept(text)
		if err != nil {
			return nil, hint.With(fmt.Errorf("read %s: %w", file, err), cmp.Or(hint.Of(err), "remove it when nothing is to be resumed from it"))
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Name, b.Name)) })
	return all, nil
}

// readKept reads what is known of one rehearsal.
func readKept(text []byte) (k kept, err error) {
	if err := advise.CheckForm(text, keptKind, keptVersion); err != nil {
		return k, err
	}
	if err := json.Unmarshal(text, &k); err != nil {
		return k, err
	}
	if k.Name == "" || strings.ContainsAny(k.Name, "/\x00") {
		return k, fmt.Errorf("%q is not the name of a rehearsal", k.Name)
	}
	for i := range k.Proposal.Stages {
		s := &k.Proposal.Stages[i]
		if s.Experiment, err = experiment.Parse(s.Name, s.Text); err != nil {
			return k, err
		}
	}
	if len(k.Proposal.Stages) == 0 {
		return k, errors.New("it has no experiment")
	}
	return k, nil
}

// toResume chooses the rehearsal to go on with: the one that is named, or the
// last that did not end.
func toResume(all []kept, name string) (kept, error) {
	var open, ended []string
	for _, k := range slices.Backward(all) {
		if k.Name == name || name == "" && k.Ended == "" {
			return k, nil
		}
		if k.Ended == "" {
			open = append(open, k.Name)
		} else {
			ended = append(ended, k.Name)
		}
	}
	help := "plumb rehearse begins one"
	switch {
	case len(open) > 0:
		help = "there is " + hint.OneOf(open)
	case len(ended) > 0:
		help = fmt.Sprintf("plumb rehearse --resume %s --max-time 1h continues the last one that --max-time ended", ended[0])
	}
	if name != "" {
		return kept{}, hint.Usage(fmt.Sprintf("no rehearsal is called %s, or it has nothing left to do", name), help)
	}
	return kept{}, hint.With(errors.New("there is no rehearsal to continue"), help)
}

// Resume goes on where a rehearsal was cut off, or its budget ended: the one
// that is named, or for "" the last. What the options leave out is as it was.
func Resume(ctx context.Context, name string, o Options, p Ports) (*Runner, error) {
	x := &Runner{Options: o, Ports: p, resumed: true, laid: map[string]bool{}}
	all, err := readAllKept(ctx, x.Live, x.Books)
	if err != nil {
		return nil, err
	}
	if x.kept, err = toResume(all, name); err != nil {
		return nil, err
	}
	x.takeOver()
	if _, err := kinds.Books(x.Live, x.Books).Sweep(ctx); err != nil { // before room is looked for
		return nil, err
	}
	x.began = time.Now()
	return x, nil
}

// takeOver takes from what was kept what is not said anew.
func (x *Runner) takeOver() {
	k := x.kept
	x.proposal, x.Dir, x.Sandbox, x.AllowHost, x.Search = k.Proposal, k.Dir, k.Sandbox, k.AllowHost, k.Search
	x.Fetch = x.Fetch || k.Fetch
	x.Plan = cmp.Or(x.Plan, k.Plan)
	if x.Page == "" { // what is there is this rehearsal's, as far as it was
		x.Page, x.Replace = k.HTML, true
	}
	x.Budget, x.Ledger = cmp.Or(x.Budget, k.Budget), cmp.Or(x.Ledger, k.Ledger)
	if k.Sandbox != "" {
		x.proposal.Server = stack.Ref{}
	}
	x.kept.Budget, x.kept.Ended = x.Budget, ""
}

// recall reads what the ledger has of the stages.
func (x *Runner) recall(ctx context.Context) error {
	x.spent = x.kept.Before
	x.reports = make([]report.Report, len(x.proposal.Stages))
	for i, s := range x.proposal.Stages {
		records, err := x.store.Records(ctx, s.Experiment.Hash)
		if err != nil {
			return err
		}
		x.reports[i] = report.Make(s.Experiment, records)
		x.spent += x.reports[i].Took
	}
	return nil
}
