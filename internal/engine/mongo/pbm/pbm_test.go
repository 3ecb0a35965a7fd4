package pbm

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/backup/driven"
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
