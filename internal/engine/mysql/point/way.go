package point

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
	"plumb/internal/relay"
	"plumb/internal/units"
)

var _ replay.Engine = (*Engine)(nil)

// Way implements replay.Engine. No program leaves out what a file of the server's own has amid others.
func (*Engine) Way(ctx context.Context, d host.Streamer, sv protect.Server, from replay.Start, to replay.Target) (replay.Way, error) {
	w, err := Seek(ctx, d, sv, from, to)
	if err == nil && len(w.Cut) > 0 {
		err = hint.With(errors.New(strings.Join(w.Notes, "; ")), "nothing after it can be replayed from the server's own log, but it can from an archive (plumb restore --dir)")
	}
	return w, err
}

// Seek finds the way in a log of which files can be cut.
func Seek(ctx context.Context, d host.Streamer, sv protect.Server, from replay.Start, to replay.Target) (replay.Way, error) {
	if to.Archive != "" {
		return replay.Way{}, hint.Usage(fmt.Sprintf("in %s no log of %s is looked for: WAL is of PostgreSQL", to.Archive, sv.Ref), "leave out --wal: the binary log is found where it is")
	}
	s := &seeking{ctx: ctx, o: ownerOf(d, sv), sv: sv, to: to, way: replay.Way{From: from.Position}, stands: protect.Position{File: from.File, Offset: from.Offset}, last: map[string]string{}, seen: map[string]string{}}
	_, number := binlog.Number(from.File)
	s.joint = binlog.Joint{First: number == 1, Place: binlog.Place{Offset: from.Offset, GTIDs: from.GTID, Apart: from.Apart, Until: from.Until}}
	if err := s.seek(); err != nil {
		return replay.Way{}, fmt.Errorf("find the way from %s to %s in the binary log: %w", place(from.Position), to.Text, err)
	}
	return s.way, nil
}

// seeking reads a binary log.
type seeking struct {
	ctx  context.Context
	o    owner
	sv   protect.Server
	to   replay.Target
	way  replay.Way
	all  []string // files by name, from the one on in which the way begins
	at   int      // the one that is read
	next string   // that the one before named
	cut  bool     // it has no end, as far as it was read: the server died

	joint  binlog.Joint     // sees the first file
	blank  []string         // files in which nothing is
	stands protect.Position // the end of the last file in which something is

	cur  *replay.Transaction
	ends bool // nothing of it can come any more
	many bool // it is of several statements
	amid bool // the last event of it was such a statement
	end  int64
	stop bool              // the target was passed
	last map[string]string // GTID of each domain that is replayed
	seen map[string]string // GTID of each domain and server that was read; of MariaDB

	logged binlog.Set // of MySQL: all that the log has, as far as it was read; nil where that is not known
}

var errEnough = errors.New("enough was read")

func (s *seeking) seek() error {
	if s.way.From.File == "" {
		return hint.With(errors.New("the point has no position in a binary log"), "a moment between points can be reached only if the binary log is on, and in the point")
	}
	if err := s.files(); err != nil {
		return err
	}
	for gtid := range strings.SplitSeq(s.way.From.GTID, ",") {
		s.past(gtid)
	}
	for s.at = range s.all {
		err := s.file()
		if errors.Is(err, errEnough) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", s.all[s.at], err)
		}
	}
	return s.done()
}

// files lists the files from the point's on.
func (s *seeking) files() error {
	base := s.sv.Settings["log_bin_basename"]
	index := s.sv.Settings["log_bin_index"]
	if index == "" {
		index = base + ".index"
	}
	text, err := s.o.run(s.ctx, "cat", "--", index)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if name := path.Base(strings.TrimSpace(line)); name != "." {
			s.all = append(s.all, name)
		}
	}
	at := slices.Index(s.all, s.way.From.File)
	if at < 0 {
		oldest := "none"
		if len(s.all) > 0 {
			oldest = s.all[0]
		}
		return hint.With(fmt.Errorf("%s, which has the point's position, is gone: the server's oldest log file is %s", s.way.From.File, oldest),
			"from this point only the point itself can be reached; use one whose position is in "+oldest+" or later (plumb protect list)")
	}
	s.all = s.all[at:]
	for _, name := range s.all {
		s.way.Files = append(s.way.Files, path.Join(path.Dir(base), name))
	}
	return nil
}

