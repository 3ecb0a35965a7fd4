package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// serverRow is what counts of a server and of our role when something is to
// be set.
type serverRow struct {
	role       string
	super      bool
	standby    bool
	major      int
	alters     bool   // allow_alter_system
	reloads    bool   // our role may reload
	files      bool   // our role may read pg_file_settings
	provider   string // roles that only a cloud provider makes
	operator   bool   // CloudNativePG writes the files
	configFile string // "" when our role may not know
}

const serverQuery = `SELECT current_user AS login, rolsuper, pg_is_in_recovery() AS standby, current_setting('server_version_num') AS version_num, ` +
	`coalesce(current_setting('allow_alter_system', true), 'on') AS allow_alter_system, has_function_privilege('pg_reload_conf()', 'EXECUTE') AS reloads, ` +
	`has_table_privilege('pg_file_settings', 'SELECT') AND has_function_privilege('pg_show_all_file_settings()', 'EXECUTE') AS files, ` +
	`(SELECT min(rolname) FROM pg_roles WHERE rolname IN ('alloydbadmin', 'azuresu', 'cloudsqladmin', 'rdsadmin')) AS provider, ` +
	`current_setting('cnpg.config_sha256', true) IS NOT NULL AS operator, ` +
	`(SELECT s.setting FROM pg_settings s WHERE s.name = 'config_file') AS config_file FROM pg_roles WHERE rolname = current_user`

// readServer asks what the server is and what our role may do.
func (a *alteration) readServer() error {
	rows, err := a.ask(serverQuery)
	if err != nil {
		return err
	}
	if len(rows) != 1 {
		return &change.Refusal{Why: "the server does not report the current user"}
	}
	at := func(i int) string { return host.Text(rows[0], i) }
	version, _ := strconv.Atoi(at(3))
	a.server = serverRow{role: at(0), super: at(1) == "t", standby: at(2) == "t", major: version / 10000, alters: at(4) != "off", reloads: at(5) == "t",
		files: at(6) == "t", provider: at(7), operator: at(8) == "t", configFile: at(9)}
	return nil
}

// managed refuses where something else than a person keeps the settings: it
// would write over what is set here.
func (a *alteration) managed() error {
	switch a.server.provider {
	case "rdsadmin":
		return &change.Refusal{Why: "this is Amazon RDS or Aurora, which keeps settings in parameter groups", What: "change the DB parameter group"}
	case "cloudsqladmin", "alloydbadmin":
		return &change.Refusal{Why: "this is a PostgreSQL of Google Cloud, which keeps settings as database flags", What: "change the instance's database flags"}
	case "azuresu":
		return &change.Refusal{Why: "this is a PostgreSQL of Azure, which keeps settings as server parameters", What: "change the server parameters"}
	}
	if a.server.operator {
		return &change.Refusal{Why: "CloudNativePG writes this server's settings", What: "change spec.postgresql.parameters of the Cluster"}
	}
	if a.in.process == nil || a.server.configFile == "" {
		return nil
	}
	head, err := a.h.ReadFile(a.ctx, a.in.root+a.server.configFile)
	if err == nil && strings.Contains(string(head[:min(len(head), 1<<10)]), "overwritten by Patroni") {
		return &change.Refusal{Why: "Patroni writes this server's settings, for all members of its cluster", What: "patronictl edit-config"}
	}
	return nil
}

// readFiles reads what the files assign, and the rights that setting needs.
func (a *alteration) readFiles() error {
	if err := a.rights(); err != nil {
		return err
	}
	if !a.server.super && !a.server.files {
		a.needs = append(a.needs, fmt.Sprintf("SELECT on pg_file_settings for role %s, to read what its files hold (%s)", a.server.role, grantsHint))
		return nil
	}
	rows, err := a.h.Query(a.ctx, a.in.target, fileQuery)
	if err != nil {
		return &change.Refusal{Why: err.Error(), What: grantsHint}
	}
	all, bad := readFileRows(rows)
	if len(bad) > 0 {
		return &change.Refusal{Why: "the server would ignore a reload, because of " + strings.Join(bad[:min(len(bad), 3)], "; "), What: "correct the file first"}
	}
	for _, l := range all {
		if l.name == a.name {
			a.lines = append(a.lines, l)
		}
	}
	if auto, ok := a.persisted(); ok && strings.Contains(auto.value, "***") {
		return &change.Refusal{Why: "its value contains a secret, which Plumb does not handle", What: "set it with psql"}
	}
	return a.readRoles()
}

