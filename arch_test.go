package main

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers lists every package below internal, lowest first. A package imports
// only packages of lower layers; see ARCHITECTURE.md for the reasons.
var layers = [][]string{
	{"hint", "product", "relay", "dice", "strictyaml/schematest"}, // schematest is for tests alone
	{"stack", "tape", "strictyaml", "host/redact", "host/trust", "host/limited", "host/statement", "host/proc", "host/passwd", "host/paths", "draw", "stats", "edit", "journal"},
	{"units", "series"},
	{"host/walk", "await"},
	{"host", "catalog", "zfs", "btrfs", "host/scratch", "host/self", "host/tree", "host/foreground", "host/again"},
	{"host/memory", "host/mounts", "host/mirror", "host/processes", "host/identity", "host/osrelease"},
	{"host/hosttest", "host/taped", "btrfs/btrfstest", "host/chroot", "host/reach", "observe", "rule", "budget", "load", "change", "sample", "forecast", "backup/store", "backup/chunk", "backup/manifest"},
	{"change/draft"},
	{"advise", "coverage", "search", "load/fill", "load/durability", "change/changetest", "lab/experiment", "inventory", "host/group", "host/fetch", "watch/verdict", "provision/spec", "backup/stream", "backup/signed", "forecast/space", "forecast/model"},
	{"inventory/kinds", "backup/store/storetest"},
	{"load/oltp", "load/tpcc", "load/files", "lab/report", "lab/ledger/body"},
	{"check", "lab", "lab/ledger", "rehearse", "protect", "watch", "provision"},
	{"explain", "fix", "rehearse/runner", "protect/keep", "protect/heir", "protect/service", "watch/sampler", "watch/record", "provision/disk", "provision/predict", "backup", "archive"},
	{"protect/freeze", "watch/capture", "provision/move", "provision/boost"},
	{"protect/instance", "provision/propose", "provision/cache"}, // a server on a copy of a point
	{"protect/drill", "protect/replicate", "protect/prune", "protect/replay", "protect/tables", "protect/lend", "provision/rehearsal"},
	{"backup/moment"},
	{"protect/clone", "protect/rollback", "protect/policy", "backup/prove", "backup/prune", "backup/known", "backup/driven"},
	{"engine/mysql", "engine/postgres", "engine/mongo", "engine/proxysql",
		"storage/block", "storage/ceph", "storage/filesystem", "storage/zfs",
		"system/kernel", "system/process", "system/points", "system/backups", "system/archives", "system/packages", "system/guard"},
	{"system/sampler", "storage/sampler", "engine/mysql/sampler", "engine/postgres/sampler", "engine/mongo/sampler"}, // what watch reads again and again
	{"engine/fake", "engine/mongo/mongotest"},
	{"engine/samplertest"}, // for tests alone
	{"engine/mysql/binlog", "engine/postgres/wal", "storage/volume", "storage/point", "storage/layout", "system/setup", "store/dir", "store/s3", "engine/dsn", "engine/mysql/client", "engine/postgres/client"},   // the hot path of load, which logs in as the probes do
	{"engine/private", "engine/mysql/point", "engine/postgres/point", "engine/mongo/point", "engine/mysql/sst", "engine/mysql/bulk", "engine/postgres/bulk", "engine/mysql/accounts", "engine/postgres/accounts"}, // servers of the lab's own, and copies of others
	{"engine/mysql/home", "engine/postgres/home", "engine/mysql/swap", "engine/postgres/swap", "engine/mysql/pitr", "engine/postgres/pitr"},                                                                       // what provision asks of them
	{"engine/postgres/pgbackrest", "engine/mongo/pbm"}, // tools that back them up
	{"view/page", "view/schema"},
	{"view/metrics/naming"},
	{"view/picture", "view/viewtest"}, // viewtest is for tests alone
	{"view/check", "view/inventory", "view/stack", "view/lab", "view/load", "view/playbook", "view/protect", "view/watch", "view/metrics", "view/provision", "view/kubernetes", "view/forecast"},
	{"view/explain", "view/fix", "view/rehearse", "view/tui", "view/web", "view/record", "view/backup", "view/archive"},
	{"cli/value"},
	{"cli/shell"},
	{"cli/protect/machine"},
	{"cli/watch/outlet", "cli/watch/feed"}, // where metrics leave the machine, and what it is watched with
	{"cli/watch/incident", "cli/backup/upkeep", "cli/driven/memory"},
	{"cli/protect/table", "cli/protect/inner", "cli/watch", "cli/provision", "cli/provision/rehearse", "cli/forecast", "cli/backup", "cli/load"},
	{"cli/protect", "cli/archive", "cli/driven"},
	{"cli"},
}

