package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/units"
)

// Summary is an experiment of the ledger.
type Summary struct {
	Hash     string
	Name     string
	Question string
	Defined  time.Time // when it was first run
	Last     time.Time // when its last trial ended, or began; zero without trials
	Trials   int
	Valid    int
}

// Define notes an experiment, once for each hash. What does not decide the
// trials may have changed since: then its name, question and text become those
// of x, and the former text is kept too.
func (l *Ledger) Define(ctx context.Context, x experiment.Experiment, plumb string) error {
	doing := "note the experiment " + x.Name
	if x.Hash == "" {
		return l.fail(doing, errors.New("it has no hash"))
	}
	if text := string(x.Text); plain(text) != text {
		return l.fail(doing, errors.New("its file is not text in UTF-8"))
	}
	return l.fail(doing, l.insist(ctx, func(ctx context.Context) error {
		return l.within(ctx, func(tx *sql.Tx) error { return l.define(ctx, tx, x, plumb) })
	}))
}

func (l *Ledger) define(ctx context.Context, tx *sql.Tx, x experiment.Experiment, plumb string) error {
	now := stamp(time.Now())
	_, err := tx.ExecContext(ctx, l.dialect.args(`INSERT INTO experiment (hash, name, question, defined, plumb)
		VALUES (?, ?, ?, ?, ?) ON CONFLICT (hash) DO UPDATE SET name = excluded.name, question = excluded.question`),
		x.Hash, plain(x.Name), plain(x.Question), now, plain(plumb))
	if err != nil {
		return err
	}
	last, err := l.text(ctx, tx, x.Hash)
	if err == nil && last == string(x.Text) || err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	_, err = tx.ExecContext(ctx, l.dialect.args(`INSERT INTO wording (experiment, written, plumb, text) VALUES (?, ?, ?, ?)`),
		x.Hash, now, plain(plumb), string(x.Text))
	return err
}

func (l *Ledger) text(ctx context.Context, a asker, hash string) (text string, err error) {
	err = a.QueryRowContext(ctx, l.dialect.args(`SELECT text FROM wording WHERE experiment = ? ORDER BY place DESC LIMIT 1`), hash).Scan(&text)
	return text, err
}

// Text gives the file of an experiment as it was last run.
func (l *Ledger) Text(ctx context.Context, hash string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	text, err := l.text(ctx, l.db, hash)
	if errors.Is(err, sql.ErrNoRows) {
		err = errors.New("it is not there")
	}
	if err != nil {
		return nil, l.fail("read the experiment "+hash, err)
	}
	return []byte(text), nil
}

// Experiments lists what is in the ledger, in the order in which it was first run.
func (l *Ledger) Experiments(ctx context.Context) ([]Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	all, err := l.experiments(ctx)
	return all, l.fail("list the experiments", err)
}

func (l *Ledger) experiments(ctx context.Context) (all []Summary, err error) {
	rows, err := l.db.QueryContext(ctx, `SELECT e.hash, e.name, e.question, e.defined, max(coalesce(t.ended, t.began)),
		count(t.id), coalesce(sum(CASE WHEN t.valid THEN 1 ELSE 0 END), 0)
		FROM experiment e LEFT JOIN trial t ON t.experiment = e.hash
		GROUP BY e.hash, e.name, e.question, e.defined ORDER BY e.defined, e.hash`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s Summary
		var defined, last moment
		if err := rows.Scan(&s.Hash, &s.Name, &s.Question, &defined, &last, &s.Trials, &s.Valid); err != nil {
			return nil, err
		}
		s.Defined, s.Last = defined.Time, last.Time
		all = append(all, s)
	}
	return all, rows.Err()
}

// leastPrefix is how much of a hash has to be given.
const leastPrefix = 4

// Find gives the hash of the experiment with a name, or whose hash begins so.
// When none or several fit, the error lists what is there.
func (l *Ledger) Find(ctx context.Context, nameOrHash string) (string, error) {
	all, err := l.Experiments(ctx)
	if err != nil {
		return "", err
	}
	hash, err := choose(all, nameOrHash)
	return hash, l.fail("find the experiment "+nameOrHash, err)
}

func choose(all []Summary, nameOrHash string) (string, error) {
	var fits []Summary
	for _, s := range all {
		if s.Name == nameOrHash || len(nameOrHash) >= leastPrefix && strings.HasPrefix(s.Hash, nameOrHash) {
			fits = append(fits, s)
		}
	}
	switch {
	case len(fits) == 1:
		return fits[0].Hash, nil
	case len(fits) > 1:
		return "", hint.With(fmt.Errorf("%d experiments match: %s", len(fits), list(fits)), "give more of the hash to distinguish them")
	case len(all) == 0:
		return "", hint.With(errors.New("the ledger has no experiments"), "plumb lab run fills it; --ledger names another place")
	}
	return "", hint.With(fmt.Errorf("none matches; there are %s", list(all)),
		fmt.Sprintf("give a name, or the first %d characters or more of a hash", leastPrefix))
}

// list names experiments for an error, the newest first and not too many.
func list(all []Summary) string {
	const most = 12
	var names []string
	for i := len(all) - 1; i >= 0 && len(names) < most; i-- {
		s := all[i]
		last := "no trial yet"
		if !s.Last.IsZero() {
			last = "last " + units.Minute(s.Last)
		}
		names = append(names, fmt.Sprintf("%s %.12s (trials: %d, %s)", s.Name, s.Hash, s.Trials, last))
	}
	if len(all) > most {
		names = append(names, "and "+units.Count(len(all)-most, "older one"))
	}
	return strings.Join(names, ", ")
}

// Report judges an experiment by its records: the one with this name, or whose
// hash begins so; for "" the last that ran. Its blocks and stop rule are those it
// was last run with.
func (l *Ledger) Report(ctx context.Context, name string) (report.Report, error) {
	hash, err := l.chosen(ctx, name)
	if err != nil {
		return report.Report{}, err
	}
	text, err := l.Text(ctx, hash)
	if err != nil {
		return report.Report{}, err
	}
	x, err := experiment.Parse("the ledger's copy", text)
	if err != nil {
		return report.Report{}, hint.With(fmt.Errorf("read the experiment from the ledger: %w", err), "a newer Plumb may have written it")
	}
	records, err := l.Records(ctx, hash)
	return report.Make(x, records), err
}

// chosen finds an experiment by its name or hash; without one, the last that
// ran.
func (l *Ledger) chosen(ctx context.Context, name string) (hash string, err error) {
	if name != "" {
		return l.Find(ctx, name)
	}
	all, err := l.Experiments(ctx)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", hint.With(errors.New("the ledger holds no experiment"), "plumb lab run FILE runs one")
	}
	return slices.MaxFunc(all, func(a, b Summary) int { return a.Last.Compare(b.Last) }).Hash, nil
}
