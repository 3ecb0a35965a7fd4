// Package swap brings the data of a PostgreSQL under a newer version, as Debian's packages keep clusters: a new cluster is
// made beside the old one, and pg_upgrade copies into it while nobody writes. The old cluster stays as it was at that
// moment, and is the way back. It implements provision.Swapper.
package swap

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/protect/service"
	"plumb/internal/provision"
	"plumb/internal/units"
)

// Swapper implements provision.Swapper.
type Swapper struct{ Catalog *catalog.Catalog }

var _ provision.Swapper = Swapper{}

// Kind implements provision.Swapper.
func (Swapper) Kind() string { return product.Postgres }

// Swap implements provision.Swapper.
func (s Swapper) Swap(ctx context.Context, h host.Reader, w provision.Swap) (course provision.Course, err error) {
	old, err := read(ctx, h, w.Home)
	if err != nil {
		return course, err
	}
	n, err := old.next(ctx, h, w.To.Version, w.At)
	if err == nil {
		err = reads(ctx, h, program(n.version, "postgres"), old.conf, n.version)
	}
	if err != nil {
		return course, err
	}
	look, shows, err := service.Listening(w.Home.Target.Network, w.Home.Target.Address)
	if err == nil {
		err = service.ComesBack(ctx, h, w.Home.Unit, w.Home.Target)
	}
	if err != nil {
		return course, err
	}
	label, err := labels(ctx, h, w)
	if err != nil {
		return course, err
	}
	out := &course.Swap
	out.Acts = append(out.Acts, stop(old, n, w.Home, look), byHand(old), upgrade(old, n))
	out.Acts = append(append(out.Acts, label...), start(n, w.Home, look, shows))
	out.Notes = []string{
		"pg_upgrade --check reads the running server and a new cluster that is thrown away, just before the stop; what it refuses ends the swap before the server stops",
		fmt.Sprintf("the server is stopped while %s are copied", units.Measured(float64(old.size))),
		fmt.Sprintf("the old cluster stays in %s, as it was when it was stopped, and takes its room until pg_dropcluster %s %s", old.data, old.version, old.name),
		"its configuration is taken over; what ALTER SYSTEM has set too",
	}
	out.Proof = w.Answers("SELECT current_setting('server_version_num')::int / 10000", func(text string) bool { return text == w.To.Version })
	course.Next = analyze(w.To.Version)
	return course, nil
}

// labels gives what labels a new data directory that somebody chose. Where the packages have theirs, the policy of SELinux has the label.
func labels(ctx context.Context, h host.Reader, w provision.Swap) ([]change.Act, error) {
	if w.At == "" {
		return nil, nil
	}
	return w.System.Labels(ctx, h, w.Home, []provision.Volume{{Role: "data", At: w.At}})
}

// analyze says how the new server comes to know its tables. Since 18, pg_upgrade brings the planner's statistics along, but for
// extended ones.
func analyze(version string) string {
	if v, err := strconv.Atoi(version); err == nil && v >= 18 {
		return "vacuumdb --all --analyze-in-stages --missing-stats-only, then vacuumdb --all --analyze-only, as the server's user: most statistics for the planner came along, and none by which autovacuum goes"
	}
	return "vacuumdb --all --analyze-in-stages, as the server's user: it has no statistics of its tables yet"
}

// reads has the program of the new version read the configuration, as it will when it starts, and refuses what that does not take.
func reads(ctx context.Context, h host.Reader, program, conf, version string) error {
	argv := []string{program, "-C", "port", "-D", conf}
	_, err := h.Output(ctx, argv...)
	if host.KindOf(err) != "other" { // it did not run, or nobody knows what it said
		return fmt.Errorf("see whether PostgreSQL %s takes the configuration: %w", version, err)
	}
	wrong := mistakes(err, conf)
	if wrong == "" {
		return nil
	}
	return change.Refuse("take it out of the configuration first, or give it a value that PostgreSQL "+version+" has: "+strings.Join(argv, " ")+" tells what is left",
		"PostgreSQL %s would not start with the configuration as it is: %s", version, wrong)
}

// dropped is what PostgreSQL since 15 says of the setting that Debian's packages wrote into the configuration before, and that is left out
// of that of the new cluster.
var dropped = regexp.MustCompile(`^unrecognized configuration parameter "stats_temp_directory" in file "([^"]*)"`)

// mistakes gives those lines of what the program said that are about the configuration, but for what is left out of it; "" for none.
func mistakes(err error, conf string) string {
	if err == nil {
		return ""
	}
	var all []string
	found := false
	for part := range strings.SplitSeq(err.Error(), "; ") {
		_, text, ok := strings.Cut(part, "LOG:  ")
		if !ok {
			continue
		}
		found = true
		if d := dropped.FindStringSubmatch(text); d == nil || d[1] != conf+"/postgresql.conf" {
			all = append(all, text)
		}
	}
	if !found {
		return err.Error()
	}
	return strings.Join(all, "; ")
}

// patience is how long a server may take to stop or to answer, in milliseconds.
const patience = 10 * 60 * 1000

func (c cluster) title() string { return c.version + "/" + c.name }

