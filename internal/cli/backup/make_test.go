package backup

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/known"
	"plumb/internal/backup/manifest"
	"plumb/internal/cli/backup/upkeep"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
	"plumb/internal/protect"
)

// site is a directory that backups are sent to, and what a host keeps of them.
type site struct {
	t           *testing.T
	url, state  string
	key         *age.X25519Identity
	out         bytes.Buffer
	looksForLog func() // called when the log behind a base is looked for
	bases       bool   // all backups are bases on which no server starts without their log
}

func newSite(t *testing.T) *site {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return &site{t: t, url: "file://" + t.TempDir(), state: t.TempDir(), key: key, looksForLog: func() {}}
}

// bases is a product that takes every backup for a base, or none.
type bases struct {
	archive.Product
	looks func()
	are   bool
}

func (b bases) Knows(manifest.Manifest) bool                { b.looks(); return b.are }
func (b bases) Alone(manifest.Manifest) (alone, known bool) { return false, true }

// run runs a command about backups.
func (s *site) run(args ...string) error {
	s.t.Helper()
	sh := shell.New(strings.NewReader(""), &s.out, &s.out)
	m := Moments{Watch: func() []backup.Watcher { return nil }, Logs: upkeep.Logs{bases{looks: func() { s.looksForLog() }, are: s.bases}}}
	for _, c := range Commands(&sh, machine.Adapters{Storages: func(string, string) []protect.Storage { return nil }}, m) {
		if c.Name() == args[0] {
			c.SetArgs(append(args[1:], "--state", s.state))
			c.SetOut(io.Discard)
			c.SetErr(io.Discard)
			c.SilenceErrors, c.SilenceUsage = true, true
			c.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return shell.Needs(c) } // as the root has it
			return c.ExecuteContext(s.t.Context())
		}
	}
	s.t.Fatalf("no command %q", args)
	return nil
}

func (s *site) backup(more ...string) error {
	s.t.Helper()
	return s.run(append([]string{"backup", "--command", "echo data", "--to", s.url, "--recipient", s.key.Recipient().String()}, more...)...)
}

// TestRememberedBeforeTheLogIsLookedFor makes a backup, and reads what this host knows of it while the log behind it is looked for.
func TestRememberedBeforeTheLogIsLookedFor(t *testing.T) {
	s := newSite(t)
	var seen []byte
	s.looksForLog = func() {
		files, err := filepath.Glob(filepath.Join(known.Directory(s.state), "*.json"))
		if err == nil && len(files) == 1 {
			seen, err = os.ReadFile(files[0])
		}
		if err != nil {
			t.Error(err)
		}
	}
	if err := s.backup("--server", "mysql:3306"); err != nil {
		t.Fatalf("%v\n%s", err, &s.out)
	}
	var place known.Place
	if err := json.Unmarshal(seen, &place); err != nil || len(place.Servers) != 1 || place.Servers[0].Newest.IsZero() {
		t.Errorf("%q, %v", seen, err)
	}
}

