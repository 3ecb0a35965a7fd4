package sst

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"regexp"
	"strings"
)

const usualPort = "4444" // of state transfers in Galera

// Address is where a joiner waits. It goes to the donor through the cluster.
type Address struct {
	Host, Port string
	Token      string // whoever has it may send: hexadecimal
	Print      string // SHA-256 of the joiner's certificate, which is made for one transfer
}

// String writes it with the characters that Galera lets through.
func (a Address) String() string {
	return net.JoinHostPort(a.Host, a.Port) + "/plumb/" + a.Token + "/" + a.Print
}

var pathForm = regexp.MustCompile(`^plumb/([0-9a-f]{32})/([0-9a-f]{64})$`)

// parseAddress reads what String wrote. It comes from another host.
func parseAddress(text string) (a Address, err error) {
	where, path, _ := strings.Cut(text, "/")
	m := pathForm.FindStringSubmatch(path)
	if m == nil {
		return a, errors.New("the joiner's address is not one that plumb made: wsrep_sst_method must be plumb on all nodes, of one version")
	}
	a.Token, a.Print = m[1], m[2]
	a.Host, a.Port, err = net.SplitHostPort(where)
	return a, err
}

// place reads the HOST[:PORT] that the server wants to have listened on.
func place(text string) (host, port string) {
	if host, port, err := net.SplitHostPort(text); err == nil && port != "" {
		return host, port
	}
	return strings.Trim(text, "[]"), usualPort
}

// proof is what the donor shows: with a secret that both servers have (wsrep_sst_auth) the
// address alone, which others may have seen, is of no use.
func (a Address) proof(secret string) string {
	mac := hmac.New(sha256.New, []byte(a.Token+"\x00"+secret))
	mac.Write([]byte(a.Print))
	return hex.EncodeToString(mac.Sum(nil))
}
