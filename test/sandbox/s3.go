package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// versity is a real server of S3 (Apache 2.0): it rejects what does not fit its checksum and keeps conditions and locks.
const versity = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

// S3 is a private server with one bucket.
type S3 struct {
	Endpoint, Bucket, Key, Secret string
	Dir                           string // in which the bucket's objects are files
}

// S3 starts VersityGW. It is built when it is not in the tests' cache, which takes two minutes.
func (b *Box) S3(t testing.TB) S3 {
	t.Helper()
	base, err := cacheDir("versitygw")
	Need(t, err)
	program := filepath.Join(base, "versitygw")
	Need(t, once(base, program, func() error {
		build := exec.Command("go", "install", versity)
		build.Env = append(os.Environ(), "GOBIN="+base, "GOFLAGS=-mod=mod", "CGO_ENABLED=0")
		build.Dir = os.TempDir()
		_, err := output(build)
		return err
	}))
	dir, err := b.Mkdir("s3")
	Need(t, err)
	s := S3{Endpoint: fmt.Sprintf("http://127.0.0.1:%d", FreePort(t)), Bucket: "backups", Key: "plumb", Secret: "not-a-secret", Dir: dir}
	_, err = b.Mkdir("s3/" + s.Bucket)
	Need(t, err)
	versions, err := b.Mkdir("s3-versions") // for buckets that keep them
	Need(t, err)
	_, err = b.start(nil, syscall.SIGTERM, []string{"ROOT_ACCESS_KEY=" + s.Key, "ROOT_SECRET_KEY=" + s.Secret}, program, "--port", s.Endpoint[len("http://"):], "posix", "--versioning-dir", versions, dir)
	Need(t, err)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", s.Endpoint[len("http://"):], time.Second)
		if err == nil {
			_ = c.Close()
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("versitygw does not listen: %v", err)
		}
	}
}
