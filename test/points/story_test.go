package points

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"plumb/internal/cli"
	"plumb/test/sandbox"
)

// TestTwoMachines backs up a server under load to a real store of S3 and to a disk, loses its pool, and goes to another machine: one that
// has a state, a pool and a host key of its own, and gets only the login of the store, the key that opens the backups, and the
// recovery sheet. What it types is what stands on the sheet. The server that starts there has every commit that was acknowledged
// before the point was begun.
func TestTwoMachines(t *testing.T) {
	for _, of := range families {
		for i, under := range grounds {
			t.Run(of.name+"/"+under.name, func(t *testing.T) { twoMachines(t, of, under, lands[i]) })
		}
	}
}

// land is where the second machine restores to, on each ground: what the sheet says, and what is typed in its place.
type land struct {
	said string
	make func(t *testing.T, b *bench) string
	lose func(t *testing.T, b *bench)
}

var lands = []land{
	{"tank/restored", func(t *testing.T, b *bench) string {
		other, err := b.box.ZFSFuse(1024)
		must(t, err)
		return other.Name + "/restored"
	}, func(t *testing.T, b *bench) { must(t, b.pool.Lose()) }},
	{"/srv/restored", func(t *testing.T, b *bench) string {
		return b.box.RootBtrfs(t, "other", 1024) + "/restored"
	}, func(t *testing.T, b *bench) { // another filesystem is where it was
		shell(t, "cd /; at="+filepath.Join(b.box.Dir, "fs")+"; from=$(findmnt -n -o SOURCE $at); umount $at; mkfs.btrfs -q -f $from; mount $from $at")
	}},
}

func twoMachines(t *testing.T, of family, under ground, second land) {
	sandbox.NeedTime(t, "two filesystems, a store of S3 and a server under load: make test-real")
	b := on(t, under, of, 1024)
	s3 := b.box.S3(t)
	t.Setenv("AWS_ACCESS_KEY_ID", s3.Key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3.Secret)
	dir := sandbox.Directory(t, "story")
	key, err := age.GenerateX25519Identity()
	must(t, err)
	disk := filepath.Join(dir, "disk")
	must(t, os.Mkdir(disk, 0o700))

	// The first machine.
	here := verbs{t, filepath.Join(dir, "here")}
	b.prepareWork(t)
	work := b.press(t, 1, filepath.Join(ledgers(t), "run"), 0)
	up := func() (out, kept string) {
		kept = work.acknowledgedBy(t, 50)
		id := pointID.FindString(here.typed(0, "snapshot", b.db(t, b.look(t)).String()))
		return here.typed(0, "backup", id, "--to", "s3://"+s3.Bucket+"/db1", "--to", "file://"+disk, "--endpoint", s3.Endpoint, "--region", "us-east-1",
			"--recipient", key.Recipient().String(), "--points", filepath.Join(here.state, "points")), kept
	}
	sheet, _ := up()
	up() // what changed since
	out, kept := up()
	says(t, out, "what changed since backup")
	if strings.Contains(out, "Recovery sheet") || strings.Contains(sheet, key.String()) || strings.Contains(sheet, s3.Secret) {
		t.Error("the sheet is printed twice, or has a secret")
	}
	work.stop()
	must(t, b.server.Stop()) // zfs-fuse lets no pool go that is in use
	second.lose(t, b)

	// The second one.
	there := verbs{t, filepath.Join(dir, "there")}
	into := second.make(t, b)
	sandbox.VerifyAccount(t)
	keys := filepath.Join(dir, "key.txt")
	must(t, os.WriteFile(keys, []byte(key.String()+"\n"), 0o600))
	if out := there.typed(0, "backup", "key"); strings.Contains(sheet, strings.TrimSpace(strings.Split(out, "\n")[1])) {
		t.Fatal("it is the same machine")
	}
	line := regexp.MustCompile(`(?m)^  plumb (restore --from 's3:.*)$`).FindStringSubmatch(sheet)
	if line == nil {
		t.Fatalf("the sheet has no such command:\n%s", sheet)
	}
	typed := words(strings.NewReplacer("key.txt", keys, second.said, into).Replace(line[1]))
	untrusted := slices.Clone(typed)
	at := slices.Index(untrusted, "--trust")
	there.typed(3, slices.Delete(untrusted, at, at+2)...)
	out = there.typed(0, append(typed, "--start", "db1")...)
	run := regexp.MustCompile(`socket in (\S+)`).FindStringSubmatch(out)
	if run == nil {
		t.Fatal("no server was started")
	}
	verified(t, b.socket(run[1], 5432), kept)
	says(t, there.typed(0, "clone", "list"), "db1")
	there.typed(0, "clone", "drop", "db1", "--yes")
	says(t, there.typed(0, "verify", "--from", "file://"+disk, "--sample", "100", "--identity", keys, "--trust", typed[slices.Index(typed, "--trust")+1]), "decrypted and unpacked")
}

// verified types plumb load verify against a server that a copy runs.
func verified(t *testing.T, s *sandbox.Server, ledger string) {
	t.Helper()
	args := []string{"load", "verify", "--ledger", ledger}
	if s.Engine == "postgres" {
		args = append(args, "--pgsql-host="+s.Socket, "--pgsql-port=5432", "--pgsql-user="+s.User, "--pgsql-db=postgres")
	} else {
		args = append(args, "--mysql-socket="+s.Socket, "--mysql-user="+s.User, "--mysql-db=work")
	}
	var out, failed bytes.Buffer
	code := cli.Main(args, strings.NewReader(""), &out, &failed)
	t.Logf("$ plumb %s\n%s%s", strings.Join(args, " "), &out, &failed)
	if code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

// words gives those of a command line whose quotes are single ones.
func words(line string) (all []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		all = append(all, m[1]+m[2])
	}
	return all
}