// control is pg_ctlcluster, which has systemd do it where that runs.
func (c cluster) control(words ...string) change.Op {
	return change.Op{Argv: append([]string{"pg_ctlcluster", c.version, c.name}, words...)}
}

// stop stops the old server, once the upgrade was rehearsed and what it would write while everybody waits is written.
func stop(old, n cluster, home provision.Home, look change.Inspection) change.Act {
	t := home.Target
	return change.Act{Switch: &change.Switch{On: home.Server.String() + " of " + old.title(), Inspect: look, After: change.None, Exact: true, Patience: patience, Home: old.data,
		Do: []change.Op{change.LongScript(rehearse, n.words(old)...), {Target: &t, Statement: product.DialectOf(t.Engine).Checkpoint},
			old.control("stop", "-m", "fast"), {Argv: service.UntilEnded(home.PID)}},
		Undo: []change.Op{old.control("start")}}}
}

// byHand keeps the next start of the machine from starting the old server too. It is not taken back, nor is what was done before
// it, once the old server's programs are gone.
func byHand(old cluster) change.Act {
	file := old.conf + "/start.conf"
	as := func(words ...string) []string {
		return append([]string{"setpriv", "--reuid=" + strconv.Itoa(old.uid), "--regid=" + strconv.Itoa(old.gid), "--init-groups", "--"}, words...)
	}
	there := change.Inspection{Argv: []string{"find", programs, "-path", program(old.version, "postgres"), "-printf", "installed"}}
	return change.Act{Switch: &change.Switch{On: "the start of " + old.title(), After: "manual", Exact: true,
		Still:   &change.Still{Inspect: there, State: "installed", Hint: "apt-get install postgresql-" + old.version + ": the programs of the old server are gone"},
		Inspect: change.Inspection{File: file, Match: `^(auto|manual|disabled)[ \t]*$`},
		Do:      []change.Op{{Argv: as("sed", "-i", `s/^\(auto\|disabled\)[ \t]*$/manual/`, file)}},
		Undo:    []change.Op{{Argv: as("sed", "-i", `s/^manual[ \t]*$/{before}/`, file)}}}}
}

// mark is the file that says that a cluster was made whole, and by which transaction.
const mark = "/upgraded-by-plumb"

// upgrade makes the new cluster. Begun and not ended, it begins anew: a file in the directory of the configuration says which
// directories are ours, another that the cluster is whole. It is not taken back, nor is the new server stopped for that, once the data
// of the old one are gone, or what they lie on is not mounted.
func upgrade(old, n cluster) change.Act {
	return change.Act{Switch: &change.Switch{On: "the data of " + old.title() + " in " + n.title(), From: change.None, After: old.title(),
		Still: &change.Still{Inspect: change.Inspection{File: path.Join(old.data, "PG_VERSION"), Match: "^(" + regexp.QuoteMeta(old.version) + ")$"}, State: old.version,
			Hint: "the data of the old server, in " + old.data + ", are gone: mount their filesystem, or stay with the newer server"},
		Inspect: change.Inspection{File: n.conf + mark, Match: `^from ([0-9]+/[A-Za-z0-9_.]+)$`},
		Do:      []change.Op{change.LongScript(fill, n.words(old)...)},
		Undo:    []change.Op{change.LongScript(putAside, n.words(old)...)}}}
}

func start(n cluster, home provision.Home, look change.Inspection, shows string) change.Act {
	return change.Act{Switch: &change.Switch{On: home.Server.String() + " of " + n.title(), Inspect: look, After: shows, Exact: true, Patience: patience, Home: n.data,
		Do: []change.Op{n.control("start")}, Undo: []change.Op{n.control("stop", "-m", "fast")}}}
}

var began = regexp.MustCompile(`(?m)^next ([0-9]+)$`)

// Since implements provision.Swapper.
func (Swapper) Since(ctx context.Context, h host.Reader, home provision.Home) (lost provision.Lost, err error) {
	rows, err := h.Query(ctx, home.Target, "SELECT current_setting('config_file'), txid_snapshot_xmax(txid_current_snapshot())")
	if err != nil {
		return lost, fmt.Errorf("ask %s which transaction is next: %w", home.Server, err)
	}
	if len(rows.Values) != 1 {
		return lost, fmt.Errorf("ask %s which transaction is next: it gives %d answers, and one is expected", home.Server, len(rows.Values))
	}
	file := path.Dir(host.Text(rows.Values[0], 0)) + mark
	text, err := h.ReadFile(host.AsUser(ctx, home.UID, home.GID), file)
	if err != nil {
		return lost, fmt.Errorf("see with which transaction the new server began: %w", err)
	}
	part := began.FindSubmatch(text)
	if part == nil {
		return lost, fmt.Errorf("%s does not say with which transaction the new server began", file)
	}
	first, err := strconv.ParseInt(string(part[1]), 10, 64)
	now, err2 := strconv.ParseInt(host.Text(rows.Values[0], 1), 10, 64)
	if err != nil || err2 != nil || now < first {
		return lost, fmt.Errorf("transactions from %s to %s cannot be counted", part[1], host.Text(rows.Values[0], 1))
	}
	return provision.Lost{Transactions: now - first}, nil
}
