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

func TestStartIsForAShell(t *testing.T) {
	for dir, want := range map[string]string{"/srv/db": "-D /srv/db -t", "/srv/a b": "-D '/srv/a b' -t"} {
		if got := Next(moment.At{Dir: dir}, 15, "", "base")[0]; !strings.Contains(got, want) {
			t.Errorf("%q, and not %q", got, want)
		}
	}
}
