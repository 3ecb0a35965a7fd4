package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/test/certificate"
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
	s, err := b.NewS3()
	Need(t, err)
	return s
}

// S3OverTLS starts one that speaks TLS, and gives the file of the certificate that it is known by.
func (b *Box) S3OverTLS(t testing.TB) (s S3, ca string) {
	t.Helper()
	ca, key, err := b.certificate()
	Need(t, err)
	s, err = b.newS3("--cert", ca, "--key", key)
	Need(t, err)
	s.Endpoint = "https" + strings.TrimPrefix(s.Endpoint, "http")
	return s, ca
}

// certificate makes one for 127.0.0.1 that vouches for itself.
func (b *Box) certificate() (cert, key string, err error) {
	c, err := certificate.SelfSigned("127.0.0.1")
	if err != nil {
		return "", "", err
	}
	certText, keyText, err := c.PEM()
	if err != nil {
		return "", "", err
	}
	if cert, err = b.Write("tls/cert.pem", certText); err == nil {
		key, err = b.Write("tls/key.pem", keyText)
	}
	return cert, key, err
}

// NewS3 is S3 for programs that are no tests.
func (b *Box) NewS3() (S3, error) { return b.newS3() }

func (b *Box) newS3(more ...string) (S3, error) {
	program, err := GoProgram("versitygw", versity)
	if err != nil {
		return S3{}, err
	}
	port, err := freePort()
	if err != nil {
		return S3{}, err
	}
	dir, err := b.Mkdir("s3")
	if err != nil {
		return S3{}, err
	}
	s := S3{Endpoint: fmt.Sprintf("http://127.0.0.1:%d", port), Bucket: "backups", Key: "plumb", Secret: "not-a-secret", Dir: dir}
	if _, err = b.Mkdir("s3/" + s.Bucket); err != nil {
		return S3{}, err
	}
	versions, err := b.Mkdir("s3-versions") // for buckets that keep them
	if err != nil {
		return S3{}, err
	}
	address := s.Endpoint[len("http://"):]
	// Unlike the stores of the world it closes a connection after each request, unless it is told.
	argv := append([]string{program, "--keep-alive", "--port", address}, more...)
	if _, err = b.start(nil, syscall.SIGTERM, []string{"ROOT_ACCESS_KEY=" + s.Key, "ROOT_SECRET_KEY=" + s.Secret}, append(argv, "posix", "--versioning-dir", versions, dir)...); err != nil {
		return S3{}, err
	}
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			return s, c.Close()
		}
		if time.Now().After(end) {
			return S3{}, fmt.Errorf("versitygw does not listen: %w", err)
		}
	}
}

// GoProgram gives a program of a module, which is built when it is not in the tests' cache.
func GoProgram(name, module string) (string, error) {
	base, err := cacheDir(name)
	if err != nil {
		return "", err
	}
	program := filepath.Join(base, name)
	return program, once(base, program, func() error {
		build := exec.Command("go", "install", module)
		build.Env = append(os.Environ(), "GOBIN="+base, "GOFLAGS=-mod=mod", "CGO_ENABLED=0")
		build.Dir = os.TempDir()
		_, err := output(build)
		return err
	})
}
