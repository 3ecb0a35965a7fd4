// Package pbm drives Percona Backup for MongoDB: it tells it where backups go, runs it and reads what it says in JSON. A pbm-agent
// runs beside each mongod, which the administrator installs, and pbm restore goes into the cluster that runs.
//
// Nothing of this was ever run against a cluster. What is said here was read in the source of 2.9.1 and 2.15.0.
package pbm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"plumb/internal/backup/driven"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/limited"
	"plumb/internal/host/redact"
	"plumb/internal/product"
	"plumb/internal/units"
)

// Tool implements [driven.Tool].
type Tool struct{}

var _ driven.Tool = Tool{}

// Name implements driven.Tool.
func (Tool) Name() string { return "pbm" }

// Kind implements driven.Tool.
func (Tool) Kind() string { return product.Mongo }

var saidVersion = regexp.MustCompile(`^v?(\d{1,3}\.\d{1,3}\.\d{1,3}\S{0,20})\s*$`)

// Have implements driven.Tool.
func (Tool) Have(ctx context.Context, d host.Streamer) (string, error) {
	missing := hint.With(errors.New("PBM is not installed here"), "install percona-backup-mongodb from Percona's repository, and run pbm-agent beside each mongod")
	return driven.Version(ctx, d, saidVersion, missing, "pbm", "version", "--short")
}

// Run implements driven.Tool. The backup is a logical one, which every server can give.
func (Tool) Run(ctx context.Context, d host.Streamer, _ driven.Set, t driven.Type) error {
	if t != driven.Full {
		return hint.With(fmt.Errorf("a logical backup is always a full one, but %s was requested", t), "pbm backup --type incremental makes those, on Percona Server")
	}
	_, err := call(ctx, d, 30*time.Minute, "", "backup", "--type=logical", "--wait", "--out=json")
	return err
}

// Look implements driven.Tool.
func (t Tool) Look(ctx context.Context, d host.Streamer, _ driven.Set) (driven.Found, error) {
	version, err := t.Have(ctx, d)
	if err != nil {
		return driven.Found{}, err
	}
	text, err := call(ctx, d, 2*time.Minute, "", "status", "--out=json")
	if err != nil && strings.Contains(err.Error(), nothing) {
		err = hint.With(errUntold, untold)
	}
	if err != nil {
		return driven.Found{}, err
	}
	f, err := read(text)
	f.Version = version
	return f, err
}

// mostText is how much of an answer is read, in bytes.
const mostText = 16 << 20

// environments are where the packages of PBM keep the URI of the agent, which has its password.
var environments = [...]string{"/etc/default/pbm-agent", "/etc/sysconfig/pbm-agent"}

// script reads the URI from the first line of its input, so that it is on no command line. The program gets the rest.
const script = `IFS= read -r PBM_MONGODB_URI && export PBM_MONGODB_URI && exec pbm "$@"`

// call runs the program with an input, and gives what it answers. In JSON it answers also what went wrong.
func call(ctx context.Context, d host.Streamer, limit time.Duration, input string, command ...string) ([]byte, error) {
	uri, err := uriOf(ctx, d)
	if err != nil {
		return nil, err
	}
	out := limited.NewBuffer(mostText, fmt.Errorf("it gives more than %s", units.Bytes(mostText)))
	p := host.Pipe{Argv: append([]string{"sh", "-c", script, "sh"}, command...), In: strings.NewReader(uri + "\n" + input), Out: out, Works: true, Progress: limit}
	if _, err := d.Pipe(ctx, p); err != nil {
		why := cmp.Or(redact.Text(refusal(out.Bytes())), err.Error())
		return nil, errors.New("pbm " + command[0] + ": " + strings.ReplaceAll(strings.ReplaceAll(why, script, "…"), uri, "***"))
	}
	return out.Bytes(), nil
}

// refusal finds in an answer what went wrong; "" where it does not say.
func refusal(text []byte) string {
	var said struct{ Error string } // also spelled error
	_ = json.Unmarshal(text, &said)
	return strings.Join(strings.Fields(said.Error), " ")
}

func uriOf(ctx context.Context, d host.Doer) (string, error) {
	for _, file := range environments {
		text, err := d.Raw(ctx, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if uri := assigned(text); uri != "" {
			return uri, nil
		}
	}
	return "", hint.With(errors.New("the URI with which pbm-agent logs in is not known"), "its packages keep PBM_MONGODB_URI=mongodb://… in "+environments[0]+" or "+environments[1])
}

// assigned finds the URI in a file of assignments, of which the last one counts.
func assigned(text []byte) (uri string) {
	for line := range strings.Lines(string(text)) {
		name, value, is := strings.Cut(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export ")), "=")
		if is && name == "PBM_MONGODB_URI" {
			uri = strings.Trim(value, `"'`)
		}
	}
	return uri
}