// only names imports that one package alone may have, and why.
var only = map[string]struct {
	who []string
	why string
}{
	"os/exec":                             {[]string{"host", "host/foreground", "host/again"}, "every command must be recordable, bounded and known to only read, but for a person's own and this program's"},
	"syscall":                             {[]string{"host", "host/walk", "host/reach", "host/foreground", "host/again", "store/dir"}, "only host touches the machine; store/dir the directory that the command line names"},
	"golang.org/x/sys/unix":               {[]string{"host", "host/walk", "host/reach", "host/scratch", "host/self", "host/tree"}, "only host touches the machine"},
	"github.com/go-sql-driver/mysql":      {[]string{"engine/mysql", "engine/mysql/client"}, "each driver stays in its engine"},
	"github.com/jackc/pgx/v5":             {[]string{"engine/postgres", "engine/postgres/client", "lab/ledger"}, "each driver stays in its engine; the lab's ledger may be in a database"},
	"github.com/klauspost/compress":       {[]string{"watch/record", "view/metrics", "backup/chunk"}, "recordings, remote write and backups alone are packed"},
	"modernc.org/sqlite":                  {[]string{"lab/ledger", "watch/record"}, "only the lab's ledger and recordings are databases"},
	"go.mongodb.org/mongo-driver/v2":      {[]string{"engine/mongo", "engine/mongo/mongotest"}, "each driver stays in its engine"},
	"github.com/spf13/cobra":              {[]string{"cli", "cli/shell", "cli/protect", "cli/protect/inner", "cli/protect/machine", "cli/provision", "cli/watch", "cli/watch/incident", "cli/forecast", "cli/backup", "cli/backup/upkeep", "cli/archive", "cli/driven", "cli/load"}, "only cli knows flags"},
	"charm.land/bubbletea/v2":             {[]string{"view/tui"}, "only view formats"},
	"github.com/prometheus/client_golang": {[]string{"view/metrics"}, "only view formats"},
	"cel.dev/cel-go":                      {[]string{"rule"}, "rules are judged in one place"},
	"charm.land/lipgloss/v2":              {[]string{"view/page", "view/tui"}, "only view formats"},
	"net":                                 {[]string{"host/reach", "engine/mysql", "engine/mysql/client", "engine/postgres", "engine/postgres/client", "engine/mongo", "engine/proxysql", "engine/fake", "engine/mysql/sst", "engine/mongo/mongotest", "lab/ledger", "cli/watch", "cli/watch/outlet"}, "connections are made by dialers, which host calls"},
	"os":                                  {[]string{"host", "host/walk", "host/chroot", "host/processes", "host/reach", "host/scratch", "host/self", "host/tree", "host/foreground", "host/again", "host/fetch", "cli", "cli/shell", "cli/protect", "cli/protect/inner", "cli/protect/machine", "cli/provision", "cli/watch", "cli/watch/incident", "cli/watch/outlet", "cli/forecast", "cli/backup", "cli/backup/upkeep", "cli/archive", "cli/driven", "cli/load", "watch/record", "store/dir", "load/durability", "lab/ledger", "view/viewtest", "engine/samplertest"}, "only host opens files of the machine; cli and the ledgers open what the command line names"},
}

type goPackage struct{ path, imports, dir, files string }

func TestLayers(t *testing.T) {
	level := map[string]int{}
	for i, names := range layers {
		for _, name := range names {
			level[name] = i
		}
	}
	for _, p := range packages(t) {
		name, ours := strings.CutPrefix(p.path, "plumb/internal/")
		if !ours {
			continue
		}
		mine, listed := level[name]
		if !listed {
			t.Errorf("%s is in no layer: add it to the list in arch_test.go", name)
			continue
		}
		for _, imp := range strings.Fields(p.imports) {
			checkLayer(t, level, name, mine, imp)
			checkOnly(t, name, imp)
		}
	}
}

