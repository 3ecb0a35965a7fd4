package packages

import (
	"crypto/sha1" //nolint:gosec // the fingerprint of a key of version 4 is made of it (RFC 4880, 12.2)
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
)

const armorBegins, armorEnds = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"

// fingerprints gives the fingerprint of each primary key in an armored block (RFC 4880): a file that is said to hold one must hold no
// other, of which apt would believe the signatures too.
func fingerprints(armored string) (all []string, err error) {
	packets, err := dearmored(armored)
	if err != nil {
		return nil, err
	}
	for len(packets) > 0 {
		tag, body, rest, err := packet(packets)
		if err != nil {
			return nil, err
		}
		packets = rest
		if tag != 6 { // a public key; user names, signatures and subordinate keys belong to it
			continue
		}
		if len(body) < 6 || len(body) > 0xffff || body[0] != 4 {
			return nil, errors.New("a key of it is not of version 4")
		}
		sum := sha1.New()
		sum.Write(binary.BigEndian.AppendUint16([]byte{0x99}, uint16(len(body))))
		sum.Write(body)
		all = append(all, strings.ToUpper(hex.EncodeToString(sum.Sum(nil))))
	}
	return all, nil
}

// dearmored gives what is in the only block of a text.
func dearmored(text string) ([]byte, error) {
	_, after, begins := strings.Cut(text, armorBegins)
	body, rest, ends := strings.Cut(after, armorEnds)
	if !begins || !ends || strings.TrimSpace(strings.TrimPrefix(text, armorBegins+after)) != "" || strings.TrimSpace(rest) != "" {
		return nil, errors.New("it is not one block of a public key")
	}
	_, body, blank := strings.Cut(strings.TrimPrefix(strings.ReplaceAll(body, "\r", ""), "\n"), "\n\n") // headers end with an empty line
	if !blank {
		body = strings.TrimPrefix(after[:len(after)-len(rest)-len(armorEnds)], "\n\n")
	}
	var data strings.Builder
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "=") { // what begins so is a checksum of the transport
			data.WriteString(line)
		}
	}
	return base64.StdEncoding.DecodeString(data.String())
}

// packet reads one packet.
func packet(b []byte) (tag byte, body, rest []byte, err error) {
	broken := errors.New("a packet of it is broken")
	if len(b) < 2 || b[0]&0x80 == 0 {
		return 0, nil, nil, broken
	}
	n, head := 0, 0
	if b[0]&0x40 == 0 { // the old form
		tag = b[0] >> 2 & 0x0f
		width := 1 << (b[0] & 3)
		if width > 4 || len(b) < 1+width {
			return 0, nil, nil, broken
		}
		for _, c := range b[1 : 1+width] {
			n = n<<8 | int(c)
		}
		head = 1 + width
	} else {
		tag = b[0] & 0x3f
		switch first := int(b[1]); {
		case first < 192:
			n, head = first, 2
		case first < 224 && len(b) > 2:
			n, head = (first-192)<<8+int(b[2])+192, 3
		case first == 255 && len(b) > 5:
			n, head = int(binary.BigEndian.Uint32(b[2:6])), 6
		default: // in parts, which no key is
			return 0, nil, nil, broken
		}
	}
	if n < 0 || n > len(b)-head {
		return 0, nil, nil, broken
	}
	return tag, b[head : head+n], b[head+n:], nil
}
