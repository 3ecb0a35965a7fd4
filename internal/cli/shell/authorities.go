package shell

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"os"
)

// mostAuthorities is more than a file of certificates has, in bytes: that of a whole distribution has a quarter of a million.
const mostAuthorities = 16 << 20

// Authorities reads the certificates of those who are believed when they say who is at the other end. named is what names the file: a
// flag, or a variable. As everywhere else, one that is not understood is passed over when others are.
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

// EndpointOfAWS completes what flags say of where a bucket is by the variables of the tools of AWS.
func EndpointOfAWS(endpoint, region string) (string, string) {
	return cmp.Or(endpoint, os.Getenv("AWS_ENDPOINT_URL")), cmp.Or(region, os.Getenv("AWS_REGION"))
}

// AuthoritiesOfAWS is the file from which the tools of AWS take the authorities, and the variable that names it; nothing where they
// believe those of the machine.
func AuthoritiesOfAWS() (named, file string) {
	for _, name := range []string{bundle, "SSL_CERT_FILE"} {
		if file := os.Getenv(name); file != "" {
			return "$" + name, file
		}
	}
	return "", ""
}

const bundle = "AWS_CA_BUNDLE"

// AuthoritiesOfS3 are those that are believed of a bucket: of $AWS_CA_BUNDLE alone, where it is set, as the tools of AWS do; nil for those of the
// machine. Of these $SSL_CERT_FILE names the file, which the standard library takes by itself, and without a word when it cannot.
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
