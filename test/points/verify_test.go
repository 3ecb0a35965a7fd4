package points

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/test/program"
	"plumb/test/sandbox"
)

// TestReplicaVerified sends points to another pool of this host, and over SSH, and has copies of what arrived started.
func TestReplicaVerified(t *testing.T) {
	for _, of := range families {
		t.Run(of.name, func(t *testing.T) { replicaVerified(t, of) })
	}
}

func replicaVerified(t *testing.T, of family) {
	sandbox.NeedTime(t, "two pools, and five copies of a server over SSH: make test-real")
	b := onPool(t, of)
	other, err := b.box.ZFSFuse(512)
	must(t, err)
	dir := sandbox.Directory(t, "verify")
	v := verbs{t, filepath.Join(dir, "state")}
	must(t, b.server.Exec(strings.NewReplacer("?, ?", "1, 1", "$1, $2", "1, 1").Replace(of.insert)))
	id := pointID.FindString(v.typed(0, "snapshot", b.db(t, b.look(t)).String()))

	target := other.Name + "/copies"
	says(t, v.typed(0, "replicate", id, target, "--verify"), "A copy of it, started there", "it started, and all checks passed", "recovered position")
	says(t, v.typed(0, "protect", "list"), "crash", "; proven at "+target)
	if p, err := (protect.Store{Dir: filepath.Join(v.state, "points")}).Get(t.Context(), b.Do, id); err != nil || p.Drill != nil || p.Label != protect.Crash || len(p.Replicas) != 1 {
		t.Errorf("a replica says nothing of the point: %+v, %v", p, err)
	}

	plumb, err := program.Build(dir)
	must(t, err)
	vault := other.Name + "/vault"
	there := filepath.Join(dir, "there") // what the target writes down
	forced := func(verify string) string {
		return fmt.Sprintf("%s receive --only %s --state %s %s", plumb.Path, vault, there, verify)
	}
	port, options := sandbox.SSHD(t, forced(""))
	send := func(port int, options []string, more ...string) []string {
		args := append([]string{"replicate", id, fmt.Sprintf("ssh://root@127.0.0.1:%d/%s", port, vault)}, more...)
		for _, o := range options {
			args = append(args, "--ssh="+o)
		}
		return args
	}
	v.typed(0, send(port, options)...)
	says(t, v.typed(3, send(port, options, "--verify")...), "was there already", "this key may send points, but not start copies of them")

	port, options = sandbox.SSHD(t, forced("--verify"))
	sandbox.VerifyAccount(t, func() {
		says(t, v.typed(3, send(port, options, "--verify")...), "the user plumb-verify, who runs copies of other hosts' servers, does not exist here", "useradd")
	})
	says(t, v.typed(0, send(port, options, "--verify")...), "A copy of it, started there", "it started, and all checks passed")
	says(t, v.typed(0, send(port, options, "--verify", "--json")...), `"verified"`, `"ok": true`)
	if out := v.typed(0, "protect", "list"); strings.Count(out, "proven at") != 2 {
		t.Errorf("it was proven at two targets:\n%s", out)
	}
	verifiedByPolicy(t, b, v, id, send(port, options)[2], options)
	evil(t, b, v, id, vault, port, options)
	noPlumb(t, v, id, vault)

	left, _ := filepath.Glob(there + "-copies/*")
	if out, err := exec.Command("pgrep", "-u", "plumb-verify").Output(); err == nil || len(left) > 0 {
		t.Errorf("left are %q, and processes %s", left, out)
	}
	if left := datasetsOf(t, other); strings.Contains(left, "clone-") || !strings.Contains(left, vault+"/") {
		t.Errorf("left are\n%s", left)
	}
}

