package swap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/passwd"
	"plumb/internal/provision"
	"plumb/internal/units"
)

// cluster is a server as postgresql-common keeps it: a version, a name, a directory of configuration.
type cluster struct {
	version, name string
	conf          string // the directory
	port          string
	uid, gid      int
	user          string // their name, which is its first superuser's too
	data          string
	init          []string // arguments for initdb
	size          int64    // of its databases, in bytes
}

// configFile is where Debian's packages have it.
var configFile = regexp.MustCompile(`^/etc/postgresql/([0-9]{2})/([A-Za-z0-9_.]{1,63})/postgresql\.conf$`)

// programs is where the packages have those of all versions.
const programs = "/usr/lib/postgresql"

// program is a server's own, of a version.
func program(version, name string) string { return programs + "/" + version + "/bin/" + name }

// asked are what a new cluster must have in common with the old one, and what stands in the way of an upgrade.
const asked = "SELECT current_setting('config_file'), current_setting('port'), current_setting('data_checksums'), (SELECT setting FROM pg_settings WHERE name = 'wal_segment_size'), " +
	"pg_encoding_to_char(d.encoding), d.datcollate, d.datctype, coalesce(to_jsonb(d)->>'datlocprovider', 'c'), (SELECT rolname FROM pg_roles WHERE oid = 10), " +
	"(SELECT count(*) FROM pg_prepared_xacts), (SELECT count(*) FROM pg_tablespace WHERE oid >= 16384), (SELECT count(*) FROM pg_replication_slots), " +
	"(SELECT count(*) FROM pg_stat_replication), pg_is_in_recovery(), (SELECT sum(pg_database_size(oid)) FROM pg_database) FROM pg_database d WHERE d.datname = 'template0'"

// read asks a server what it is like, and refuses what pg_upgrade would, or what could not be taken back.
func read(ctx context.Context, h host.Reader, home provision.Home) (c cluster, err error) {
	rows, err := h.Query(ctx, home.Target, asked)
	if err != nil {
		return c, fmt.Errorf("ask %s what it is like: %w", home.Server, err)
	}
	if len(rows.Values) != 1 || len(rows.Values[0]) != 15 {
		return c, fmt.Errorf("ask %s what it is like: %d answers", home.Server, len(rows.Values))
	}
	at := func(i int) string { return host.Text(rows.Values[0], i) }
	part := configFile.FindStringSubmatch(at(0))
	if part == nil {
		return c, change.Refuse("use initdb and pg_upgrade by hand, as the manual of PostgreSQL says", "%s is not a cluster of Debian's packages: its configuration is %s", home.Server, at(0))
	}
	c = cluster{version: part[1], name: part[2], conf: path.Dir(at(0)), port: at(1), uid: home.UID, gid: home.GID, data: home.Data}
	segment, err := strconv.ParseInt(at(3), 10, 64)
	if err != nil || segment < 1<<20 {
		return c, fmt.Errorf("ask %s how large its WAL segments are: %q", home.Server, at(3))
	}
	if c.size, err = strconv.ParseInt(at(14), 10, 64); err != nil {
		return c, fmt.Errorf("ask %s how large its databases are: %q", home.Server, at(14))
	}
	c.init = []string{"--encoding", at(4), "--lc-collate", at(5), "--lc-ctype", at(6), "--wal-segsize", strconv.FormatInt(segment>>20, 10)}
	if at(2) == "on" {
		c.init = append(c.init, "--data-checksums")
	} else {
		c.init = append(c.init, "--no-data-checksums")
	}
	if c.user, err = userOf(ctx, h, home.UID); err != nil {
		return c, err
	}
	switch {
	case c.user != at(8):
		err = change.Refuse("initdb and pg_upgrade by hand, with --username", "its first superuser is %s, but it runs as %s: in clusters made by Debian's packages they are the same", at(8), c.user)
	case at(7) != "c":
		err = change.Refuse("pg_upgradecluster", "its databases are of another locale provider than libc (%s)", at(7))
	case at(9) != "0":
		err = change.Refuse("commit or roll them back", "it has prepared transactions (%s), and an upgrade does not carry them over", at(9))
	case at(10) != "0":
		err = change.Refuse("pg_upgradecluster, after a point (plumb snapshot)", "it has tablespaces of its own (%s): what an upgrade makes there could not be undone", at(10))
	case at(11) != "0":
		err = change.Refuse("drop them, and make them again afterwards", "it has replication slots (%s), which the new server would not have", at(11))
	case at(12) != "0":
		err = change.Refuse("stop them, and rebuild them afterwards", "replicas read from it (%s), and cannot follow an upgrade", at(12))
	case at(13) != "f":
		err = change.Refuse("upgrade its primary, and rebuild it", "it is a standby")
	}
	return c, err
}

// userOf gives the name of a user of the system.
func userOf(ctx context.Context, h host.Reader, uid int) (string, error) {
	text, err := h.ReadFile(ctx, passwd.File)
	if err != nil {
		return "", err
	}
	u, known := passwd.Numbered(text, uid)
	if !known {
		return "", fmt.Errorf("user %d, as which it runs, is not in %s", uid, passwd.File)
	}
	return u.Name, nil
}

// next is the cluster that is made, and refuses where something is already, or does not fit.
func (c cluster) next(ctx context.Context, h host.Reader, version, at string) (n cluster, err error) {
	n = cluster{version: version, name: c.name, conf: "/etc/postgresql/" + version + "/" + c.name, port: c.port, uid: c.uid, gid: c.gid, data: at, init: c.init}
	if at == "" {
		n.data = "/var/lib/postgresql/" + version + "/" + c.name
	}
	if v, err := strconv.Atoi(version); err != nil || v < 18 { // the word is new, and is the default before
		n.init = without(n.init, "--no-data-checksums")
	}
	for _, file := range []string{program(version, "pg_upgrade"), program(version, "initdb"), program(c.version, "pg_ctl"), "/usr/bin/pg_createcluster"} {
		switch _, err := h.Stat(ctx, file); {
		case errors.Is(err, fs.ErrNotExist):
			return n, change.Refuse("apt-get install postgresql-"+version+"; if the system has none, the PostgreSQL project's repository at apt.postgresql.org has it", "%s is not there", file)
		case err != nil:
			return n, err
		}
	}
	for _, dir := range []string{n.conf, n.data} {
		switch _, err := h.Stat(ctx, dir); {
		case err == nil:
			return n, change.Refuse("pg_lsclusters shows what it is; pg_dropcluster --stop "+version+" "+c.name+" removes one that the packages made and nobody uses", "%s already exists", dir)
		case !errors.Is(err, fs.ErrNotExist):
			return n, err
		}
	}
	above := path.Dir(n.data)
	for ; above != "/"; above = path.Dir(above) {
		if _, err := h.Stat(ctx, above); err == nil {
			break
		}
	}
	return n, hint.With(fits(ctx, h, above, c.size), "--at DIR names a place with more room")
}

// fits wants room for a copy of all data in a directory.
func fits(ctx context.Context, h host.Reader, at string, size int64) error {
	room, err := h.Statfs(ctx, at)
	if err != nil {
		return fmt.Errorf("check the free space at %s: %w", at, err)
	}
	const more = 256 << 20 // WAL, and what a new cluster begins with
	if free := int64(room.AvailBytes); free < size+more {
		return fmt.Errorf("the data are %s, but at %s only %s are free", units.Measured(float64(size)), at, units.Measured(float64(free)))
	}
	return nil
}

func without(all []string, word string) (left []string) {
	for _, w := range all {
		if w != word {
			left = append(left, w)
		}
	}
	return left
}
