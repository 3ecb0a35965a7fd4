package sst

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"plumb/internal/hint"
)

// Roles of a transfer.
const (
	RoleDonor  = "donor"
	RoleJoiner = "joiner"
)

// Request is what a server asks for on the command line.
type Request struct {
	Role    string
	Address string // the joiner's; to the joiner, HOST[:PORT] on which it shall listen
	Datadir string
	State   State  // donor: where it stood when it was asked
	Bypass  bool   // donor: the joiner gets what it lacks from the cluster, and no files
	Parent  string // joiner: process of its server
	Binlog  string // base name of the server's binary log; "" when it writes none, or does not tell
}

// State is a position in a cluster's history, with the domain of its GTIDs where the server tells it.
type State struct {
	Position string // UUID:SEQNO
	Domain   string // a number; "" for none
}

// String writes it as the server reads it.
func (s State) String() string { return strings.TrimSpace(s.Position + " " + s.Domain) }

var stateForm = regexp.MustCompile(`^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:[0-9]{1,19})(?: ([0-9]{1,10}))?$`)

// parseState reads UUID:SEQNO and perhaps a domain.
func parseState(text string) (State, error) {
	m := stateForm.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return State{}, fmt.Errorf("%.80q is not a position in a cluster's history: want UUID:SEQNO", text)
	}
	return State{m[1], m[2]}, nil
}

// ParseRequest reads the arguments that a server gives. Those that concern other methods alone are
// skipped, and with --mysqld-args those of the server begin.
func ParseRequest(args []string) (r Request, err error) {
	gtid, domain := "", ""
	valued := map[string]*string{"--role": &r.Role, "--address": &r.Address, "--datadir": &r.Datadir, "--parent": &r.Parent, "--binlog": &r.Binlog, "--gtid": &gtid, "--gtid-domain-id": &domain}
	for i := 0; i < len(args) && args[i] != "--mysqld-args"; i++ {
		name, value, joined := strings.Cut(args[i], "=")
		to, ours := valued[name]
		switch {
		case name == "--bypass":
			r.Bypass = true
		case ours && joined:
			*to = value
		case ours && i+1 < len(args):
			i++
			*to = args[i]
		}
	}
	switch {
	case r.Role != RoleDonor && r.Role != RoleJoiner:
		err = fmt.Errorf("--role %q: want donor or joiner", r.Role)
	case !path.IsAbs(r.Datadir) || strings.ContainsAny(r.Datadir, "\n\x00"):
		err = fmt.Errorf("--datadir %q: want an absolute path", r.Datadir)
	case r.Address == "":
		err = errors.New("--address is missing")
	case r.Role == RoleDonor:
		r.State, err = parseState(gtid + " " + domain)
	}
	if err != nil {
		return r, hint.With(fmt.Errorf("read what the server asks for: %w", err), "the server itself starts this, with wsrep_sst_method = plumb")
	}
	r.Datadir = path.Clean(r.Datadir)
	return r, nil
}