// TestWrongPlace reads all backups of a place that has none, or none of a server: nothing was read, and that is an error.
func TestWrongPlace(t *testing.T) {
	s := newSite(t)
	other := "file://" + t.TempDir()
	for _, args := range [][]string{{"verify", "--all"}, {"verify"}, {"backup", "copy", "--all", "--to", other}, {"backup", "copy", "--to", other}, {"backup", "prune", "--keep", "last=1", "--dry-run"}} {
		err := s.run(append(args, "--from", s.url)...)
		if err == nil || !strings.HasSuffix(err.Error(), s.url+" has no backup at all") || !strings.Contains(hint.Of(err), "check the URL") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if err := s.backup("--server", "mysql:3306"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", "--all"}, {"verify"}, {"backup", "copy", "--all", "--to", other}, {"backup", "prune", "--keep", "last=1", "--dry-run"}} {
		err := s.run(append(args, "--from", s.url, "--server", "mysql:3307")...)
		if err == nil || !strings.HasSuffix(err.Error(), s.url+" has no backup of mysql:3307") {
			t.Errorf("%q: %v", args, err)
		}
	}
	if err := s.run("verify", "--all", "--from", s.url); err != nil {
		t.Error(err)
	}
}

// TestSecretKeysAreNotShown gives secret keys where a public one or a file belongs. No error repeats them.
func TestSecretKeysAreNotShown(t *testing.T) {
	s := newSite(t)
	if err := s.backup(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.state, "host.key")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	private, _, _ := strings.Cut(string(text), "\n")
	opens := filepath.Join(t.TempDir(), "key.txt")
	if err := os.WriteFile(opens, []byte(s.key.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list := []string{"backup", "list", "--from", s.url, "--trust"}
	for _, args := range [][]string{append(list, file), append(list, private), append(list, opens), append(list, s.key.String()), append(list, "x"+private),
		{"verify", "--from", s.url, "--identity", s.key.String()},
		{"restore", "--from", s.url, "--output", "-", "--identity", s.key.String()},
		{"backup", "--command", "echo data", "--to", s.url, "--recipient", s.key.String()},
		{"backup", "--command", "echo data", "--to", s.url, "--recipients-file", s.key.String()},
		{"backup", "--command", "echo data", "--to", s.url, "--recipients-file", opens}} {
		err := s.run(args...)
		if err == nil {
			t.Errorf("%q is taken", args)
			continue
		}
		for _, secret := range []string{s.key.String(), private} {
			if strings.Contains(err.Error()+hint.Of(err), strings.TrimLeft(secret[len(secret)-40:], "+")) {
				t.Errorf("%q: %v", args, err)
			}
		}
	}
	if err := s.run("backup", "list", "--from", s.url, "--trust", file); err == nil || !strings.Contains(err.Error(), "line 1: it is a secret key") {
		t.Error(err)
	}
}

// TestTrustedTwice names this host's own key, which is believed anyway, and that twice.
func TestTrustedTwice(t *testing.T) {
	s := newSite(t)
	if err := s.backup(); err != nil {
		t.Fatal(err)
	}
	_, public, err := backup.HostKey(t.Context(), hosttest.LiveDoer(t), s.state, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.run("verify", "--from", s.url, "--trust", public, "--trust", public); err != nil {
		t.Error(err)
	}
}

// TestShow shows the newest backup, and one whose ID begins so; what is not there is an error.
func TestShow(t *testing.T) {
	s := newSite(t)
	if err := s.backup("--server", "mysql:3306"); err != nil {
		t.Fatal(err)
	}
	for _, id := range [][]string{nil, {"2"}} {
		s.out.Reset()
		if err := s.run(append([]string{"backup", "show", "--from", s.url}, id...)...); err != nil {
			t.Error(err)
		}
		for _, want := range []string{"Backup 2", "server      mysql:3306", "stream      echo: 5 bytes", "signed by   plumb-"} {
			if !strings.Contains(s.out.String(), want) {
				t.Errorf("%q is not in %s", want, &s.out)
			}
		}
	}
	if err := s.run("backup", "show", "x", "--from", s.url); err == nil || !strings.Contains(err.Error(), "has no backup x") {
		t.Error(err)
	}
}

// TestFlagsThatSayNothing refuses flags that would be passed over in silence.
func TestFlagsThatSayNothing(t *testing.T) {
	s := newSite(t)
	backup := []string{"backup", "--to", s.url, "--recipient", s.key.Recipient().String()}
	restore := []string{"restore", "--from", s.url, "--identity", "key.txt"}
	into := slices.Concat(restore, []string{"--into", "tank/restored"})
	for want, args := range map[string][]string{
		"--stream has no effect without --output or --command": slices.Concat(into, []string{"--stream", "tank/data"}),
		"--force has no effect without --output":               slices.Concat(into, []string{"--force"}),
		"--memory has no effect without --start":               slices.Concat(into, []string{"--memory", "1G"}),
		"--start has no effect without --into":                 slices.Concat(restore, []string{"--output", "x", "--start", "x"}),
		"--start and --to cannot be combined":                  slices.Concat(into, []string{"--to", "latest", "--start", "x"}),
		"--user is for a restore to a moment":                  slices.Concat(into, []string{"--user", "postgres"}),
		"--log is for a restore to a directory":                slices.Concat(restore, []string{"--output", "x", "--log", "mysql"}),
		"no log is replayed onto subvolumes":                   slices.Concat(restore, []string{"--into", "/srv/x", "--to", "latest"}),
		"--name is for the output of a command":                slices.Concat(backup, []string{"--name", "x"}),
		"--server is for the output of a command":              slices.Concat(backup, []string{"--server", "mysql:3306"}),
		"--sample NaN is not a percentage":                     {"verify", "--from", s.url, "--sample", "nan"},
	} {
		if err := s.run(args...); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestCopyLacksTheLog copies a base backup to where its log is not: that is said, because no server starts on it there.
func TestCopyLacksTheLog(t *testing.T) {
	for _, base := range []bool{false, true} {
		s := newSite(t)
		s.bases = base
		if err := s.backup(); err != nil {
			t.Fatal(err)
		}
		s.out.Reset()
		to := "file://" + t.TempDir()
		if err := s.run("backup", "copy", "--from", s.url, "--to", to); err != nil {
			t.Fatalf("%v\n%s", err, &s.out)
		}
		want := "warning: the archived log of 1 base backup is not in " + to + ", because it is not copied: without the log, no server starts on such a base backup"
		if strings.Contains(s.out.String(), want) != base || strings.Contains(s.out.String(), "warning") != base {
			t.Errorf("a base: %t\n%s", base, &s.out)
		}
	}
}
