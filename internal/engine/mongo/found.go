package mongo

import (
	"context"
	"encoding/json"
	"fmt"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// Find gives the mongod of a thing in the stack, and how Plumb logs in to it.
func (p Probe) Find(ctx context.Context, h host.Reader, seen *stack.Stack, of stack.Ref) (observe.Local, host.Target, error) {
	for _, in := range p.instances(ctx, h, seen) {
		switch {
		case in.name != of.Name:
		case in.router:
			return in.Local, in.target, hint.With(fmt.Errorf("%s is a mongos, which keeps no data", of), "take points of its shards; for all of them at one moment, use Percona Backup for MongoDB")
		case in.target.Address == "":
			return in.Local, in.target, hint.With(fmt.Errorf("%s listens in a network namespace of its own, and on no socket", of), "run Plumb there, or give its address with --dsn")
		default:
			return in.Local, in.target, nil
		}
	}
	return observe.Local{}, host.Target{}, hint.With(fmt.Errorf("%s does not run here", of), "plumb stack lists the servers of this host")
}

// Reach finds the way to a server of a stack, here or where --dsn says: who only asks it needs none of its files.
func (p Probe) Reach(ctx context.Context, h host.Reader, seen *stack.Stack, of stack.Ref) (host.Target, error) {
	if p.Remote != "" && of.Name == p.Remote { // those of this host are called by their ports
		return remoteTarget(p.Remote), nil
	}
	_, target, err := p.Find(ctx, h, seen, of)
	return target, err
}

// LastWrite reads the optime of the last write from an answer to hello; "" of a server
// that is in no replica set and has none.
func LastWrite(answer host.Rows) (string, error) {
	doc, err := firstDocument(answer)
	if err != nil {
		return "", err
	}
	seconds, ok := doc.whole("lastWrite", "opTime", "ts", "$timestamp", "t")
	if !ok {
		return "", nil
	}
	number, _ := doc.at("lastWrite", "opTime", "ts", "$timestamp", "i")
	n, _ := number.(json.Number)
	return fmt.Sprintf("%d:%s", seconds, n), nil
}
