package record

import (
	"encoding/binary"
	"slices"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// sessionRow is the sessions of one batch.
type sessionRow struct {
	batch    int64 // its number in the block
	sessions []series.Session
}

// texts are the strings of a blob, each written once, in the order in which
// they first come.
type texts struct {
	place map[string]uint64
	list  []string
}

func (t *texts) of(s string) int64 {
	i, known := t.place[s]
	if !known {
		i = uint64(len(t.list))
		t.place[s], t.list = i, append(t.list, s)
	}
	return int64(i)
}

func (t *texts) append(dst []byte) []byte {
	return appendStrings(binary.AppendUvarint(dst, uint64(len(t.list))), t.list...)
}

func (in *input) texts() []string { return in.strings(in.count(len(in.data))) }

// The whole numbers that a session is written as, each a column of its own.
const (
	sessionKind = iota
	sessionName
	sessionID
	sessionUser
	sessionClient
	sessionDatabase
	sessionActive
	sessionClass
	sessionWait
	sessionStatement
	sessionText
	sessionBlockers // how many
	sessionNumbers
)

// encodeSessions writes the sessions of a minute: the texts, which batches, how
// many each, and the sessions by columns.
func encodeSessions(rows []sessionRow) []byte {
	t := &texts{place: map[string]uint64{}}
	var batches, counts, blockers, runs, inTx []int64
	var numbers [sessionNumbers][]int64
	for _, r := range rows {
		batches, counts = append(batches, r.batch), append(counts, int64(len(r.sessions)))
		for _, s := range r.sessions {
			for i, n := range numbersOf(s, t) {
				numbers[i] = append(numbers[i], n)
			}
			runs, inTx = append(runs, int64(s.For)), append(inTx, int64(s.InTx))
			blockers = append(blockers, s.BlockedBy...)
		}
	}
	dst := t.append(nil)
	dst = binary.AppendUvarint(dst, uint64(len(rows)))
	dst = appendInts(appendInts(dst, 0, 0, batches), 0, 0, counts)
	for _, n := range numbers {
		dst = appendInts(dst, 0, 0, n)
	}
	dst = appendTimes(appendTimes(dst, 0, runs), 0, inTx)
	return appendInts(binary.AppendUvarint(dst, uint64(len(blockers))), 0, 0, blockers)
}

func numbersOf(s series.Session, t *texts) [sessionNumbers]int64 {
	active := int64(0)
	if s.Active {
		active = 1
	}
	return [sessionNumbers]int64{
		sessionKind: t.of(s.Of.Kind), sessionName: t.of(s.Of.Name), sessionID: s.ID, sessionUser: t.of(s.User), sessionClient: t.of(s.Client),
		sessionDatabase: t.of(s.Database), sessionActive: active, sessionClass: t.of(string(s.Class)), sessionWait: t.of(s.Wait),
		sessionStatement: t.of(s.Statement), sessionText: t.of(s.Text), sessionBlockers: int64(len(s.BlockedBy)),
	}
}

// decodeSessions reads what encodeSessions wrote.
func decodeSessions(data []byte) ([]sessionRow, error) {
	in := &input{data: data}
	list := in.texts()
	n := in.count(mostRows)
	batches, counts := in.ints(0, n), in.ints(0, n)
	total := int64(0)
	for _, c := range counts {
		if c < 0 || c > mostRows {
			return nil, errDamaged
		}
		total += c
	}
	if in.bad || total > mostSessions {
		return nil, errDamaged
	}
	var numbers [sessionNumbers][]int64
	for i := range numbers {
		numbers[i] = in.ints(0, int(total))
	}
	runs, inTx := in.times(0, int(total)), in.times(0, int(total))
	blockers := in.ints(0, in.count(mostValues))
	if err := in.ended(); err != nil {
		return nil, err
	}
	rows := make([]sessionRow, n)
	for i := range rows {
		rows[i].batch = batches[i]
		for range counts[i] {
			s, ok := sessionOf(&numbers, list, &blockers)
			if !ok {
				return nil, errDamaged
			}
			s.For, s.InTx = time.Duration(runs[0]), time.Duration(inTx[0])
			runs, inTx = runs[1:], inTx[1:]
			rows[i].sessions = append(rows[i].sessions, s)
		}
	}
	return rows, nil
}

// sessionOf takes the first session off the columns.
func sessionOf(numbers *[sessionNumbers][]int64, list []string, blockers *[]int64) (s series.Session, ok bool) {
	ok = true
	number := func(i int) int64 {
		n := numbers[i][0]
		numbers[i] = numbers[i][1:]
		return n
	}
	text := func(i int) string {
		n := number(i)
		if n < 0 || n >= int64(len(list)) {
			ok = false
			return ""
		}
		return list[n]
	}
	s = series.Session{
		Of: stack.Ref{Kind: text(sessionKind), Name: text(sessionName)}, ID: number(sessionID), User: text(sessionUser), Client: text(sessionClient),
		Database: text(sessionDatabase), Active: number(sessionActive) == 1, Class: series.Class(text(sessionClass)), Wait: text(sessionWait),
		Statement: text(sessionStatement), Text: text(sessionText),
	}
	n := number(sessionBlockers)
	if n < 0 || n > int64(len(*blockers)) {
		return s, false
	}
	if n > 0 {
		s.BlockedBy = slices.Clone((*blockers)[:n])
		*blockers = (*blockers)[n:]
	}
	return s, ok
}
