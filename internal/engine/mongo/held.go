package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"plumb/internal/host"
)

var _ host.HoldDialer = (*Dialer)(nil)

// DialToHold implements host.HoldDialer. The driver connects again by itself: the number of the connection
// tells that it did.
func (d *Dialer) DialToHold(ctx context.Context, t host.Target, _ func(string) ([]byte, error)) (host.HeldSession, error) {
	client, err := d.connect(ctx, t)
	if err != nil {
		return nil, err
	}
	return &heldSession{session{client}}, nil
}

// heldSession can lock the server against writes besides, which outlives it.
type heldSession struct{ session }

const heldTime = 24 * time.Hour

// locking lists the commands that it runs beyond the reading ones.
var locking = []string{"fsync", "fsyncUnlock"}

// Exec implements host.ChangeSession. It has no time limit but the context's.
func (s *heldSession) Exec(ctx context.Context, statement string) error {
	if name, _, err := readCommand(statement); err != nil || !slices.Contains(locking, name) {
		return fmt.Errorf("%w: %s is neither fsync nor fsyncUnlock", host.ErrRefused, statement)
	}
	command, _, err := parseCommand(statement)
	if err != nil {
		return err
	}
	if err := s.client.Database("admin").RunCommand(ctx, command).Err(); err != nil {
		return meaning(err)
	}
	return nil
}

// Query implements host.Session, in whatever time the context has.
func (s *heldSession) Query(ctx context.Context, query string, limits host.QueryLimits) (host.Rows, error) {
	limits.Time = heldTime
	return s.session.Query(ctx, query, limits)
}

// ID implements host.HeldSession.
func (s *heldSession) ID(ctx context.Context) (int64, error) {
	var answer struct {
		ID int64 `bson:"connectionId"`
	}
	err := s.client.Database("admin").RunCommand(ctx, map[string]int{"hello": 1}).Decode(&answer)
	if errors.Is(err, mongo.ErrNoDocuments) || err == nil && answer.ID == 0 {
		err = errors.New("the server gives its connections no numbers")
	}
	if err != nil {
		return 0, meaning(err)
	}
	return answer.ID, nil
}
