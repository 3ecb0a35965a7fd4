package point

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/units"
)

// Follow implements protect.Starter.
func (e *Engine) Follow(ctx context.Context, d host.Streamer, a load.Admin, c protect.Copy) error {
	if err := e.follow(ctx, d, a, c); err != nil {
		return fmt.Errorf("make the copy follow %s: %w", c.Server.Ref, err)
	}
	return nil
}

func (e *Engine) follow(ctx context.Context, d host.Streamer, a load.Admin, c protect.Copy) error {
	if c.Source == nil || c.Source.Network != "tcp" {
		return hint.With(errors.New("a replica connects to its source over TCP"), "let the source listen on a port, at least on the loopback interface")
	}
	name, port, err := hostPort(c.Source.Address)
	if err != nil {
		return err
	}
	at, err := e.Stands(ctx, d, a, c)
	if errors.Is(err, binlog.ErrEncrypted) { // the server alone can tell
		at, err = e.Recovered(ctx, a, c)
	}
	if err != nil {
		return err
	}
	statements, err := following(c, name, port, at)
	if err != nil {
		return err
	}
	if c.Closed {
		statements = statements[:len(statements)-1] // it begins with the next start
	}
	for _, s := range statements {
		if err := a.Exec(ctx, s); err != nil {
			// What went wrong may repeat the statement.
			return errors.New(hidden(err.Error(), c.Source.Password))
		}
	}
	return nil
}

// hidden takes a password out of a text.
func hidden(text, password string) string {
	for _, p := range []string{engine.Literal(password), password} {
		if password != "" {
			text = strings.ReplaceAll(text, p, "***")
		}
	}
	return text
}

// longestHost is what DNS lets a name have. MySQL 9.7 takes a longer one without a word.
const longestHost = 253

func hostPort(address string) (string, int, error) {
	if at, err := netip.ParseAddrPort(address); err == nil {
		return at.Addr().String(), int(at.Port()), nil
	}
	i := strings.LastIndexByte(address, ':')
	port, err := strconv.Atoi(address[i+1:])
	if i < 1 || err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("the source's address is %q: want host:port", address)
	}
	if i > longestHost {
		return "", 0, fmt.Errorf("the source's host %.40q… has %d characters, and no name has more than %d", address, i, longestHost)
	}
	return strings.Trim(address[:i], "[]"), port, nil
}

// following gives the statements that make a server follow another from where it stands.
func following(c protect.Copy, host string, port int, at protect.Position) ([]string, error) {
	s := c.Source
	to := func(side string) string {
		return fmt.Sprintf("%[1]s_HOST = %[2]s, %[1]s_PORT = %[3]d, %[1]s_USER = %[4]s, %[1]s_PASSWORD = %[5]s", side, engine.Literal(host), port, engine.Literal(s.User), engine.Literal(s.Password))
	}
	from := func(side string) string {
		return fmt.Sprintf("%[1]s_LOG_FILE = %[2]s, %[1]s_LOG_POS = %[3]d", side, engine.Literal(at.File), at.Offset)
	}
	switch sv := c.Server; {
	case at.File == "":
		return nil, hint.With(errors.New("the copy has no binary log, so it is not known from where to follow"), "let the source keep a binary log, on a volume of the point")
	case isMariaDB(sv):
		return []string{"STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL gtid_slave_pos = " + engine.Literal(at.GTID), "CHANGE MASTER TO " + to("MASTER") + ", MASTER_USE_GTID = slave_pos", "START SLAVE"}, nil
	case !since(sv, "8.0.23"):
		auto := "MASTER_AUTO_POSITION = 1"
		if !strings.EqualFold(sv.Settings["gtid_mode"], "ON") {
			auto = from("MASTER")
		}
		return []string{"STOP SLAVE", "RESET SLAVE ALL", "CHANGE MASTER TO " + to("MASTER") + ", " + auto, "START SLAVE"}, nil
	default:
		auto := "SOURCE_AUTO_POSITION = 1"
		if !strings.EqualFold(sv.Settings["gtid_mode"], "ON") {
			auto = from("SOURCE")
		}
		// Without TLS the password would have to be encrypted with a key that anybody can offer.
		return []string{"STOP REPLICA", "RESET REPLICA ALL", "CHANGE REPLICATION SOURCE TO " + to("SOURCE") + ", SOURCE_SSL = 1, " + auto, "START REPLICA"}, nil
	}
}

// Caught implements protect.Starter.
func (*Engine) Caught(ctx context.Context, a load.Admin, c protect.Copy) (string, error) {
	q := "SHOW SLAVE STATUS"
	if !isMariaDB(c.Server) && since(c.Server, "8.0.22") {
		q = "SHOW REPLICA STATUS"
	}
	rows, err := a.Query(ctx, q)
	if err != nil {
		return "", fmt.Errorf("ask how far the copy of %s follows: %w", c.Server.Ref, err)
	}
	if len(rows.Values) == 0 {
		return "", fmt.Errorf("the copy of %s follows nobody", c.Server.Ref)
	}
	return lag(rows)
}

// lag reads the state of a replica, under its old and its new names.
func lag(rows host.Rows) (string, error) {
	get := func(name string) string {
		old := strings.NewReplacer("Replica", "Slave", "Source", "Master").Replace(name)
		for i, c := range rows.Columns {
			if strings.EqualFold(c, name) || strings.EqualFold(c, old) {
				return host.Text(rows.Values[0], i)
			}
		}
		return ""
	}
	for _, e := range []string{"Last_IO_Error", "Last_SQL_Error"} {
		if said := get(e); said != "" {
			return "", errors.New("replication has stopped: " + plain(said))
		}
	}
	switch {
	case get("Replica_SQL_Running") != "Yes" || get("Replica_IO_Running") != "Yes":
		return "", protect.ErrUnconnected
	case get("Source_Log_File") == "" || get("Source_Log_File") != get("Relay_Source_Log_File") || get("Read_Source_Log_Pos") != get("Exec_Source_Log_Pos"):
		return fmt.Sprintf("it has applied %s:%s and received %s:%s", get("Relay_Source_Log_File"), get("Exec_Source_Log_Pos"), get("Source_Log_File"), get("Read_Source_Log_Pos")), nil
	case get("Seconds_Behind_Source") != "0":
		seconds, err := strconv.Atoi(get("Seconds_Behind_Source"))
		return "by " + units.Span(time.Duration(seconds)*time.Second), err
	}
	return "", nil
}
