package pgbackrest

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"plumb/internal/backup/driven"
	"plumb/internal/edit"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// plain are the characters of paths that stand unquoted in a configuration, in archive_command and in restore_command.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./"

// Check implements driven.Whole.
func (Tool) Check(s driven.Set) error {
	if !driven.IsName(s.Name) {
		return hint.Usage(fmt.Sprintf("%q is not a valid stanza name", s.Name), "use small letters, digits, - and _")
	}
	for _, file := range []string{s.Config, s.Private, s.Run, s.Server.Dir("data"), s.CA} {
		if strings.Trim(file, plain) != "" {
			return hint.With(fmt.Errorf("%q cannot be written into archive_command without quoting", file), "use a path of letters, digits, ., - and _")
		}
	}
	at, err := place(s)
	switch {
	case err != nil:
		return err
	case at.bucket == "" && strings.Trim(at.path, plain) != "":
		return hint.Usage(fmt.Sprintf("%q is not a directory for a repository", at.path), "use a path of letters, digits, ., - and _")
	case at.bucket == "":
	case at.host == "":
		return hint.Usage("pgBackRest needs the endpoint of the bucket", "--endpoint https://s3.REGION.amazonaws.com, or that of your store")
	case s.Region == "":
		return hint.Usage("pgBackRest needs the region of the bucket", "--region NAME; stores that have none take us-east-1")
	}
	return nil
}

// at is where a repository is.
type at struct {
	path, bucket string
	host, port   string // of a bucket
	amazon       bool
}

func place(s driven.Set) (p at, err error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.User != nil {
		return p, hint.Usage("the URL of the repository is not understood", "s3://bucket/prefix or file:///directory")
	}
	switch u.Scheme {
	case "file":
		return at{path: path.Clean(u.Path)}, nil
	case "s3":
	default:
		return p, hint.Usage(fmt.Sprintf("%q is not a place for a repository that Plumb sets up", s.URL), "s3://bucket/prefix or file:///directory")
	}
	p = at{path: path.Clean("/" + u.Path), bucket: u.Host}
	if s.Endpoint == "" {
		return p, nil
	}
	if strings.Contains(s.Endpoint, "@") { // it is not quoted: it is shown and kept as a place
		return p, hint.Usage("the endpoint has a login in it", "the login is in $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY, or where the tools of AWS keep it; an endpoint is https://host:port")
	}
	e, err := url.Parse(s.Endpoint)
	if err != nil || e.Scheme != "https" || e.Host == "" || strings.Trim(e.Path, "/") != "" {
		return p, hint.Usage(fmt.Sprintf("%q is not an endpoint that pgBackRest can use", s.Endpoint), "https://host:port: it speaks only TLS")
	}
	p.host, p.port = e.Hostname(), e.Port()
	p.amazon = strings.HasSuffix(p.host, ".amazonaws.com")
	return p, nil
}

// Config implements driven.Whole.
func (Tool) Config(s driven.Set) (all []driven.Setting) {
	set := func(name, value string) { all = append(all, driven.Setting{Name: name, Value: value}) }
	p, _ := place(s) // which Check saw
	set("global/repo1-path", p.path)
	set("global/repo1-cipher-type", "aes-256-cbc")
	if p.bucket != "" {
		set("global/repo1-type", "s3")
		set("global/repo1-s3-bucket", p.bucket)
		set("global/repo1-s3-endpoint", p.host)
		set("global/repo1-s3-region", s.Region)
		if p.port != "" {
			set("global/repo1-storage-port", p.port)
		}
		if !p.amazon {
			set("global/repo1-s3-uri-style", "path")
		}
		if s.CA != "" {
			set("global/repo1-storage-ca-file", s.CA)
		}
	}
	if s.Keep > 0 {
		set("global/repo1-retention-full", strconv.Itoa(s.Keep))
	}
	set("global/lock-path", s.Run)       // not the usual /tmp/pgbackrest, which anybody can make first
	set("global/log-level-file", "off")  // what goes wrong is told by who runs it
	set("global/start-fast", "y")        // or a backup waits for the next checkpoint
	set("global/archive-copy", "y")      // so that a backup starts without the archive
	set("global/archive-timeout", "120") // for the first file of the log to arrive
	set("global/compress-type", "zst")   // gz, the default, is slow
	set(s.Name+"/pg1-path", s.Server.Dir("data"))
	if s.Port != "" {
		set(s.Name+"/pg1-port", s.Port)
	}
	if s.Socket != "" {
		set(s.Name+"/pg1-socket-path", s.Socket)
	}
	if role := s.Server.Settings["superuser"]; role != "" {
		set(s.Name+"/pg1-user", role)
	}
	return all
}

// The names of what is secret.
const (
	passName   = "repo1-cipher-pass"
	keyName    = "repo1-s3-key"
	secretName = "repo1-s3-key-secret"
	typeName   = "repo1-s3-key-type"
)