// file reads one file, and proves that it goes on where the one before ended.
func (s *seeking) file() error {
	if s.next != "" && s.next != s.all[s.at] {
		return s.missing(fmt.Sprintf("the log before it continues in %s", s.next))
	}
	if s.at > 0 && !binlog.Follows(s.all[s.at-1], s.all[s.at]) {
		return s.missing(fmt.Sprintf("before it comes %s", s.all[s.at-1]))
	}
	s.next, s.cut, s.end = "", true, 0
	err := relay.Run(s.ctx, s.o.read(s.way.Files[s.at]), func(in io.Reader) error { return binlog.Scan(in, s.event) })
	newest, blank := s.at == len(s.all)-1, s.end == 0
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && (newest || blank): // the server is writing it, or died when it had made it
	case errors.Is(err, binlog.ErrEncrypted):
		return hint.With(err, "Plumb has no keys of binary logs: replay by hand, with mysqlbinlog --read-from-remote-server, into a plumb clone")
	case err != nil:
		return err
	}
	if s.at == 0 {
		if err := s.joint.End(); err != nil {
			return s.other(err)
		}
		if s.joint.Doubt != "" {
			s.way.Notes = append(s.way.Notes, fmt.Sprintf("%s may be another than the point's, %s; the two are compared before anything is stopped", s.all[0], s.joint.Doubt))
		}
	}
	if blank {
		s.blank = append(s.blank, s.way.Files[s.at])
		return nil
	}
	s.stands = protect.Position{File: s.all[s.at], Offset: s.end}
	if s.cur != nil && s.cut && !newest && (!s.ends || s.amid) {
		s.died()
		return nil
	}
	return s.close()
}

// other is the error of a log in which the point does not stand: it may have its file, and even its place.
func (s *seeking) other(why error) error {
	return hint.With(fmt.Errorf("the point does not belong to the log that the server has now: %w", why), "was RESET MASTER run since, or the server restored? use a point of the log that it has now (plumb protect list); "+
		"if only a clock was wrong, plumb clone starts a copy of the point, into which the log can be replayed by hand")
}

// died leaves out the transaction in which the server died: it rolled it back when it started again, and its log goes on without it.
func (s *seeking) died() {
	if s.way.Cut == nil {
		s.way.Cut = map[string]int64{}
	}
	s.way.Cut[s.cur.File] = s.cur.Offset
	s.way.Notes = append(s.way.Notes, fmt.Sprintf("the server died in the transaction at %s:%d, which is not replayed", s.cur.File, s.cur.Offset))
	s.cur, s.ends, s.amid = nil, false, false
}

func (s *seeking) missing(why string) error {
	to := "nothing later than the point"
	if n := len(s.way.Before); n > 0 {
		to = "no later than " + units.Moment(s.way.Before[n-1].Time)
	}
	return hint.With(fmt.Errorf("there is a gap: %s", why), "from this point the log leads "+to+"; use a later point (plumb protect list)")
}

// event takes one event.
func (s *seeking) event(e binlog.Event) error {
	if s.at == 0 {
		if err := s.joint.Event(e); err != nil {
			return s.other(err)
		}
	}
	if gtid, yes := e.Begins(); yes {
		if err := s.close(); err != nil {
			return err
		}
		s.cur = &replay.Transaction{File: s.all[s.at], Offset: e.At, Time: e.Time, GTID: gtid}
		s.end, s.many, s.amid = e.End, e.Several(), false
		return nil
	}
	if e.Outside() {
		if err := s.close(); err != nil {
			return err
		}
	}
	switch s.end = e.End; {
	case e.Type == binlog.Format:
		if v := e.Version(); isMariaDB(s.sv) != strings.Contains(v, "MariaDB") {
			return fmt.Errorf("it was written by %s, and the server is %s", plain(v), s.sv.Product)
		}
	case e.Type == binlog.Rotate:
		s.next, s.cut = e.Next(), false
	case e.Type == binlog.Stop:
		s.cut = false
	case e.Type == binlog.GTIDList:
		return s.list(e.List())
	case e.Type == binlog.PreviousGTIDs:
		return s.previous(e.Previous())
	case s.cur != nil && !e.Outside():
		if e.Time.After(s.cur.Time) {
			s.cur.Time = e.Time
		}
		s.ends, s.amid = e.Ends(), s.many && e.Amid()
		if db, text := e.Statement(); text != "" && (changesTables(text) || s.cur.What == "" && s.ends && text != "COMMIT") {
			s.cur.What = strings.TrimPrefix(plain(db)+": ", ": ") + shape(text)
		}
	}
	return nil
}

