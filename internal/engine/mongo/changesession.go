package mongo

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"plumb/internal/host"
)

// changeTime bounds one command that changes a server.
const changeTime = 30 * time.Second

var _ host.Changer = (*Dialer)(nil)

// DialToChange implements host.Changer.
func (d *Dialer) DialToChange(ctx context.Context, t host.Target, _ func(string) ([]byte, error)) (host.ChangeSession, error) {
	client, err := d.connect(ctx, t)
	if err != nil {
		return nil, err
	}
	return &changeSession{client}, nil
}

// changeSession runs setParameter and nothing else.
type changeSession struct{ client *mongo.Client }

// Exec implements host.ChangeSession. A statement is a command as a JSON
// document: {"setParameter": 1, "ttlMonitorEnabled": true}.
func (s *changeSession) Exec(ctx context.Context, statement string) error {
	if name, _, err := readCommand(statement); err != nil || name != "setParameter" {
		return fmt.Errorf("%w: %s is not setParameter", host.ErrRefused, statement)
	}
	command, _, err := parseCommand(statement)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	if err := s.client.Database("admin").RunCommand(ctx, command).Err(); err != nil {
		return meaning(err)
	}
	return nil
}

// Close implements host.ChangeSession.
func (s *changeSession) Close() error { return (&session{s.client}).Close() }