var inBackticks = regexp.MustCompile("`([a-z0-9]+(?:/[a-z0-9]+)*)`")

// TestMapOfLayers holds ARCHITECTURE.md to the list: it names each package, or a directory above it, and none that is not there.
func TestMapOfLayers(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Layers\n")
	section, _, _ = strings.Cut(section, "\n| adapter ")
	named := map[string]bool{}
	for _, m := range inBackticks.FindAllStringSubmatch(section, -1) {
		named[m[1]] = true
	}
	there := map[string]bool{}
	for _, name := range slices.Concat(layers...) {
		found := strings.HasSuffix(name, "test") // for tests alone
		for at := name; at != "."; at = path.Dir(at) {
			there[at], found = true, found || named[at]
		}
		if !found {
			t.Errorf("%s is not on the map of layers in ARCHITECTURE.md", name)
		}
	}
	for name := range named {
		if !there[name] {
			t.Errorf("the map of layers in ARCHITECTURE.md has %s, which is no package", name)
		}
	}
}

var nameOfPackage = regexp.MustCompile(`\b([a-z0-9]+)\.([A-Z]\w*)\b`)

// TestNamesInArchitecture looks for the things of our packages that ARCHITECTURE.md names: they are renamed now and then. A method
// does not count: any type could have it.
func TestNamesInArchitecture(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range nameOfPackage.FindAllStringSubmatch(string(text), -1) {
		declared := regexp.MustCompile(`(?m)^(func |type |var |const )` + m[2] + `\b`)
		var files []string
		for _, name := range slices.Concat(layers...) {
			if path.Base(name) == m[1] {
				some, _ := filepath.Glob(filepath.Join("internal", name, "*.go"))
				files = append(files, some...)
			}
		}
		if len(files) > 0 && !slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && declared.Match(text)
		}) {
			t.Errorf("ARCHITECTURE.md names %s, which is not there", m[0])
		}
	}
}

// How large a package may become before it is two: lines without its tests, and
// packages of ours that it imports. cli wires all of them.
const (
	mostLines   = 5000
	mostImports = 20
)

func TestSizes(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.path, "plumb/internal/")
		if n := lines(t, p); n > mostLines {
			t.Errorf("%s has %d lines without its tests, and %d is the most: move out what is an idea of its own", name, n, mostLines)
		}
		if n := strings.Count(" "+p.imports, " plumb/internal/"); n > mostImports && name != "cli" {
			t.Errorf("%s imports %d packages of ours, and %d is the most: it does more than one thing, or wires what cli should", name, n, mostImports)
		}
	}
}

// lines counts those of a package without its tests.
func lines(t *testing.T, p goPackage) (n int) {
	t.Helper()
	for _, file := range strings.Fields(p.files) {
		text, err := os.ReadFile(filepath.Join(p.dir, file))
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(text, []byte("\n"))
	}
	return n
}

func checkLayer(t *testing.T, level map[string]int, name string, mine int, imp string) {
	t.Helper()
	other, ours := strings.CutPrefix(imp, "plumb/internal/")
	if ours && level[other] >= mine {
		t.Errorf("%s imports %s, which is not below it", name, other)
	}
}

func checkOnly(t *testing.T, name, imp string) {
	t.Helper()
	for banned, rule := range only {
		if imp != banned && !strings.HasPrefix(imp, banned+"/") || banned == "net" && imp != "net" || banned == "os" && imp != "os" {
			continue
		}
		allowed := false
		for _, who := range rule.who {
			allowed = allowed || who == name
		}
		if !allowed {
			t.Errorf("%s imports %s, which only %s may: %s", name, imp, strings.Join(rule.who, ", "), rule.why)
		}
	}
}

// packages asks the go command, because it knows build tags and modules.
func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}	{{join .Imports " "}}	{{.Dir}}	{{join .GoFiles " "}}`, "./internal/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, goPackage{f[0], f[1], f[2], f[3]})
	}
	if len(all) < 10 {
		t.Fatalf("go list found only %d packages", len(all))
	}
	return all
}
