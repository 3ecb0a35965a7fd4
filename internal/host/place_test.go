package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// theirs makes a directory of an ordinary user in one of root's.
func theirs(t *testing.T) (dir, victim string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to give a directory to another user")
	}
	at := openDir(t)
	dir, victim = filepath.Join(at, "theirs"), filepath.Join(at, "victim")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Chown(dir, nobody, nobody))
	must(t, os.WriteFile(victim, []byte("root's"), 0o600))
	return dir, victim
}

// own is what has become of the victim.
func untouched(t *testing.T, victim string) {
	t.Helper()
	info, err := os.Lstat(victim)
	must(t, err)
	if st := info.Sys().(*syscall.Stat_t); content(t, victim) != "root's" || st.Uid != 0 || info.Mode() != 0o600 {
		t.Fatalf("it is %q of %d, mode %v", content(t, victim), st.Uid, info.Mode())
	}
}

// doings are all that a LiveDoer does to a file by its name.
func doings(t *testing.T, h *LiveDoer, name string) map[string]func() error {
	return map[string]func() error{
		"raw": func() error {
			text, err := h.Raw(t.Context(), name)
			if string(text) == "root's" {
				t.Error("root's file was read")
			}
			return err
		},
		"replace": func() error { return h.Replace(t.Context(), name, []byte("new"), 0o644) },
		"tidy":    func() error { return h.Tidy(t.Context(), name) },
		"append":  func() error { return h.Append(t.Context(), name, []byte("more")) },
		"write":   func() error { return h.Write(t.Context(), name, []byte("x")) },
		"lock": func() error {
			unlock, err := h.Lock(t.Context(), name)
			if err == nil {
				unlock()
			}
			return err
		},
	}
}

// A link that another user put somewhere leads root to nothing but his own.
func TestLinksOfOthersLeadNowhere(t *testing.T) {
	h := doer(t)
	dir, victim := theirs(t)
	for name, link := range map[string][2]string{ // a link, and the path that goes through it
		"the file":     {dir + "/my.cnf", dir + "/my.cnf"},
		"relative":     {dir + "/rel.cnf", dir + "/rel.cnf"},
		"a directory":  {dir + "/conf", dir + "/conf/victim"},
		"of a link":    {dir + "/second", dir + "/second"},
		"what is made": {dir + "/etc", dir + "/etc/cron.d/new"},
	} {
		to := map[string]string{"relative": "../victim", "a directory": "..", "of a link": dir + "/my.cnf", "what is made": filepath.Dir(victim)}[name]
		if to == "" {
			to = victim
		}
		must(t, os.Symlink(to, link[0]))
		must(t, os.Lchown(link[0], nobody, nobody))
	}
	for _, name := range []string{dir + "/my.cnf", dir + "/rel.cnf", dir + "/conf/victim", dir + "/second", dir + "/etc/cron.d/new"} {
		for what, do := range doings(t, h, name) {
			if err := do(); err == nil && what != "tidy" {
				t.Errorf("%s %s: no error", what, name)
			}
			untouched(t, victim)
		}
	}
	if exists, _ := filepath.Glob(filepath.Dir(victim) + "/*"); len(exists) != 2 {
		t.Errorf("there is more now: %v", exists)
	}
	if err := h.Remove(t.Context(), dir+"/conf/victim"); err == nil {
		t.Error("removed through a link of another's")
	}
	untouched(t, victim)
	must(t, h.Remove(t.Context(), dir+"/my.cnf"))
	untouched(t, victim)
}

// His own link to his own file, and root's link to any, are followed.
func TestHonestLinksAreFollowed(t *testing.T) {
	h := doer(t)
	dir, victim := theirs(t)
	real, his, roots := dir+"/real.cnf", dir+"/his.cnf", filepath.Dir(dir)+"/roots.cnf"
	must(t, os.WriteFile(real, []byte("old"), 0o640))
	must(t, os.Chown(real, nobody, nobody))
	must(t, os.Symlink("real.cnf", his))
	must(t, os.Lchown(his, nobody, nobody))
	must(t, os.Symlink(victim, roots))
	must(t, h.Replace(t.Context(), his, []byte("new"), 0o644))
	info, err := os.Lstat(real)
	must(t, err)
	if st := info.Sys().(*syscall.Stat_t); content(t, real) != "new" || st.Uid != nobody || info.Mode() != 0o640 {
		t.Errorf("%q of %d, mode %v", content(t, real), st.Uid, info.Mode())
	}
	must(t, h.Replace(t.Context(), roots, []byte("changed"), 0o644))
	if content(t, victim) != "changed" {
		t.Error("root's own link was not followed")
	}
}

// A file that root makes in another's directory is the other's: the name was
// his to choose.
func TestANewFileIsTheDirectorysOwners(t *testing.T) {
	h := doer(t)
	dir, _ := theirs(t)
	must(t, h.Replace(t.Context(), dir+"/new.cnf", []byte("x"), 0o644))
	info, err := os.Lstat(dir + "/new.cnf")
	must(t, err)
	if st := info.Sys().(*syscall.Stat_t); st.Uid != nobody || st.Gid != nobody || info.Mode() != 0o644 {
		t.Errorf("of %d:%d, mode %v", st.Uid, st.Gid, info.Mode())
	}
}

// A pipe in the place of a file holds nobody.
func TestLiveDoerDoesNotWaitForAPipe(t *testing.T) {
	h, dir := doer(t), t.TempDir()
	pipe := dir + "/pipe"
	must(t, syscall.Mkfifo(pipe, 0o600))
	for what, do := range doings(t, h, pipe) {
		if err := do(); err == nil && what != "tidy" {
			t.Errorf("%s: no error", what)
		}
	}
}

// While another user renames links over the file, over the name it is written
// under and over a directory on the way as fast as he can, nothing of root's
// is changed, given away or read.
func TestNoRaceLeadsToRootsFiles(t *testing.T) {
	h := doer(t)
	dir, victim := theirs(t)
	script := fmt.Sprintf(`cd %[1]s; mkdir -p a b; ln -s %[2]s a/link; ln -s .. b/up; : >ready
while :; do
	ln -sfn %[2]s my.cnf; ln -sfn %[2]s .my.cnf.plumb-new; ln -sfn .. conf
	rm -rf conf; mkdir conf 2>/dev/null; rm -f my.cnf; : >my.cnf; rm -f .my.cnf.plumb-new
done 2>/dev/null`, dir, victim)
	c := exec.Command("bash", "-c", script)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	must(t, c.Start())
	defer func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL); _ = c.Wait() }()
	for {
		if _, err := os.Lstat(dir + "/ready"); err == nil {
			break
		}
	}
	done, refused := 0, 0
	for done+refused < 1000 || done == 0 || refused == 0 {
		for _, name := range []string{dir + "/my.cnf", dir + "/conf/victim"} {
			for what, do := range doings(t, h, name) {
				if what == "write" && strings.HasSuffix(name, "victim") {
					continue
				}
				switch err := do(); {
				case err == nil:
					done++
				case errors.Is(err, fs.ErrNotExist):
				default:
					refused++
				}
			}
		}
		untouched(t, victim)
	}
}
