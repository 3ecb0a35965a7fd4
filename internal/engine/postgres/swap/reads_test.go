package swap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/test/sandbox"
)

// What the new version does not take is refused, as its own program tells: names that it does not have, and values. What is left out of
// its configuration anyhow is not, nor what has another name in it, or only one value.
func TestReads(t *testing.T) {
	const debian = "stats_temp_directory = '/run/stats'\n"
	for _, v := range []string{"15", "18"} {
		t.Run("PostgreSQL "+v, func(t *testing.T) {
			bin := "/usr/lib/postgresql/" + v + "/bin"
			if _, err := os.Stat(bin); err != nil {
				sandbox.NeedTime(t, "another version than the installed one: PLUMB_REAL=1")
				bin, err = sandbox.PostgresTree(v)
				sandbox.Need(t, err)
			}
			for name, c := range map[string]struct {
				main, more, system string
				want               []string // none: it is taken
				not                string
			}{
				"a usual one":                     {main: "work_mem = 7MB\nof.an_extension = 1\n"},
				"of Debian":                       {main: debian},
				"of Debian, and more":             {main: debian + "wal_keep_segments = 3\n", want: []string{"wal_keep_segments", "line 2"}, not: "stats_temp_directory"},
				"what is left out, but elsewhere": {main: "include 'more.conf'\n", more: debian, want: []string{"stats_temp_directory", "more.conf"}},
				"of ALTER SYSTEM":                 {system: "vacuum_cleanup_index_scale_factor = 0.1\n", want: []string{"vacuum_cleanup_index_scale_factor", "auto.conf"}},
				"no such value":                   {main: "wal_level = hot_standby_at_most\n", want: []string{`"wal_level"`}},
				"out of range":                    {main: "port = 70000\n", want: []string{`"port"`, "70000"}},
				"an old name":                     {main: "ssl_ecdh_curve = 'prime256v1'\n"},
				"what has one value":              {main: "default_with_oids = off\n"},
				"no other value":                  {main: "default_with_oids = on\n", want: []string{"WITH OIDS"}},
				"no configuration":                {main: "include 'nowhere.conf'\n", want: []string{"nowhere.conf"}},
			} {
				conf, data := t.TempDir(), t.TempDir()
				for file, text := range map[string]string{conf + "/postgresql.conf": c.main + "data_directory = '" + data + "'\n", conf + "/more.conf": c.more, data + "/postgresql.auto.conf": c.system} {
					if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				err := reads(t.Context(), hosttest.LiveDoer(t), filepath.Join(bin, "postgres"), conf, v)
				if (err != nil) != (c.want != nil) || err != nil && hint.Of(err) == "" {
					t.Errorf("%s: %v", name, err)
				}
				for _, want := range c.want {
					if err == nil || !strings.Contains(err.Error(), want) || c.not != "" && strings.Contains(err.Error(), c.not) {
						t.Errorf("%s: %v does not say %s, or says %s", name, err, want, c.not)
					}
				}
			}
		})
	}
}

// What cannot be seen is no reason to say that the configuration is wrong.
func TestReadsNothing(t *testing.T) {
	denied := hosttest.Map{Errors: map[string]error{"run /pg/postgres -C port -D /conf": host.ErrDenied}}
	if err := reads(t.Context(), denied, "/pg/postgres", "/conf", "19"); err == nil || !strings.Contains(err.Error(), "see whether PostgreSQL 19 takes the configuration") {
		t.Error(err)
	}
}
