package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plumb/test/sandbox"
)

// onHost is the release of the rows that run on this host.
const onHost = "host"

// placed is a row as it runs on a host with these versions, such as
// "Linux 6.18.44, MariaDB 10.11.19".
func (r row) placed(versions string) row {
	r.release, r.versions = onHost, versions
	return r
}

// hostable says whether a row needs no machine: its storage is in every kernel.
func (r row) hostable() bool { return r.storage != "zfs" }

// onlyHere says whether no machine has a row's server.
func (r row) onlyHere() bool { return r.engine == "mysql" }

// places runs each guest where its row is: on this host or in a machine.
type places struct{ host, machines hypervisor }

// Run implements hypervisor.
func (p places) Run(ctx context.Context, g guest) (int, []byte, error) {
	if g.release == onHost {
		return p.host.Run(ctx, g)
	}
	return p.machines.Run(ctx, g)
}

// place gives the rows for a run: in a machine, on the host, or, with where
// empty, on the host those that can be there.
func place(list []row, where string, say func(string, ...any)) (all []row, err error) {
	if !slices.Contains([]string{"", onHost, "vm"}, where) {
		return nil, fmt.Errorf("-where %s is nowhere: want host or vm", where)
	}
	for _, r := range list {
		if where == "vm" && r.onlyHere() {
			continue
		}
		if where == "vm" || where == "" && !r.hostable() {
			all = append(all, r)
			continue
		}
		if !r.hostable() {
			continue
		}
		versions, err := hostVersions(r)
		switch {
		case err == nil:
			all = append(all, r.placed(versions))
		case where == onHost:
			return nil, err
		case r.onlyHere():
			say("%s: left out, as this host cannot do it and no machine has its server: %v", r.name, err)
		default:
			say("%s: in a machine, as this host cannot do it: %v", r.name, err)
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("none of these rows runs there: ZFS wants a machine, and no machine has MySQL")
	}
	return all, nil
}

// tried gives the rows for a table: each where results say it was, and in a
// machine where nothing says anything.
func tried(list []row, where string, results []trial) (all []row) {
	for _, r := range list {
		var here []row
		for _, t := range results {
			if t.Row == r.name && t.Versions != "" && !slices.ContainsFunc(here, func(o row) bool { return o.versions == t.Versions }) {
				here = append(here, r.placed(t.Versions))
			}
		}
		if where == onHost && r.hostable() && len(here) == 0 {
			here = append(here, r.placed(""))
		}
		inMachine := slices.ContainsFunc(results, func(t trial) bool { return t.Row == r.name && t.Hash == r.hash() })
		if where != "vm" {
			all = append(all, here...)
		}
		if where == "vm" && !r.onlyHere() || where == "" && (inMachine || len(here) == 0) {
			all = append(all, r)
		}
	}
	return all
}

// needHost says what this host lacks for running rows.
func needHost() error {
	if os.Getuid() != 0 {
		return sandbox.Missing{What: "no root's rights", Hint: "namespaces, loop devices and mounts want them"}
	}
	for _, program := range []string{"qemu-storage-daemon", "bash", "ip", "mount", "setpriv", "mkfs.ext4", "e2fsck"} {
		if _, err := exec.LookPath(program); err != nil {
			return sandbox.Missing{What: "no " + program, Hint: "apt-get install qemu-system-common iproute2 util-linux e2fsprogs"}
		}
	}
	for _, device := range []string{"/dev/fuse", "/dev/loop-control"} {
		if f, err := os.OpenFile(device, os.O_RDWR, 0); err != nil {
			return sandbox.Missing{What: err.Error(), Hint: "run where the kernel has it"}
		} else {
			f.Close()
		}
	}
	return oneWriter()
}

// oneWriter says whether a loop device writes one thing after the other here:
// it has a worker for each control group that it can tell apart by its I/O.
// With version 2 and the controller io, which systemd turns on, guests would
// be another group than the kernel's threads.
func oneWriter() error {
	if text, err := os.ReadFile("/sys/fs/cgroup/cgroup.subtree_control"); err == nil {
		if slices.Contains(strings.Fields(string(text)), "io") {
			return sandbox.Missing{What: "control groups have the controller io, and QEMU before 2025 mixes up concurrent writes of FUSE", Hint: "run it in a machine: -where vm"}
		}
		return nil
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) == 3 && slices.Contains(strings.Split(fields[1], ","), "blkio") && fields[2] != "/" {
			return sandbox.Missing{What: "we are in a control group of blkio, and QEMU before 2025 mixes up concurrent writes of FUSE", Hint: "run it from the group's root, or in a machine: -where vm"}
		}
	}
	return nil
}

// hostVersions asks this host for the versions of what a row runs on.
func hostVersions(r row) (string, error) {
	if err := needHost(); err != nil {
		return "", err
	}
	kernel, err := kernelVersion()
	if err != nil {
		return "", err
	}
	name, program, err := serverProgram(r)
	if err != nil {
		return "", err
	}
	if r.storage == "xfs" {
		if _, err := exec.LookPath("mkfs.xfs"); err != nil {
			return "", sandbox.Missing{What: "no mkfs.xfs", Hint: "apt-get install xfsprogs"}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	text, err := exec.CommandContext(ctx, program[0], append(program[1:], "--version")...).Output()
	if err != nil {
		return "", sandbox.Missing{What: fmt.Sprintf("ask %s for its version: %v", name, err), Hint: "apt-get install mariadb-server postgresql"}
	}
	version, err := parseVersion(text)
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", name, err)
	}
	return fmt.Sprintf("Linux %s, %s %s", kernel, name, version), nil
}

// serverProgram gives the name of a row's server and the words that start it.
func serverProgram(r row) (name string, program []string, err error) {
	switch r.engine {
	case "postgres":
		return "PostgreSQL", []string{newestPostgres()}, nil
	case "mysql":
		base, loader, err := sandbox.MySQLUnpacked()
		return "MySQL", append(loader, base+"/usr/sbin/mysqld", "--no-defaults"), err
	}
	return "MariaDB", []string{"mariadbd"}, nil
}

// newestPostgres is the one that the guest's script takes: the last by name.
func newestPostgres() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // the pattern is a good one
	if len(found) == 0 {
		return "postgres"
	}
	return found[len(found)-1]
}

var versionNumber = regexp.MustCompile(`\d{1,4}(\.\d{1,5}){1,3}`)

// parseVersion finds the number in what a program says of its version.
func parseVersion(text []byte) (string, error) {
	found := versionNumber.Find(text[:min(len(text), 1024)])
	if found == nil {
		return "", fmt.Errorf("no number in %q", text[:min(len(text), 80)])
	}
	return string(found), nil
}

func kernelVersion() (string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", fmt.Errorf("ask the kernel for its version: %w", err)
	}
	text, _, _ := bytes.Cut(u.Release[:], []byte{0})
	return parseVersion(text)
}
