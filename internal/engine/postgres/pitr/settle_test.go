package pitr

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/backup/moment"
	"plumb/internal/host/hosttest"
)

// A copy of a server that goes on says which of its settings would have it reach others before it is started.
func TestWhatACopyStillDoes(t *testing.T) {
	for _, c := range []struct {
		conf    string
		replace bool
		want    string // of the notes
	}{
		{"port = 5432\n#shared_preload_libraries = 'pg_cron'\nshared_preload_libraries = ''\t# none\n", false, ""},
		{"shared_preload_libraries = 'pg_cron'\n", false, "shared_preload_libraries"},
		{"shared_preload_libraries=pg_cron\n", false, "shared_preload_libraries"},
		{"shared_preload_libraries = 'pg_cron'\n", true, ""},
		{"include_dir = 'conf.d'\n", false, "names files or directories elsewhere"},
	} {
		data := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(data, "global"), 0o700))
		must(t, os.MkdirAll(filepath.Join(data, "pg_replslot"), 0o700))
		for name, text := range map[string]string{"PG_VERSION": "15\n", "backup_label": "START\n", "global/pg_control": "x", "postgresql.conf": c.conf} {
			must(t, os.WriteFile(filepath.Join(data, name), []byte(text), 0o600))
		}
		at := moment.At{Data: data, Asked: moment.Asked{Replace: c.replace}}
		notes, err := Settle(t.Context(), hosttest.LiveDoer(t), at, 15, recovery("0/3000028", 1))
		if all := strings.Join(notes, "\n"); err != nil || (c.want == "") != (all == "") || !strings.Contains(all, c.want) {
			t.Errorf("%q, replace %t: %q, %v", c.conf, c.replace, all, err)
		}
		if _, err := os.Stat(filepath.Join(data, "recovery.signal")); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(filepath.Join(data, "postgresql.auto.conf"))
		conf := string(text)
		emptied, target := strings.Index(conf, "recovery_target_time = ''\n"), strings.Index(conf, "recovery_target_lsn = '0/3000028'\n")
		if err != nil || emptied < 0 || target < emptied || strings.Count(conf, "recovery_target_lsn") != 1 || !strings.Contains(conf, "hot_standby = 'off'\n") {
			t.Errorf("what the base says of another recovery has a part in this one: %s, %v", conf, err)
		}
		if strings.Contains(conf, "archive_cleanup_command = ''\n") == c.replace {
			t.Errorf("replace %t: %s", c.replace, conf)
		}
	}
}

// What a server's data link to as its configuration is on another machine that of another server, or nothing: nothing is written there.
func TestConfigurationElsewhere(t *testing.T) {
	for _, replace := range []bool{false, true} {
		data, other := t.TempDir(), t.TempDir()
		must(t, os.MkdirAll(filepath.Join(data, "global"), 0o700))
		must(t, os.MkdirAll(filepath.Join(data, "pg_replslot"), 0o700))
		for name, text := range map[string]string{"PG_VERSION": "15\n", "backup_label": "START\n", "global/pg_control": "x", other + "/auto": "port = 1\n"} {
			if !filepath.IsAbs(name) {
				name = filepath.Join(data, name)
			}
			must(t, os.WriteFile(name, []byte(text), 0o600))
		}
		for name, to := range map[string]string{"postgresql.auto.conf": "auto", "postgresql.conf": "missing", "pg_hba.conf": "missing", "pg_ident.conf": "missing"} {
			must(t, os.Symlink(filepath.Join(other, to), filepath.Join(data, name)))
		}
		at := moment.At{Data: data, Asked: moment.Asked{Replace: replace}}
		notes, err := Settle(t.Context(), hosttest.LiveDoer(t), at, 15, recovery("0/3000028", 1))
		if all := strings.Join(notes, "\n"); err != nil || !strings.Contains(all, "it was kept elsewhere") {
			t.Errorf("replace %t: %q, %v", replace, all, err)
		}
		text, err := os.ReadFile(filepath.Join(other, "auto"))
		if there, bad := os.ReadDir(other); err != nil || bad != nil || len(there) != 1 || string(text) != "port = 1\n" {
			t.Errorf("replace %t: elsewhere is %v, with %q, %v, %v", replace, there, text, err, bad)
		}
		text, err = os.ReadFile(filepath.Join(data, "postgresql.auto.conf"))
		if err != nil || !strings.Contains(string(text), "recovery_target_lsn = '0/3000028'\n") || strings.Contains(string(text), "port = 1\n") != replace {
			t.Errorf("replace %t: %q, %v", replace, text, err)
		}
	}
}

func TestStartIsForAShell(t *testing.T) {
	for dir, want := range map[string]string{"/srv/db": "-D /srv/db -t", "/srv/a b": "-D '/srv/a b' -t"} {
		if got := Next(moment.At{Dir: dir}, 15, "", "base")[0]; !strings.Contains(got, want) {
			t.Errorf("%q, and not %q", got, want)
		}
	}
}
