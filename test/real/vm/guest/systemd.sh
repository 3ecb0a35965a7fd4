#!/bin/sh
# The first process of a test machine with systemd, from the disk "in": hands over
# to systemd, which runs the line once all it starts at boot has been started.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mountpoint -q /run || mount -t tmpfs -o mode=755 run /run
units=/run/systemd/system
mkdir -p $units/graphical.target.wants
cat >$units/plumb-vm.service <<'END'
[Unit]
Description=The line of this run
After=graphical.target
[Service]
ExecStart=/bin/sh /in/.vm/run
KillMode=process
LimitNOFILE=524288
END
ln -s ../plumb-vm.service $units/graphical.target.wants/
# The console is the kernel's, or the shell's.
ln -s /dev/null $units/serial-getty@ttyS0.service
exec /lib/systemd/systemd
