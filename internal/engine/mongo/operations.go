package mongo

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// listsOperations reports whether a command is an aggregation that lists what
// the server does, and nothing else: $currentOp first, then only stages that
// choose among its documents. No stage may run code or write.
func listsOperations(command bson.D) bool {
	var stages bson.A
	for _, e := range command {
		switch e.Key {
		case "aggregate":
			if n, ok := e.Value.(int32); !ok || n != 1 {
				return false
			}
		case "pipeline":
			stages, _ = e.Value.(bson.A)
		case "cursor", "maxTimeMS", onlyKey:
		default:
			return false
		}
	}
	for i, s := range stages {
		stage, ok := s.(bson.D)
		if !ok || len(stage) != 1 || (i == 0) != (stage[0].Key == "$currentOp") {
			return false
		}
		if i > 0 && !slices.Contains([]string{"$match", "$project", "$sort", "$limit"}, stage[0].Key) || runsCode(stage[0].Value) {
			return false
		}
	}
	return len(stages) > 0
}

// runsCode tells whether a value has an operator in it that runs JavaScript.
func runsCode(v any) bool {
	switch v := v.(type) {
	case bson.D:
		return slices.ContainsFunc(v, func(e bson.E) bool {
			return slices.Contains([]string{"$where", "$function", "$accumulator"}, strings.TrimSpace(e.Key)) || runsCode(e.Value)
		})
	case bson.A:
		return slices.ContainsFunc(v, runsCode)
	case bson.JavaScript, bson.CodeWithScope:
		return true
	}
	return false
}
