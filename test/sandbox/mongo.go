package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// MongoOptions say how a mongod is set up.
type MongoOptions struct {
	Name    string   // of the instance; "" for mongo
	Datadir string   // "" for a directory of the box
	Port    int      // on 127.0.0.1
	Set     string   // its replica set, of which it is the one member; "" for none
	Storage string   // lines below storage:, indented by two
	More    string   // more sections of the file
	Args    []string // more arguments
	Wrap    []string // command that starts the server, such as Cgroup gives
}

// Mongo starts a private mongod with a mongod.conf of its own.
func (b *Box) Mongo(o MongoOptions) (*Server, error) {
	program, err := mongoProgram()
	if err != nil {
		return nil, err
	}
	o.Name = cmp.Or(o.Name, "mongo")
	data, run, err := b.home(o.Name, o.Datadir)
	if err != nil {
		return nil, err
	}
	s := &Server{Engine: "mongo", Dir: data, Socket: filepath.Join(run, fmt.Sprintf("mongodb-%d.sock", o.Port)), Port: o.Port}
	conf, err := b.Write(o.Name+"-run/mongod.conf", mongoFile(s, run, o))
	if err != nil {
		return nil, err
	}
	if s.PID, err = b.start(o.Wrap, syscall.SIGTERM, nil, append([]string{program, "--config", conf}, o.Args...)...); err != nil {
		return nil, err
	}
	return s, s.mongoReady(o.Set)
}

// mongoProgram finds a mongod. No package registry has one, so that most
// machines do not either.
func mongoProgram() (string, error) {
	if named := os.Getenv("PLUMB_MONGOD"); named != "" {
		return named, nil
	}
	return find("no mongod", "install MongoDB or Percona Server for MongoDB, or name its program in PLUMB_MONGOD", "mongod")
}

// MongoVersion gives the first two numbers of mongod's version.
func MongoVersion() (major, minor int, err error) {
	program, err := mongoProgram()
	if err != nil {
		return 0, 0, err
	}
	text, err := output(exec.Command(program, "--version"))
	if err == nil {
		_, err = fmt.Sscanf(text, "db version v%d.%d", &major, &minor)
	}
	return major, minor, err
}

func mongoFile(s *Server, run string, o MongoOptions) string {
	set := ""
	if o.Set != "" {
		set = "replication:\n  replSetName: " + o.Set + "\n"
	}
	return fmt.Sprintf("storage:\n  dbPath: %s\n%ssystemLog:\n  destination: file\n  path: %s/error.log\nnet:\n  port: %d\n  bindIp: 127.0.0.1\n  unixDomainSocket:\n    pathPrefix: %s\n%s%s",
		s.Dir, o.Storage, run, s.Port, run, set, o.More)
}

func (s *Server) mongoReady(set string) error {
	err := until(patience, func(ctx context.Context) error { return s.Command(ctx, `{"ping": 1}`) })
	if err == nil && set != "" {
		err = s.initiate(set)
	}
	if err != nil {
		return fmt.Errorf("mongod in %s did not start: %w%s", s.Dir, err, tail(filepath.Dir(s.Socket)+"/error.log"))
	}
	return nil
}

// initiate makes the server the only member of a set, and waits until it is
// its primary.
func (s *Server) initiate(set string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := s.Command(ctx, fmt.Sprintf(`{"replSetInitiate": {"_id": %q, "members": [{"_id": 0, "host": "127.0.0.1:%d"}]}}`, set, s.Port))
	if err != nil {
		return err
	}
	return until(patience, func(ctx context.Context) error {
		answer, err := s.Ask(ctx, "admin", `{"isMaster": 1}`)
		if primary, _ := answer["ismaster"].(bool); err == nil && !primary {
			err = fmt.Errorf("it is not the primary of %s", set)
		}
		return err
	})
}

// Command runs a command on a mongod's database admin.
func (s *Server) Command(ctx context.Context, command string) error {
	_, err := s.Ask(ctx, "admin", command)
	return err
}

// Ask runs a command and gives mongod's answer; both are JSON.
func (s *Server) Ask(ctx context.Context, database, command string) (map[string]any, error) {
	var doc bson.D
	if err := bson.UnmarshalExtJSON([]byte(command), false, &doc); err != nil {
		return nil, err
	}
	o := options.Client().SetHosts([]string{s.Socket}).SetDirect(true).SetServerSelectionTimeout(2 * time.Second)
	if s.User != "" {
		o.SetAuth(options.Credential{Username: s.User, Password: s.Password})
	}
	client, err := mongo.Connect(o)
	if err != nil {
		return nil, err
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	raw, err := client.Database(database).RunCommand(ctx, doc).Raw()
	if err != nil {
		return nil, err
	}
	text, err := bson.MarshalExtJSON(raw, false, false)
	if err != nil {
		return nil, err
	}
	var answer map[string]any
	return answer, json.Unmarshal(text, &answer)
}
