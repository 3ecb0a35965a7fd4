package main

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// child is a process that gets SIGKILL when we die.
type child struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when it ended
	err  error         // how, after that
}

// start starts a process. What kills it with us is tied to the thread that
// started it, so the thread stays until it ended.
func start(cmd *exec.Cmd) (*child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.WaitDelay = 10 * time.Second
	c, begun := &child{cmd: cmd, gone: make(chan struct{})}, make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		begun <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.gone)
		}
	}()
	return c, <-begun
}

// kill ends the process and waits until it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.gone
}
