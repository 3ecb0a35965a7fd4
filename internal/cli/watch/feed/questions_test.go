package feed

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// asked answers as a server's planner would, and waits when it is told to.
type asked struct {
	wait    chan struct{}
	indexes []series.Index
}

func (a asked) Plan(ctx context.Context, _ host.Reader, _ *stack.Stack, _ series.Statement) (series.Plan, error) {
	if a.wait != nil {
		select {
		case <-a.wait:
		case <-ctx.Done():
		}
	}
	return series.Plan{Steps: []series.PlanStep{{Does: "reads"}}}, nil
}

func (a asked) Indexes(context.Context, host.Reader, *stack.Stack, stack.Ref) ([]series.Index, error) {
	return a.indexes, nil
}

var server = stack.Ref{Kind: "mysql", Name: "3306"}

func questions(a asked) *Questions {
	return newQuestions(nil, func(bool) map[string]sample.Planner { return map[string]sample.Planner{"mysql": a} })
}

func TestQuestions(t *testing.T) {
	q := questions(asked{})
	if p := q.Plan(t.Context(), series.Statement{Of: server, ID: "1"}, false); !strings.Contains(p.Why, "nothing was read") {
		t.Errorf("before a picture: %+v", p)
	}
	q.Picture(time.Now(), &stack.Stack{})
	if p := q.Plan(t.Context(), series.Statement{Of: server, ID: "1"}, false); len(p.Steps) != 1 {
		t.Errorf("%+v", p)
	}
	for _, s := range []series.Statement{{Of: server, ID: "rest", Rest: true}, {Of: server, ID: "own", Text: series.OwnMark}, {Of: stack.Ref{Kind: "mongo", Name: "1"}, ID: "1"}} {
		if p := q.Plan(t.Context(), s, false); p.Why == "" || len(p.Steps) > 0 {
			t.Errorf("%+v has a plan: %+v", s, p)
		}
	}
}

// TestOneQuestionAtATime: a server that does not answer is not asked again and again.
func TestOneQuestionAtATime(t *testing.T) {
	wait := make(chan struct{})
	q := questions(asked{wait: wait})
	q.Picture(time.Now(), &stack.Stack{})
	first := make(chan series.Plan)
	go func() { first <- q.Plan(context.Background(), series.Statement{Of: server, ID: "1"}, false) }()
	for len(q.one) == 0 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if p := q.Plan(ctx, series.Statement{Of: server, ID: "2"}, false); !strings.Contains(p.Why, "not answered in time") {
		t.Errorf("two at a time: %+v", p)
	}
	close(wait)
	if p := <-first; len(p.Steps) != 1 {
		t.Errorf("%+v", p)
	}
}

// TestNobodyDropsBoth: an index that is to do another's work is not called unread.
func TestNobodyDropsBoth(t *testing.T) {
	of := func(table, name, doneBy string) series.Index {
		return series.Index{Of: server, Database: "shop", Table: table, Name: name, Unread: doneBy == "", DoneBy: doneBy}
	}
	q := questions(asked{indexes: []series.Index{of("t", "one", "two"), of("t", "two", ""), of("t", "three", ""), of("u", "two", "")}})
	q.Picture(time.Now(), &stack.Stack{})
	all, err := q.Indexes(t.Context(), server)
	var got []string
	for _, x := range all {
		got = append(got, x.Table+"."+x.Name)
	}
	if err != nil || fmt.Sprint(got) != "[t.one t.three u.two]" {
		t.Errorf("%v, %v", got, err)
	}
}
