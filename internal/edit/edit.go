// Package edit changes configuration files byte-exactly: a value is replaced
// where it stands, and every other byte (comments, order, blanks, line ends)
// stays. It knows how each kind of file is read by the program it is for; it
// does no I/O.
//
// Libraries that parse and print again lose comments or blanks, so the forms
// here parse for positions and splice bytes.
package edit

// Form is a kind of configuration file. The comment gives what a key is.
type Form string

// The forms.
const (
	Sysctl     Form = "sysctl"     // sysctl.d(5): vm.swappiness
	OptionFile Form = "my.cnf"     // of MySQL and MariaDB: mysqld/sync_binlog (group/option)
	Postgresql Form = "postgresql" // postgresql.conf and its conf.d: shared_buffers
	Mongod     Form = "mongod"     // mongod.conf, YAML: storage.wiredTiger.engineConfig.cacheSizeGB
	Fstab      Form = "fstab"      // fstab(5): the mount point; the value is its options
	Modprobe   Form = "modprobe"   // modprobe.d(5): zfs/zfs_arc_max (module/parameter)
	Tmpfiles   Form = "tmpfiles"   // tmpfiles.d(5): the path a w line writes to
	Limits     Form = "limits"     // limits.conf(5): mysql/-/nofile (domain/type/item)
	Unit       Form = "unit"       // a drop-in of a systemd unit: Service/LimitNOFILE (section/name)
	Udev       Form = "udev"       // udev(7): the match, one blank, and the attribute: KERNEL=="sda" ATTR{queue/scheduler}
)