// list compares what MariaDB says was written before a file with what was read.
func (s *seeking) list(all []string) error {
	if s.at > 0 {
		for of, gtid := range s.seen {
			if !slices.Contains(all, gtid) {
				return s.missing(fmt.Sprintf("its list of GTIDs does not have %s, the last of %s that was read", gtid, of))
			}
		}
	}
	for _, gtid := range all {
		s.seen[gtid[:strings.LastIndexByte(gtid, '-')]] = gtid
	}
	return nil
}

// previous compares what MySQL says is in the log before a file with what was read.
func (s *seeking) previous(said binlog.Set) error {
	if gtid := s.logged.Beyond(said); said != nil && gtid != "" {
		return s.missing(fmt.Sprintf("its set of GTIDs does not have %s, which was read before", gtid))
	}
	s.logged = said
	return nil
}

// close ends a transaction, and looks on which side of the target it is.
func (s *seeking) close() error {
	t := s.cur
	if t == nil {
		return nil
	}
	s.cur = nil
	if !s.ends {
		if s.at == len(s.all)-1 {
			return nil // it is being written
		}
		return fmt.Errorf("the transaction at %s:%d has no end", t.File, t.Offset)
	}
	s.ends = false
	if isMariaDB(s.sv) && t.GTID != "" {
		s.seen[t.GTID[:strings.LastIndexByte(t.GTID, '-')]] = t.GTID
	}
	if s.logged != nil {
		s.logged.Add(t.GTID)
	}
	if s.at == 0 && t.Offset < s.way.From.Offset {
		if s.hit(t) {
			return s.early()
		}
		return nil
	}
	if t.What == "" {
		t.What = "rows"
	}
	if s.stop = s.stop || s.hit(t); s.stop {
		if s.way.After = append(s.way.After, *t); len(s.way.After) == replay.Near {
			return errEnough
		}
		return nil
	}
	s.past(t.GTID)
	s.way.Count++
	if s.way.Before = append(s.way.Before, *t); len(s.way.Before) > replay.Near {
		s.way.Before = s.way.Before[1:]
	}
	return nil
}

// past notes a GTID that is behind.
func (s *seeking) past(gtid string) {
	if domain, _, ok := strings.Cut(gtid, "-"); ok && isMariaDB(s.sv) {
		s.last[domain] = gtid
	} else if gtid != "" && !isMariaDB(s.sv) {
		s.last[""] = gtid
	}
}

// hit tells whether the replay ends before a transaction.
func (s *seeking) hit(t *replay.Transaction) bool {
	switch {
	case s.to.GTID != "":
		return strings.EqualFold(t.GTID, s.to.GTID)
	case s.to.File != "":
		return t.File == s.to.File && t.Offset >= s.to.Offset && (s.at > 0 || t.Offset >= s.way.From.Offset)
	}
	return t.Offset >= s.way.From.Offset && !t.Time.Before(s.to.Time) || s.at > 0 && !t.Time.Before(s.to.Time)
}

func (s *seeking) early() error {
	return hint.With(fmt.Errorf("%s is before the point", s.to.Text), "use an earlier point (plumb protect list)")
}

// done looks whether the target is one.
func (s *seeking) done() error {
	w := &s.way
	w.Stop = s.stands
	if len(w.After) > 0 {
		w.Stop = protect.Position{File: w.After[0].File, Offset: w.After[0].Offset}
	}
	if at := slices.Index(s.all, w.Stop.File); at >= 0 {
		w.Files = w.Files[:at+1]
	}
	w.Files = slices.DeleteFunc(w.Files, func(file string) bool { return slices.Contains(s.blank, file) })
	var all []string
	for _, gtid := range s.last {
		all = append(all, gtid)
	}
	w.Stop.GTID = gtids(strings.Join(all, ","))
	switch {
	case s.to.File != "" && (w.Stop.File != s.to.File || w.Stop.Offset != s.to.Offset):
		near := place(w.Stop)
		if n := len(w.Before); n > 0 {
			near = fmt.Sprintf("%s:%d or %s", w.Before[n-1].File, w.Before[n-1].Offset, near)
		}
		return hint.With(errors.New("no transaction begins there between the point and the end of the log"), "the nearest: "+near+"; --dry-run with a time lists more")
	case s.to.GTID != "" && len(w.After) == 0:
		err := errors.New("no transaction after the point has that GTID")
		if n := len(w.Before); n > 0 {
			err = hint.With(err, "the last one in the log: "+w.Before[n-1].GTID+"; --dry-run with a time lists more")
		}
		return err
	}
	return nil
}

// newer tells whether the tool is older than the server that wrote the log.
func newer(server, tool string) bool {
	return tool != "" && !engine.AtLeast(tool, engine.Series(server))
}
