package record

import (
	"fmt"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/watch/record"
)

// Systemd is a form in which what runs a recorder is printed.
const Systemd = "systemd"

// Unit gives the files that run program as a service: first the line that makes
// its user. All names are absolute.
//
// The user is a named one and not of systemd's making, because servers know it
// by its name, and because its directory then is no link. Its two capabilities
// are those without which most of a host is a gap; nothing is granted that
// writes: what every user may write to, such as /tmp, is all that CAP_SYS_PTRACE
// leads to, through the mounts of another process. What needs more, such as the health log of an NVMe disk, is a gap.
func Unit(program string) (string, error) {
	if !strings.HasPrefix(program, "/") || strings.ContainsAny(program, " \t\r\n\"'\\$%;&|<>()*?[]#~`!{}") {
		return "", hint.Usage(fmt.Sprintf("%q cannot be written into a unit", program), "install plumb under a plain name, such as /usr/bin/plumb")
	}
	name := strings.TrimPrefix(record.Directory, "/var/lib/")
	return fmt.Sprintf(`# /etc/sysusers.d/plumb-watch.conf
u plumb-watch - "Plumb's recorder" - -

# /etc/systemd/system/plumb-watch.service
[Unit]
Description=Record what limits the database servers of this host
Documentation=man:plumb(1)
After=local-fs.target time-sync.target

[Service]
ExecStart=%s watch record --dir %s
Restart=on-failure
RestartSec=10
TimeoutStopSec=30

# A user of its own. Servers let it in by its name: plumb check --grants.
User=plumb-watch
Group=plumb-watch
StateDirectory=%s
StateDirectoryMode=0700
UMask=0077

# CAP_DAC_READ_SEARCH: server directories and option files are closed to others.
# CAP_SYS_PTRACE: /proc/PID/io and the mounts of servers belong to their user. It
# also lets one change other processes, by calls that are closed here.
# It may read what root may read, and change, by /proc/PID/root, what all users may.
CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_SYS_PTRACE
AmbientCapabilities=CAP_DAC_READ_SEARCH CAP_SYS_PTRACE
NoNewPrivileges=yes
SystemCallFilter=~ptrace process_vm_writev pidfd_getfd
SystemCallErrorNumber=EPERM

# Only its own directory can be written. /tmp is not made private, because
# servers have sockets there; /dev holds what zpool and zfs ask.
ProtectSystem=strict
ReadOnlyPaths=-/dev/shm -/dev/mqueue
ProtectHome=read-only
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
ProtectClock=yes
DevicePolicy=closed
DeviceAllow=/dev/zfs rw
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native

# Databases come first: also when memory runs out.
Nice=5
IOSchedulingClass=best-effort
IOSchedulingPriority=7
CPUQuota=25%%
MemoryHigh=128M
MemoryMax=192M
TasksMax=64
OOMScoreAdjust=500

[Install]
WantedBy=multi-user.target
`, program, record.Directory, name), nil
}