func privilegeQuery(name string) string {
	return "SELECT has_parameter_privilege(" + Literal(name) + ", 'ALTER SYSTEM') AS may"
}

// rights notes what our role may not do. Superusers may all of it; others
// have been able to be given ALTER SYSTEM on one setting since 15.
func (a *alteration) rights() error {
	if a.server.super {
		return nil
	}
	may := false
	if a.server.major >= 15 {
		rows, err := a.ask(privilegeQuery(a.name))
		if err != nil {
			return err
		}
		may = len(rows) == 1 && host.Text(rows[0], 0) == "t"
	}
	switch {
	case may || !a.server.alters:
	case a.server.major >= 15:
		a.needs = append(a.needs, fmt.Sprintf("GRANT ALTER SYSTEM ON PARAMETER %s TO %s, or a superuser", a.name, a.server.role))
	default:
		a.needs = append(a.needs, fmt.Sprintf("a superuser: %s is not one, and ALTER SYSTEM needs one before PostgreSQL 15", a.server.role))
	}
	if !a.server.reloads {
		a.needs = append(a.needs, fmt.Sprintf("GRANT EXECUTE ON FUNCTION pg_reload_conf() TO %s, or a superuser", a.server.role))
	}
	return nil
}

func rolesQuery(name string) string {
	return `SELECT coalesce('database ' || d.datname, 'every database') AS indb, coalesce('role ' || r.rolname, 'every role') AS forrole, c.config ` +
		`FROM pg_db_role_setting s LEFT JOIN pg_database d ON d.oid = s.setdatabase LEFT JOIN pg_roles r ON r.oid = s.setrole, ` +
		`unnest(s.setconfig) AS c(config) WHERE lower(split_part(c.config, '=', 1)) = ` + Literal(name) + ` ORDER BY 1, 2 LIMIT 5`
}

// readRoles notes for whom another value counts.
func (a *alteration) readRoles() error {
	rows, err := a.ask(rolesQuery(a.name))
	if err != nil {
		return err
	}
	for _, row := range rows {
		_, value, _ := strings.Cut(host.Text(row, 2), "=")
		a.notes = append(a.notes, fmt.Sprintf("%s in %s keeps its own value, %s (ALTER ROLE or DATABASE … SET)", host.Text(row, 1), host.Text(row, 0), value))
	}
	return nil
}

// persisted gives what postgresql.auto.conf holds for the setting.
func (a *alteration) persisted() (assigned, bool) {
	for _, l := range slices.Backward(a.lines) {
		if l.origin.From == stack.FromPersisted {
			return l, true
		}
	}
	return assigned{}, false
}

// restart says what a restart is called and how it is done; nil when Plumb
// does not know.
func (a *alteration) restart() (waits string, ops []change.Op) {
	name := a.want.Knob.Of.String()
	if a.in.process == nil || a.in.local.Contained {
		return "a restart of " + name, nil
	}
	if unit := observe.OwnUnit(a.ctx, a.h, a.seen, a.in.process); unit != "" {
		return "a restart of " + unit, []change.Op{{Argv: []string{"systemctl", "restart", unit}}}
	}
	const tool = "/usr/bin/pg_ctlcluster" // Debian's
	parts := strings.Split(strings.TrimPrefix(a.server.configFile, "/etc/postgresql/"), "/")
	if _, err := a.h.Stat(a.ctx, tool); err == nil && len(parts) == 3 && strings.HasPrefix(a.server.configFile, "/etc/postgresql/") {
		return fmt.Sprintf("a restart of cluster %s %s", parts[0], parts[1]), []change.Op{{Argv: []string{tool, parts[0], parts[1], "restart"}}}
	}
	a.notes = append(a.notes, fmt.Sprintf("Plumb does not know how this server is started: restart it by hand, such as with pg_ctl -D %s restart", a.in.data))
	return "a restart of " + name, nil
}
