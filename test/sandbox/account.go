package sandbox

import (
	"os/exec"
	"testing"
)

// VerifyAccount makes the user as whom copies of other hosts' servers run, and takes him away again. There is one of him,
// and he runs one copy at a time: tests wait for each other. What is to be tried while there is no such user is done before; where
// somebody made him, it is left out.
func VerifyAccount(t testing.TB, before ...func()) {
	t.Helper()
	const name = "plumb-verify"
	lock, err := Alone(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	if exec.Command("id", name).Run() == nil {
		return // somebody made him
	}
	for _, do := range before {
		do()
	}
	if out, err := exec.Command("useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name).CombinedOutput(); err != nil {
		t.Skipf("no user can be made: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("userdel", name).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}
