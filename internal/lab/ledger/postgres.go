package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"plumb/internal/hint"
	"plumb/internal/host/reach"
	"plumb/internal/host/trust"
	"plumb/internal/product"
)

// openPostgres opens the ledger of a PostgreSQL database.
func openPostgres(ctx context.Context, where string) (*Ledger, error) {
	config, err := pgx.ParseConfig(where)
	if err != nil {
		return nil, err // without the password
	}
	if _, set := config.RuntimeParams["application_name"]; !set {
		config.RuntimeParams["application_name"] = "plumb lab"
	}
	config.RuntimeParams["client_encoding"] = "UTF8"
	guard(config, where)
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 15 * time.Second
	}
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(settle))
	db.SetMaxOpenConns(8) // of which each lock takes one
	if err := inUTF8(ctx, db); err != nil {
		return nil, errors.Join(explainPostgres(err), db.Close())
	}
	return &Ledger{where: shown(where), db: db, dialect: postgresDialect(), files: table{db}, locks: advisory{db}}, nil
}

// guard makes the driver tell the password to none but whom it is for. One that
// the driver found in a file goes by the rules for files.
func guard(config *pgx.ConnConfig, where string) {
	reach := reach.Server{Engine: product.Postgres, Verified: true}
	encrypted := true
	for _, c := range append([]*pgconn.FallbackConfig{{TLSConfig: config.TLSConfig}}, config.Fallbacks...) {
		encrypted = encrypted && c.TLSConfig != nil
		reach.Verified = reach.Verified && c.TLSConfig != nil && !c.TLSConfig.InsecureSkipVerify
	}
	if _, given := apart(where); config.Password != "" && !given && os.Getenv("PGPASSWORD") == "" {
		reach.Secret = trust.Secret{File: "the password file", Named: true}
	}
	if trust.Readable("tcp", net.JoinHostPort(config.Host, "0"), encrypted) && !strings.HasPrefix(config.Host, "/") {
		config.RequireAuth = "!password"
	}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		r := reach
		r.Network, r.Address = network, address
		return r.Dial(ctx)
	}
}

// Apart gives where a ledger is without the password, which is not to be kept.
func Apart(where string) string { place, _ := apart(where); return place }

// apart takes the password out of a URL; had tells that there was one.
func apart(where string) (place string, had bool) {
	if !isPostgres(where) {
		return where, false
	}
	u, err := url.Parse(where)
	if err != nil {
		return shown(where), true
	}
	if _, had = u.User.Password(); had {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	for name := range q {
		if strings.Contains(strings.ToLower(name), "password") {
			q.Del(name)
			had = true
		}
	}
	if had {
		u.RawQuery = q.Encode()
	}
	return u.String(), had
}

// settle prepares a session. A commit is acknowledged when it is on the disk,
// whatever the server's default is. A session that holds a lock is idle for
// hours, and when its machine dies the server is to find out within a minute.
func settle(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, `SET search_path = plumb_lab`)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, `SELECT set_config(s.name, w.value, false) FROM pg_settings s
		JOIN (VALUES ('idle_session_timeout', '0'), ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3'),
			('synchronous_commit', 'on')) w (name, value) ON w.name = s.name
		WHERE s.name <> 'synchronous_commit' OR s.setting = 'off'`)
	return err
}

// inUTF8 refuses a database that could not keep every text of a trial.
func inUTF8(ctx context.Context, db *sql.DB) error {
	var encoding string
	if err := db.QueryRowContext(ctx, `SHOW server_encoding`).Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return hint.With(fmt.Errorf("the database has the encoding %s", encoding), "createdb --encoding UTF8 --template template0 makes one that can be used")
	}
	return nil
}

func postgresDialect() dialect {
	return dialect{
		numbered: true,
		place:    "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
		moment:   "TIMESTAMPTZ",
		json:     "JSON", // not JSONB, which refuses some texts and changes others
		exists:   `SELECT to_regclass('plumb_lab.ledger') IS NOT NULL`,
		before: []string{
			`SELECT pg_advisory_xact_lock(7815264190325)`, // the number means nothing: others that migrate take the same
			`DO 'BEGIN IF to_regnamespace(''plumb_lab'') IS NULL THEN CREATE SCHEMA plumb_lab; END IF; END'`,
		},
		more:    []string{`CREATE TABLE file (sha256 TEXT PRIMARY KEY, bytes BYTEA NOT NULL)`},
		explain: explainPostgres,
		passing: passingPostgres,
	}
}

// table keeps files in the database.
type table struct{ db *sql.DB }

func (t table) put(ctx context.Context, sha string, data []byte) error {
	if data == nil {
		data = []byte{} // nil would be NULL
	}
	// What is there and whole is left alone.
	_, err := t.db.ExecContext(ctx, `INSERT INTO file (sha256, bytes) VALUES ($1, $2)
		ON CONFLICT (sha256) DO UPDATE SET bytes = excluded.bytes WHERE file.bytes <> excluded.bytes`, sha, data)
	return err
}

func (t table) get(ctx context.Context, sha string) (data []byte, err error) {
	err = t.db.QueryRowContext(ctx, `SELECT bytes FROM file WHERE sha256 = $1`, sha).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoFile
	}
	return data, err
}

func (t table) name(sha string) string { return "plumb_lab.file " + sha }

// advisory locks with a lock of a session, which ends with it.
type advisory struct{ db *sql.DB }

func (a advisory) lock(ctx context.Context, hash string) (unlock func() error, err error) {
	session, err := a.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte("plumb lab " + hash))
	key := int64(binary.BigEndian.Uint64(sum[:8]))
	var got bool
	err = session.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, key).Scan(&got)
	if err == nil && !got {
		err = errHeld
	}
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return func() error {
		// The lab's context may be over by now.
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		var had bool
		err := session.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, key).Scan(&had)
		if err == nil && !had {
			err = errors.New("the session had lost it")
		}
		if err != nil {
			err = hint.With(fmt.Errorf("another lab may have run the experiment at the same time: %w", err), "look at the times of the trials")
		}
		if closed := session.Close(); closed != nil && err == nil {
			err = closed
		}
		return err
	}, nil
}

// shown is where a ledger is, without a password.
func shown(where string) string {
	if !isPostgres(where) {
		return where
	}
	u, err := url.Parse(where)
	if err != nil {
		scheme, _, _ := strings.Cut(where, "://")
		return scheme + "://…"
	}
	q := u.Query()
	for name := range q {
		if strings.Contains(strings.ToLower(name), "password") {
			q.Set(name, "xxxxx")
		}
	}
	u.RawQuery = q.Encode()
	return u.Redacted()
}
