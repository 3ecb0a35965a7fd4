package sampler

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
)

// operationsQuery lists what clients have the server do, the longest first, and
// transactions that are open and do nothing. Monitors that wait for news of the
// server, replicas that read its log, and we ourselves are left out. Commands
// are not asked for: they hold literals.
var operationsQuery = fmt.Sprintf(`{"aggregate": 1, "pipeline": [
{"$currentOp": {"allUsers": true, "idleConnections": false, "idleSessions": true}},
{"$match": {"$or": [{"desc": {"$regex": "^conn"}, "active": true}, {"type": "idleSession"}], "appName": {"$ne": "plumb"}, "ns": {"$ne": "local.oplog.rs"},
"command.hello": {"$exists": false}, "command.isMaster": {"$exists": false}, "command.ismaster": {"$exists": false}}},
{"$sort": {"microsecs_running": -1}}, {"$limit": %d},
{"$project": {"_id": 0, "opid": 1, "type": 1, "active": 1, "client": 1, "op": 1, "ns": 1, "planSummary": 1, "effectiveUsers": 1, "microsecs_running": 1,
"waitingForLock": 1, "waitingForFlowControl": 1, "waitingForLatch": 1, "queryHash": 1, "planCacheShapeHash": 1, "transaction": 1}}],
"cursor": {"batchSize": %d}, "maxTimeMS": 800, "$only": ["cursor", "firstBatch"]}`, series.MostSessions, series.MostSessions)

// operation is a document of $currentOp: its output fields in the manuals of 4.4
// to 8.0. On a router opid is a text, which gives no number.
type operation struct {
	OpID          json.RawMessage         `json:"opid"`
	Type          string                  `json:"type"`
	Active        bool                    `json:"active"`
	Client        string                  `json:"client"`
	Op            string                  `json:"op"`
	NS            string                  `json:"ns"`
	Plan          string                  `json:"planSummary"`
	Micros        float64                 `json:"microsecs_running"`
	ForLock       bool                    `json:"waitingForLock"`
	ForFlow       bool                    `json:"waitingForFlowControl"`
	ForLatch      json.RawMessage         `json:"waitingForLatch"`
	Hash          string                  `json:"queryHash"`
	ShapeHash     string                  `json:"planCacheShapeHash"` // its name since 8.0
	EffectiveUser []struct{ User string } `json:"effectiveUsers"`
	Transaction   struct {
		Open float64 `json:"timeOpenMicros"`
		Idle float64 `json:"timeInactiveMicros"`
	} `json:"transaction"`
}

// sessions counts the sessions, and lists those that do or hold something.
func (v *server) sessions(ctx context.Context, h host.Reader, b *series.Batch) error {
	if err := v.document(sessionsQuery, sessions)(ctx, h, b); err != nil {
		return err
	}
	text, err := v.answer(ctx, h, operationsQuery)
	if err != nil {
		b.Gap(v.Ref, "which operations these are: "+err.Error(), grantsHint, "operations")
		return nil // what was counted stands
	}
	b.Sessions, err = v.operations(text)
	return err
}

// operations reads an answer to operationsQuery.
func (v *server) operations(text []byte) ([]series.Session, error) {
	var all []operation
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read the answer to $currentOp: %w", err)
	}
	var out []series.Session
	for _, o := range all[:min(len(all), series.MostSessions)] {
		out = append(out, o.session(v))
	}
	return out, nil
}

func (o operation) session(v *server) series.Session {
	database, _, _ := strings.Cut(o.NS, ".")
	s := series.Session{Of: v.Ref, Client: sample.WithoutPort(o.Client), Database: database, Active: o.Active, For: micros(o.Micros), InTx: micros(o.Transaction.Open)}
	_ = json.Unmarshal(o.OpID, &s.ID) // 0 where the server has no number for it
	if len(o.EffectiveUser) > 0 {
		s.User = o.EffectiveUser[0].User
	}
	if s.Statement = o.ShapeHash; s.Statement == "" {
		s.Statement = o.Hash
	}
	if !s.Active {
		s.For = micros(o.Transaction.Idle)
		return s
	}
	s.Class, s.Wait = o.class()
	s.Text = strings.TrimSpace(strings.Join([]string{o.Op, o.NS, o.Plan}, " "))
	return s
}

// class says what it waits for, where the server does. Of one that waits for
// nothing it does not say whether it runs or reads.
func (o operation) class() (series.Class, string) {
	switch {
	case o.ForLock:
		return series.ClassLock, "waitingForLock"
	case o.ForFlow:
		return series.ClassReplica, "waitingForFlowControl"
	case len(o.ForLatch) > 2 && o.ForLatch[0] == '{':
		return series.ClassLatch, "waitingForLatch"
	}
	return series.ClassUnknown, ""
}

// micros is a time that can be none.
func micros(n float64) time.Duration {
	if !(n > 0 && n < 1e15) {
		return 0
	}
	return time.Duration(n) * time.Microsecond
}
