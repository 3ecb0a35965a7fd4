package mongo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"plumb/internal/host"
	"plumb/internal/host/trust"
)

// Dialer opens sessions that run commands on the admin database: reading ones,
// and for package change setParameter. It is the only user of the driver.
type Dialer struct{ uri string }

// NewDialer makes a dialer. uri is what the person gave on the command line,
// mongodb://user:password@host:port/; it may be empty.
func NewDialer(uri string) *Dialer { return &Dialer{uri: uri} }

// reading lists the commands a session may run. All are documented to only
// report.
var reading = []string{"buildInfo", "connectionStatus", "getCmdLineOpts", "getLog", "getParameter", "hello", "hostInfo",
	"isMaster", "replSetGetConfig", "replSetGetStatus", "serverStatus"}

// Reads reports whether a command, given as a JSON document, is one of the
// reading ones. The command is the document's first key.
func (d *Dialer) Reads(query string) bool {
	name, doc, err := readCommand(query)
	switch {
	case err != nil:
		return false
	case name == "aggregate":
		return listsOperations(doc)
	}
	return slices.Contains(reading, name)
}

// readCommand reads a command, which is called by its first key.
func readCommand(query string) (name string, command bson.D, err error) {
	if err := bson.UnmarshalExtJSON([]byte(query), false, &command); err != nil {
		return "", nil, err
	}
	if len(command) == 0 {
		return "", nil, errors.New("empty command")
	}
	return command[0].Key, command, nil
}

const dialTime = 3 * time.Second

// Dial implements host.Dialer. MongoDB lets a client connect and refuses its
// commands, so a session without a login opens and its queries are denied.
func (d *Dialer) Dial(ctx context.Context, t host.Target, _ func(string) ([]byte, error)) (host.Session, error) {
	client, err := d.connect(ctx, t)
	if err != nil {
		return nil, err
	}
	return &session{client}, nil
}

func (d *Dialer) connect(ctx context.Context, t host.Target) (*mongo.Client, error) {
	o := options.Client()
	if d.uri != "" && len(t.Logins) > 0 && t.Logins[0].DSN {
		o.ApplyURI(d.uri)
		if err := sendable(o); err != nil {
			return nil, err
		}
	} else {
		o.SetHosts([]string{t.Address})
	}
	o.SetDirect(true).SetAppName("plumb").SetMaxPoolSize(1).SetConnectTimeout(dialTime).SetServerSelectionTimeout(dialTime).
		SetReadPreference(readpref.Nearest()).SetRetryReads(false).SetRetryWrites(false)
	client, err := mongo.Connect(o)
	if err != nil {
		return nil, fmt.Errorf("read the connection string: want mongodb://user:password@host:port/: %w", host.ErrLogin)
	}
	if err := client.Ping(ctx, nil); err != nil {
		client.Disconnect(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("connect to %s: %w", t.Address, meaning(err))
	}
	return client, nil
}

// sendable refuses a login that sends the password as it is over a network.
func sendable(o *options.ClientOptions) error {
	if o.Auth == nil || o.Auth.AuthMechanism != "PLAIN" {
		return nil
	}
	for _, address := range o.Hosts {
		if trust.Readable("tcp", address, o.TLSConfig != nil) {
			return fmt.Errorf("%w: authMechanism=PLAIN sends the password itself, and anybody on the way to %s could read it: it wants tls=true", host.ErrLogin, address)
		}
	}
	return nil
}

// Verified reports whether a connection string makes sure that it is the
// server it names who answers: over a network, by TLS with a verified certificate.
func Verified(uri string) bool {
	o := options.Client().ApplyURI(uri)
	local := !slices.ContainsFunc(o.Hosts, func(address string) bool { return !trust.IsLoopback(address) })
	return local || o.TLSConfig != nil && !o.TLSConfig.InsecureSkipVerify
}

type session struct{ client *mongo.Client }

func (s *session) Query(ctx context.Context, query string, limits host.QueryLimits) (host.Rows, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	command, path, err := parseCommand(query)
	if err != nil {
		return host.Rows{}, err
	}
	raw, err := s.client.Database("admin").RunCommand(ctx, command).Raw()
	if err != nil {
		return host.Rows{}, meaning(err)
	}
	text, err := bson.MarshalExtJSON(raw, false, false)
	if err == nil && path != nil {
		text, err = part(text, path)
	}
	if err != nil {
		return host.Rows{}, err
	}
	if len(text) > limits.Bytes {
		return host.Rows{}, host.ErrTooLarge
	}
	doc := string(text)
	rows := host.Rows{Columns: []string{"document"}, Values: [][]*string{{&doc}}}
	if path != nil && doc == "null" {
		rows.Values[0][0] = nil
	}
	return rows, nil
}

// onlyKey is a key of ours in a command: the path, as a list of names, of the
// one part of the answer that is wanted. The rest holds clocks, which differ
// from one answer to the next.
const onlyKey = "$only"

// parseCommand reads a command and takes our own key out of it.
func parseCommand(query string) (command bson.D, path []string, err error) {
	var doc bson.D
	if err := bson.UnmarshalExtJSON([]byte(query), false, &doc); err != nil {
		return nil, nil, fmt.Errorf("read the command: %w", err)
	}
	for _, e := range doc {
		if e.Key != onlyKey {
			command = append(command, e)
			continue
		}
		names, ok := e.Value.(bson.A)
		if !ok || len(names) == 0 {
			return nil, nil, fmt.Errorf("read the command: %s wants a list of names", onlyKey)
		}
		for _, n := range names {
			name, ok := n.(string)
			if !ok {
				return nil, nil, fmt.Errorf("read the command: %s wants a list of names", onlyKey)
			}
			path = append(path, name)
		}
	}
	return command, path, nil
}

// part gives one part of an answer as JSON: null for one that is not there,
// and a whole number without a fraction, which a double may have.
func part(text []byte, path []string) ([]byte, error) {
	doc, err := parseDocument(text)
	if err != nil {
		return nil, err
	}
	v, _ := doc.at(path...)
	if n, ok := v.(json.Number); ok {
		if f, err := n.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			v = int64(f)
		}
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("read the server's answer: %w", err)
	}
	return out, nil
}

