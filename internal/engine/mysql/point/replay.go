package point

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
)

// Replay implements replay.Engine.
func (e *Engine) Replay(ctx context.Context, d host.Streamer, a load.Admin, c protect.Copy, w replay.Way) error {
	p := &playing{ctx: ctx, o: ownerOf(d, c.Server), a: a, c: c, w: w}
	return p.all(p.same, p.tools, p.emptied, p.play, p.reached)
}

// Play plays a way into a copy that was restored without a log of its own, and proves that it stands at its end.
func Play(ctx context.Context, d host.Streamer, a load.Admin, c protect.Copy, w replay.Way) error {
	p := &playing{ctx: ctx, o: ownerOf(d, c.Server), a: a, c: c, w: w}
	return p.all(p.tools, p.emptied, p.play, p.reached)
}

// playing is a replay that goes on.
type playing struct {
	ctx         context.Context
	o           owner
	a           load.Admin
	c           protect.Copy
	w           replay.Way
	log, client []string // the tools, with what comes before them
}

func (p *playing) all(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("replay the binary log up to %s: %w", place(p.w.Stop), err)
		}
	}
	return nil
}

// same proves that the log of the copy is the beginning of the server's: after RESET MASTER
// the same name stands for another.
func (p *playing) same() error {
	// The first event's flags tell whether the file is being written.
	first := 4 + 19
	copied := p.c.In(path.Join(path.Dir(p.c.Server.Settings["log_bin_basename"]), p.w.From.File))
	if _, err := p.o.run(p.ctx, "cmp", "-s", "-i", strconv.Itoa(first), "-n", strconv.FormatInt(p.w.From.Offset-int64(first), 10), "--", copied, p.w.Files[0]); err != nil {
		return hint.With(fmt.Errorf("%s of the point is not the beginning of the server's: %w", p.w.From.File, err), "was RESET MASTER run since? use a later point")
	}
	return nil
}

var toolVersion = regexp.MustCompile(`(?:Distrib |from |Ver )([0-9]+\.[0-9]+\.[0-9]+)(-MariaDB)?`)

// tools finds the programs, and refuses such as are older than the server.
func (p *playing) tools() (err error) {
	names := [][2]string{{"mysqlbinlog", "mysql"}}
	pack := "install the client programs of " + p.c.Server.Product
	if isMariaDB(p.c.Server) {
		names = [][2]string{{"mariadb-binlog", "mariadb"}, {"mysqlbinlog", "mysql"}}
		pack = "install the package mariadb-client"
	}
	program := p.c.Server.Program[len(p.c.Server.Program)-1]
	own := []string{path.Dir(program), path.Join(path.Dir(program), "../bin")}
	for _, dir := range slices.Concat(own, []string{"/usr/bin", "/usr/local/bin"}) {
		for _, n := range names {
			_, err1 := p.o.d.Stat(p.ctx, path.Join(dir, n[0]))
			_, err2 := p.o.d.Stat(p.ctx, path.Join(dir, n[1]))
			if err1 != nil || err2 != nil {
				continue
			}
			before := slices.Clone(p.o.argv)
			if len(p.c.Server.Env) > 0 && slices.Contains(own, dir) {
				before = append(append(before, "env"), p.c.Server.Env...)
			}
			if slices.Contains(own, dir) {
				before = append(before, p.c.Server.Program[:len(p.c.Server.Program)-1]...)
			}
			p.log, p.client = append(slices.Clone(before), path.Join(dir, n[0])), append(before, path.Join(dir, n[1]))
			out, err := p.o.d.Run(p.ctx, append(slices.Clone(p.client), "--version")...)
			if err != nil {
				return err
			}
			m := toolVersion.FindStringSubmatch(string(out))
			if m == nil || strings.Contains(string(out), "MariaDB") != isMariaDB(p.c.Server) || newer(p.c.Server.Version, m[1]) {
				continue // of another product, or of an older release
			}
			return nil
		}
	}
	return hint.With(fmt.Errorf("there is no %s for %s here", names[0][0], p.c.Server.Product), pack)
}

