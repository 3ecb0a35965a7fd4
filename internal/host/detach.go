package host

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Detach starts a program that keeps running when this process, its terminal and its session have ended, and returns its process ID. env
// is added to our own environment.
func (h *LiveDoer) Detach(env []string, argv ...string) (pid int, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", argv[0], err)
	}
	defer null.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = null, null, null
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", argv[0], err)
	}
	return cmd.Process.Pid, cmd.Process.Release()
}
