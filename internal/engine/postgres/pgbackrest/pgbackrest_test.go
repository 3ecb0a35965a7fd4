package pgbackrest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/backup/driven"
	"plumb/internal/backup/moment"
	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
	"plumb/internal/stack"
)

func set() driven.Set {
	s := driven.Set{Name: "main", URL: "file:///srv/repository", Server: protect.Server{Ref: stack.Ref{Kind: "postgres", Name: "5432"}, Dirs: []protect.Dir{{Role: "data", Path: "/var/lib/postgresql/15/main"}}}}
	s.At("/etc/plumb/pgbackrest")
	return s
}

func TestWhatServersAreToArchive(t *testing.T) {
	ours := command(set())
	if want := "pgbackrest --config=/etc/plumb/pgbackrest/main.conf --config-include-path=/etc/plumb/pgbackrest/main.private --stanza=main archive-push %p"; ours != want {
		t.Errorf("archive_command is %s", ours)
	}
	for name, c := range map[string]struct {
		is   map[string]string
		want string // the settings, or what is wrong
	}{
		"nothing":          {map[string]string{"archive_mode": "off", "archive_command": "(disabled)"}, "archive_mode archive_command"},
		"on, and empty":    {map[string]string{"archive_mode": "on", "archive_command": ""}, "archive_command"},
		"ours":             {map[string]string{"archive_mode": "on", "archive_command": ours}, ""},
		"ours, always":     {map[string]string{"archive_mode": "always", "archive_command": ours}, ""},
		"somebody's":       {map[string]string{"archive_mode": "on", "archive_command": "wal-g wal-push %p"}, "another command: wal-g wal-push %p"},
		"a library":        {map[string]string{"archive_mode": "on", "archive_library": "basic_archive"}, "the library basic_archive"},
		"of another place": {map[string]string{"archive_mode": "on", "archive_command": strings.Replace(ours, "main.conf", "x.conf", 1)}, "another command"},
		"minimal":          {map[string]string{"archive_mode": "off", "wal_level": "minimal"}, "wal_level is minimal"},
	} {
		all, err := wants(c.is, ours)
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); err == nil && got != c.want || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestCheck(t *testing.T) {
	s3 := func(change func(*driven.Set)) driven.Set {
		s := set()
		s.URL, s.Endpoint, s.Region = "s3://bucket/db1", "https://s3.example.org:9000", "us-east-1"
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		s    driven.Set
		want string
	}{
		"a directory":     {set(), ""},
		"a bucket":        {s3(func(*driven.Set) {}), ""},
		"without TLS":     {s3(func(s *driven.Set) { s.Endpoint = "http://s3.example.org" }), "it speaks only TLS"},
		"no endpoint":     {s3(func(s *driven.Set) { s.Endpoint = "" }), "the endpoint of the bucket"},
		"no region":       {s3(func(s *driven.Set) { s.Region = "" }), "the region of the bucket"},
		"a login":         {s3(func(s *driven.Set) { s.URL = "s3://me:secret@bucket/x" }), "is not understood"},
		"another store":   {s3(func(s *driven.Set) { s.URL = "gs://bucket/x" }), "not a place for a repository"},
		"a blank":         {s3(func(s *driven.Set) { s.Server.Dirs[0].Path = "/srv/my data" }), "without quoting"},
		"a quote":         {s3(func(s *driven.Set) { s.Config = "/etc/'; rm -rf /" }), "without quoting"},
		"a stanza":        {s3(func(s *driven.Set) { s.Name = "../x" }), "not a valid stanza name"},
		"an option":       {s3(func(s *driven.Set) { s.Name = "-x" }), "not a valid stanza name"},
		"a long stanza":   {s3(func(s *driven.Set) { s.Name = strings.Repeat("x", 61) }), "not a valid stanza name"},
		"an odd place":    {func() driven.Set { s := set(); s.URL = "file:///srv/a%0ab"; return s }(), "not a directory for a repository"},
		"not even a path": {func() driven.Set { s := set(); s.URL = "file:///a b"; return s }(), "not a directory for a repository"},
	} {
		err := Tool{}.Check(c.s)
		said := ""
		if err != nil {
			said = err.Error() + hint.Of(err)
		}
		if err == nil && c.want != "" || !strings.Contains(said, c.want) || err != nil && c.want == "" {
			t.Errorf("%s: %s", name, said)
		}
	}
}

func TestConfigHoldsNoSecret(t *testing.T) {
	s := set()
	s.URL, s.Endpoint, s.Region = "s3://bucket/db1", "https://s3.example.org", "eu-1"
	key, login, err := Tool{}.Secrets(s, driven.Login{Key: "AKIA", Secret: "hush"})
	if err != nil || !strings.Contains(login, "repo1-s3-key-secret=hush\n") {
		t.Fatalf("%q, %v", login, err)
	}
	for _, l := range (Tool{}).Config(s) {
		for _, secret := range []string{passName, keyName, secretName} {
			if strings.HasSuffix(l.Name, secret) {
				t.Errorf("%s is in what everybody reads", l.Name)
			}
		}
	}
	if again, err := (Tool{}).Opens([]byte("# a copy\n" + key)); err != nil || again != key {
		t.Errorf("%q, %v", again, err)
	}
	if other, _, _ := (Tool{}).Secrets(s, driven.Login{}); other == key {
		t.Error("the same key twice")
	}
	if _, login, err := (Tool{}).Secrets(s, driven.Login{}); err != nil || !strings.Contains(login, typeName+"=auto") {
		t.Errorf("the role of the machine: %q, %v", login, err)
	}
	for _, bad := range []driven.Login{{Key: "a", Secret: "b", Token: "c"}, {Key: "a\nb", Secret: "c"}, {Key: "a"}} {
		if _, _, err := (Tool{}).Secrets(s, bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	for _, bad := range []string{"", "age-secret-key", "[global]\nrepo1-cipher-pass=\n", "[global]\nrepo1-cipher-pass=with blank and more\n"} {
		if _, err := (Tool{}).Opens([]byte(bad)); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
}

// said is what pgBackRest 2.45 gave of a real server of PostgreSQL 15, with two backups.
const said = `[{"archive":[{"database":{"id":1,"repo-key":1},"id":"15-1","max":"000000010000000000000008","min":"000000010000000000000001"}],"backup":[` +
	`{"annotation":{"plumb-proven":"2026-11-26T19:00:00Z"},"archive":{"start":"000000010000000000000004","stop":"000000010000000000000004"},"backrest":{"format":5,"version":"2.45"},"database":{"id":1,"repo-key":1},"error":false,"info":{"delta":23195411,"repository":{"delta":2863130,"size":2863130},"size":23195411},"label":"20261126-195300F","lsn":{"start":"0/4000028","stop":"0/4000100"},"prior":null,"reference":null,"timestamp":{"start":1795722780,"stop":1795722784},"type":"full"},` +
	`{"archive":{"start":"000000010000000000000006","stop":"000000010000000000000006"},"backrest":{"format":5,"version":"2.45"},"database":{"id":1,"repo-key":1},"error":true,"info":{"delta":1,"repository":{"delta":5,"size":9},"size":23195412},"label":"20261126-195300F_20261126-200000I","lsn":{"start":"0/6000028","stop":"0/6000100"},"prior":"20261126-195300F","reference":["20261126-195300F"],"timestamp":{"start":1795723200,"stop":1795723204},"type":"incr","tablespace":[{"destination":"/srv/ts","name":"ts","oid":16384}],"link":null}` +
	`],"cipher":"aes-256-cbc","db":[{"id":1,"repo-key":1,"system-id":7308498219741324593,"version":"15"}],"name":"main","repo":[{"cipher":"aes-256-cbc","key":1,"status":{"code":0,"message":"ok"}}],"status":{"code":0,"lock":{"backup":{"held":false}},"message":"ok"}}]`

func TestInfo(t *testing.T) {
	f, archive, err := info([]byte(said), "main")
	if err != nil || archive != "15-1" || len(f.Backups) != 2 || f.Plain || !f.Provable || f.Running || f.Wrong != "" || f.Newest != "000000010000000000000008" {
		t.Fatalf("%+v, %s, %v", f, archive, err)
	}
	a, b := f.Backups[0], f.Backups[1]
	if a.Type != driven.Full || a.Proven.IsZero() || a.Damaged || a.Bytes != 23195411 || a.Stored != 2863130 || a.ToLSN != "0/4000100" || a.Ended.Sub(a.Began) != 4*time.Second {
		t.Errorf("%+v", a)
	}
	if b.Type != driven.Incr || b.Needs != a.Label || !b.Damaged || !b.Proven.IsZero() || !slices.Equal(b.Elsewhere, []string{"/srv/ts"}) {
		t.Errorf("%+v", b)
	}
	for name, bad := range map[string]string{
		"nothing": "", "no list": "{}", "torn": said[:400], "another stanza": strings.Replace(said, `"name":"main"`, `"name":"other"`, 1),
		"a label": strings.Replace(said, `"label":"20261126-195300F"`, `"label":"--repo1-path=/"`, 1), "a type": strings.Replace(said, `"type":"full"`, `"type":"odd"`, 1),
		"a segment": strings.Replace(said, `"start":"000000010000000000000004"`, `"start":"../../../etc/passwd00000"`, 1), "time turned": strings.Replace(said, `"stop":1795722784`, `"stop":1`, 1),
		"an archive": strings.Replace(said, `"id":"15-1"`, `"id":"../x"`, 1),
	} {
		if f, _, err := info([]byte(bad), "main"); err == nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
	broken := strings.Replace(said, `"status":{"code":0,"lock"`, `"status":{"code":99,"lock"`, 1)
	if f, _, err := info([]byte(strings.TrimSuffix(broken, `"message":"ok"}}]`)+`"message":"other\nand more"}}]`), "main"); err != nil || f.Wrong != "other and more" {
		t.Errorf("%q, %v", f.Wrong, err)
	}
	if f, _, err := info([]byte(strings.TrimSuffix(broken, `"message":"ok"}}]`)+"\"message\":\"other\x0f\xff\n\"}}]"), "main"); err != nil || !strings.HasPrefix(f.Wrong, "other") {
		t.Errorf("bytes that are no text: %q, %v", f.Wrong, err)
	}
	if f, _, err := info([]byte(`[{"backup":[],"db":[],"cipher":"none","name":"main","status":{"code":2,"message":"no valid backups"}}]`), "main"); err != nil || f.Wrong != "" || !f.Plain || f.Last() != nil {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestHoles(t *testing.T) {
	const size = 16 << 20
	name := func(line, n int) string {
		return strings.Replace("0000000L0000000000000000", "L", string(rune('0'+line)), 1)[:22] + string("0123456789ABCDEF"[n/16]) + string("0123456789ABCDEF"[n%16])
	}
	list := func(line int, all ...int) (names []string) {
		for _, n := range all {
			names = append(names, name(line, n))
		}
		return names
	}
	for what, c := range map[string]struct {
		all  []string
		from string
		want int
	}{
		"whole":                     {list(1, 4, 5, 6, 7), name(1, 4), 0},
		"one":                       {list(1, 4), name(1, 4), 0},
		"what is before counts not": {list(1, 1, 4, 5), name(1, 4), 0},
		"one is missing":            {list(1, 4, 5, 7), name(1, 4), 1},
		"the first is missing":      {list(1, 5, 6), name(1, 4), 1},
		"all are":                   {nil, name(1, 4), 1},
		"many are":                  {list(1, 4, 6, 8, 10, 12, 14, 16, 18), name(1, 4), 6},
		"a later timeline":          {append(list(1, 4, 5), list(2, 5, 6)...), name(1, 4), 0},
		"a hole in that":            {append(list(1, 4, 5), list(2, 5, 7)...), name(1, 4), 1},
	} {
		if got := holes(c.all, c.from, size); len(got) != c.want {
			t.Errorf("%s: %q", what, got)
		}
	}
	if got := next("0000000100000001000000FF", size); got != "000000010000000200000000" {
		t.Errorf("behind the last of a log file comes %s", got)
	}
	if got := next("000000010000000100000003", 1<<30); got != "000000010000000200000000" {
		t.Errorf("of files of 1 GiB comes %s", got)
	}
	got, err := segments([]byte(`{".":{"type":"path"},"0000000100000000":{"type":"path"},"0000000100000000/000000010000000000000004-8a6d5ca8fa30.zst":{"type":"file","size":1,"time":1},"0000000100000000/000000010000000000000004.00000028.backup":{"type":"file","size":1,"time":1},"00000002.history":{"type":"file"}}`))
	if err != nil || !slices.Equal(got, []string{"000000010000000000000004"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestChoose(t *testing.T) {
	f, _, err := info([]byte(said), "main")
	if err != nil {
		t.Fatal(err)
	}
	a, b := f.Backups[0], f.Backups[1]
	for name, c := range map[string]struct {
		to   replay.Target
		want string
	}{
		"latest":                {replay.Target{}, b.Label},
		"after both":            {replay.Target{Time: b.Ended.Add(time.Second)}, b.Label},
		"as the second ended":   {replay.Target{Time: b.Ended}, a.Label},
		"before both":           {replay.Target{Time: a.Began}, ""},
		"between, by its place": {replay.Target{LSN: "0/5000000"}, a.Label},
		"where it is whole":     {replay.Target{LSN: "0/6000100"}, b.Label},
		"before, by its place":  {replay.Target{LSN: "0/4000028"}, ""},
		"a GTID":                {replay.Target{GTID: "0-1-2"}, ""},
	} {
		got, err := Tool{}.Choose(f.Backups, moment.Asked{To: c.to})
		if got.Label != c.want && err == nil || (err != nil) != (c.want == "") {
			t.Errorf("%s: %s, %v", name, got.Label, err)
		}
	}
	if _, err := (Tool{}).Choose(nil, moment.Asked{}); err == nil {
		t.Error("one of none")
	}
}

func TestMeaning(t *testing.T) {
	err := meaning("backup", 82, "2026-11-26 20:31:50.000 P00  ERROR: [082]: WAL segment 000000010000000000000004 was not archived before the 60000ms timeout\n       HINT: check the archive_command to ensure that all options are correct (especially --stanza).\n       HINT: see more\n", errors.New("run setpriv: exit status 82"))
	if !is(err, codeTimeout) || !strings.Contains(err.Error(), "pgbackrest backup: WAL segment 000000010000000000000004 was not archived") || strings.Contains(err.Error(), "setpriv") || !strings.Contains(hint.Of(err), "pg_stat_archiver") {
		t.Errorf("%v (%s)", err, hint.Of(err))
	}
	if err := meaning("info", 37, "ERROR: [037]: info command requires option: stanza\nHINT: does this stanza exist?", errors.New("exit status 37")); hint.Of(err) != "does this stanza exist?" {
		t.Errorf("%v (%s)", err, hint.Of(err))
	}
	const noise = "ERROR: [029]: unable to load info file '/r/archive/pg/archive.info' or '/r/archive/pg/archive.info.copy':\n    FormatError: key/value found outside of section at line 1: \x8f,\xcb\n    %s\n    HINT: has a stanza-create been performed?\n"
	for _, second := range []string{"FormatError: missing '=' in key/value at line 1: \xee", "CryptoError: unable to flush"} {
		if err := meaning("stanza-create", 29, fmt.Sprintf(noise, second), errors.New("exit status 29")); !strings.Contains(hint.Of(err), "key is not the one") {
			t.Errorf("%v (%s)", err, hint.Of(err))
		}
	}
	if err := meaning("check", 55, "ERROR: [055]: unable to load info file 'a' or 'b':\n    FileMissingError: unable to open missing file 'a' for read\n    HINT: has a stanza-create been performed?\n", errors.New("exit status 55")); hint.Of(err) != "has a stanza-create been performed?" {
		t.Errorf("%v (%s)", err, hint.Of(err))
	}
	if err := meaning("info", 1, "", errors.New("exit status 1")); !is(err, 1) || err.Error() != "pgbackrest info: exit status 1" {
		t.Error(err)
	}
}

func FuzzInfo(f *testing.F) {
	f.Add([]byte(said))
	f.Add([]byte(`[{"name":"main","archive":null,"backup":null,"db":null,"status":null}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		found, archive, err := info(text, "main")
		if err != nil {
			return
		}
		if archive != "" && !isArchive(archive) {
			t.Errorf("the archive %q", archive)
		}
		for _, b := range found.Backups {
			if !isLabel(b.Label) || b.From != "" && !isSegment(b.From) {
				t.Errorf("%+v", b)
			}
		}
		_ = driven.Judge(time.Unix(1795723204, 0), found, time.Hour)
		_ = driven.Next(time.Unix(1795723204, 0), found.Backups, driven.Pace{Full: time.Hour, Diff: time.Hour})
		_, _ = Tool{}.Choose(found.Backups, moment.Asked{})
	})
}

func FuzzSegments(f *testing.F) {
	f.Add([]byte(`{"0000000100000000/000000010000000000000004-8a.zst":{"type":"file"}}`), "000000010000000000000004", int64(16<<20))
	f.Fuzz(func(t *testing.T, text []byte, from string, size int64) {
		all, err := segments(text)
		if err != nil || !isSegment(from) {
			return
		}
		if n := len(holes(all, from, size)); n > mostHoles+2 {
			t.Errorf("%d holes are told", n)
		}
	})
}

func FuzzMeaning(f *testing.F) {
	f.Add("ERROR: [082]: x\nHINT: y", 82)
	f.Fuzz(func(t *testing.T, said string, code int) {
		if err := meaning("backup", code, said, errors.New("exit status 1")); err == nil || len(err.Error()) > 1200 {
			t.Errorf("%d bytes", len(err.Error()))
		}
	})
}

func FuzzOpens(f *testing.F) {
	f.Add([]byte("[global]\nrepo1-cipher-pass=0123456789abcdef\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		key, err := Tool{}.Opens(text)
		if err == nil && strings.Count(key, "\n") != 2 {
			t.Errorf("%q", key)
		}
	})
}

// The server gives its line to a shell, in which a directory is one word, and reads percent signs itself.
func TestFetch(t *testing.T) {
	if got := fetch(set(), "/srv/50% of it"); !strings.HasSuffix(got, ` --pg1-path='/srv/50%% of it' archive-get %f "%p"`) {
		t.Error(got)
	}
}