// emptied opens the tables in memory. A server that first opens one since it started notes in its log that it is empty now: in the replay
// that would take the GTID of the transaction for which it is opened.
func (p *playing) emptied() error {
	rows, err := p.a.Query(p.ctx, "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE ENGINE = 'MEMORY' AND TABLE_SCHEMA NOT IN "+engine.OwnSchemas)
	if err == nil && len(rows.Values) > 0 {
		err = p.a.Exec(p.ctx, "SET SESSION sql_log_bin = 0")
	}
	for _, row := range rows.Values {
		if err == nil {
			_, err = p.a.Query(p.ctx, "SELECT 1 FROM "+engine.Identifier(host.Text(row, 0))+"."+engine.Identifier(host.Text(row, 1))+" LIMIT 1")
		}
	}
	return err
}

// play lets one program read the log and another type it to the copy. Nothing is kept between
// them, and when the first fails the second is ended before it could take what it has for all.
func (p *playing) play() error {
	if p.w.Count == 0 {
		return nil
	}
	// A row event is written in a longer form than it has in the log. What LOAD DATA read is in a log of statements, and becomes files again.
	if err := p.a.Exec(p.ctx, "SET GLOBAL max_allowed_packet = 1073741824", "SET GLOBAL local_infile = ON"); err != nil {
		return err
	}
	loaded := p.c.Run + "/tmp"
	argv := append(slices.Clone(p.log), "--no-defaults", "--local-load="+loaded, "--start-position="+strconv.FormatInt(p.w.From.Offset, 10),
		"--stop-position="+strconv.FormatInt(p.w.Stop.Offset, 10), "--")
	argv = append(argv, p.w.Files...)
	read, write := io.Pipe()
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	given := make(chan error, 1)
	go func() {
		_, err := p.o.d.Pipe(ctx, host.Pipe{Argv: argv, Out: write})
		_ = write.CloseWithError(err)
		given <- err
	}()
	// The copy asks no accounts, in which state it refuses to change them: this session keeps
	// its rights when the accounts are read.
	in := io.MultiReader(strings.NewReader("FLUSH NO_WRITE_TO_BINLOG PRIVILEGES;\n"), read)
	typed := append(slices.Clone(p.client), "--no-defaults", "--batch", "--binary-mode", "--max-allowed-packet=1G", "--default-character-set="+p.characters(), "--user=root", "--socket="+socket(p.c))
	if !isMariaDB(p.c.Server) {
		typed = append(typed, "--loose-load-data-local-dir="+loaded) // without it MySQL's client gives a server no files, since 8.0
	}
	flow, err := p.o.d.Pipe(p.ctx, host.Pipe{Argv: typed, In: in})
	if err == nil && flow.Unread {
		err = errors.New("the client did not accept all of it")
	}
	_ = read.CloseWithError(errEnough)
	if err != nil {
		cancel()
	}
	if failed := <-given; failed != nil && (err == nil || errors.Is(err, failed)) {
		return failed
	}
	return err
}

// characters is the character set in which the client looks for the ends of statements. Each statement
// of the log tells the server its own.
func (p *playing) characters() string {
	if isMariaDB(p.c.Server) {
		return "binary"
	}
	return "utf8mb4" // in "binary" MySQL's client finds its commands in small letters only, and mysqlbinlog writes DELIMITER
}

// reached proves that the copy stands where the way ends.
func (p *playing) reached() error {
	at, err := positionNow(p.ctx, p.a.Query)
	if err != nil {
		return err
	}
	if isMariaDB(p.c.Server) && at.GTID != p.w.Stop.GTID {
		return fmt.Errorf("the copy is at GTID %s, but the log at that place is at %s", brief(at.GTID), brief(p.w.Stop.GTID))
	}
	if !isMariaDB(p.c.Server) && p.w.Count > 0 && strings.Contains(p.w.Stop.GTID, ":") {
		all, err := executed(p.ctx, p.a.Query, p.w.Stop.GTID)
		if err != nil {
			return err
		}
		if !all {
			return fmt.Errorf("the copy has not executed %s", brief(p.w.Stop.GTID))
		}
	}
	return nil
}

// Settle implements replay.Engine.
func (*Engine) Settle(ctx context.Context, d host.Streamer, c protect.Copy) error {
	n := &neutral{ctx: ctx, d: d, o: ownerOf(d, c.Server), c: c}
	text, err := n.o.run(ctx, "cat", "--", n.indexFile())
	if err == nil {
		var out strings.Builder
		for line := range strings.Lines(string(text)) {
			out.WriteString(strings.TrimPrefix(line, c.Root))
		}
		err = n.o.write(ctx, n.indexFile(), out.String())
	}
	if err != nil {
		return fmt.Errorf("give a copy of %s its names back: %w", c.Server.Ref, err)
	}
	return nil
}
