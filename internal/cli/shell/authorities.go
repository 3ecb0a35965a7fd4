package shell

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"os"
)

// mostAuthorities is the largest file of certificates that is read, in bytes. That of a whole distribution has a quarter of a million.
const mostAuthorities = 16 << 20

// Authorities reads a file with the certificates of trusted authorities, in PEM form. named is the flag or variable that names the file,
// for errors. Certificates that cannot be parsed are ignored, as everywhere else, but it is an error if none can.
func Authorities(named, file string) (*x509.CertPool, error) {
	text, err := ReadFile(file, nil, mostAuthorities)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", file, named, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read %s of %s: it holds no certificate in PEM form", file, named)
	}
	return pool, nil
}

// EndpointOfAWS returns the endpoint and region that flags name, or else those in the environment variables of the AWS tools.
func EndpointOfAWS(endpoint, region string) (string, string) {
	return cmp.Or(endpoint, os.Getenv("AWS_ENDPOINT_URL")), cmp.Or(region, os.Getenv("AWS_REGION"))
}

// AuthoritiesOfAWS returns the file from which the AWS tools take trusted authorities, and the environment variable that names it. Both
// are "" if the tools trust those of the machine.
func AuthoritiesOfAWS() (named, file string) {
	for _, name := range []string{bundle, "SSL_CERT_FILE"} {
		if file := os.Getenv(name); file != "" {
			return "$" + name, file
		}
	}
	return "", ""
}

const bundle = "AWS_CA_BUNDLE"

// AuthoritiesOfS3 returns the authorities that are trusted for a bucket: if $AWS_CA_BUNDLE is set only those in it, as with the AWS
// tools, and otherwise nil for those of the machine. $SSL_CERT_FILE names a file for these. The standard library reads it by itself,
// but silently ignores errors: the file is read here only to report them.
func AuthoritiesOfS3() (*x509.CertPool, error) {
	named, file := AuthoritiesOfAWS()
	if file == "" {
		return nil, nil
	}
	pool, err := Authorities(named, file)
	if named != "$"+bundle {
		pool = nil
	}
	return pool, err
}
