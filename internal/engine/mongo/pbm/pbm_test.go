package pbm

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/backup/driven"
	"plumb/internal/host"
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

const uri = "mongodb://backup:s3cretS3CRET@db1:27017/?authSource=admin"

// pretended is a program that is none, in the place of pbm: no registry that the tests reach has PBM, nor a mongod for it. It answers
// with files of its directory, and notes how it was called, and what it was given.
func pretended(t *testing.T) (dir string, d *host.LiveDoer) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir+"/status.json", said)
	write(t, dir+"/agent", "PBM_MONGODB_URI=\""+uri+"\"\n")
	write(t, dir+"/pbm", `#!/bin/sh
cd `+dir+`
echo "$*|$(tr '\0' ' ' < /proc/$$/cmdline)|$PBM_MONGODB_URI|$(cat)" >> calls
case "$*" in
"version --short") echo 2.9.1 ;;
status*) cat status.json; if [ -e later.json ]; then mv later.json status.json; fi ;;
"config --out=json") if [ -e config.json ]; then cat config.json; else echo '{"Error":"get: mongo: no documents in result"}'; exit 1; fi ;;
config*) ;;
*) printf '{"Error":"cannot connect to %s"}\n' "$PBM_MONGODB_URI"; exit 1 ;;
esac
`)
	if err := os.Chmod(dir+"/pbm", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	was, pause := environments, between
	t.Cleanup(func() { environments, between = was, pause })
	environments, between = [2]string{dir + "/none", dir + "/agent"}, time.Millisecond
	return dir, hosttest.LiveDoer(t)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// calls gives how pbm was called, each with its input, and forgets it. What is secret was on no command line.
func calls(t *testing.T, dir string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(dir + "/calls")
	if err != nil || os.Remove(dir+"/calls") != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(strings.TrimSpace(line), "|")
		all = append(all, strings.TrimSpace(parts[0]+" "+parts[3]))
		if strings.Contains(parts[1], "s3cret") || parts[2] != uri && parts[0] != "version --short" {
			t.Errorf("%q", parts)
		}
	}
	return all
}

// TestCommandLine sees how pbm is called. The URI, which has a password, is in the environment alone, and what pbm says of it is not
// told.
func TestCommandLine(t *testing.T) {
	dir, d := pretended(t)
	f, err := Tool{}.Look(t.Context(), d, driven.Set{})
	if err != nil || f.Version != "2.9.1" || len(f.Backups) != 2 {
		t.Errorf("%+v, %v", f, err)
	}
	err = Tool{}.Run(t.Context(), d, driven.Set{}, driven.Full)
	if err == nil || !strings.Contains(err.Error(), "cannot connect to mongodb://backup:***@db1") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v", err)
	}
	if err := (Tool{}).Run(t.Context(), d, driven.Set{}, driven.Incr); err == nil || !strings.Contains(err.Error(), "a logical backup is always a full one") {
		t.Errorf("%v", err)
	}
	if got, want := calls(t, dir), []string{"version --short", "status --out=json", "backup --type=logical --wait --out=json"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	environments = [2]string{dir + "/none", dir + "/none"}
	if _, err := (Tool{}).Look(t.Context(), d, driven.Set{}); err == nil || !strings.Contains(err.Error(), "the URI with which") {
		t.Errorf("%v", err)
	}
}

// TestTell sees what PBM is told of the place: once, by its input, and never in the place of another.
func TestTell(t *testing.T) {
	const keeps = `{"storage":{"type":"s3","s3":{"region":"us-east-1","endpointUrl":"https://s3.example.org","bucket":"backups","prefix":"pbm/rs0","credentials":{"access-key-id":"AKIA","secret-access-key":"s3cret"}}},"pitr":{"enabled":true}}`
	const told = `{"storage":{"type":"s3","s3":{"region":"us-east-1","endpointUrl":"https://s3.example.org","bucket":"backups","prefix":"pbm/rs0"}},"pitr":{"enabled":false}}`
	bucket := driven.Set{URL: "s3://backups/pbm/rs0/", Endpoint: "https://s3.example.org"}
	key := driven.Login{Key: "AKIA", Secret: "s3cret"}
	read, version, status := "config --out=json", "version --short", "status --out=json"
	for name, c := range map[string]struct {
		is    string // what PBM was told before; "" for nothing
		set   driven.Set
		login driven.Login
		log   bool
		want  []string
		did   bool
		fails string
	}{
		"a bucket":                    {"", bucket, key, true, []string{version, read, "config --file=- --wait --out=json " + keeps, status, status}, true, ""},
		"by the role of the machines": {"", driven.Set{URL: "s3://b", Region: "eu-1"}, driven.Login{}, false, []string{version, read, `config --file=- --wait --out=json {"storage":{"type":"s3","s3":{"region":"eu-1","bucket":"b"}},"pitr":{"enabled":false}}`, status, status}, true, ""},
		"a directory":                 {"", driven.Set{URL: "file:///mnt/nas/pbm"}, driven.Login{}, false, []string{version, read, `config --file=- --wait --out=json {"storage":{"type":"filesystem","filesystem":{"path":"/mnt/nas/pbm"}},"pitr":{"enabled":false}}`, status, status}, true, ""},
		"nothing to tell":             {told, bucket, key, false, []string{version, read}, false, ""},
		"the log too":                 {told, bucket, key, true, []string{version, read, "config --set=pitr.enabled=true --out=json"}, true, ""},
		"only the log":                {told, driven.Set{}, key, true, []string{version, read, "config --set=pitr.enabled=true --out=json"}, true, ""},
		"the log was told":            {keeps, bucket, key, true, []string{version, read}, false, ""},
		"elsewhere":                   {told, driven.Set{URL: "s3://other/pbm"}, key, false, []string{version, read}, false, "PBM keeps the backups elsewhere: s3 https://s3.example.org us-east-1 backups pbm/rs0"},
		"in a kind of its own":        {`{"storage":{"type":"azure","azure":{}}}`, bucket, key, false, []string{version, read}, false, "elsewhere: azure"},
		"the log of nothing":          {"", driven.Set{}, key, true, []string{version, read}, false, "PBM was never told"},
		"a login of hours":            {"", bucket, driven.Login{Key: "a", Secret: "b", Token: "c"}, false, []string{version, read}, false, "expires within hours"},
		"a login in the endpoint":     {"", driven.Set{URL: "s3://b", Endpoint: "https://a:s3cret@b"}, key, false, []string{version, read}, false, "has a login in it"},
		"no place":                    {"", driven.Set{URL: "https://b/x"}, key, false, []string{version, read}, false, "is not a place"},
		"nonsense":                    {"[]", bucket, key, false, []string{version, read}, false, "not understood"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, d := pretended(t)
			if c.is != "" {
				write(t, dir+"/config.json", c.is)
			}
			write(t, dir+"/later.json", said)
			write(t, dir+"/status.json", strings.Replace(said, `"running":{}`, `"running":{"type":"resync"}`, 1))
			did, err := Tool{}.Tell(t.Context(), d, c.set, c.login, c.log)
			if did != c.did || (err == nil) != (c.fails == "") || err != nil && (!strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("%v, %v", did, err)
			}
			if got := calls(t, dir); !slices.Equal(got, c.want) {
				t.Errorf("%q", got)
			}
		})
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