func (s *session) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	return s.client.Disconnect(ctx)
}

// Server error codes, from MongoDB's list of error codes.
const (
	unauthorized         = 13
	authenticationFailed = 18
)

// meaning gives the driver's error one of the door's meanings.
func meaning(err error) error {
	command, is := errors.AsType[mongo.CommandError](err)
	switch {
	case is && command.Code == unauthorized:
		return fmt.Errorf("%w: %s", host.ErrDenied, command.Message)
	case is && command.Code == authenticationFailed, strings.Contains(err.Error(), "auth error"):
		return fmt.Errorf("%w: %s", host.ErrLogin, "authentication failed")
	case is:
		return fmt.Errorf("command failed: %s (%s)", command.Message, command.Name)
	case strings.Contains(err.Error(), "connect: connection refused"): // the driver tries until its time is up
		return fmt.Errorf("%w: %w", host.ErrDown, errors.New("connection refused"))
	case mongo.IsTimeout(err), mongo.IsNetworkError(err):
		return fmt.Errorf("%w: %w", host.ErrDown, errors.New("no answer in time"))
	}
	return err
}

// document is a server's answer.
type document map[string]any

// parseDocument reads the JSON of one answer; whole numbers stay whole.
func parseDocument(text []byte) (document, error) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var doc document
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("read the server's answer: %w", err)
	}
	return doc, nil
}

// at follows keys into nested documents; keys may contain spaces and dots.
func (d document) at(keys ...string) (any, bool) {
	var here any = map[string]any(d)
	for _, k := range keys {
		m, ok := here.(map[string]any)
		if !ok {
			return nil, false
		}
		if here, ok = m[k]; !ok {
			return nil, false
		}
	}
	return here, true
}

func (d document) text(keys ...string) (string, bool) {
	v, _ := d.at(keys...)
	s, ok := v.(string)
	return s, ok
}

// whole gives a whole number; fractions are cut.
func (d document) whole(keys ...string) (int64, bool) {
	v, _ := d.at(keys...)
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	if i, err := n.Int64(); err == nil {
		return i, true
	}
	f, err := n.Float64()
	return int64(f), err == nil && f > -9e18 && f < 9e18
}

func (d document) number(keys ...string) (float64, bool) {
	v, _ := d.at(keys...)
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func (d document) truth(keys ...string) (value, ok bool) {
	v, _ := d.at(keys...)
	value, ok = v.(bool)
	return value, ok
}
