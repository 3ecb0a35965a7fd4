package pbm

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/backup/driven"
	"plumb/internal/host/hosttest"
)

// said is made up from cmd/pbm/status.go of 2.9.1: it was never taken from a cluster.
const said = `{"cluster":[{"rs":"rs0","nodes":[{"host":"rs0/db1:27017","role":"P","ok":true,"agent":"v2.9.1"},{"host":"rs0/db2:27017","role":"A","ok":false}]}],` +
	`"pitr":{"conf":true,"run":true,"nodes":["rs0/db1:27017"]},"running":{},` +
	`"backups":{"type":"S3","path":"s3://bucket/pbm","region":"us-east-1","snapshot":[` +
	`{"name":"2026-11-26T18:00:00Z","size":2000,"status":"done","printStatus":"done","restoreTo":1795716030,"pbmVersion":"2.9.1","type":"logical","src":""},` +
	`{"name":"2026-11-25T18:00:00Z","size":1000,"status":"done","restoreTo":1795629630,"pbmVersion":"2.9.1","type":"logical","src":""},` +
	`{"name":"2026-11-24T18:00:00Z","status":"error","error":"no space","restoreTo":0,"type":"logical","src":""}],` +
	`"pitrChunks":{"pitrChunks":[{"range":{"start":1795716031,"end":1795720000}},{"range":{"start":1795629631,"end":1795700000}}],"size":5}}}`

func TestStatus(t *testing.T) {
	f, err := read([]byte(said))
	if err != nil || len(f.Backups) != 2 || f.Wrong != "" || f.Running || f.Plain || f.Provable {
		t.Fatalf("%+v, %v", f, err)
	}
	if last := f.Last(); last.Label != "2026-11-26T18:00:00Z" || last.Type != driven.Full || last.Bytes != 2000 || last.Ended != time.Unix(1795716030, 0).UTC() {
		t.Errorf("%+v", last)
	}
	if f.Newest != time.Unix(1795720000, 0).UTC().Format(time.RFC3339) || len(f.Holes) != 1 {
		t.Errorf("%s, %q", f.Newest, f.Holes)
	}
	for name, c := range map[string]struct{ from, to, want string }{
		"an agent that is lost": {`"ok":true,"agent":"v2.9.1"`, `"ok":false,"agent":"v2.9.1","errors":["lost agent"]`, "the agent of rs0/db1:27017 is not well: v2.9.1 lost agent"},
		"no slicing":            {`"run":true`, `"run":false`, "the oplog is not kept, and was asked for"},
		"slicing with an error": {`"run":true`, `"run":true,"error":"node is\nbehind"`, "the oplog is not kept: node is behind"},
		"the last one failed":   {`"name":"2026-11-24T18:00:00Z"`, `"name":"2026-11-26T19:00:00Z"`, "the last backup, 2026-11-26T19:00:00Z, failed: no space"},
		"one is running":        {`"running":{}`, `"running":{"type":"backup"}`, ""},
	} {
		f, err := read([]byte(strings.Replace(said, c.from, c.to, 1)))
		if err != nil || f.Wrong != c.want || f.Running != (c.want == "") {
			t.Errorf("%s: %q, %v", name, f.Wrong, err)
		}
	}
	for _, bad := range []string{"", "[]", "{}", `{"Error":"no config"}`, strings.Replace(said, "1795716030", "-5", 1), strings.Replace(said, "2026-11-26T18:00:00Z", "--type", 1)} {
		if f, err := read([]byte(bad)); err == nil {
			t.Errorf("%.40s: %+v", bad, f)
		}
	}
}

// TestCommandLine sees how pbm is called, by a program that is none: no registry that the tests reach has PBM, nor a mongod for
// it. The URI, which has a password, is in the environment alone, and what pbm says of it is not told.
func TestCommandLine(t *testing.T) {
	const uri = "mongodb://backup:s3cretS3CRET@db1:27017/?authSource=admin"
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(dir+"/status.json", []byte(said), 0o600))
	must(os.WriteFile(dir+"/agent", []byte("PBM_MONGODB_URI=\""+uri+"\"\n"), 0o600))
	must(os.WriteFile(dir+"/pbm", []byte(`#!/bin/sh
echo "$*|$(tr '\0' ' ' < /proc/$$/cmdline)|$PBM_MONGODB_URI" >> `+dir+`/calls
case "$1" in
version) echo 2.9.1 ;;
status) cat `+dir+`/status.json ;;
*) echo "cannot connect to $PBM_MONGODB_URI" >&2; exit 1 ;;
esac
`), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	defer func(was [2]string) { environments = was }(environments)
	environments = [2]string{dir + "/none", dir + "/agent"}
	d := hosttest.LiveDoer(t)
	f, err := Tool{}.Look(t.Context(), d, driven.Set{})
	if err != nil || f.Version != "2.9.1" || len(f.Backups) != 2 {
		t.Errorf("%+v, %v", f, err)
	}
	err = Tool{}.Run(t.Context(), d, driven.Set{}, driven.Full)
	if err == nil || !strings.Contains(err.Error(), "cannot connect to mongodb://backup:***@db1") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
	if err := (Tool{}).Run(t.Context(), d, driven.Set{}, driven.Incr); err == nil || !strings.Contains(err.Error(), "a logical backup is whole") {
		t.Errorf("%v", err)
	}
	text, err := os.ReadFile(dir + "/calls")
	must(err)
	var called []string
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(strings.TrimSpace(line), "|")
		called = append(called, parts[0])
		if strings.Contains(parts[1], "s3cret") || parts[2] != uri && parts[0] != "version --short" {
			t.Errorf("%q", parts)
		}
	}
	if want := []string{"version --short", "status --out=json", "backup --type=logical --wait --out=json"}; !slices.Equal(called, want) {
		t.Errorf("%q", called)
	}
	environments = [2]string{dir + "/none", dir + "/none"}
	if _, err := (Tool{}).Look(t.Context(), d, driven.Set{}); err == nil || !strings.Contains(err.Error(), "the URI with which") {
		t.Errorf("%v", err)
	}
}

func TestAssigned(t *testing.T) {
	for text, want := range map[string]string{
		"PBM_MONGODB_URI=\"mongodb://a:b@localhost\"\n": "mongodb://a:b@localhost",
		"export PBM_MONGODB_URI='x'\n":                  "x",
		"# PBM_MONGODB_URI=x\nOTHER=y\n":                "",
		"PBM_MONGODB_URI=x\nPBM_MONGODB_URI=y":          "y",
	} {
		if got := assigned([]byte(text)); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzStatus(f *testing.F) {
	f.Add([]byte(said))
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := read(text)
		if err != nil {
			return
		}
		if len(found.Holes) > mostHoles {
			t.Errorf("%d holes", len(found.Holes))
		}
		_ = driven.Judge(time.Unix(1795723204, 0), found, time.Hour)
	})
}

func FuzzAssigned(f *testing.F) {
	f.Add([]byte("PBM_MONGODB_URI=x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got := assigned(text); strings.Contains(got, "\n") {
			t.Errorf("%q", got)
		}
	})
}