// Secrets implements driven.Whole. A repository that is encrypted stays so with the passphrase that it was begun with.
func (Tool) Secrets(s driven.Set, l driven.Login) (key, login string, err error) {
	var random [48]byte
	_, _ = rand.Read(random[:]) // never fails
	key = "[global]\n" + passName + "=" + base64.StdEncoding.EncodeToString(random[:]) + "\n"
	if p, err := place(s); err != nil || p.bucket == "" {
		return key, "", err
	}
	switch {
	case l.Token != "":
		return "", "", hint.Usage("the login of the bucket expires within hours", "archive_command needs one that lasts, or the role of the machine: unset $AWS_SESSION_TOKEN")
	case l.Key == "" && l.Secret == "":
		return key, "[global]\n" + typeName + "=auto\n", nil // the role of the machine
	case strings.ContainsAny(l.Key+l.Secret, "\n\r\x00") || l.Key == "" || l.Secret == "":
		return "", "", errors.New("the access key or the secret of the bucket is missing, or has a line break")
	}
	return key, "[global]\n" + keyName + "=" + l.Key + "\n" + secretName + "=" + l.Secret + "\n", nil
}

var aKey = regexp.MustCompile(`^[!-~]{8,512}$`)

// Opens implements driven.Whole.
func (Tool) Opens(text []byte) (string, error) {
	pass, is, err := edit.Get(edit.Unit, text, "global/"+passName)
	if err != nil || !is || !aKey.MatchString(pass) {
		return "", hint.With(errors.New("the file has no key of pgBackRest"), "it is a copy of STANZA.private/key.conf: [global], and below that "+passName+"=…")
	}
	return "[global]\n" + passName + "=" + pass + "\n", nil
}

// command is what the server runs for each file of its log. A % of PostgreSQL's is doubled by nobody: paths have none.
func command(s driven.Set) string { return strings.Join(line(s), " ") + " archive-push %p" }

// fetch is the command by which a server that recovers in a directory gets a file of the log. The tool wants to run where it
// is told that the server is. In the server's line a percent sign stands for something else, unless there are two.
func fetch(s driven.Set, dir string) string {
	return strings.Join(line(s), " ") + " --pg1-path=" + host.ShellQuoted(strings.ReplaceAll(dir, "%", "%%")) + ` archive-get %f "%p"`
}

const archiving = `SELECT name, setting FROM pg_settings WHERE name IN ('archive_mode', 'archive_command', 'archive_library', 'wal_level', 'port', 'wal_segment_size')`

// Wants implements driven.Whole.
func (Tool) Wants(ctx context.Context, h host.Reader, t host.Target, s driven.Set) ([]driven.Setting, error) {
	is, err := settings(ctx, h, t)
	if err != nil {
		return nil, err
	}
	return wants(is, command(s))
}

func settings(ctx context.Context, h host.Reader, t host.Target) (map[string]string, error) {
	rows, err := h.Query(ctx, t, archiving)
	if err != nil {
		return nil, fmt.Errorf("read how its log is archived: %w", err)
	}
	is := map[string]string{}
	for _, row := range rows.Values {
		is[host.Text(row, 0)] = host.Text(row, 1)
	}
	return is, nil
}

// wants is pure.
func wants(is map[string]string, command string) (all []driven.Setting, err error) {
	had := strings.TrimSpace(is["archive_command"])
	if had == "(disabled)" { // what the server shows of one while archive_mode is off
		had = ""
	}
	switch {
	case is["archive_library"] != "":
		return nil, hint.With(fmt.Errorf("its log is archived by the library %s", is["archive_library"]), "Plumb does not replace somebody else's archive. Set archive_library = '' when it is no longer used")
	case had != "" && had != command:
		return nil, hint.With(fmt.Errorf("its log is archived by another command: %s", had), "Plumb does not replace somebody else's archive. Set archive_command = '' when it is no longer used")
	case is["wal_level"] == "minimal":
		return nil, hint.With(errors.New("wal_level is minimal: its log is not sufficient for an online backup"), "set wal_level = replica, and restart the server")
	}
	if is["archive_mode"] == "off" {
		all = append(all, driven.Setting{Name: "archive_mode", Value: "on"})
	}
	if had == "" {
		all = append(all, driven.Setting{Name: "archive_command", Value: command})
	}
	return all, nil
}

// Found completes a set with what only the server itself knows.
func Found(ctx context.Context, h host.Reader, t host.Target, s *driven.Set) error {
	is, err := settings(ctx, h, t)
	if err != nil {
		return err
	}
	if s.Segment, err = strconv.ParseInt(is["wal_segment_size"], 10, 64); err != nil {
		return fmt.Errorf("its log's files are of %q bytes", is["wal_segment_size"])
	}
	s.Port = is["port"]
	if s.Socket = path.Dir(t.Address); t.Network != "unix" {
		return hint.With(errors.New("it is reached over TCP, and pgBackRest needs its socket"), "run plumb as root on the host of the server")
	}
	return nil
}