// verifiedByPolicy has a policy send the point, and a copy of it started.
func verifiedByPolicy(t *testing.T, b *bench, v verbs, id, target string, options []string) {
	t.Helper()
	words, err := json.Marshal(options)
	must(t, err)
	file := filepath.Join(filepath.Dir(v.state), "protect.yaml")
	must(t, os.WriteFile(file, fmt.Appendf(nil, "points: [{server: '%s', every: 1d, replicate: [{to: '%s', ssh: %s, verify: true}]}]\n", b.db(t, b.look(t)), target, words), 0o600))
	proven := func() (at time.Time) {
		p, err := (protect.Store{Dir: filepath.Join(v.state, "points")}).Get(t.Context(), b.Do, id)
		must(t, err)
		for _, r := range p.Replicas {
			if r.Target == target && r.Drill.OK {
				at = r.Drill.At
			}
		}
		return at
	}
	before := proven()
	v.typed(0, "protect", "run", file)
	if at := proven(); before.IsZero() || !at.After(before) {
		t.Errorf("the policy had no copy started at %s: it was proven %s, and is %s", target, before, at)
	}
}

// evil is whoever stole the key: he says that the server is a program of his, run as root.
func evil(t *testing.T, b *bench, v verbs, id, vault string, port int, options []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(v.state, "points", id+".json"))
	must(t, err)
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o755))
	mark, program := filepath.Join(dir, "was-run"), filepath.Join(dir, "postgres")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755))
	ask := func(told string) string {
		c := exec.Command("ssh", append(append([]string{"-p", fmt.Sprint(port), "-o", "BatchMode=yes"}, options...), "root@127.0.0.1", "plumb prove "+id+" "+vault)...)
		c.Stdin = strings.NewReader(told)
		out, _ := c.CombinedOutput()
		return string(out)
	}
	uid, _ := b.box.User()
	own := strings.Replace(string(text), `"program": [`, `"env": ["LD_PRELOAD=`+program+`"], "program": ["`+program+`", `, 1)
	own = strings.Replace(own, fmt.Sprintf(`"uid": %d`, uid), `"uid": 0`, 1)
	if own == string(text) || !strings.Contains(own, `"uid": 0`) {
		t.Fatalf("the file of a point names no program or user:\n%s", text)
	}
	if out := ask(own); !strings.Contains(out, `"ok":true`) { // all of that is not looked at
		t.Errorf("it says %s", out)
	}
	for told, want := range map[string]string{
		strings.Replace(string(text), `"settings": {`, `"settings": {"a b": "1", `, 1):                                                                "is not a setting",
		strings.Replace(string(text), `"settings": {`, `"settings": {"plugin_load_add": "x=/tmp/x.so", "shared_preload_libraries": "/tmp/x.so", `, 1): "by its path",
		strings.ReplaceAll(string(text), `"path": "/`, `"path": "/../`):                                                                               "is not the path of a directory",
		regexp.MustCompile(`"guid": "\d+"`).ReplaceAllString(string(text), `"guid": "7"`):                                                             "or is another snapshot",
		strings.Replace(string(text), `"snapshot": "`, `"snapshot": "../x/`, 1):                                                                       "is not a snapshot of ZFS",
		strings.Replace(string(text), id, "20200101T000000Z-0000", 1):                                                                                 "is not of point",
		strings.Replace(string(text), `"version": "1`, `"version": "9`, 1):                                                                            "no program of this host starts a copy of",
		"{": "unexpected end",
	} {
		if out := ask(told); !strings.Contains(out, want) || strings.Contains(out, `"ok"`) {
			t.Errorf("want %q, got %s", want, out)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the program that the sender named was run")
	}
}

// noPlumb is a target that has sshd and zfs, and no Plumb.
func noPlumb(t *testing.T, v verbs, id, vault string) {
	t.Helper()
	port, options := sandbox.SSHD(t, `PATH=/usr/sbin:/usr/bin:/sbin:/bin; eval \"$SSH_ORIGINAL_COMMAND\"`)
	args := []string{"replicate", id, fmt.Sprintf("ssh://root@127.0.0.1:%d/%s", port, vault), "--verify"}
	for _, o := range options {
		args = append(args, "--ssh="+o)
	}
	says(t, v.typed(3, args...), "has no plumb", "sending needs neither")
}
