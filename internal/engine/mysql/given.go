package mysql

import (
	"cmp"
	"errors"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"

	"plumb/internal/host"
	"plumb/internal/host/trust"
)

var errDSN = errors.New("read the data source name: want user:password@tcp(host:port)/ or user:password@unix(/path)/")

// Given makes the target of a data source name. The target holds no secret.
func Given(dsn string) (host.Target, error) {
	cfg, err := givenConfig(dsn)
	if err != nil {
		return host.Target{}, err
	}
	return host.Target{Engine: "mysql", Name: "mysql:" + cfg.Addr, Network: cfg.Net, Address: cfg.Addr,
		Logins: []host.Login{{DSN: true}}}, nil
}

// givenConfig reads a data source name. Over a network it asks for TLS unless
// it says something else, as the server's own client program does.
func givenConfig(dsn string) (*mysql.Config, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, errDSN // the driver's error can hold the password
	}
	if cfg.Net != "unix" && !trust.IsLoopback(cfg.Addr) {
		cfg.TLSConfig = cmp.Or(cfg.TLSConfig, "preferred")
	}
	encrypted := cfg.TLSConfig == "true" || cfg.TLSConfig == "skip-verify"
	if cfg.AllowCleartextPasswords && trust.Readable(cfg.Net, cfg.Addr, encrypted) {
		return nil, errors.New("read the data source name: allowCleartextPasswords over a network wants tls=true: anybody on the way could read the password")
	}
	// ParseDSN has made settings of the word it found, so they are made anew.
	cfg.TLS, cfg.AllowFallbackToPlaintext = nil, cfg.TLSConfig == "preferred"
	return cfg, nil
}

// Verified reports whether a data source name makes sure that it is the server
// it names who answers: over a network, by TLS with a verified certificate.
func Verified(dsn string) bool {
	cfg, err := mysql.ParseDSN(dsn)
	return err == nil && (cfg.Net == "unix" || trust.IsLoopback(cfg.Addr) || cfg.TLSConfig == "true")
}

// OfURL turns mysql://user:password@host:port/db?tls=true, or ?socket=/path,
// into the form the driver reads. Its errors do not repeat it.
func OfURL(text string) (dsn string, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("it is not a URL")
	}
	cfg := mysql.NewConfig()
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.DBName = strings.TrimPrefix(u.Path, "/")
	cfg.TLSConfig = u.Query().Get("tls")
	switch socket, name := u.Query().Get("socket"), u.Hostname(); {
	case socket != "":
		cfg.Net, cfg.Addr = "unix", socket
	case name == "":
		return "", errors.New("it names neither a host nor a socket")
	case strings.ContainsAny(name, "()"): // user@unix(/path)/ with a scheme before it
		return "", errors.New("the driver's protocol(address) is not a part of a URL")
	default:
		if strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		cfg.Net, cfg.Addr = "tcp", name+":"+cmp.Or(u.Port(), "3306")
	}
	return cfg.FormatDSN(), nil
}
